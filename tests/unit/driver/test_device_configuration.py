"""A whole design from objectFifos to register writes: what its configuration says is what the design says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import tilewright as tw
from tilewright.cli.main import main
from tilewright.device import DeviceModel, model
from tilewright.device.bd import CoreBd, ShimBd
from tilewright.device.register_names import name_address
from tilewright.device.registers import LockValue, TaskQueue

SCALE = """
aie.device(npu1_1col) {
  %shim = aie.tile(0, 0)
  %tile = aie.tile(0, 2)
  aie.objectfifo @in(%shim, {%tile}, 2 : i32) : !aie.objectfifo<memref<16xi32>>
  aie.objectfifo @out(%tile, {%shim}, 2 : i32) : !aie.objectfifo<memref<16xi32>>
  %core = aie.core(%tile) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
    %c3 = arith.constant 3 : i32
    scf.for %n = %c0 to %c16 step %c1 {
      %i = aie.objectfifo.acquire @in(Consume, 1) : !aie.objectfifosubview<memref<16xi32>>
      %a = aie.objectfifo.subview.access %i[0] : !aie.objectfifosubview<memref<16xi32>> -> memref<16xi32>
      %o = aie.objectfifo.acquire @out(Produce, 1) : !aie.objectfifosubview<memref<16xi32>>
      %b = aie.objectfifo.subview.access %o[0] : !aie.objectfifosubview<memref<16xi32>> -> memref<16xi32>
      scf.for %k = %c0 to %c16 step %c1 {
        %x = memref.load %a[%k] : memref<16xi32>
        %y = arith.muli %x, %c3 : i32
        memref.store %y, %b[%k] : memref<16xi32>
      }
      aie.objectfifo.release @in(Consume, 1)
      aie.objectfifo.release @out(Produce, 1)
    }
    aie.end
  }
  aie.runtime_sequence @run(%a: memref<256xi32>, %b: memref<256xi32>) {
    aiex.npu.dma_memcpy_nd(%a[0, 0, 0, 0][1, 1, 1, 256][0, 0, 0, 1]) {id = 0 : i64, metadata = @in} : memref<256xi32>
    aiex.npu.dma_memcpy_nd(%b[0, 0, 0, 0][1, 1, 1, 256][0, 0, 0, 1]) {id = 1 : i64, metadata = @out} : memref<256xi32>
    aiex.npu.dma_wait {symbol = @out}
  }
}
"""


@pytest.fixture(scope="module")
def design() -> tw.Design:
    return tw.compile(SCALE)


@pytest.fixture(scope="module")
def registers(design: tw.Design) -> dict[int, int]:
    """What every register holds after the configuration."""
    values = dict[int, int]()
    for op in tw.txn.decode(design.configuration()).operations:
        match op.opcode:
            case tw.txn.Opcode.WRITE:
                values[op.address] = op.value
            case tw.txn.Opcode.MASKWRITE:
                values[op.address] = values.get(op.address, 0) & ~op.mask | op.value & op.mask
            case tw.txn.Opcode.BLOCKWRITE:
                values |= {op.address + 4 * n: int(word) for n, word in enumerate(op.payload)}
            case other:
                pytest.fail(f"a configuration has no {other}")
    return values


def words_at(registers: dict[int, int], address: int, count: int) -> list[int]:
    return [registers[address + 4 * n] for n in range(count)]


NPU: DeviceModel = model("npu1_1col")


def test_a_fifo_is_a_ring_of_descriptors(registers: dict[int, int]) -> None:
    rings = [CoreBd.decode(words_at(registers, NPU.bd_address(0, 2, bd), 6)) for bd in range(4)]
    assert all(bd["buffer_length"] == 16 and bd["valid_bd"] and bd["use_next_bd"] for bd in rings)
    assert [bd["next_bd"] for bd in rings] == [1, 0, 3, 2]
    assert len({bd["address"] for bd in rings}) == 4


def test_locks_begin_with_all_elements_free(registers: dict[int, int]) -> None:
    places = (NPU.lock_address(0, 2, lock) for lock in range(4))
    values = [LockValue.lock_value.get([registers[NPU.tile_address(0, 2, place or 0)]]) for place in places]
    assert sorted(values) == [0, 0, 2, 2]


def test_channels_start_on_the_heads_of_rings(registers: dict[int, int]) -> None:
    pushes = {name_address(NPU, a): TaskQueue.start_bd_id.get([v]) for a, v in registers.items() if is_queue(a)}
    assert pushes == {"core(0,2) DMA.S2MM0.queue": 0, "core(0,2) DMA.MM2S0.queue": 2}


def is_queue(address: int) -> bool:
    return str(name_address(NPU, address)).endswith(".queue")


def test_switches_join_shim_and_core(registers: dict[int, int]) -> None:
    named = {name_address(NPU, address): value for address, value in registers.items()}
    enabled = {name for name, value in named.items() if "Switch.master" in str(name) and value >> 31}
    assert {str(name).partition(" ")[0] for name in enabled} == {"shim(0,0)", "mem(0,1)", "core(0,2)"}
    assert "core(0,2) Switch.master.DMA0" in enabled
    assert named["shim(0,0) ShimMux"] >> 10 & 3 == 1, "South 3 comes from the DMA"


def test_sequences_name_the_shim_channels_of_fifos(design: tw.Design) -> None:
    words = design.txn("run")
    blocks = [op for op in tw.txn.decode(words).operations if op.opcode == tw.txn.Opcode.BLOCKWRITE]
    assert [ShimBd.buffer_length.get(op.payload.tolist()) for op in blocks] == [256, 256]


def test_compile_writes_the_configuration(design: tw.Design, tmp_path: Path) -> None:
    source, out = tmp_path / "scale.mlir", tmp_path / "out"
    source.write_text(SCALE)
    assert main(["compile", str(source), "-o", str(out)]) == 0
    assert (out / "main.configuration.bin").read_bytes() == design.configuration().tobytes()
    (device,) = json.loads((out / "design.json").read_text())["devices"]
    assert device["configuration"] == "main.configuration.bin"
    assert [core["row"] for core in device["cores"]] == [2]
    assert tw.load(out).configuration().tolist() == design.configuration().tolist()


def test_a_device_without_such_a_configuration_has_none(tmp_path: Path) -> None:
    source, out = tmp_path / "versal.mlir", tmp_path / "out"
    source.write_text("aie.device(xcvc1902) {\n  %t = aie.tile(1, 3)\n}\n")
    assert main(["compile", str(source), "-o", str(out)]) == 0
    assert sorted(path.name for path in out.iterdir()) == ["design.json", "design.mlir"]
