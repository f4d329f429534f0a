"""What a descriptor may say on which tile, in upstream's words."""

import pytest
from helpers import complaint, parsed

from tilewright.dialects.aie.dma_bd import BdDimLayout, DmaBdOp, is_contiguous
from tilewright.ir.verifier import verify

DMAS = {"core": ("aie.mem", 2), "mem": ("aie.memtile_dma", 1), "shim": ("aie.shim_dma", 0)}


def design(bd: str, tile: str = "core", device: str = "npu1") -> str:
    """A device whose one DMA has one descriptor, of a buffer with the type that the descriptor gives it."""
    dma, row = DMAS[tile]
    type = bd.partition("memref")[2].partition(">")[0]
    where = "aie.external_buffer" if tile == "shim" else "aie.buffer(%tile) {address = 1024 : i32}"
    return f"""
      aie.device({device}) {{
        %tile = aie.tile(2, {row})
        %b = {where} : memref{type}>
        %dma = {dma}(%tile) {{
          %n = arith.constant 8 : i32
          %sum = arith.addi %n, %n : i32
          %0 = aie.dma_start(MM2S, 0, ^bd, ^end)
        ^bd:
          aie.dma_bd{bd}
          aie.next_bd ^end
        ^end:
          aie.end
        }}
      }}"""


def pad(before: int, after: int) -> str:
    return f"pad [<const_pad_before = {before}, const_pad_after = {after}>]"


