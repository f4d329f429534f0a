"""Designs for tests, each written twice: placed in Python, and as MLIR text."""

from __future__ import annotations

from typing import Any

import numpy as np
from iron_programs import vector

from tilewright.iron.builders import ModuleContext
from tilewright.iron.dialects.aie import (
    AIEDevice,
    DMAChannelDir,
    EndOp,
    LockAction,
    ObjectFifoPort,
    WireBundle,
    buffer,
    core,
    device,
    dma_bd,
    dma_start,
    external_func,
    flow,
    lock,
    mem,
    memtile_dma,
    next_bd,
    object_fifo,
    object_fifo_link,
    packetflow,
    shim_dma_allocation,
    tile,
    use_lock,
)
from tilewright.iron.dialects.aiex import (
    dma_await_task,
    dma_free_task,
    dma_start_task,
    dma_wait,
    npu_address_patch,
    npu_dma_memcpy_nd,
    npu_maskwrite32,
    npu_push_queue,
    npu_sync,
    npu_write32,
    runtime_sequence,
    shim_dma_single_bd_task,
)
from tilewright.iron.extras.context import mlir_mod_ctx
from tilewright.iron.helpers.dialects.scf import range_


def scale_by_parameter() -> ModuleContext:
    """Lines through a core, in object FIFOs and by way of a memory tile; a runtime parameter and an open length."""
    with mlir_mod_ctx() as ctx:

        @device(AIEDevice.npu1_1col)
        def _device() -> None:
            shim, memory, compute = tile(0, 0), tile(0, 1), tile(0, 2)
            factor = buffer(compute, vector(4), name="factor", initial_value=np.zeros(4, np.int32), use_write_rtp=True)
            scale = external_func("scale", [vector(16), vector(16), np.int32], link_with="scale.o")
            of_in = object_fifo("in", shim, memory, 2, vector(32))
            of_core = object_fifo("core", memory, compute, [2, 3], vector(16), consumer_datatype=None)
            of_out = object_fifo("out", compute, shim, 2, vector(16), dimensionsToStream=[(4, 4), (4, 1)])
            object_fifo_link(of_in, of_core)

            @core(compute, stack_size=2048)
            def _core() -> None:
                for _ in range_(1 << 30):
                    source = of_core.acquire(ObjectFifoPort.Consume, 1)
                    target = of_out.acquire(ObjectFifoPort.Produce, 1)
                    scale(source, target, factor[2])
                    of_core.release(ObjectFifoPort.Consume, 1)
                    of_out.release(ObjectFifoPort.Produce, 1)

            @runtime_sequence(vector(512), vector(512), np.int64, np.int32)
            def move(a: Any, b: Any, n: Any, by: Any) -> None:
                factor[2] = by
                given = shim_dma_single_bd_task(of_in, a, offset=0, sizes=[1, 1, 1, n])
                taken = shim_dma_single_bd_task(of_out, b, sizes=[1, 1, 1, n], issue_token=True)
                dma_start_task(given, taken)
                dma_await_task(taken)
                dma_free_task(given)

    return ctx


