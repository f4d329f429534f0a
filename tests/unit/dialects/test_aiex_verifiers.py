"""What operations of `aiex` refuse, in upstream's words, and what they let through."""

from __future__ import annotations

import pytest
from helpers import complaint

from tilewright.dialects.aiex.write_bd import OPTIONAL, NpuWriteBdOp

DESIGN = """
  %shim = aie.tile(0, 0)
  %mem = aie.tile(0, 1)
  %core = aie.tile(0, 2)
  %lock = aie.lock(%core)
  %buffer = aie.buffer(%core) {{sym_name = "buffer"}} : memref<8xi32>
  aie.shim_dma_allocation @in(%shim, MM2S, 0)
  aie.bd_chain @chain(%b: memref<8xi32>) {{
    aie.end
  }}
  aie.runtime_sequence(%i8: memref<4096xi8>, %i32: memref<4096xi32>, %i64: memref<8xi64>, %few: memref<3xi8>,
                       %eight: memref<8xi32>, %n: i32, %m: i64) {{
    {body}
  }}
"""


def in_sequence(body: str, device: str = "npu1") -> str:
    return f"aie.device({device}) {{{DESIGN.format(body=body)}}}"


def memcpy(buffer: str, lists: str, extra: str = "", metadata: str = "@in") -> str:
    types = {"%i8": "4096xi8", "%i32": "4096xi32", "%i64": "8xi64", "%few": "3xi8"}
    return (
        f"aiex.npu.dma_memcpy_nd({buffer}{lists}) {{metadata = {metadata}, id = 0 : i64{extra}}} "
        f": memref<{types[buffer]}>"
    )


def accepted(body: str, device: str = "npu1") -> None:
    assert complaint(in_sequence(body, device)) is None


def refused(body: str, text: str, device: str = "npu1") -> None:
    said = complaint(in_sequence(body, device))
    assert said is not None and said.endswith(text), said


@pytest.mark.parametrize(
    "buffer, lists, extra, text",
    [
        ("%i64", "[0,0,0,0][1,1,1,8][0,0,0,1]", "", "Maximum element bit width allowed is 32bits. "),
        ("%few", "[0,0,0,0][1,1,1,3][0,0,0,1]", "", "Minimum data transfer size required is 32bits. "),
        (
            "%i8",
            "[0,0,0,0][1,1,1,8][0,0,0,1]",
            ", burst_length = 512 : i64",
            "Requested burst length is not supported by the target. Supported burst lengths: 64 128 256",
        ),
        ("%i8", "[0,0,0,2][1,1,1,8][0,0,0,1]", "", "Offset must be 4-byte-aligned."),
        ("%i8", "[0,0,0,0][1,1,0,8][0,0,8,1]", "", "Size 1 must be a positive integer."),
        (
            "%i8",
            "[0,0,0,0][1,1,1,6][0,0,0,1]",
            "",
            "Transfer sizes must be multiples of 4 bytes. 6 elements at 1 bytes each equal 6 bytes, "
            "which is not divisible by 4. ",
        ),
        ("%i8", "[0,0,0,0][1,1,2,8][0,0,0,1]", "", "Stride 1 must be a positive integer."),
        ("%i8", "[0,0,0,0][2,1,1,8][-4,0,0,1]", "", "Stride 3 must be a non-negative integer."),
        (
            "%i8",
            "[0,0,0,0][1,1,1,8][0,10,0,1]",
            "",
            "Stride 2 is 10 elements * 1 bytes = 10 bytes, which is not divisible by 4. ",
        ),
        ("%i32", "[0,0,0,0][66,1,1,8][0,0,0,1]", "", "Size 3 exceeds the [1:64] range."),
        ("%i32", "[0,0,0,0][1,1,2,8][0,0,1048578,1]", "", "Stride 1 exceeds the [1:1048576] range."),
        (
            "%i32",
            "[0,0,0,0][1,1,1,8][0,0,0,1], packet = <pkt_type = 8, pkt_id = 0>",
            "",
            "Packet type field can only hold 3 bits.",
        ),
        (
            "%i32",
            "[0,0,0,0][1,1,1,8][0,0,0,1], packet = <pkt_type = 0, pkt_id = 32>",
            "",
            "Packet ID field can only hold 5 bits.",
        ),
        (
            "%i32",
            "[0,0,0,0][1,1,8][0,0,0,1]",
            "",
            "attribute 'static_sizes' failed to satisfy constraint: i64 dense array attribute with exactly 4 elements",
        ),
    ],
)
def test_constant_transfer(buffer: str, lists: str, extra: str, text: str) -> None:
    refused(memcpy(buffer, lists, extra), text)