@pytest.mark.parametrize(
    "bd, tile, text",
    [
        pytest.param(
            "(%b : memref<7xi8> len = 6)",
            "core",
            "transfer length must be multiple of 4 (i.e., represent 4 byte aligned address)",
            id="a stream moves whole words",
        ),
        pytest.param("(%b : memref<8xi32>) {bd_id = 16 : i32}", "core", "bdId attribute exceeds max: 15", id="id"),
        pytest.param(
            "(%b : memref<8xi32>) {next_bd_id = 48 : i32}", "mem", "nextBdId attribute exceeds max: 47", id="next"
        ),
        pytest.param(
            "(%b : memref<16384xi32>)",
            "core",
            "buffer descriptor length (16384 32-bit words) exceeds the maximum of 16383 words supported by this "
            "tile type",
            id="length of a whole buffer",
        ),
        pytest.param(
            "(%b : memref<64xi32> len = 8 sizes = [2, 2, 2, 1] strides = [8, 4, 2, 1])",
            "shim",
            "Cannot give more than 3 dimensions for step sizes and wraps on this tile (got 4 dimensions).",
            id="dimensions",
        ),
        pytest.param(
            "(%b : memref<16xi32> len = 8 sizes = [2, 4] strides = [13, 1])",
            "core",
            "Specified stride(s) and size(s) result in out of bounds access in buffer, for index 16 in memref of "
            "length 16.",
            id="last element",
        ),
        pytest.param(
            "(%b : memref<16xi32> len = 8 sizes = [2, 4] strides = [0, 1])",
            "core",
            "Invalid step size; must be a positive integer.",
            id="stride 0",
        ),
        pytest.param(
            "(%b : memref<16xi32> len = 8 sizes = [1, 4] strides = [17, 1])",
            "core",
            "Step size 17 exceeds memref size 16",
            id="stride beyond the buffer",
        ),
        pytest.param(
            "(%b : memref<4096xi32> len = 1026 sizes = [2, 513] strides = [1024, 1])",
            "shim",
            "Size may not exceed 1023.",
            id="size",
        ),
        pytest.param(
            "(%b : memref<1048576xi32> len = 8 sizes = [2, 4] strides = [524288, 1])",
            "shim",
            "Stride may not exceed 1048576",
            id="stride",
        ),
        pytest.param(
            "(%b : memref<64xi16> len = 8 sizes = [2, 4] strides = [8, 2])",
            "core",
            "For <32b width datatypes, inner-most dim stride must be 1",
            id="narrow elements stay together",
        ),
        pytest.param(
            "(%b : memref<64xi64> len = 8 sizes = [2, 4] strides = [8, 2])",
            "core",
            "For >32b width datatypes, inner-most dim stride must be 1",
            id="and so do the words of wide ones",
        ),
        pytest.param(
            f"(%b : memref<64xi32> len = 8 {pad(1, 0)})",
            "mem",
            "Padding requires n-d data layouts expressed as wrap(s) and stride(s).",
            id="padding a plain run",
        ),
        pytest.param(
            f"(%b : memref<64xi32> len = 9 sizes = [8] strides = [1] {pad(1, 0)})",
            "core",
            "Padding is only supported by memtile dma bds.",
            id="padding elsewhere",
        ),
        pytest.param(
            f"(%b : memref<64xi32> len = 9 sizes = [1, 8] strides = [8, 1] {pad(1, 0)})",
            "mem",
            "Mismatch number of dimensions between padding(s) and wrap(s) and stride(s).",
            id="padding of fewer dimensions",
        ),
        pytest.param(
            f"(%b : memref<64xi32> len = 8 sizes = [8] strides = [1] {pad(1, 0)})",
            "mem",
            "Data exceeds len after padding.",
            id="padding beyond the length",
        ),
        pytest.param(
            f"(%b : memref<64xi32> len = %sum sizes = [8] strides = [1] {pad(1, 0)})",
            "mem",
            "Padding with a runtime len operand is not yet supported; use a compile-time constant len with padded BDs.",
            id="padding and a length of run time",
        ),
        pytest.param(
            f"(%b : memref<64xi16> len = 12 sizes = [8] strides = [1] {pad(2, 1)})",
            "mem",
            "Inner-most padding-after count must result in padding in 32-bit words.",
            id="padding of half a word",
        ),
        pytest.param(
            "(%b : memref<64xi16> offset = 1 len = 8)",
            "core",
            "bd address must be 4 byte (32b) aligned; got base+offset: 1026 (bytes)",
            id="address",
        ),
        pytest.param(
            "(%b : memref<8xi32>) {packet = #aie.packet_info<pkt_type = 8, pkt_id = 0>}",
            "core",
            "Packet type field can only hold 3 bits.",
            id="packet type",
        ),
        pytest.param(
            "(%b : memref<8xi32>) {packet = #aie.packet_info<pkt_type = 7, pkt_id = 32>}",
            "core",
            "Packet ID field can only hold 5 bits.",
            id="packet id",
        ),
        pytest.param(
            "(%b : memref<?xi32>)", "shim", "buffer with dynamic shape requires static length.", id="unknown length"
        ),
        pytest.param(
            "(%b : memref<8xi32>) {burst_length = 64 : i32}",
            "mem",
            "Burst length is only supported in Shim NOC tiles that are connected to the memory-mapped NOC.",
            id="burst",
        ),
        pytest.param(
            "(%b : memref<8xi32>) {iteration = #aie.bd_iteration<size = 65, stride = 8, current = 0>}",
            "core",
            "BD iteration size must be in [1, 64]",
            id="iterations",
        ),
        pytest.param(
            "(%b : memref<8xi16>) {iteration = #aie.bd_iteration<size = 2, stride = 3, current = 0>}",
            "core",
            "BD iteration stride must be aligned to 32-bit words",
            id="stride of an iteration in words",
        ),
        pytest.param(
            "(%b : memref<8xi32>) {iteration = #aie.bd_iteration<size = 2, stride = 8193, current = 0>}",
            "core",
            "BD iteration stride must be in [1, 8192] 32-bit words",
            id="stride of an iteration",
        ),
        pytest.param(
            "(%b : memref<8xi32>) {iteration = #aie.bd_iteration<size = 2, stride = 8, current = 2>}",
            "core",
            "BD iteration current must be in [0, size)",
            id="current iteration",
        ),
    ],
)
def test_refused(bd: str, tile: str, text: str):
    assert complaint(design(bd, tile)) == f"'aie.dma_bd' op {text}"


