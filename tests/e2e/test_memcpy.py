"""Copies that tokens hold back, on the simulator: each feature as a design of its own, three times on one device."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest
from memcpy_designs import TokenDesign, add_loop, copy, give, part, take

import tilewright as tw

Array = npt.NDArray[Any]
Arguments = list[Any]
DTYPES: dict[str, Any] = {
    "i8": np.int8,
    "i16": np.int16,
    "i32": np.int32,
    "bf16": ml_dtypes.bfloat16,
    "f32": np.float32,
}
RUNS = 3


def words(count: int) -> str:
    return f"memref<{count}xi32>"


def numbers(count: int) -> Array:
    return np.arange(count, dtype=np.int32)


def room(count: int) -> Array:
    return np.zeros(count, np.int32)


def check_runs(
    text: str, make: Callable[[int], Arguments], expected: Callable[[Arguments], Array], out: int = 1
) -> None:
    """Run a design several times without loading it anew; argument `out` is what NumPy says it is."""
    loaded = tw.compile(text).load()
    for run in range(RUNS):
        arguments = make(run)
        wanted = expected(arguments)
        loaded.run(*arguments)
        np.testing.assert_array_equal(arguments[out], wanted)


def add_one(element: str, count: int, *, is_sized: bool) -> str:
    """The host's data to a core, one added to them, and back."""
    design, type = TokenDesign("npu1_1col"), f"memref<{count}x{element}>"
    shim, core = design.tile(0, 0), design.tile(0, 2)
    source, target = (design.buffer(0, 2, name, type) for name in ("source", "target"))
    for token in ("arrived", "computed"):
        design.token(token)
    amount = "1" if element.startswith("i") else "1.0"
    design.core(0, 2, take("arrived"), *add_loop(source, target, count, type, element, amount=amount), give("computed"))
    length, more = ("%n", ["i32", "i32"]) if is_sized else (count, [])
    return design.text(
        f"%a: {type}, %b: {type}" + (", %n: i32" if is_sized else ""),
        [
            copy("@arrived(0, 1)", [part(shim, "%a", 0, length), part(core, source, 0, length)], [type, type, *more]),
            copy("@computed(1, 0)", [part(core, target, 0, length), part(shim, "%b", 0, length)], [type, type, *more]),
        ],
    )


@pytest.mark.parametrize("count", [64, 4096])
@pytest.mark.parametrize("element", DTYPES)
def test_add_one(element: str, count: int) -> None:
    dtype = DTYPES[element]
    check_runs(
        add_one(element, count, is_sized=False),
        lambda run: [(np.arange(count) % 100 + run).astype(dtype), np.zeros(count, dtype)],
        lambda arguments: arguments[0] + dtype(1),
    )


@pytest.mark.parametrize("element", ["i8", "i32", "bf16"])
def test_add_one_to_as_many_as_a_run_says(element: str) -> None:
    count, dtype = 256, DTYPES[element]

    def expected(arguments: Arguments) -> Array:
        result = np.zeros(count, dtype)
        result[: arguments[2]] = arguments[0][: arguments[2]] + dtype(1)
        return result

    check_runs(
        add_one(element, count, is_sized=True),
        lambda run: [(np.arange(count) % 50).astype(dtype), np.zeros(count, dtype), [256, 4, 100][run]],
        expected,
    )


def test_lengths_that_only_a_run_knows_are_compared() -> None:
    text = add_one("i32", 64, is_sized=True).replace("%n: i32", "%n: i32, %m: i32")
    design = tw.compile(text.replace("<%source, 0, %n>", "<%source, 0, %m>"))
    design.run(numbers(64), room(64), 64, 64)
    with pytest.raises(tw.RangeError, match="length of the source less that of the destination, in bytes, is 128"):
        design.run(numbers(64), room(64), 64, 32)


