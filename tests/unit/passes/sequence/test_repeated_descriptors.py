"""What a lowering remembers of one task, push or descriptor and makes again for others, against making each anew."""

from __future__ import annotations

from itertools import count
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tilewright.dialects.aiex.write_bd import DescriptorWords
from tilewright.driver.compiled_design import Design, compile_text
from tilewright.ir.diagnostics import CompileError, collect
from tilewright.ir.printer import module_text
from tilewright.passes.sequence import decompose_large_dma_bd, dma_tasks_to_npu, dma_to_npu
from tilewright.rewrite import legalization

DEVICE = """aie.device(npu2) {{
  %shim = aie.tile(0, 0)
  %other = aie.tile(1, 0)
  %mem = aie.tile(0, 1)
  %buffer = aie.buffer(%mem) {{sym_name = "kept"}} : memref<4096x{type}>
  aie.shim_dma_allocation @in(%shim, MM2S, 1)
  aie.shim_dma_allocation @out(%shim, S2MM, 1)
  aie.runtime_sequence @run(%a: memref<65536x{type}>, %b: memref<?x{type}>) {{
{body}
  }}
}}
"""
TYPES = "i32", "i16", "i8"
SHAPES = (
    "len = 256",
    "len = 128 sizes = [1, 2, 4, 16] strides = [0, 512, 64, 1]",
    "len = 256 sizes = [2, 1, 1, 256] strides = [1024, 0, 0, 1]",
    "len = 64 sizes = [4, 16] strides = [32, 1]",
    "len = 8192 sizes = [2, 4096] strides = [8192, 1]",  # longer than its field: split
)
WRONG_SHAPE = "len = 100 sizes = [4, 16] strides = [32, 1]"  # not what the loops move
OPTIONS = (
    "",
    " {bd_id = 3 : i32}",
    " {packet = #aie.packet_info<pkt_type = 1, pkt_id = 2>}",
    " {burst_length = 64 : i32}",
)
MEMCPY_SHAPES = "[1, 2, 4, 16][0, 512, 64, 1]", "[1, 1, 8, 32][0, 0, 64, 1]", "[2, 1, 1, 256][1024, 0, 0, 1]"
OFFSETS = st.sampled_from([*range(0, 160, 4), *range(0, 2560, 64), 1, 65000])
"""Mostly what fits; some that no address can be, or that end behind the buffer."""


@st.composite
def task(draw: st.DrawFn) -> list[str]:
    tile = draw(st.sampled_from(["%shim", "%shim", "%other", "%mem"]))
    memory = "%buffer : memref<4096x{type}>"
    if tile != "%mem":
        memory = draw(st.sampled_from(["%a : memref<65536x{type}>", "%b : memref<?x{type}>"]))
    way, channel = draw(st.sampled_from(["MM2S", "S2MM"])), draw(st.integers(0, 1))
    shape, options = (
        draw(st.sampled_from([*SHAPES * 4, "", WRONG_SHAPE])),
        draw(st.sampled_from(OPTIONS if tile != "%mem" else OPTIONS[:1])),
    )
    repeat = draw(st.sampled_from(["", ", repeat_count = 1 : i32"]))
    token = draw(st.sampled_from(["true", "true", "false"]))
    lines = [
        f"%t = aiex.dma_configure_task({tile}, {way}, {channel}) {{{{",
        f"  aie.dma_bd({memory} offset = {draw(OFFSETS)} {shape}){options.replace('{', '{{').replace('}', '}}')}",
        "  aie.end",
        f"}}}} {{{{issue_token = {token}{repeat}}}}}",
        *["aiex.dma_start_task(%t)"] * draw(st.integers(1, 2)),
    ]
    return [*lines, "aiex.dma_await_task(%t)" if token == "true" else "aiex.dma_free_task(%t)"]


@st.composite
def transfer(draw: st.DrawFn) -> list[str]:
    offset, shape, name = draw(OFFSETS), draw(st.sampled_from(MEMCPY_SHAPES)), draw(st.sampled_from(["in", "out"]))
    memory = draw(st.sampled_from(["%a", "%b"]))
    type = "memref<65536x{type}>" if memory == "%a" else "memref<?x{type}>"
    number = draw(st.integers(0, 3))
    return [
        f"aiex.npu.dma_memcpy_nd({memory}[0, 0, 0, {offset}]{shape}) "
        f"{{{{id = {number} : i64, metadata = @{name}}}}} : {type}"
    ]


