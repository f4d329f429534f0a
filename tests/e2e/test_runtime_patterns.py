"""A pattern of which sizes, strides, offset, length and repeat are runtime values does what the same constants do.

Shim, mem and core tiles, one to four dimensions, with iteration, zeros around the data and repetitions; sizes that fit
their fields, that must be split, and that cannot be.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from math import prod
from typing import cast

import numpy as np
import pytest
from helpers import HEALTH_CHECKS, STRESS
from hypothesis import assume, given, reject, settings
from hypothesis import strategies as st
from txn_effects import Effect, channels_of, effects

from tilewright.codegen.sequence_scalars import RangeError, Words
from tilewright.device import DeviceName, TileId
from tilewright.driver.compiled_design import GUARDED_LOWERING, Design, compile_text
from tilewright.ir.diagnostics import DiagnosedError

DEVICE = DeviceName.npu2
ELEMENTS = {"i8": 1, "i16": 2, "i32": 4}
MOST_WALKED = 1 << 18
AS_AT_RUN_TIME = [flag for flag in GUARDED_LOWERING if not flag.startswith("aie-decompose-large-dma-bd")]
"""Without the pass that mlir-aie splits constants with: its descriptors are others, and may be several."""

CAUTIOUS = "Transfer sizes must be multiples of 4 bytes"
"""What mlir-aie says of constant rows that are no whole words, even where they lie together and so are one run."""


@dataclass(frozen=True)
class Tile:
    """A DMA and the buffer that it moves."""

    place: TileId
    buffer: str
    elements: int | None
    """None for a buffer of the host, of any size."""
    channel: str = "MM2S, 0"


TILES = {
    "shim": Tile(TileId(0, 0), "%host", None),
    "mem": Tile(TileId(0, 1), "%mem", 1 << 16),
    "core": Tile(TileId(0, 2), "%core", 1 << 13),
}


@dataclass(frozen=True)
class Shape:
    """What a program says whatever its numbers are."""

    kind: str
    dimensions: int
    element: str = "i32"
    padding: tuple[tuple[int, int], ...] = ()
    """Zeros before and after each dimension, outermost first."""
    is_transfer: bool = False
    """`npu.dma_memcpy_nd`, which has neither length nor repeat; else a task."""

    @property
    def tile(self) -> Tile:
        return TILES[self.kind]

    def text(self, values: dict[str, int] | None = None) -> str:
        names = [*(f"{letter}{n}" for letter in "st" for n in range(self.dimensions)), "offset"]
        scalars = dict.fromkeys(names, "i64") | ({} if self.is_transfer else {"length": "i32", "repeat": "i32"})
        arguments = "".join(f", %{name}: {type}" for name, type in scalars.items() if values is None)
        constants = [f"%{name} = arith.constant {(values or {}).get(name)} : {type}" for name, type in scalars.items()]
        return "\n".join(
            [
                f"aie.device({DEVICE.name}) {{",
                *(f"  %tile{row} = aie.tile(0, {row})" for row in range(3)),
                "  aie.shim_dma_allocation @in(%tile0, MM2S, 0)",
                *(f"  {line}" for line in self.buffers()),
                f"  aie.runtime_sequence @run(%host: memref<?x{self.element}>{arguments}) {{",
                *(f"    {line}" for line in (constants if values is not None else ())),
                *(f"    {line}" for line in (self.transfer() if self.is_transfer else self.task())),
                "  }",
                "}",
            ]
        )

    def buffers(self) -> Iterator[str]:
        for name, row in (("mem", 1), ("core", 2)):
            type = f"memref<{TILES[name].elements}x{self.element}>"
            yield f'%{name} = aie.buffer(%tile{row}) {{address = 4096 : i32, sym_name = "{name}"}} : {type}'

    def lists(self) -> tuple[str, str]:
        sizes, strides = (", ".join(f"%{letter}{n}" for n in range(self.dimensions)) for letter in "st")
        return sizes, strides

    def transfer(self) -> list[str]:
        sizes, strides = self.lists()
        lists = f"[0, 0, 0, %offset][{sizes}][{strides}]"
        return [
            f"aiex.npu.dma_memcpy_nd(%host{lists}) {{id = 3 : i64, metadata = @in}} : memref<?x{self.element}>",
        ]

    def task(self) -> list[str]:
        (_, row), (sizes, strides) = self.tile.place, self.lists()
        count = "?" if self.tile.elements is None else self.tile.elements
        pad = ", ".join(f"<const_pad_before = {before}, const_pad_after = {after}>" for before, after in self.padding)
        return [
            "%at = arith.trunci %offset : i64 to i32",
            f"%task = aiex.dma_configure_task(%tile{row}, {self.tile.channel}) repeat %repeat : i32 {{",
            f"  aie.dma_bd({self.tile.buffer} : memref<{count}x{self.element}> offset = %at len = %length "
            f"sizes = [{sizes}] strides = [{strides}]{f' pad [{pad}]' if pad else ''})",
            "  aie.end",
            "} {issue_token = true}",
            "aiex.dma_start_task(%task)",
            "aiex.dma_await_task(%task)",
        ]


@cache
def compiled(shape: Shape) -> Design:
    return compile_text(shape.text(), "runtime")


def at_run_time(shape: Shape, values: dict[str, int]) -> Words | str:
    try:
        return compiled(shape).txn(**values)
    except RangeError as error:
        return str(error)


def as_constants(shape: Shape, values: dict[str, int], lowering: Sequence[str] | None = None) -> Words | str:
    try:
        return compile_text(shape.text(values), "constants", lowering).txn()
    except (DiagnosedError, RangeError) as error:
        return str(error)


def pushes(words: Words) -> list[Effect]:
    return [effect for effect in effects(words, DEVICE) if effect[0] == "push"]


def walked(words: Words) -> np.ndarray:
    """The words of memory that a stream moves, in order, by what its descriptors say."""
    return np.concatenate([part for push in pushes(words) for part in _pushed(push)])


def _pushed(push: Effect) -> Iterator[np.ndarray]:
    _, tile, _, _, fields, chain = cast("tuple[str, TileId, str, int, tuple[tuple[str, int]], tuple]", push)
    for turn in range(dict(fields)["repeat_count"] + 1):
        for contents, _ in chain:
            yield _run(tile, contents, turn)


def _run(tile: TileId, contents: Sequence[int | tuple[str, int, int]], turn: int) -> np.ndarray:
    numbers = [word if isinstance(word, int) else 0 for word in contents]
    (offset,) = [word[2] for word in contents if isinstance(word, tuple)] or [0]
    fields = channels_of(DEVICE).layout(tile).decode(numbers)
    start = offset // 4 + fields.get("address", 0)
    left, indices = np.arange(fields["buffer_length"]), np.full(fields["buffer_length"], start)
    for dimension in range(4):
        step, wrap = fields.get(f"d{dimension}_step", 0), fields.get(f"d{dimension}_wrap", 0)
        here = left % wrap if wrap else left
        indices = indices + here * step
        left = (left - here) // wrap if wrap else np.zeros_like(left)
    iteration = turn % fields["iteration_wrap"] if fields["iteration_wrap"] else 0
    return indices + iteration * fields["iteration_step"]


FITS = st.one_of(st.integers(1, 5), st.just(1))
LONG = st.one_of(st.sampled_from([255, 256, 1023, 1024, 1031, 2048, 4096]), st.integers(200, 3000))
ANY_SIZE = st.one_of(FITS, LONG, st.sampled_from([64, 65, 1 << 20, 0, -1, 1 << 31, 1 << 40]))
ANY_STRIDE = st.sampled_from([0, 1, 2, 3, 4, 64, -1, 1 << 20, (1 << 20) + 4, 1 << 40])


@dataclass(frozen=True)
class Numbers:
    """Values for one call; sizes and strides are innermost first."""

    shape: Shape
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    length: int
    offset: int = 0
    repeat: int = 0

    @property
    def is_plain(self) -> bool:
        """Whether elements are what the DMA moves: it takes no bytes from here and there."""
        return self.shape.element == "i32" or self.strides[0] == 1

    @property
    def values(self) -> dict[str, int]:
        outermost = {f"s{n}": size for n, size in enumerate(reversed(self.sizes))}
        outermost |= {f"t{n}": stride for n, stride in enumerate(reversed(self.strides))}
        others = {} if self.shape.is_transfer else {"length": self.length, "repeat": self.repeat}
        return outermost | {"offset": self.offset} | others


@st.composite
def shapes(draw: st.DrawFn) -> Shape:
    kind, element = draw(st.sampled_from(list(TILES))), draw(st.sampled_from(["i32", "i32", "i8", "i16"]))
    is_transfer = kind == "shim" and draw(st.booleans())
    dimensions = 4 if is_transfer else draw(st.integers(1, 4))
    padding: tuple[tuple[int, int], ...] = ()
    if kind == "mem" and draw(st.integers(0, 4)) == 0:
        padding = ((1, 0),) * (min(dimensions, 3) - 1) + ((4, 8),)
    return Shape(kind, dimensions, element, padding, is_transfer)


@st.composite
def numbers(draw: st.DrawFn) -> Numbers:
    """Mostly a pattern that has at most one long loop; or anything."""
    shape = draw(shapes())
    per_word, is_any = 4 // ELEMENTS[shape.element], draw(st.integers(0, 3)) == 0
    sizes = [draw(ANY_SIZE if is_any else FITS) for _ in range(shape.dimensions)]
    if not is_any and draw(st.integers(0, 3)):
        sizes[draw(st.integers(0, min(shape.dimensions, 3) - 1))] = draw(LONG)
    sizes[0] *= 1 if is_any and draw(st.booleans()) else per_word
    strides = [prod(sizes[:n]) for n in range(shape.dimensions)]
    if draw(st.integers(0, 3)):  # not row-major
        steps = (draw(ANY_STRIDE if is_any else st.integers(1, 12)) for _ in sizes[1:])
        strides = [draw(st.sampled_from([1, 1, per_word, 2 * per_word])), *(per_word * step for step in steps)]
    inner, total = prod(sizes[:3]), prod(sizes)
    lengths, offsets = [inner, inner, inner, total, total], [0, 4, 64]
    if is_any:
        lengths.append(inner + per_word)
        offsets += [3, -4]
    length, offset = draw(st.sampled_from(lengths)), draw(st.sampled_from(offsets))
    assume(all(abs(stride) < 1 << 63 for stride in strides))
    return Numbers(shape, tuple(sizes), tuple(strides), _as_i32(length), offset, draw(st.integers(0, 3)))


def _as_i32(number: int) -> int:
    return (number + (1 << 31)) % (1 << 32) - (1 << 31)


@settings(max_examples=1000 if STRESS else 40, deadline=None, suppress_health_check=HEALTH_CHECKS)
@given(numbers())
def test_runtime_values_do_what_constants_do(drawn: Numbers) -> None:
    runtime, constant = at_run_time(drawn.shape, drawn.values), as_constants(drawn.shape, drawn.values, AS_AT_RUN_TIME)
    if isinstance(runtime, str) or isinstance(constant, str):
        assert isinstance(constant, str), runtime
        assert isinstance(runtime, str) or CAUTIOUS in constant, constant
    else:
        assert effects(runtime, DEVICE) == effects(constant, DEVICE)


@settings(max_examples=1000 if STRESS else 30, deadline=None, suppress_health_check=HEALTH_CHECKS)
@given(numbers().filter(lambda drawn: 0 < prod(drawn.sizes) <= MOST_WALKED and drawn.is_plain))
def test_what_is_split_is_walked_in_the_same_order(drawn: Numbers) -> None:
    """Where constants need one descriptor, so do runtime values; and in any case both visit the same words."""
    constant = as_constants(drawn.shape, drawn.values)
    if isinstance(constant, str):
        reject()
    runtime = at_run_time(drawn.shape, drawn.values)
    if isinstance(runtime, str):
        (push, *others) = pushes(constant)
        assert others or len(cast("tuple[object, ...]", push[-1])) > 1, runtime
    else:
        assert np.array_equal(walked(runtime), walked(constant))


LISTS = "sizes = [%s0, %s1, %s2, %s3] strides = [%t0, %t1, %t2, %t3]"
ARGUMENTS = ", ".join(f"%{letter}{n}: i64" for letter in "st" for n in range(4))
RUNS = {
    "transfer": """
    aiex.npu.dma_memcpy_nd(%to[0, 0, 0, 0][1, 1, 1, %count][0, 0, 0, 1]) {id = 1 : i64, metadata = @out} : memref<?xi32>
    aiex.npu.dma_memcpy_nd(%from[0, 0, 0, 0][%s0, %s1, %s2, %s3][%t0, %t1, %t2, %t3]) {id = 0 : i64, metadata = @in}
      : memref<?xi32>
    aiex.npu.dma_wait {symbol = @out}""",
    "task": f"""
    %result = aiex.dma_configure_task(%shim, S2MM, 0) {{
      aie.dma_bd(%to : memref<?xi32> offset = 0 len = %length)
      aie.end
    }} {{issue_token = true}}
    aiex.dma_start_task(%result)
    %walk = aiex.dma_configure_task(%shim, MM2S, 0) {{
      aie.dma_bd(%from : memref<?xi32> offset = 0 len = %length {LISTS})
      aie.end
    }}
    aiex.dma_start_task(%walk)
    aiex.dma_await_task(%result)""",
    **{
        tile: f"""
    %fill = aiex.dma_configure_task(%shim, MM2S, 1) {{
      aie.dma_bd(%from : memref<?xi32> offset = 0 len = {elements})
      aie.end
    }}
    aiex.dma_start_task(%fill)
    %filled = aiex.dma_configure_task(%{tile}, S2MM, 0) {{
      aie.dma_bd(%{tile}_buffer : memref<{elements}xi32> offset = 0 len = {elements})
      aie.end
    }} {{issue_token = true}}
    aiex.dma_start_task(%filled)
    aiex.dma_await_task(%filled)
    %result = aiex.dma_configure_task(%shim, S2MM, 1) {{
      aie.dma_bd(%to : memref<?xi32> offset = 0 len = %length)
      aie.end
    }} {{issue_token = true}}
    aiex.dma_start_task(%result)
    %walk = aiex.dma_configure_task(%{tile}, MM2S, 0) {{
      aie.dma_bd(%{tile}_buffer : memref<{elements}xi32> offset = 0 len = %length {LISTS})
      aie.end
    }}
    aiex.dma_start_task(%walk)
    aiex.dma_await_task(%result)"""
        for tile, elements in (("mem", 32768), ("core", 8192))
    },
}


@cache
def looped(what: str) -> Design:
    """A design that brings elements of its first array, in the order of a runtime pattern, to its second."""
    tile = "core" if what == "core" else "mem"
    return compile_text(
        f"""aie.device(npu2) {{
  %shim = aie.tile(0, 0)
  %mem = aie.tile(0, 1)
  %core = aie.tile(0, 2)
  %mem_buffer = aie.buffer(%mem) : memref<32768xi32>
  %core_buffer = aie.buffer(%core) : memref<8192xi32>
  aie.flow(%shim, DMA : 0, %shim, DMA : 0)
  aie.flow(%shim, DMA : 1, %{tile}, DMA : 0)
  aie.flow(%{tile}, DMA : 0, %shim, DMA : 1)
  aie.shim_dma_allocation @in(%shim, MM2S, 0)
  aie.shim_dma_allocation @out(%shim, S2MM, 0)
  aie.runtime_sequence @run(%from: memref<?xi32>, %to: memref<?xi32>, {ARGUMENTS}) {{
    %rows = arith.muli %s0, %s1 : i64
    %columns = arith.muli %s2, %s3 : i64
    %count = arith.muli %rows, %columns : i64
    %length = arith.trunci %count : i64 to i32
    {RUNS[what]}
  }}
}}""",
        what,
    )


@pytest.mark.parametrize(
    "what, sizes, strides",
    [
        pytest.param("transfer", [1, 3, 5, 1024], [0, 7000, 1100, 1], id="d0 in halves, d2 to the iteration"),
        pytest.param("transfer", [1, 2, 1500, 4], [0, 8000, 5, 1], id="d1 to d2, which has no limit"),
        pytest.param("transfer", [5, 1, 3, 2046], [10, 0, 3000, 2], id="the iteration stays"),
        pytest.param("transfer", [1, 1, 3, 1031], [0, 0, 2000, 3], id="a prime"),
        pytest.param("transfer", [1, 4, 3, 2048], [0, 6144, 2048, 1], id="one run"),
        pytest.param("task", [1, 3, 5, 1024], [0, 7000, 1100, 1], id="planes of a task as repetitions"),
        pytest.param("mem", [2, 3, 4, 8], [512, 96, 16, 1], id="four dimensions"),
        pytest.param("mem", [5, 4, 3, 2], [1, 7, 100, 1000], id="four dimensions, backwards"),
        pytest.param("mem", [1, 3, 5, 1024], [1, 7000, 1100, 1], id="three dimensions become four"),
        pytest.param("mem", [1, 1, 3, 5000], [1, 1, 5001, 1], id="rows in parts"),
        pytest.param("mem", [1, 4, 2000, 2], [1, 4001, 3, 1], id="many rows"),
        pytest.param("mem", [3, 1, 1024, 2], [9000, 1, 3, 1], id="many rows of four dimensions"),
        pytest.param("core", [1, 4, 6, 16], [1, 500, 33, 2], id="three dimensions"),
        pytest.param("core", [1, 1, 5, 512], [1, 1, 600, 1], id="rows of a core in parts"),
        pytest.param("core", [1, 3, 2, 512], [1, 2000, 600, 1], id="planes of a core as repetitions"),
    ],
)
def test_run_on_the_simulator(what: str, sizes: list[int], strides: list[int]) -> None:
    source = np.arange(1 << 15, dtype=np.int32)
    result = np.zeros(prod(sizes), dtype=np.int32)
    looped(what).run(source, result, *sizes, *strides)
    steps = [source.itemsize * stride for stride in strides]
    assert np.array_equal(result, np.lib.stride_tricks.as_strided(source, sizes, steps).ravel())


@pytest.mark.parametrize(
    "what, sizes, complaint",
    [
        ("transfer", [2, 3, 5, 1024], "d0 size, which the other dimensions leave no room to split, is 1024"),
        ("transfer", [1, 65, 1024, 8], "d1 size, which the other dimensions leave no room to split, is 1024"),
        ("mem", [2, 3, 1024, 2], "d1 size, which the other dimensions leave no room to split, is 1024"),
        ("mem", [1, 3, 1031, 2], "d1 size, which the other dimensions leave no room to split, is 1031"),
        ("core", [1, 65, 3, 256], "d0 size, which the other dimensions leave no room to split, is 256"),
        ("core", [2, 3, 4, 5], "length less the product of d0, d1 and d2 size is 60"),
    ],
)
def test_what_one_descriptor_cannot_do_is_refused(what: str, sizes: list[int], complaint: str) -> None:
    with pytest.raises(RangeError, match=complaint):
        looped(what).txn(**{f"s{n}": size for n, size in enumerate(sizes)}, t0=4000, t1=2000, t2=3, t3=1)


def test_a_wait_for_constants_in_several_parts_waits_for_all() -> None:
    """100 iterations are two descriptors; the token of the first is not the end of the transfer."""
    sizes, strides = [100, 2, 3, 8], [64, 32, 10, 1]
    design = compile_text(
        f"""aie.device(npu2) {{
  %shim = aie.tile(0, 0)
  aie.flow(%shim, DMA : 0, %shim, DMA : 0)
  aie.shim_dma_allocation @in(%shim, MM2S, 0)
  aie.shim_dma_allocation @out(%shim, S2MM, 0)
  aie.runtime_sequence @run(%from: memref<?xi32>, %to: memref<?xi32>) {{
    aiex.npu.dma_memcpy_nd(%to[0, 0, 0, 0]{sizes}{strides}) {{id = 1 : i64, metadata = @out}} : memref<?xi32>
    aiex.npu.dma_memcpy_nd(%from[0, 0, 0, 0][1, 1, 1, {prod(sizes)}][0, 0, 0, 1]) {{id = 0 : i64, metadata = @in}}
      : memref<?xi32>
    aiex.npu.dma_wait {{symbol = @out}}
  }}
}}""",
        "parts",
    )
    source, result = np.arange(1, prod(sizes) + 1, dtype=np.int32), np.zeros(8192, dtype=np.int32)
    design.run(source, result)
    expected = np.zeros_like(result)
    np.lib.stride_tricks.as_strided(expected, sizes, [4 * stride for stride in strides])[:] = source.reshape(sizes)
    assert np.array_equal(result, expected)