@pytest.mark.parametrize("device", ["npu1", "npu2"])
def test_through_mem_tile_and_back(device: str) -> None:
    """Host, mem tile, core, mem tile, host: copies between tiles take and give tokens on both."""
    design, type = TokenDesign(device), words(64)
    shim, store, core = design.tile(0, 0), design.tile(0, 1), design.tile(0, 2)
    there, back = (design.buffer(0, 1, name, type) for name in ("there", "back"))
    source, target = (design.buffer(0, 2, name, type) for name in ("source", "target"))
    for token in ("stored", "arrived", "computed", "returned"):
        design.token(token)
    design.core(0, 2, take("arrived"), *add_loop(source, target, 64, type), give("computed"))
    text = design.text(
        f"%a: {type}, %b: {type}",
        [
            copy("@stored(0, 1)", [part(shim, "%a", 0, 64), part(store, there, 0, 64)], [type] * 2),
            copy("@stored(1, 0), @arrived(0, 1)", [part(store, there, 0, 64), part(core, source, 0, 64)], [type] * 2),
            copy("@computed(1, 0), @returned(0, 1)", [part(core, target, 0, 64), part(store, back, 0, 64)], [type] * 2),
            copy("@returned(1, 0)", [part(store, back, 0, 64), part(shim, "%b", 0, 64)], [type] * 2),
        ],
    )
    check_runs(text, lambda run: [numbers(64) + run, room(64)], lambda arguments: arguments[0] + 1)


@pytest.mark.parametrize("uses", [("1", "1", 1), ("1", "2", 2)], ids=["the same value", "a value for each end"])
def test_a_token_goes_along_from_core_to_core(uses: tuple[str, str, int]) -> None:
    """One token: the first core gives it, the copy takes it there and gives it here, the second core takes it."""
    design, type = TokenDesign(), words(64)
    shim, first, second = design.tile(0, 0), design.tile(0, 2), design.tile(0, 3)
    source, sent = (design.buffer(0, 2, name, type) for name in ("source", "sent"))
    received, target = (design.buffer(0, 3, name, type) for name in ("received", "target"))
    for token in ("arrived", "passed", "computed"):
        design.token(token)
    taken, given, wanted = uses
    design.core(0, 2, take("arrived"), *add_loop(source, sent, 64, type), give("passed"))
    design.core(0, 3, take("passed", wanted), *add_loop(received, target, 64, type, amount="10"), give("computed"))
    text = design.text(
        f"%a: {type}, %b: {type}",
        [
            copy("@arrived(0, 1)", [part(shim, "%a", 0, 64), part(first, source, 0, 64)], [type] * 2),
            copy(f"@passed({taken}, {given})", [part(first, sent, 0, 64), part(second, received, 0, 64)], [type] * 2),
            copy("@computed(1, 0)", [part(second, target, 0, 64), part(shim, "%b", 0, 64)], [type] * 2),
        ],
    )
    check_runs(text, lambda run: [numbers(64) + run, room(64)], lambda arguments: arguments[0] + 11)


def adders(design: TokenDesign, count: int, *, share_input: bool) -> tuple[list[str], list[str]]:
    """Cores that each add another number. Their inputs, and the copies of their outputs to parts of %b."""
    shim, type, inputs, outputs = design.tile(0, 0), words(32), list[str](), list[str]()
    for number in range(count):
        column, row = number // 4, 2 + number % 4
        core = design.tile(column, row)
        source, target = (design.buffer(column, row, f"{name}{number}", type) for name in ("source", "target"))
        arrived = "arrived" if share_input else design.token(f"arrived{number}")
        computed = design.token(f"computed{number}")
        sums = add_loop(source, target, 32, type, amount=str(number + 1))
        design.core(column, row, take(arrived), *sums, give(computed))
        inputs.append(part(core, source, 0, 32))
        ends = [part(core, target, 0, 32), part(shim, "%b", 32 * number, 32)]
        outputs.append(copy(f"@{computed}(1, 0)", ends, [type, words(32 * count)]))
    return inputs, outputs


@pytest.mark.parametrize("device", ["npu1", "npu2"])
def test_one_to_many_and_many_to_one(device: str) -> None:
    design = TokenDesign(device)
    design.token("arrived")
    inputs, outputs = adders(design, 5, share_input=True)
    spread = copy("@arrived(0, 1)", [part(design.tile(0, 0), "%a", 0, 32), *inputs], [words(32)] * 6)
    check_runs(
        design.text(f"%a: {words(32)}, %b: {words(160)}", [spread, *outputs]),
        lambda run: [numbers(32) * (run + 1), room(160)],
        lambda arguments: np.concatenate([arguments[0] + number + 1 for number in range(5)]),
    )


