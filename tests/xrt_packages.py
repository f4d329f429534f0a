"""Packages for tests: a design that adds, as an xclbin with and without what the simulator needs."""

from __future__ import annotations

from pathlib import Path
from uuid import UUID

import numpy as np

import tilewright as tw
from tilewright import containers
from tilewright.containers.cdo import cdo_of
from tilewright.containers.embedded_design import embedding
from tilewright.containers.packaging import (
    KernelNames,
    extended_xclbin,
    kernels_json,
    memory_json,
    partition_json,
    xclbin_from_parts,
)
from tilewright.containers.pdi import Pdi, pdi_from_cdos
from tilewright.dialects.aie.buffers import BufferOp
from tilewright.dialects.aie.locks import LockOp
from tilewright.driver.compiled_design import Design
from tilewright.driver.packaged_design import packaged_design

ADD = """
module {{
  aie.device({device}) @{symbol} {{
    %shim = aie.tile(0, 0)
    %tile = aie.tile(0, 2)
    aie.objectfifo @in(%shim, {{%tile}}, 2 : i32) : !aie.objectfifo<memref<16xi32>>
    aie.objectfifo @out(%tile, {{%shim}}, 2 : i32) : !aie.objectfifo<memref<16xi32>>
    {declaration}
    %core = aie.core(%tile) {{
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c16 = arith.constant 16 : index
      %forever = arith.constant 1000000 : index
      %amount = arith.constant {amount} : i32
      scf.for %n = %c0 to %forever step %c1 {{
        %0 = aie.objectfifo.acquire @in(Consume, 1) : !aie.objectfifosubview<memref<16xi32>>
        %in = aie.objectfifo.subview.access %0[0] : !aie.objectfifosubview<memref<16xi32>> -> memref<16xi32>
        %1 = aie.objectfifo.acquire @out(Produce, 1) : !aie.objectfifosubview<memref<16xi32>>
        %out = aie.objectfifo.subview.access %1[0] : !aie.objectfifosubview<memref<16xi32>> -> memref<16xi32>
        {body}
        aie.objectfifo.release @in(Consume, 1)
        aie.objectfifo.release @out(Produce, 1)
      }}
      aie.end
    }}
    aie.runtime_sequence @sequence(%a: memref<64xi32>, %b: memref<64xi32>) {{
      aiex.npu.dma_memcpy_nd(%a[0, 0, 0, 0][1, 1, 1, {taken}][0, 0, 0, 1])
        {{id = 0 : i64, metadata = @in}} : memref<64xi32>
      aiex.npu.dma_memcpy_nd(%b[0, 0, 0, 0][1, 1, 1, 64][0, 0, 0, 1])
        {{id = 1 : i64, metadata = @out}} : memref<64xi32>
      aiex.npu.dma_wait {{symbol = @out}}
    }}
  }}
}}
"""
LOOP = """
        scf.for %i = %c0 to %c16 step %c1 {
          %value = memref.load %in[%i] : memref<16xi32>
          %sum = arith.addi %value, %amount : i32
          memref.store %sum, %out[%i] : memref<16xi32>
        }"""
CALL = "func.call @add_some(%in, %out, %amount) : (memref<16xi32>, memref<16xi32>, i32) -> ()"
DECLARED = 'func.func private @add_some(memref<16xi32>, memref<16xi32>, i32) attributes {link_with = "add_some.o"}'
IMAGES = [UUID(int=number) for number in (1, 2)]


def add_text(amount: int = 1, *, taken: int = 64, called: bool = False, symbol: str = "main") -> str:
    """A design that adds a number to 64 integers; it hangs if it is to take fewer from the host."""
    body, declaration = (CALL, DECLARED) if called else (LOOP, "")
    return ADD.format(device="npu1_1col", symbol=symbol, amount=amount, taken=taken, body=body, declaration=declaration)


def compiled(folder: Path, text: str) -> Design:
    path = folder / "design.mlir"
    path.write_text(text)
    return tw.compile(path)