@pytest.mark.parametrize(
    "buffer, lists, extra, text",
    [
        (
            "%i32",
            "[0,0,0,%m][1,1,1,8][0,0,0,1]",
            ", d0_zero_before = 1 : i64",
            "zero padding is not supported with runtime sizes/strides.",
        ),
        ("%i32", "[0,0,0,%m][2,2,1,2048][9,9,0,1]", "", "d0 size hardware value 2048 exceeds hardware range [0:1023]."),
        ("%i32", "[0,0,0,0][2,2,1024,%m][9,9,4,1]", "", "d1 size hardware value 1024 exceeds hardware range [0:1023]."),
        (
            "%i32",
            "[0,0,0,0][65,1,1,%m][0,0,4,1]",
            "",
            "iteration size hardware value 64 exceeds hardware range [0:63].",
        ),
        (
            "%i8",
            "[0,0,0,0][1,1,%m,6][0,0,8,1]",
            "",
            "d0 size 6 elements at 1 bytes each is not a multiple of the 4-byte address-gen granule.",
        ),
        (
            "%i8",
            "[0,0,0,0][1,1,%m,8][0,0,6,1]",
            "",
            "stride 1 is 6 elements at 1 bytes each, not a multiple of the 4-byte address-gen granule.",
        ),
        ("%i32", "[0,0,0,0][1,1,2,%m][0,0,0,1]", "", "stride 1 must be positive when size > 1."),
        ("%i32", "[0,0,0,0][2,1,1,%m][-4,0,0,1]", "", "stride 3 must be non-negative when size > 1."),
        (
            "%i32",
            "[0,0,0,0][1,1,1,%m][0,0,0,1]",
            ", burst_length = 32 : i64",
            "Requested burst length is not supported by the target. Supported burst lengths: 64 128 256",
        ),
    ],
)
def test_runtime_transfer(buffer: str, lists: str, extra: str, text: str) -> None:
    refused(memcpy(buffer, lists, extra), text)


def test_runtime_transfer_needs_its_channel() -> None:
    text = "runtime sizes/strides require a shim_dma_allocation to resolve the tile; none found."
    refused(memcpy("%i32", "[0,0,0,%m][1,1,1,8][0,0,0,1]", metadata="@later"), text)


def test_constant_operands_count_as_constants() -> None:
    body = "%large = arith.constant 66 : i64\n" + memcpy("%i32", "[0,0,0,0][%large,1,1,8][0,0,0,1]")
    refused(body, "Size 3 exceeds the [1:64] range.")


@pytest.mark.parametrize(
    "lists, device, extra",
    [
        pytest.param("[0,0,0,0][64,1,1,8][0,0,0,1]", "npu1", "", id="a repeat needs no stride"),
        pytest.param("[0,0,0,0][1,1,1080,1920][0,0,1920,1]", "npu1", "", id="contiguous: no wraps"),
        pytest.param("[0,0,0,0][1,1,1080,1919][0,0,1920,1]", "npu1", "", id="can be split"),
        pytest.param("[0,0,0,0][1,1,1,8][2000000,0,0,1]", "npu1", "", id="stride that is never taken"),
        pytest.param("[0,0,0,0][1,1,1,8][0,0,0,1]", "npu2", ", burst_length = 512 : i64", id="npu2 has longer bursts"),
    ],
)
def test_accepted_transfer(lists: str, device: str, extra: str) -> None:
    accepted(memcpy("%i32", lists, extra), device)


def test_transfer_to_unknown_channel_is_checked_later() -> None:
    accepted(memcpy("%i8", "[0,0,0,0][1,1,1,3][0,0,0,5]", metadata="@later"))


FIELDS = [name for name in NpuWriteBdOp.get_irdl_definition().properties if name not in OPTIONAL]


def write_bd(**fields: int) -> str:
    entries = ", ".join(f"{name} = {value} : i32" for name, value in (dict.fromkeys(FIELDS, 0) | fields).items())
    return f"aiex.npu.writebd {{{entries}}}"