def test_more_routes_than_channels_share_them() -> None:
    """A shim tile has two channels in each direction, and six cores want other data each: they get packets."""
    design, type = TokenDesign("npu2"), words(192)
    inputs, outputs = adders(design, 6, share_input=False)
    shim = design.tile(0, 0)
    spread = [
        copy(f"@arrived{n}(0, 1)", [part(shim, "%a", 32 * n, 32), end], [type, words(32)])
        for n, end in enumerate(inputs)
    ]
    check_runs(
        design.text(f"%a: {type}, %b: {type}", [*spread, *outputs]),
        lambda run: [numbers(192) + run, room(192)],
        lambda arguments: arguments[0] + np.repeat(numbers(6) + 1, 32),
    )


def walked(data: Array, sizes: Sequence[int], strides: Sequence[int]) -> Array:
    """The elements in the order in which sizes and strides, outermost first, visit them."""
    steps = [np.arange(size) * stride for size, stride in zip(sizes, strides, strict=True)]
    return data[sum(np.ix_(*steps))].reshape(-1)


def pattern(sizes: Sequence[int], strides: Sequence[int]) -> str:
    return f"sizes = {list(sizes)} strides = {list(strides)}"


@pytest.mark.parametrize("device", ["npu1", "npu2"])
@pytest.mark.parametrize(
    "row, sizes, strides",
    [
        pytest.param(2, [16, 16], [1, 16], id="core, transposed"),
        pytest.param(2, [4, 8, 8], [8, 32, 1], id="core, three dimensions"),
        pytest.param(1, [4, 4, 4, 4], [4, 16, 64, 1], id="mem tile, four dimensions"),
        pytest.param(1, [2, 8, 4, 4], [4, 32, 8, 1], id="mem tile, four dimensions, blocks"),
    ],
)
def test_patterns_at_both_ends(device: str, row: int, sizes: list[int], strides: list[int]) -> None:
    """The host's data are read in one order, what is stored is sent back in another."""
    design, type = TokenDesign(device), words(256)
    shim, tile, buffer = design.tile(0, 0), design.tile(0, row), design.buffer(0, row, "stored", type)
    design.token("arrived")
    host = [2, 8, 4, 4], [4, 32, 8, 1]
    text = design.text(
        f"%a: {type}, %b: {type}",
        [
            copy("@arrived(0, 1)", [part(shim, "%a", 0, 256, pattern(*host)), part(tile, buffer, 0, 256)], [type] * 2),
            copy(
                "@arrived(1, 0)",
                [part(tile, buffer, 0, 256, pattern(sizes, strides)), part(shim, "%b", 0, 256)],
                [type] * 2,
            ),
        ],
    )
    check_runs(
        text,
        lambda run: [numbers(256) + run, room(256)],
        lambda arguments: walked(walked(arguments[0], *host), sizes, strides),
    )


@pytest.mark.parametrize(
    "row, cases",
    [
        pytest.param(
            2,
            [([4, 8, 8], [8, 32, 1]), ([1, 16, 16], [0, 1, 16]), ([8, 2, 16], [32, 16, 1])],
            id="core, three dimensions",
        ),
        pytest.param(
            1,
            [([4, 4, 4, 4], [4, 16, 64, 1]), ([2, 8, 4, 4], [4, 32, 8, 1]), ([1, 1, 2, 128], [1, 1, 128, 1])],
            id="mem tile, four dimensions",
        ),
    ],
)
def test_patterns_of_a_run(row: int, cases: list[tuple[list[int], list[int]]]) -> None:
    """As `test_patterns_at_both_ends`, from one build."""
    design, type, dimensions = TokenDesign("npu2"), words(256), len(cases[0][0])
    shim, tile, buffer = design.tile(0, 0), design.tile(0, row), design.buffer(0, row, "stored", type)
    design.token("arrived")
    names = [
        [f"%{side}{letter}{n}" for n in range(count)]
        for side, count in (("h", 4), ("t", dimensions))
        for letter in "sd"
    ]
    host, inside = (
        f"sizes = [{', '.join(sizes)}] strides = [{', '.join(strides)}]" for sizes, strides in (names[:2], names[2:])
    )
    text = design.text(
        ", ".join([f"%a: {type}", f"%b: {type}", *(f"{name}: i32" for group in names for name in group)]),
        [
            copy(
                "@arrived(0, 1)",
                [part(shim, "%a", 0, 256, host), part(tile, buffer, 0, 256)],
                [type, type, *["i32"] * 8],
            ),
            copy(
                "@arrived(1, 0)",
                [part(tile, buffer, 0, 256, inside), part(shim, "%b", 0, 256)],
                [type, type, *["i32"] * 2 * dimensions],
            ),
        ],
    )
    hosts = [([2, 8, 4, 4], [4, 32, 8, 1]), ([1, 2, 8, 16], [0, 16, 32, 1]), ([16, 1, 1, 16], [1, 0, 0, 16])]

    def make(run: int) -> Arguments:
        return [numbers(256) + run, room(256), *hosts[run][0], *hosts[run][1], *cases[run][0], *cases[run][1]]

    def expected(arguments: Arguments) -> Array:
        data, _, *values = arguments
        sizes, strides = values[8 : 8 + dimensions], values[8 + dimensions :]
        return walked(walked(data, values[:4], values[4:8]), sizes, strides)

    check_runs(text, make, expected)