SCALE_BY_PARAMETER = """
module {
  aie.device(npu1_1col) {
    %shim = aie.tile(0, 0)
    %memory = aie.tile(0, 1)
    %compute = aie.tile(0, 2)
    %factor = aie.buffer(%compute) {sym_name = "factor"} : memref<4xi32> = dense<0>
    func.func private @scale(memref<16xi32>, memref<16xi32>, i32) attributes {link_with = "scale.o"}
    aie.objectfifo @in(%shim, {%memory}, 2 : i32) : !aie.objectfifo<memref<32xi32>>
    aie.objectfifo @core(%memory, {%compute}, [2 : i32, 3 : i32]) : !aie.objectfifo<memref<16xi32>>
    aie.objectfifo @out(%compute dimensionsToStream [<size = 4, stride = 4>, <size = 4, stride = 1>], {%shim}, 2 : i32)
      : !aie.objectfifo<memref<16xi32>>
    aie.objectfifo.link [@in] -> [@core]([] [])
    %core = aie.core(%compute) {
      %c0 = arith.constant 0 : index
      %many = arith.constant 1073741824 : index
      %c1 = arith.constant 1 : index
      scf.for %i = %c0 to %many step %c1 {
        %taken = aie.objectfifo.acquire @core(Consume, 1) : !aie.objectfifosubview<memref<16xi32>>
        %source = aie.objectfifo.subview.access %taken[0]
          : !aie.objectfifosubview<memref<16xi32>> -> memref<16xi32>
        %made = aie.objectfifo.acquire @out(Produce, 1) : !aie.objectfifosubview<memref<16xi32>>
        %target = aie.objectfifo.subview.access %made[0]
          : !aie.objectfifosubview<memref<16xi32>> -> memref<16xi32>
        %c2 = arith.constant 2 : index
        %by = memref.load %factor[%c2] : memref<4xi32>
        func.call @scale(%source, %target, %by) : (memref<16xi32>, memref<16xi32>, i32) -> ()
        aie.objectfifo.release @core(Consume, 1)
        aie.objectfifo.release @out(Produce, 1)
      }
      aie.end
    } {stack_size = 2048 : i32}
    aie.runtime_sequence @move(%a: memref<512xi32>, %b: memref<512xi32>, %n: i64, %by: i32) {
      aiex.npu.rtp_write(@factor, 2, %by) : i32
      %n0 = arith.trunci %n : i64 to i32
      %given = aiex.dma_configure_task_for @in {
        aie.dma_bd(%a : memref<512xi32> offset = 0 len = %n0 sizes = [1, 1, 1, %n] strides = [0, 0, 0, 1])
        aie.end
      }
      %n1 = arith.trunci %n : i64 to i32
      %drained = aiex.dma_configure_task_for @out {
        aie.dma_bd(%b : memref<512xi32> offset = 0 len = %n1 sizes = [1, 1, 1, %n] strides = [0, 0, 0, 1])
        aie.end
      } {issue_token = true}
      aiex.dma_start_task(%given)
      aiex.dma_start_task(%drained)
      aiex.dma_await_task(%drained)
      aiex.dma_free_task(%given)
    }
  }
}
"""


def increment_in_blocks() -> ModuleContext:
    """Everything by hand: buffers, locks, DMA programs of a core's tile and a memory tile, circuit and packet flows."""
    with mlir_mod_ctx() as ctx:

        @device(AIEDevice.npu2)
        def _device() -> None:
            shim, memory, compute = tile(1, 0), tile(1, 1), tile(1, 2)
            staged = buffer(memory, vector(64), name="staged")
            work = buffer(compute, vector(16), name="work")
            free, full = lock(memory, init=1, sym_name="free"), lock(memory, init=0, sym_name="full")
            empty, ready, done = (lock(compute, lock_id=number, init=number == 0) for number in range(3))
            flow(shim, WireBundle.DMA, 0, memory, WireBundle.DMA, 0)
            flow(memory, dest=compute)
            back = {"dest": shim, "port": WireBundle.DMA, "channel": 0}
            packetflow(7, compute, WireBundle.DMA, 0, back)
            shim_dma_allocation("fill", shim, DMAChannelDir.MM2S, 0)
            shim_dma_allocation("drain", shim, DMAChannelDir.S2MM, 0)

            @memtile_dma(memory)
            def _memory(bd: Any) -> None:
                dma_start(DMAChannelDir.S2MM, 0, dest=bd[1], chain=bd[2])
                with bd[1]:
                    use_lock(free, LockAction.AcquireGreaterEqual)
                    dma_bd(staged)
                    use_lock(full, LockAction.Release)
                    next_bd(bd[1])
                with bd[2]:
                    dma_start(DMAChannelDir.MM2S, 0, dest=bd[3], chain=bd[4])
                with bd[3]:
                    use_lock(full, LockAction.AcquireGreaterEqual)
                    dma_bd(staged, sizes=[4, 8, 2], strides=[2, 8, 1], offset=0, transfer_len=64)
                    use_lock(free, LockAction.Release)
                    next_bd(bd[3])
                with bd[4]:
                    EndOp()

            @mem(compute)
            def _mem(bd: Any) -> None:
                dma_start(DMAChannelDir.S2MM, 0, dest=bd[1], chain=bd[2])
                with bd[1]:
                    use_lock(empty, LockAction.AcquireGreaterEqual, 1)
                    dma_bd(work, transfer_len=16)
                    use_lock(ready, LockAction.Release, 1)
                    next_bd(bd[1])
                with bd[2]:
                    dma_start(DMAChannelDir.MM2S, 0, dest=bd[3], chain=bd[4])
                with bd[3]:
                    use_lock(done, LockAction.AcquireGreaterEqual, 1)
                    dma_bd(work, transfer_len=16, packet=(0, 7))
                    use_lock(empty, LockAction.Release, 1)
                    next_bd(bd[3])
                with bd[4]:
                    EndOp()

            @core(compute)
            def _core() -> None:
                for _ in range_(1 << 20):
                    use_lock(ready, LockAction.AcquireGreaterEqual, 1)
                    for i in range_(16):
                        work[i] = work[i] + 100
                    use_lock(done, LockAction.Release, 1)

            @runtime_sequence(vector(64), vector(64))
            def move(a: Any, b: Any) -> None:
                npu_dma_memcpy_nd("drain", 1, b, sizes=[1, 1, 1, 64], issue_token=True)
                npu_dma_memcpy_nd("fill", 0, a, sizes=[1, 2, 4, 8], strides=[0, 32, 8, 1])
                dma_wait("drain")

    return ctx


