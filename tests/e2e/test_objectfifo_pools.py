"""Pools of buffers and their endpoints, written by hand: allocated, lowered and run."""

from pathlib import Path

import numpy as np
import pytest

import tilewright as tw
from tilewright.cli.main import main

TRANSPOSE = """
aie.device(npu2_1col) {
  %shim = aie.tile(0, 0)
  %mem = aie.tile(0, 1)
  aie.objectfifo.dangling_endpoint @from_host(%shim) DMA {fifoName = "in"}
  aie.objectfifo.dangling_endpoint @to_host(%shim) DMA {fifoName = "out"}
  aie.objectfifo.pool @turn_pool(%mem) {depth = 2 : i32,
    segments = [#aie.objectfifo_segment<offset = 0, size = 12>]} : memref<12xi32>
  aie.objectfifo.dma_endpoint @fill(%mem) fills @turn_pool
  aie.objectfifo.dma_endpoint @drain(%mem) drains @turn_pool {
    dimensions = #aie<bd_dim_layout_array_array[[<size = 4, stride = 1>, <size = 3, stride = 4>]]>}
  aie.objectfifo.flow from @from_host to [@fill]
  aie.objectfifo.flow from @drain to [@to_host] PACKET
  aie.runtime_sequence @turn(%a: memref<60xi32>, %b: memref<60xi32>) {
    aiex.npu.dma_memcpy_nd(%b[0, 0, 0, 0][1, 1, 1, 60][0, 0, 0, 1]) {id = 1 : i64, metadata = @to_host} : memref<60xi32>
    aiex.npu.dma_memcpy_nd(%a[0, 0, 0, 0][1, 1, 1, 60][0, 0, 0, 1]) {id = 0 : i64, metadata = @from_host} : memref<60xi32>
    aiex.npu.dma_wait {symbol = @to_host}
  }
}
"""  # noqa: E501


@pytest.mark.parametrize("packet", ["", "{packet}", "{packet, packet_id = 3 : i8}"])
def test_a_pool_between_two_streams(packet: str):
    data, result = np.arange(60, dtype=np.int32), np.zeros(60, np.int32)
    tw.compile(TRANSPOSE.replace("PACKET", packet)).run(data, result)
    assert (result == data.reshape(5, 3, 4).transpose(0, 2, 1).ravel()).all()


def test_the_compiler_driver_lowers_them_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    Path("design.mlir").write_text(TRANSPOSE.replace("PACKET", ""))
    assert main(["aiecc", "--get-npu-insts", "--npu-insts-name=insts.bin", "design.mlir"]) == 0
    data, result = np.arange(60, dtype=np.int32), np.zeros(60, np.int32)
    tw.compile(Path("design.mlir")).run(data, result, txn=np.fromfile("insts.bin", np.uint32))
    assert (result == data.reshape(5, 3, 4).transpose(0, 2, 1).ravel()).all()


JOIN = """
aie.device(npu1_1col) {
  %shim = aie.tile(0, 0)
  %mem = aie.tile(0, 1)
  aie.objectfifo.dangling_endpoint @left(%shim) DMA {fifoName = "left"}
  aie.objectfifo.dangling_endpoint @right(%shim) DMA {fifoName = "right"}
  aie.objectfifo.dangling_endpoint @both(%shim) DMA {fifoName = "both"}
  aie.objectfifo.pool @joined(%mem) {depth = 2 : i32,
    segments = [#aie.objectfifo_segment<offset = 0, size = 4>, #aie.objectfifo_segment<offset = 4, size = 8>]}
    : memref<12xi32>
  aie.objectfifo.dma_endpoint @first(%mem) fills @joined {segments = array<i32: 0>}
  aie.objectfifo.dma_endpoint @second(%mem) fills @joined {segments = array<i32: 1>}
  aie.objectfifo.dma_endpoint @all(%mem) drains @joined {segments = array<i32: 0, 1>REPEAT}
  aie.objectfifo.flow from @left to [@first]
  aie.objectfifo.flow from @right to [@second]
  aie.objectfifo.flow from @all to [@both]
  aie.runtime_sequence @join(%a: memref<24xi32>, %b: memref<48xi32>, %c: memref<72xi32>) {
    aiex.npu.dma_memcpy_nd(%c[0, 0, 0, 0][1, 1, 1, 72][0, 0, 0, 1]) {id = 2 : i64, metadata = @both} : memref<72xi32>
    aiex.npu.dma_memcpy_nd(%a[0, 0, 0, 0][1, 1, 1, 24][0, 0, 0, 1]) {id = 0 : i64, metadata = @left} : memref<24xi32>
    aiex.npu.dma_memcpy_nd(%b[0, 0, 0, 0][1, 1, 1, 48][0, 0, 0, 1]) {id = 1 : i64, metadata = @right} : memref<48xi32>
    aiex.npu.dma_wait {symbol = @both}
  }
}
"""


@pytest.mark.parametrize("rounds", ["", ", iterCount = 3 : i32"])
def test_two_streams_join_in_one_pool(rounds: str):
    """Six objects; a chain with a count of rounds stops behind the third, of two objects each."""
    left, right = np.arange(24, dtype=np.int32), 100 + np.arange(48, dtype=np.int32)
    result = np.zeros(72, np.int32)
    tw.compile(JOIN.replace("REPEAT", rounds)).run(left, right, result)
    assert (result.reshape(6, 12) == np.hstack([left.reshape(6, 4), right.reshape(6, 8)])).all()