def test_offsets_sizes_and_strides_of_a_run() -> None:
    design, type = TokenDesign(), words(64)
    shim, core = design.tile(0, 0), design.tile(0, 2)
    source, target = (design.buffer(0, 2, name, type) for name in ("source", "target"))
    for token in ("arrived", "computed"):
        design.token(token)
    design.core(0, 2, take("arrived"), *add_loop(source, target, 64, type), give("computed"))
    rows = "sizes = [%rows, 8] strides = [%pitch, 1]"
    text = design.text(
        f"%a: {words(1024)}, %b: {type}, %rows: i32, %pitch: i32, %from: i32",
        [
            "%c8 = arith.constant 8 : i32",
            "%n = arith.muli %rows, %c8 : i32",
            copy(
                "@arrived(0, 1)",
                [part(shim, "%a", "%from", "%n", rows), part(core, source, 0, "%n")],
                [words(1024), type, *["i32"] * 5],
            ),
            copy(
                "@computed(1, 0)", [part(core, target, 0, "%n"), part(shim, "%b", 0, "%n")], [type, type, "i32", "i32"]
            ),
        ],
    )

    def expected(arguments: Arguments) -> Array:
        data, _, rows, pitch, start = arguments
        result = room(64)
        result[: 8 * rows] = walked(data[start:], [rows, 8], [pitch, 1]) + 1
        return result

    cases = [(8, 100, 3), (2, 8, 0), (5, 17, 500)]
    check_runs(text, lambda run: [numbers(1024), room(64), *cases[run]], expected)


def ping_pong(chunks: int, last: str) -> str:
    """Two buffers in each direction: while the core works on one, the other is filled or emptied."""
    design, type, host = TokenDesign(), words(16), words(16 * chunks)
    shim, core, program, body = design.tile(0, 0), design.tile(0, 2), list[str](), list[str]()
    for side in range(2):
        source, target = (design.buffer(0, 2, f"{name}{side}", type) for name in ("source", "target"))
        for token, value in (("empty", 1), ("full", 0), ("room", 1), ("done", 0)):
            design.token(f"{token}{side}", value)
        program += [take(f"full{side}"), take(f"room{side}")]
        program += add_loop(source, target, 16, type, amount=str(side + 1))
        program += [give(f"empty{side}"), give(f"done{side}")]
        at, ends = f"%at{side}", part(core, source, 0, 16)
        body += [
            f"%side{side} = arith.constant {16 * side} : index",
            f"%at{side} = arith.addi %pair, %side{side} : index",
        ]
        body.append(
            copy(f"@empty{side}(1, 0), @full{side}(0, 1)", [part(shim, "%a", at, 16), ends], [host, type, "index"])
        )
        ends = part(core, target, 0, 16)
        body.append(
            copy(f"@done{side}(1, 0), @room{side}(0, 1)", [ends, part(shim, "%b", at, 16)], [type, host, "index"])
        )
    design.core(0, 2, *program)
    constants = [
        f"%{name} = arith.constant {n} : index" for name, n in (("zero", 0), ("two", 2), ("size", 16), ("all", chunks))
    ]
    loop = ["%some = arith.index_cast %n : i32 to index", f"scf.for %k = %zero to {last} step %two {{"]
    return design.text(
        f"%a: {host}, %b: {host}, %n: i32", [*constants, *loop, "%pair = arith.muli %k, %size : index", *body, "}"]
    )