def program(parts: list[list[str]], type: str) -> str:
    names = count()
    lines = list[str]()
    for part in parts:
        name = f"%t{next(names)}"
        lines += [line.replace("%t ", f"{name} ").replace("(%t)", f"({name})") for line in part]
    return DEVICE.format(body="\n".join(lines).format(type=type), type=type)


def outcome(text: str) -> tuple[object, list[str]]:
    """The lowered design with its locations and its words, or what is wrong; and what was warned of."""
    with collect() as warnings:
        try:
            design: Design = compile_text(text, "random.mlir")
            made: object = module_text(design.module, debuginfo=True), design.txn("run").tolist()
        except CompileError as error:
            made = [str(diagnostic) for diagnostic in error.diagnostics]
    return made, [str(warning) for warning in warnings]


def outcome_anew(text: str) -> tuple[object, list[str]]:
    """`outcome`, where nothing that was made is made again."""
    of = DescriptorWords.of

    def forget(self: DescriptorWords, op: object) -> object:
        self._known.clear()
        return of(self, op)  # pyright: ignore[reportArgumentType]

    with (
        patch.object(legalization.Memory, "attempt", lambda self, op: None),
        patch.object(dma_tasks_to_npu, "form_of", lambda *_: None),
        patch.object(dma_to_npu, "form_of", lambda op: (object(),)),
        patch.object(decompose_large_dma_bd.WholePatterns, "has", lambda self, of: False),
        patch.object(DescriptorWords, "of", forget),
    ):
        return outcome(text)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.one_of(task(), task(), transfer()), min_size=2, max_size=8), st.sampled_from(TYPES))
def test_what_is_made_again_is_what_would_be_made(parts: list[list[str]], type: str) -> None:
    text = program(parts, type)
    assert outcome(text) == outcome_anew(text)


LATE_MISTAKES = {
    "Offset must be aligned": 65,
    "offset in bytes is -256": -64,
    "moves data up to byte": 65500,
}
"""Of the second of two descriptors that differ in nothing but their offsets, by what is said about it."""


@pytest.mark.parametrize("text, offset", LATE_MISTAKES.items(), ids=LATE_MISTAKES)
def test_the_offset_of_a_repeated_descriptor_is_checked(text: str, offset: int) -> None:
    type = "i8" if "aligned" in text else "i32"
    parts = [
        [
            "%t = aiex.dma_configure_task(%shim, MM2S, 0) {{",
            f"  aie.dma_bd(%a : memref<65536x{{type}}> offset = {where} len = 256)",
            "  aie.end",
            "}} {{issue_token = true}}",
            "aiex.dma_start_task(%t)",
            "aiex.dma_await_task(%t)",
        ]
        for where in (0, offset)
    ]
    made, warnings = outcome(program(parts, type))
    said = "\n".join([*(made if isinstance(made, list) else []), *warnings])
    assert text in said and ":16:" in said


def test_descriptors_that_differ_only_in_their_offsets_are_written_from_the_first() -> None:
    """Else the tests above would compare nothing."""
    from tilewright.passes.sequence.descriptor_writes import RepeatedDescriptor

    parts = [
        [
            "%t = aiex.dma_configure_task(%shim, MM2S, 0) {{",
            f"  aie.dma_bd(%a : memref<65536x{{type}}> offset = {64 * number} len = 256)",
            "  aie.end",
            "}} {{issue_token = true}}",
            "aiex.dma_start_task(%t)",
            "aiex.dma_await_task(%t)",
        ]
        for number in range(8)
    ]
    transfers = [
        [
            f"aiex.npu.dma_memcpy_nd(%a[0, 0, 0, {64 * number}][1, 1, 8, 32][0, 0, 64, 1]) "
            "{{id = 1 : i64, metadata = @in}} : memref<65536x{type}>"
        ]
        for number in range(8)
    ]
    write = RepeatedDescriptor.write
    with patch.object(RepeatedDescriptor, "write", autospec=True, side_effect=write) as written:
        compile_text(program([*parts, *transfers], "i32"), "repeated.mlir")
    assert written.call_count == 14