INCREMENT_IN_BLOCKS = """
module {
  aie.device(npu2) {
    %shim = aie.tile(1, 0)
    %memory = aie.tile(1, 1)
    %compute = aie.tile(1, 2)
    %staged = aie.buffer(%memory) {sym_name = "staged"} : memref<64xi32>
    %work = aie.buffer(%compute) {sym_name = "work"} : memref<16xi32>
    %free = aie.lock(%memory) {init = 1 : i32, sym_name = "free"}
    %full = aie.lock(%memory) {init = 0 : i32, sym_name = "full"}
    %empty = aie.lock(%compute, 0) {init = 1 : i32}
    %ready = aie.lock(%compute, 1) {init = 0 : i32}
    %done = aie.lock(%compute, 2) {init = 0 : i32}
    aie.flow(%shim, DMA : 0, %memory, DMA : 0)
    aie.flow(%memory, DMA : 0, %compute, DMA : 0)
    aie.packet_flow(7) {
      aie.packet_source<%compute, DMA : 0>
      aie.packet_dest<%shim, DMA : 0>
    }
    aie.shim_dma_allocation @fill(%shim, MM2S, 0)
    aie.shim_dma_allocation @drain(%shim, S2MM, 0)
    %md = aie.memtile_dma(%memory) {
      %0 = aie.dma_start(S2MM, 0, ^in, ^then)
    ^in:
      %one = arith.constant 1 : i32
      aie.use_lock(%free, AcquireGreaterEqual, %one)
      aie.dma_bd(%staged : memref<64xi32>)
      %one0 = arith.constant 1 : i32
      aie.use_lock(%full, Release, %one0)
      aie.next_bd ^in
    ^then:
      %1 = aie.dma_start(MM2S, 0, ^out, ^end)
    ^out:
      %one1 = arith.constant 1 : i32
      aie.use_lock(%full, AcquireGreaterEqual, %one1)
      aie.dma_bd(%staged : memref<64xi32> offset = 0 len = 64 sizes = [4, 8, 2] strides = [2, 8, 1])
      %one2 = arith.constant 1 : i32
      aie.use_lock(%free, Release, %one2)
      aie.next_bd ^out
    ^end:
      aie.end
    }
    %m = aie.mem(%compute) {
      %0 = aie.dma_start(S2MM, 0, ^in, ^then)
    ^in:
      %one = arith.constant 1 : i32
      aie.use_lock(%empty, AcquireGreaterEqual, %one)
      aie.dma_bd(%work : memref<16xi32> len = 16)
      %one0 = arith.constant 1 : i32
      aie.use_lock(%ready, Release, %one0)
      aie.next_bd ^in
    ^then:
      %1 = aie.dma_start(MM2S, 0, ^out, ^end)
    ^out:
      %one1 = arith.constant 1 : i32
      aie.use_lock(%done, AcquireGreaterEqual, %one1)
      aie.dma_bd(%work : memref<16xi32> len = 16) {packet = #aie.packet_info<pkt_type = 0, pkt_id = 7>}
      %one2 = arith.constant 1 : i32
      aie.use_lock(%empty, Release, %one2)
      aie.next_bd ^out
    ^end:
      aie.end
    }
    %core = aie.core(%compute) {
      %c0 = arith.constant 0 : index
      %many = arith.constant 1048576 : index
      %c1 = arith.constant 1 : index
      scf.for %i = %c0 to %many step %c1 {
        %one = arith.constant 1 : i32
        aie.use_lock(%ready, AcquireGreaterEqual, %one)
        %c0_0 = arith.constant 0 : index
        %c16 = arith.constant 16 : index
        %c1_0 = arith.constant 1 : index
        scf.for %j = %c0_0 to %c16 step %c1_0 {
          %old = memref.load %work[%j] : memref<16xi32>
          %hundred = arith.constant 100 : i32
          %new = arith.addi %old, %hundred : i32
          memref.store %new, %work[%j] : memref<16xi32>
        }
        %one0 = arith.constant 1 : i32
        aie.use_lock(%done, Release, %one0)
      }
      aie.end
    }
    aie.runtime_sequence @move(%a: memref<64xi32>, %b: memref<64xi32>) {
      aiex.npu.dma_memcpy_nd(%b[0, 0, 0, 0][1, 1, 1, 64][0, 0, 0, 1])
        {id = 1 : i64, issue_token = true, metadata = @drain} : memref<64xi32>
      aiex.npu.dma_memcpy_nd(%a[0, 0, 0, 0][1, 2, 4, 8][0, 32, 8, 1]) {id = 0 : i64, metadata = @fill} : memref<64xi32>
      aiex.npu.dma_wait {symbol = @drain}
    }
  }
}
"""