@pytest.mark.parametrize("last, chunks", [("%all", [8, 8, 8]), ("%some", [8, 2, 0])], ids=["known", "at run time"])
def test_ping_pong_in_a_loop(last: str, chunks: list[int]) -> None:
    def expected(arguments: Arguments) -> Array:
        result = arguments[0].reshape(8, 16) + np.array([[1], [2]] * 4, np.int32)
        result[arguments[2] :] = 0
        return result.reshape(-1)

    check_runs(ping_pong(8, last), lambda run: [numbers(128) + run, room(128), chunks[run]], expected)


def test_a_branch_decides_what_is_copied() -> None:
    text = add_one("i32", 64, is_sized=False).replace(
        "%b: memref<64xi32>", "%b: memref<64xi32>, %c: memref<64xi32>, %n: i32"
    )
    first, _ = (line for line in text.splitlines() if "aiex.memcpy" in line)
    branches = ["%zero = arith.constant 0 : i32", "%yes = arith.cmpi ne, %n, %zero : i32", "scf.if %yes {", first]
    branches += ["} else {", first.replace("%a", "%c"), "}"]
    check_runs(
        text.replace(first, "\n".join(branches)),
        lambda run: [numbers(64), room(64), numbers(64) * 3, run % 2],
        lambda arguments: (arguments[0] if arguments[3] else arguments[2]) + 1,
    )


def test_more_copies_than_descriptors() -> None:
    """A core tile has 16 descriptors, and a queue holds 4 tasks: later copies wait for earlier ones."""
    design, type, host = TokenDesign(), words(8), words(320)
    shim, core = design.tile(0, 0), design.tile(0, 2)
    source, target = (design.buffer(0, 2, name, type) for name in ("source", "target"))
    for token, value in (("empty", 1), ("full", 0), ("room", 1), ("done", 0)):
        design.token(token, value)
    design.core(0, 2, take("full"), take("room"), *add_loop(source, target, 8, type), give("empty"), give("done"))
    steps = list[str]()
    for at in range(0, 320, 8):
        ends = [part(shim, "%a", at, 8), part(core, source, 0, 8)]
        steps.append(copy("@empty(1, 0), @full(0, 1)", ends, [host, type]))
        ends = [part(core, target, 0, 8), part(shim, "%b", at, 8)]
        steps.append(copy("@done(1, 0), @room(0, 1)", ends, [type, host]))
    check_runs(
        design.text(f"%a: {host}, %b: {host}", steps),
        lambda run: [numbers(320) + run, room(320)],
        lambda arguments: arguments[0] + 1,
    )


def test_a_core_waits_for_several_parts() -> None:
    """Token values above one: four copies give one each, the core takes four, and gives one to each of two copies."""
    design, type = TokenDesign(), words(64)
    shim, core = design.tile(0, 0), design.tile(0, 2)
    source, target = (design.buffer(0, 2, name, type) for name in ("source", "target"))
    for token in ("parts", "done"):
        design.token(token)
    design.core(0, 2, take("parts", 4), *add_loop(source, target, 64, type), give("done", 2))
    steps = [
        copy("@parts(0, 1)", [part(shim, "%a", at, 16), part(core, source, 48 - at, 16)], [type] * 2)
        for at in range(0, 64, 16)
    ]
    steps += [copy("@done(1, 0)", [part(core, target, at, 32), part(shim, "%b", at, 32)], [type] * 2) for at in (0, 32)]
    check_runs(
        design.text(f"%a: {type}, %b: {type}", steps),
        lambda run: [numbers(64) + run, room(64)],
        lambda arguments: arguments[0].reshape(4, 16)[::-1].reshape(-1) + 1,
    )