@pytest.mark.parametrize(
    "bd, tile",
    [
        pytest.param("(%b : memref<16383xi32>)", "core", id="longest of a core tile"),
        pytest.param("(%b : memref<16384xi32> len = %sum)", "core", id="a length of run time is not checked"),
        pytest.param(
            "(%b : memref<64xi32> len = 8 sizes = [2, 2, 2, 1] strides = [8, 4, 2, 1])", "mem", id="four dimensions"
        ),
        pytest.param(
            "(%b : memref<4096xi32> sizes = [2, 2048] strides = [2048, 1])", "shim", id="a run of any size on a shim"
        ),
        pytest.param("(%b : memref<8xi32>) {burst_length = 64 : i32}", "shim", id="burst"),
        pytest.param(
            "(%b : memref<8xi32>) {iteration = #aie.bd_iteration<size = 64, stride = 8192, current = 63>}",
            "core",
            id="most iterations, longest stride",
        ),
        pytest.param(
            f"(%b : memref<64xi16> len = 12 sizes = [8] strides = [1] {pad(2, 2)})",
            "mem",
            id="padding",
        ),
    ],
)
def test_accepted(bd: str, tile: str):
    assert complaint(design(bd, tile)) is None


def test_iteration_needs_hardware_that_has_it():
    bd = "(%b : memref<8xi32>) {iteration = #aie.bd_iteration<size = 2, stride = 8, current = 0>}"
    assert complaint(design(bd, device="xcvc1902")) == "'aie.dma_bd' op BD iteration is not supported on this target"


def test_lists_in_generic_form_may_disagree_with_their_operands():
    source = """
      aie.device(npu1) {
        %tile = aie.tile(0, 2)
        %b = aie.buffer(%tile) : memref<8xi32>
        %dma = aie.mem(%tile) {
          "aie.dma_bd"(%b) <{operandSegmentSizes = array<i32: 1, 0, 0, 0, 0>,
                             static_sizes = array<i64: -9223372036854775808>, static_strides = array<i64: 1>}>
            : (memref<8xi32>) -> ()
          aie.end
        }
      }"""
    assert complaint(source) == "expected 1 dynamic sizes values"


@pytest.mark.parametrize(
    "dimensions, contiguous",
    [
        pytest.param([], True, id="no dimensions"),
        pytest.param([(4, 8), (8, 1)], True, id="rows that touch"),
        pytest.param([(4, 16), (8, 1)], False, id="rows with gaps"),
        pytest.param([(1, 99), (4, 8), (8, 1)], True, id="a dimension that is never stepped"),
        pytest.param([(8, 2)], False, id="every other element"),
        pytest.param([(4, 1), (1, 7)], False, id="the innermost stride counts even if never taken"),
    ],
)
def test_contiguous_patterns(dimensions: list[tuple[int, int]], contiguous: bool):
    assert is_contiguous([BdDimLayout(*dimension) for dimension in dimensions]) is contiguous


def test_a_descriptor_knows_its_bytes():
    module = parsed(design("(%b : memref<64xi16> offset = 4 len = 8)"))
    [bd] = [op for op in module.walk() if isinstance(op, DmaBdOp)]
    assert (bd.offset_bytes, bd.len_bytes, bd.constant_dimensions) == (8, 16, [])
    assert bd.buffer_op is not None and bd.buffer_op.size_bytes == 128


def test_built_and_printed():
    module = parsed(design("(%b : memref<64xi32>)"))
    [bd] = [op for op in module.walk() if isinstance(op, DmaBdOp)]
    made = DmaBdOp(bd.buffer, offset=4, len=8, dimensions=[(2, 16), (4, 1)])
    assert (made.constant_offset, made.constant_len) == (4, 8)
    assert made.constant_dimensions == [BdDimLayout(2, 16), BdDimLayout(4, 1)]
    assert bd.parent is not None
    bd.parent.insert_op_before(made, bd)
    bd.detach()
    bd.erase()
    assert verify(module) == []