def write_registers() -> ModuleContext:
    """Instructions of the controller, with numbers and with values of the sequence, in a loop as well."""
    with mlir_mod_ctx() as ctx:

        @device(AIEDevice.npu1)
        def _device() -> None:
            @runtime_sequence(vector(16), np.int32)
            def write(a: Any, n: Any) -> None:
                npu_write32(0x1D000, 16, column=0, row=0)
                npu_address_patch(0x1D004, 0, n * 4)
                npu_maskwrite32(0x1DE00, n, 0xF0, column=0, row=0)
                for i in range_(n):
                    npu_write32(i * 4 + 1024, 7 - i, column=0, row=2)
                npu_push_queue(0, 0, DMAChannelDir.MM2S, 0, True, 0, 3)
                npu_sync(0, 0, 1, 0)

    return ctx


WRITE_REGISTERS = """
module {
  aie.device(npu1) {
    aie.runtime_sequence @write(%a: memref<16xi32>, %n: i32) {
      %bd = arith.constant 118784 : i32
      %words = arith.constant 16 : i32
      aiex.npu.write32(%bd, %words) {column = 0 : i32, row = 0 : i32} : i32, i32
      %four = arith.constant 4 : i32
      %bytes = arith.muli %n, %four : i32
      aiex.npu.address_patch(%bytes : i32) {addr = 118788 : ui32, arg_idx = 0 : i32}
      %control = arith.constant 122368 : i32
      %mask = arith.constant 240 : i32
      aiex.npu.maskwrite32(%control, %n, %mask) {column = 0 : i32, row = 0 : i32} : i32, i32, i32
      %c0 = arith.constant 0 : index
      %end = arith.index_cast %n : i32 to index
      %c1 = arith.constant 1 : index
      scf.for %i = %c0 to %end step %c1 {
        %c4 = arith.constant 4 : index
        %offset = arith.muli %i, %c4 : index
        %c1024 = arith.constant 1024 : index
        %place = arith.addi %offset, %c1024 : index
        %c7 = arith.constant 7 : index
        %rest = arith.subi %c7, %i : index
        %address = arith.index_cast %place : index to i32
        %value = arith.index_cast %rest : index to i32
        aiex.npu.write32(%address, %value) {column = 0 : i32, row = 2 : i32} : i32, i32
      }
      %zero = arith.constant 0 : i32
      %three = arith.constant 3 : i32
      aiex.npu.push_queue(0, 0, MM2S : 0) bd_id %three repeat %zero {issue_token = true} : i32, i32
      %s0 = arith.constant 0 : i32
      %s1 = arith.constant 0 : i32
      %s2 = arith.constant 1 : i32
      %s3 = arith.constant 0 : i32
      %s4 = arith.constant 1 : i32
      %s5 = arith.constant 1 : i32
      aiex.npu.sync(%s0, %s1, %s2, %s3, %s4, %s5) : i32, i32, i32, i32, i32, i32
    }
  }
}
"""