def pdi_of(design: Design) -> Pdi:
    return pdi_from_cdos([cdo_of(tw.txn.decode(design.configuration()).operations)])


def xclbin_of(design: Design, *, is_ours: bool = True, kernel: KernelNames | None = None) -> containers.Xclbin:
    names = kernel or KernelNames()
    partition = partition_json(1, 4, "a.pdi", IMAGES[0], names)
    made = xclbin_from_parts(partition, kernels_json(names, 5), memory_json(), lambda _: pdi_of(design))
    if is_ours:
        made.sections.append(embedding(packaged_design(design, pdi=IMAGES[0])))
    return made


def two_kernels(first: Design, second: Design) -> containers.Xclbin:
    """An xclbin with a kernel ADDONE and a kernel ADDTWO, each with an image of its own."""
    base = xclbin_of(first, kernel=KernelNames("ADDONE", "ONE", "0x901"))
    names = KernelNames("ADDTWO", "TWO", "0x902")
    partition = partition_json(1, 4, "b.pdi", IMAGES[1], names)
    made = extended_xclbin(base, partition, kernels_json(names, 5), lambda _: pdi_of(second))
    made.sections.append(embedding(packaged_design(second, pdi=IMAGES[1])))
    return made


def write_package(folder: Path, design: Design, name: str = "final.xclbin", *, is_ours: bool = True) -> tuple[str, str]:
    """The files of an xclbin and its instructions."""
    (folder / name).write_bytes(xclbin_of(design, is_ours=is_ours).write())
    (folder / "insts.bin").write_bytes(design.txn().astype("<u4").tobytes())
    return str(folder / name), str(folder / "insts.bin")


def adding_code(design: Design, amount: int) -> str:
    """Assembly that does what the core of `add_text` does: `main` takes buffers and calls `add` for each of them."""
    places = {
        op.sym_name.data: op
        for op in design.device().walk()
        if isinstance(op, BufferOp | LockOp) and op.sym_name is not None
    }

    def address(name: str) -> int:
        buffer = places[name]
        assert isinstance(buffer, BufferOp) and buffer.address is not None
        return 0x70000 + buffer.address.value.data

    def lock(name: str) -> int:
        found = places[name]
        assert isinstance(found, LockOp) and found.lock_id is not None
        return 48 + found.lock_id.value.data

    def block(number: int) -> str:
        return f"""
            acq #{lock("in_cons_cons_lock_0")}, r1
            acq #{lock("out_prod_lock_0")}, r1
            jl #add
            movxm p0, #{address(f"in_cons_buff_{number}")}
            movxm p1, #{address(f"out_buff_{number}")}
            nop
            nop
            nop
            .align 16
            rel #{lock("in_cons_prod_lock_0")}, r3
            rel #{lock("out_cons_lock_0")}, r3
        """

    element = "lda r0, [p0], #4\n" + "nop\n" * 6 + f"add r0, r0, #{amount}\nst r0, [p1], #4\n"
    again = "j #again\n" + "nop\n" * 5
    add = f".align 16\nadd: {element * 16}ret lr\n" + "nop\n" * 5
    return f"main: movx r1, #-1\nmovx r3, #1\nagain: {block(0)}{block(1)}{again}{add}.align 16"


def with_machine_code(folder: Path, design: Design, code: bytes) -> tuple[str, str]:
    """A package as others make it: the image brings the code of the core (0, 2)."""
    xclbin, insts = write_package(folder, design, is_ours=False)
    made, core = xclbin_of(design, is_ours=False), 2 << 20
    words = np.frombuffer(code, "<u4").tolist()
    loading = tw.txn.Stream.of(tw.txn.Header(), [tw.txn.block_write(core + 0x20000, words)]).operations
    partition = made.partition
    assert partition is not None
    before = partition.pdis[0].image.cdo.operations()
    partition.pdis[0].image = pdi_from_cdos([cdo_of([*loading, *before])])
    Path(xclbin).write_bytes(made.write())
    return xclbin, insts
