"""Lists of integers and values: the marker for a value is never an integer of the text, whatever operation has it."""

from __future__ import annotations

from io import StringIO

import pytest

from tilewright.ir.context import make_context
from tilewright.ir.diagnostics import CompileError
from tilewright.ir.parser import parse_source
from tilewright.ir.printer import Printer
from tilewright.ir.verifier import verify

OPS = {
    "aiex.npu.dma_memcpy_nd": """aie.device(npu1) {
  %t = aie.tile(0, 0)
  aie.shim_dma_allocation @in(%t, MM2S, 0)
  aie.runtime_sequence(%a: memref<64xi32>) {
    aiex.npu.dma_memcpy_nd(%a[0, 0, 0, 0][1, 1, 1, 32][0, 0, NUMBER, 1]) {id = 3 : i64, metadata = @in} : memref<64xi32>
  }
}""",
    "aie.dma_bd": """aie.device(npu1) {
  %t = aie.tile(0, 0)
  aie.runtime_sequence(%a: memref<64xi32>) {
    %0 = aiex.dma_configure_task(%t, MM2S, 0) {
      aie.dma_bd(%a : memref<64xi32> offset = 0 len = 64 sizes = [8, 8] strides = [NUMBER, 1])
      aie.end
    }
  }
}""",
    "air.dma_memcpy_nd": """func.func @f(%a: memref<64xi32>, %b: memref<64xi32>) {
  air.dma_memcpy_nd (%a[NUMBER] [64] [1], %b[] [] []) : (memref<64xi32>, memref<64xi32>)
  return
}""",
    "air.channel.put": """air.channel @c [1, 1]
func.func @f(%a: memref<64xi32>) {
  air.channel.put @c[] (%a[0] [NUMBER] [1]) : (memref<64xi32>)
  return
}""",
    "airrt.dma_memcpy_nd": """func.func @f(%a: memref<64xi32>, %i: i32, %x: i64) {
  airrt.dma_memcpy_nd(%i, %x, %x, %a[0, 0, 0, NUMBER], [1, 1, 1, 64], [0, 0, 0, 1])
    : (i32, i64, i64, memref<64xi32>)
  return
}""",
    "memref.subview": """func.func @f(%a: memref<64xi32>) {
  %0 = memref.subview %a[NUMBER] [4] [1] : memref<64xi32> to memref<4xi32, strided<[1], offset: ?>>
  return
}""",
    "memref.reinterpret_cast": """func.func @f(%a: memref<64xi32>) {
  %0 = memref.reinterpret_cast %a to offset: [0], sizes: [NUMBER], strides: [1]
    : memref<64xi32> to memref<?xi32, strided<[1]>>
  return
}""",
    "scf.forall": """func.func @f() {
  scf.forall (%i) in (NUMBER) {
  }
  return
}""",
    "vector.extract": """func.func @f(%v: vector<4x4xf32>) -> vector<4xf32> {
  %0 = vector.extract %v[NUMBER] : vector<4xf32> from vector<4x4xf32>
  return %0 : vector<4xf32>
}""",
    "vector.insert": """func.func @f(%v: vector<4xf32>, %w: vector<4x4xf32>) {
  %0 = vector.insert %v, %w[NUMBER] : vector<4xf32> into vector<4x4xf32>
  return
}""",
    "affine.delinearize_index": """func.func @f(%i: index) {
  %0:2 = affine.delinearize_index %i into (4, NUMBER) : index, index
  return
}""",
    "tensor.parallel_insert_slice": """func.func @f(%s: tensor<4xf32>, %d: tensor<8xf32>) {
  %0 = scf.forall (%i) in (2) shared_outs(%o = %d) -> tensor<8xf32> {
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %s into %o[NUMBER] [4] [1] : tensor<4xf32> into tensor<8xf32>
    }
  }
  return
}""",
}
MARKER = -(1 << 63)


def complaints(source: str) -> list[str]:
    """What the reader, or else the verifier, says; what is read can be printed, right or wrong."""
    try:
        module = parse_source(make_context(), source, "test.mlir")
    except CompileError as error:
        return [str(error)]
    Printer(StringIO()).print_op(module)
    return [error.text for error in verify(module)]


@pytest.mark.parametrize("name", OPS)
def test_a_number_of_more_than_64_bits_is_refused(name: str) -> None:
    assert "integer value too large" in "".join(complaints(OPS[name].replace("NUMBER", str(1 << 63))))


@pytest.mark.parametrize("name", OPS)
def test_a_marker_without_its_value_is_refused(name: str) -> None:
    assert "dynamic" in "".join(complaints(OPS[name].replace("NUMBER", str(MARKER))))


@pytest.mark.parametrize("name", OPS)
def test_plain_numbers_are_read_as_they_stand(name: str) -> None:
    module = parse_source(make_context(), OPS[name].replace("NUMBER", "2"), "test.mlir")
    printed = StringIO()
    Printer(printed).print_op(module)
    assert name in printed.getvalue()