@pytest.mark.parametrize(
    "fields, text",
    [
        ({"bd_id": 17}, "BD ID exceeds the maximum ID."),
        ({"packet_id": 32}, "Packet ID exceeds the maximum supported by 5 bits."),
        ({"packet_type": 8}, "Packet Type exceeds the maximum supported by 3 bits."),
        ({"d0_size": 1024}, "D0 Size exceeds the [0:1023] range."),
        ({"d0_stride": 1 << 20}, "D0 Stride exceeds the [0:1M-1] range."),
        ({"d1_size": 1024}, "D1 Size exceeds the [0:1023] range."),
        ({"d1_stride": 1 << 20}, "D1 Stride exceeds the [0:1M-1] range."),
        ({"d2_stride": 1 << 20}, "D2 Stride exceeds the [0:1M-1] range."),
        ({"iteration_size": 64}, "Iteration Size exceeds the [0:63] range."),
        ({"iteration_stride": 1 << 20}, "Iteration Stride exceeds the [0:1048575] range."),
        ({"row": 1, "iteration_stride": 1 << 17}, "Iteration Stride exceeds the [0:131071] range."),
        ({"row": 2, "iteration_stride": 1 << 13}, "Iteration Stride exceeds the [0:8191] range."),
        ({"d2_size": 1}, "ShimTile only supports 3 dimensions of sizes."),
        ({"d1_zero_after": 1}, "ShimTile doesn't support zero padding."),
        ({"row": 2, "burst_length": 64}, "Only ShimTiles support burst length."),
        (
            {"burst_length": 512},
            "Requested burst length is not supported by the target. Supported burst lengths: 64 128 256",
        ),
    ],
)
def test_descriptor_fields(fields: dict[str, int], text: str) -> None:
    refused(write_bd(**fields), text)


def test_linear_descriptor_has_no_wrap() -> None:
    accepted(write_bd(d0_size=100000, d1_size=1))


CONSTANT = "%c = arith.constant {} : i32\n"


@pytest.mark.parametrize(
    "body, text",
    [
        (
            CONSTANT.format(17)
            + "aiex.npu.push_queue(0, 0, MM2S : 0) bd_id %c repeat %n {issue_token = true} : i32, i32",
            "BD ID exceeds the maximum ID.",
        ),
        (
            CONSTANT.format(256)
            + "aiex.npu.push_queue(0, 0, MM2S : 0) bd_id %n repeat %c {issue_token = true} : i32, i32",
            "Repeat count exceeds the [0:255] range.",
        ),
        (
            CONSTANT.format(64) + "aiex.npu.assert_bd_field(%c) {max = 63 : i32} : i32",
            "constant value 64 exceeds the guarded field range [0:63].",
        ),
        (
            CONSTANT.format(1) + "aiex.npu.assert_bd_divisible(%c) {divisor = 4 : i32} : i32",
            "constant value 1 is not divisible by 4 (transfer is not a whole number of address-gen granules).",
        ),
        ("aiex.npu.assert_bd_divisible(%n) {divisor = 0 : i32} : i32", "divisor must be non-zero."),
        ("aiex.npu.dma_wait {symbol = @nowhere}", "couldn't find symbol in parent device"),
        (
            "aiex.npu.create_scratchpad {size = 8 : ui32, usage_type = 1 : ui8}",
            "usage_type must be 0 (got 1); other layouts are not supported.",
        ),
        ("aiex.npu.create_scratchpad {size = 0 : ui32}", "size must be greater than 0."),
        ("aiex.npu.create_scratchpad {size = 6 : ui32}", "size (6) must be a multiple of 4 bytes."),
        (
            "aiex.npu.create_scratchpad {size = 132 : ui32}",
            "size (132 bytes) exceeds maximum scratchpad size of 128 bytes.",
        ),
        (
            "aiex.npu.create_scratchpad {size = 8 : ui32}\n"
            "aiex.npu.update_from_scratchpad {state_table_idx = 2 : ui8, address = 0 : ui32}",
            "state_table_idx 2 is out of bounds for scratchpad of size 8 bytes (2 entries) "
            "created by aiex.npu.create_scratchpad.",
        ),
        (
            "aiex.npu.update_from_scratchpad {state_table_idx = 32 : ui8, address = 0 : ui32}",
            "state_table_idx 32 exceeds maximum StateTable index (31).",
        ),
        ("%v = aiex.read_scratchpad_parameter @p : i32", "must be inside an aie.core"),
        ("aiex.set_lock(%lock, 64)", "Lock value exceeds the maximum value of 63"),
        (
            "aiex.dma_channel_reset(%shim, S2MM, 0)",
            "tile (0, 0) has no DMA channel reset (only core and mem tiles do; shim NOC DMA has no reset bit)",
        ),
        (
            "aiex.dma_channel_reset(%core, MM2S, 2)",
            "channel 2 out of range for this tile and direction (tile has 2 DMA channel(s) in this direction)",
        ),
        (
            "aiex.core_reset(%mem)",
            "tile (0, 1) has no core to reset (only core tiles have a CORE_CONTROL register)",
        ),
        (
            "aiex.dma_channel_reset_for(@in)",
            "'in' must reference an aie.objectfifo (or its aie.objectfifo_rearm_binding)",
        ),
        ("aiex.configure @absent {}", "No such device: '@absent'"),
        ("aiex.run @sequence() : ()", "'aiex.run' op expects parent op 'aiex.configure'"),
        (
            "%t = aiex.dma_start_bd_chain @absent() : () on (%shim, MM2S, 0)",
            "symbol does not reference valid BD chain",
        ),
        ("%t = aiex.dma_start_bd_chain @chain() : () on (%shim, MM2S, 0)", "Number of arguments mismatches."),
        (
            "%t = aiex.dma_start_bd_chain @chain(%i8) : (memref<4096xi8>) on (%shim, MM2S, 0)",
            "Argument 1 types mismatch: expected 'memref<8xi32>' but got 'memref<4096xi8>'",
        ),
        (
            "%t = aiex.dma_configure_task_for @in {\n"
            "  aie.dma_bd(%eight : memref<8xi32>) {iteration = #aie.bd_iteration<size = 2, stride = 4, current = 0>}\n"
            "  aie.end\n"
            "}",
            "the iteration attribute is not supported on the runtime-sequence path; "
            "express iteration via the outermost sizes/strides dimension instead",
        ),
        (
            "%t = aiex.dma_configure_task(%core, MM2S, 0) {\n"
            "  aie.dma_bd(%buffer : memref<8xi32>) {burst_length = 64 : i32}\n"
            "  aie.end\n"
            "}",
            "Burst length is only supported in Shim NOC tiles that are connected to the memory-mapped NOC.",
        ),
    ],
)
def test_sequence_operation(body: str, text: str) -> None:
    refused(body, text)