def test_a_core_that_only_gives_starts_with_each_run() -> None:
    design, type = TokenDesign(), words(16)
    shim, core, counts = design.tile(0, 0), design.tile(0, 2), design.buffer(0, 2, "counts", type)
    design.token("counted")
    design.core(0, 2, *add_loop(counts, counts, 16, type), give("counted"))
    ends = [part(core, counts, 0, 16), part(shim, "%b", 0, 16)]
    loaded = tw.compile(design.text(f"%b: {type}", [copy("@counted(1, 0)", ends, [type] * 2)])).load()
    for run in range(RUNS):
        result = room(16)
        loaded.run(result)
        assert (result == run + 1).all()


def test_values_that_count_up_along_a_chain() -> None:
    """One token for all: each step takes a value that only the step before gives, as programs for older locks do it."""
    design, type = TokenDesign(), words(16)
    tiles = [design.tile(0, 2), design.tile(1, 3), design.tile(2, 4)]
    buffers = [design.buffer(column, 2 + column, f"stage{column}", type) for column in range(3)]
    shim = design.tile(0, 0)
    for token in ("step", "done"):
        design.token(token)
    for column, buffer in enumerate(buffers):
        sums = add_loop(buffer, buffer, 16, type, amount=str(10**column))
        told = give("step", 2 * column + 1) if column < 2 else give("done")
        design.core(column, 2 + column, take("step", 2 * column), *sums, told)
    steps = [
        copy(
            f"@step({2 * n + 1}, {2 * n + 2})",
            [part(tiles[n], buffers[n], 0, 16), part(tiles[n + 1], buffers[n + 1], 0, 16)],
            [type] * 2,
        )
        for n in range(2)
    ]
    steps.append(copy("@done(1, 0)", [part(tiles[2], buffers[2], 0, 16), part(shim, "%b", 0, 16)], [type] * 2))
    loaded = tw.compile(design.text(f"%b: {type}", steps)).load()
    for run in range(RUNS):
        result = room(16)
        loaded.run(result)
        assert (result == run + 1 + 110).all(), result


FIFOS = """
  aie.objectfifo @there(%t00, {%t02}, 2 : i32) : !aie.objectfifo<memref<16xi32>>
  aie.objectfifo @back(%t02, {%t00}, 2 : i32) : !aie.objectfifo<memref<16xi32>>"""
OPENED = [
    "%read = aie.objectfifo.acquire @there(Consume, 1) : !aie.objectfifosubview<memref<16xi32>>",
    "%from = aie.objectfifo.subview.access %read[0] : !aie.objectfifosubview<memref<16xi32>> -> memref<16xi32>",
    "%written = aie.objectfifo.acquire @back(Produce, 1) : !aie.objectfifosubview<memref<16xi32>>",
    "%to = aie.objectfifo.subview.access %written[0] : !aie.objectfifosubview<memref<16xi32>> -> memref<16xi32>",
]
CLOSED = ["aie.objectfifo.release @there(Consume, 1)", "aie.objectfifo.release @back(Produce, 1)"]


def transfer(argument: str, fifo: str, number: int, more: str = "") -> str:
    pattern = f"{argument}[0, 0, 0, 0][1, 1, 1, 16][0, 0, 0, 1]"
    return f"aiex.npu.dma_memcpy_nd({pattern}) {{id = {number} : i64, metadata = @{fifo}{more}}} : memref<16xi32>"


@pytest.mark.parametrize("last", ["%all", "%some"])
def test_beside_fifos_on_the_same_tiles(last: str) -> None:
    """Channels, locks and descriptors of FIFOs and transfers are left alone, in straight sequences and in loops."""
    design, type, host = TokenDesign(), words(16), words(128)
    shim, core = design.tile(0, 0), design.tile(0, 2)
    source, target = (design.buffer(0, 2, name, type) for name in ("source", "target"))
    design.lines.append(FIFOS)
    for token, value in (("empty", 1), ("full", 0), ("room", 1), ("done", 0)):
        design.token(token, value)
    waits, tells = [take("full"), take("room")], [give("empty"), give("done")]
    copied = ["%c0 = arith.constant 0 : index", "%c1 = arith.constant 1 : index", "%c8 = arith.constant 8 : index"]
    copied += ["scf.for %k = %c0 to %c8 step %c1 {", *waits, *add_loop(source, target, 16, type), *tells, "}"]
    design.core(0, 2, *copied, *OPENED, *add_loop("%from", "%to", 16, type, amount="5"), *CLOSED)
    ends = [part(shim, "%a", "%k", 16), part(core, source, 0, 16)]
    body = [copy("@empty(1, 0), @full(0, 1)", ends, [host, type, "index"])]
    ends = [part(core, target, 0, 16), part(shim, "%b", "%k", 16)]
    body.append(copy("@done(1, 0), @room(0, 1)", ends, [type, host, "index"]))
    constants = [f"%{name} = arith.constant {n} : index" for name, n in (("zero", 0), ("size", 16), ("all", 128))]
    sequence = [*constants, "%some = arith.index_cast %n : i32 to index"]
    sequence += [transfer("%d", "back", 1, ", issue_token = true"), transfer("%c", "there", 0)]
    sequence += [f"scf.for %k = %zero to {last} step %size {{", *body, "}", "aiex.npu.dma_wait {symbol = @back}"]
    arguments = [numbers(128), room(128), 128, numbers(16) * 7, room(16)]
    tw.compile(design.text(f"%a: {host}, %b: {host}, %n: i32, %c: {type}, %d: {type}", sequence)).run(*arguments)
    np.testing.assert_array_equal(arguments[1], numbers(128) + 1)
    np.testing.assert_array_equal(arguments[4], numbers(16) * 7 + 5)