@pytest.mark.parametrize(
    "body",
    [
        "aiex.npu.push_queue(0, 0, MM2S : 0) bd_id %n repeat %n {issue_token = true} : i32, i32",
        CONSTANT.format(1) + "aiex.npu.assert_bd_divisible(%c) {allow_unit, divisor = 4 : i32} : i32",
        "aiex.dma_channel_reset(%mem, S2MM, 5)",
        "aiex.dma_channel_reset_for(@later)",
        "%t = aiex.dma_configure_task_for @later {\n"
        "  aie.dma_bd(%eight : memref<8xi32> sizes = [1, 1, 1, 1, 8] strides = [0, 0, 0, 0, 1])\n"
        "  aie.end\n"
        "}",
    ],
)
def test_what_is_not_known_yet_is_accepted(body: str) -> None:
    accepted(body)


@pytest.mark.parametrize(
    "body, text",
    [
        ("aiex.set_lock(%lock, 1)", "SetLockOp is not supported on AIE1."),
        ("aiex.core_reset(%core)", "aiex.core_reset is not supported on AIE1."),
        (
            "aiex.dma_channel_reset_for(@of)",
            "is not supported on AIE1 devices (the resident re-arm relies on the aie2p start-queue push)",
        ),
    ],
)
def test_first_generation(body: str, text: str) -> None:
    refused(body, text, device="xcvc1902")


@pytest.mark.parametrize(
    "source, text",
    [
        (
            "aie.device(npu1) @kernel {}\naie.device(npu2) {\naie.runtime_sequence() { aiex.configure @kernel {} } }",
            "Device types do not match: 'npu2' vs. 'npu1'",
        ),
        (
            'memref.global "public" @g : memref<8xi32>\n'
            "aie.device(npu2) {\naie.runtime_sequence() { aiex.configure @g {} } }",
            "Not a device: '@g'",
        ),
        (
            "aiex.scratchpad_parameter @p : f32\n"
            "aie.device(npu2) { %t = aie.tile(0, 2)\n%c = aie.core(%t) {\n"
            "%v = aiex.read_scratchpad_parameter @q : i32\naie.end\n} }",
            "references unknown parameter 'q' (aiex.scratchpad_parameter ops are declared at module scope)",
        ),
        (
            "aiex.scratchpad_parameter @p : f32\n"
            "aie.device(npu2) { %t = aie.tile(0, 2)\n%c = aie.core(%t) {\n"
            "%v = aiex.read_scratchpad_parameter @p : f32\naie.end\n} }",
            "Use bf16 or an integer type up to i32 instead.",
        ),
        ("%v = aiex.read_scratchpad_parameter @p : f32", "must be inside an aie.device"),
        (
            "func.func @f(%task: index) { aiex.dma_start_task(%task)\nreturn }",
            "'aiex.dma_start_task' op expects ancestor op 'aie.runtime_sequence'",
        ),
        (
            'aie.device(npu2) { aiex.token(0) {sym_name = "t"}\naiex.useToken @t(Acquire, 0) }',
            "must be in a function, a core, or the DMA of a core or shim tile",
        ),
    ],
)
def test_operation_elsewhere(source: str, text: str) -> None:
    said = complaint(source)
    assert said is not None and said.endswith(text), said