def test_two_sequences_share_the_cores() -> None:
    text = add_one("i32", 64, is_sized=False)
    sequence = text[text.index("  aie.runtime_sequence") : text.rindex("}")]
    text = text.replace(sequence, sequence + sequence.replace("@run", "@again"))
    loaded = tw.compile(text).load()
    for name in ("run", "again", "run"):
        result = room(64)
        loaded.run(numbers(64), result, sequence=name)
        np.testing.assert_array_equal(result, numbers(64) + 1)


def test_a_wait_that_depends_on_a_run_is_explained_by_the_simulator() -> None:
    """What the core fills is emptied after the loop, so that two rounds are the most; a run says how many there are."""
    design, type = TokenDesign(), words(8)
    shim, core = design.tile(0, 0), design.tile(0, 2)
    source, target = (design.buffer(0, 2, name, type) for name in ("source", "target"))
    for token, value in (("empty", 1), ("full", 0), ("room", 1)):
        design.token(token, value)
    design.core(0, 2, take("full"), take("room"), *add_loop(source, target, 8, type), give("empty"))
    ends = [part(shim, "%a", 0, 8), part(core, source, 0, 8)]
    loop = ["%zero = arith.constant 0 : i32", "%one = arith.constant 1 : i32"]
    loop += ["scf.for %k = %zero to %n step %one : i32 {", copy("@empty(1, 0), @full(0, 1)", ends, [type] * 2), "}"]
    emptied = copy("@room(0, 1)", [part(core, target, 0, 8), part(shim, "%a", 0, 8)], [type] * 2)
    compiled = tw.compile(design.text(f"%a: {type}, %n: i32", [*loop, emptied]))
    compiled.run(numbers(8), 2)
    with pytest.raises(tw.Hang, match=r"the core of tile \(0, 2\) needs lock 2 .*>= 1, it is 0"):
        compiled.run(numbers(8), 3)


def test_neighbours_share_a_token_without_a_copy() -> None:
    """The second core reads what the first one wrote into its own memory; their token is a lock that both reach."""
    design, type = TokenDesign(), words(16)
    shim, below = design.tile(0, 0), design.tile(0, 2)
    source, middle = (design.buffer(0, 2, name, type) for name in ("source", "middle"))
    for token in ("arrived", "halfway", "computed"):
        design.token(token)
    design.core(0, 2, take("arrived"), *add_loop(source, middle, 16, type), give("halfway"))
    above = design.tile(0, 3)
    target = design.buffer(0, 3, "target", type)
    design.core(0, 3, take("halfway"), *add_loop(middle, target, 16, type, amount="10"), give("computed"))
    steps = [copy("@arrived(0, 1)", [part(shim, "%a", 0, 16), part(below, source, 0, 16)], [type] * 2)]
    steps += [copy("@computed(1, 0)", [part(above, target, 0, 16), part(shim, "%b", 0, 16)], [type] * 2)]
    check_runs(
        design.text(f"%a: {type}, %b: {type}", steps),
        lambda run: [numbers(16) + run, room(16)],
        lambda arguments: arguments[0] + 11,
    )
