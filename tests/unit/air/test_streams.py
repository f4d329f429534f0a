"""Channels within a block: streams between what it does outside of herds and what waves of its herds do."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tilewright import air
from tilewright.air.tensors import claimed
from tilewright.cli.main import main
from tilewright.iron.builders.location import UsageError

RACES: dict[str, Any] = {"settings": {"check": "races", "reorder": "on"}}


@pytest.fixture(autouse=True)
def nothing_declared() -> None:
    """What a test that ended early has left does not belong to the next one."""
    claimed()


def numbers(*shape: int, dtype: Any = np.int32) -> np.ndarray:
    return np.arange(prod(shape)).reshape(shape).astype(dtype)


def in_segment(body: Callable[[], Any], grid: Any = None) -> Any:
    """A launch with one segment, over the tensors that were declared."""
    with air.launch(grid, name="streams") as launch:

        @launch.body
        def _(*_):
            air.segment(name="block").body(body)

    return launch


def test_more_or_less_is_got_than_was_put_at_a_time() -> None:
    source, result = air.tensor([64, 3], air.i8), air.tensor([192], air.i8)
    there, back = air.channel("there"), air.channel("back")

    def body() -> None:
        there.put(source)

        @air.herd(1)
        def _(_):
            part = air.alloc([48], air.i8)
            for turn in air.sequential(4):
                there.get(part)
                part[:] = part[:] + turn.astype(air.i8)
                back.put(part)

        back.get(result)

    found = in_segment(body).compile(**RACES)(numbers(64, 3, dtype=np.int8))
    assert np.array_equal(found, (np.arange(192) + np.repeat(np.arange(4), 48)).astype(np.int8))


SIZES = st.lists(st.sampled_from([1, 2, 5, 8, 33, 64]), min_size=1, max_size=4)


@settings(max_examples=20, deadline=None)
@given(puts=SIZES, gets=SIZES, rounds=st.integers(1, 3), blocks=st.integers(1, 3), dtype=st.sampled_from("fih"))
def test_streams_keep_order(puts: list[int], gets: list[int], rounds: int, blocks: int, dtype: str) -> None:
    """What is got, all of it one behind the other, is what was put: from memory, by waves, in loops, in each block."""
    total, kind = sum(puts) * rounds, np.dtype(dtype)
    gets = [min(size, total) for size in gets]
    turns = total // sum(gets)

    @air.jit
    def stream(given, found):
        straight, turned = air.channel("straight"), air.channel("turned")

        @air.launch(blocks)
        def _(block):
            first: Any = 0
            for turn in air.sequential(rounds):
                for size in puts:
                    begin = turn * sum(puts) + first
                    straight.put(given[block, begin : begin + size])
                    first += size

            @air.herd(1)
            def _(_):
                for _ in air.sequential(turns):
                    for size in gets:
                        part = air.alloc([size], kind)
                        straight.get(part)
                        turned.put(-part[:])

            if turns:
                turned.get(found[block, : turns * sum(gets)])

    given = np.random.default_rng(total).integers(-100, 100, (blocks, total)).astype(kind)
    found = np.zeros_like(given)
    stream.options(**RACES)(given, found)
    count = turns * sum(gets)
    assert np.array_equal(found[:, :count], -given[:, :count])


@pytest.mark.parametrize("chip", ["sm_90", "gfx942"])
def test_waves_of_a_herd_send_to_each_other(chip: str) -> None:
    """Each wave stamps its number on a tile and hands it to the next one."""
    source, result = air.tensor([2, 3, 40], air.i32), air.tensor([2, 3, 40], air.i32)
    ring = air.channel("ring", size=[2, 3])

    def body() -> None:
        @air.herd((2, 3))
        def _(x, y):
            tile = air.load(source[x, y, :])
            ring.put(tile + (x * 3 + y), [(x + 1) % 2, (y + 1) % 3])
            found = air.alloc([40], air.i32)
            ring.get(found, [x, y])
            result[x, y, :] = found[:]

    given = numbers(2, 3, 40)
    stamped = given + numbers(2, 3)[:, :, None]
    assert np.array_equal(in_segment(body).compile(chip, **RACES)(given), np.roll(stamped, (1, 1), (0, 1)))


def test_a_broadcast_of_all_waves_reaches_all_ends() -> None:
    source, result = air.tensor([2, 300], air.f32), air.tensor([2, 4, 300], air.f32)
    rows = air.channel("rows", size=[2, 1], broadcast_shape=[2, 4])

    def body() -> None:
        for row in range(2):
            rows.put(source[row, :], [row, 0])

        @air.herd((2, 4))
        def _(x, y):
            part = air.alloc([300])
            rows.get(part, indices=[x, y])
            result[x, y, :] = part[:] + y.astype(air.f32)

    given = numbers(2, 300, dtype=np.float32)
    assert np.array_equal(
        in_segment(body).compile(**RACES)(given), given[:, None] + np.arange(4, dtype=np.float32)[:, None]
    )


def test_herds_stages_and_memory_of_the_block_are_joined() -> None:
    source, result = air.tensor([64], air.f32), air.tensor([64], air.f32)
    into, between, out = (air.channel(name) for name in ("into", "between", "out"))

    def body() -> None:
        staged = air.shared([64])
        into.put(source)
        into.get(staged)
        into.put(staged)

        @air.herd(1)
        def _(_):
            part = air.alloc([64])
            into.get(part)
            between.put(part[:] * part[:])

        @air.herd(1)
        def _(_):
            part = air.alloc([64])
            between.get(part)
            part[:] = part[:] + 1.0
            out.put(part)

        out.get(staged)
        air.ops.store(staged, result[:])

    given = numbers(64, dtype=np.float32)
    assert np.array_equal(in_segment(body).compile(**RACES)(given), given * given + 1)


def test_sizes_and_loops_may_be_open_where_the_host_knows_them() -> None:
    @air.jit
    def doubled(a, b, steps):
        chunks, results = air.channel("chunks"), air.channel("results")

        @air.launch(air.cdiv(a.shape[0], 64 * 4), waves=2)
        def _(block):
            first = block * 256
            for step in air.sequential(air.cdiv(256, steps * 64)):
                chunks.put(a[first + step * 64 : first + step * 64 + 64])
            part = air.alloc([32])
            for _ in air.sequential(air.cdiv(256, steps * 64) * 2):
                chunks.get(part)
                results.put(part[:] * 2.0)
            # what is beyond the array is not stored
            results.get(b[first : first + 256])

    for size in (200, 256, 1000):
        a = numbers(size, dtype=np.float32)
        b = np.zeros_like(a)
        doubled.options(**RACES)(a, b, 1)
        assert np.array_equal(b, 2 * a)


def test_a_part_may_go_micro_tile_by_micro_tile() -> None:
    source, result = air.tensor([2, 24, 16], air.i16), air.tensor([2, 3, 8, 8], air.i16)
    packed, tiles = air.channel("packed"), air.micro_tile(m=1, k=8, n=8)

    def body() -> None:
        for number in range(2):
            packed.put(source[number, :, 8:16], pack=tiles.b(24, 8, lead=()))

        @air.herd(1)
        def _(_):
            for number in air.sequential(2):
                part = air.alloc([3, 8, 8], air.i16)
                token = packed.get(part, dependency=air.wait())
                air.ops.store(part, result[number, :, :, :], dependency=token)

    given = numbers(2, 24, 16, dtype=np.int16)
    assert np.array_equal(in_segment(body).compile(**RACES)(given), given[:, :, 8:].reshape(2, 3, 8, 8))


def test_launches_have_channels_of_their_own_and_types_streams_of_their_own() -> None:
    @air.jit
    def mixed(a, b, c, d):
        both = air.channel("both")
        for source, scales, result, shown in ((a, b, c, d), (c, d, a, b)):

            @air.launch(1)
            def _(_, source=source, scales=scales, result=result, shown=shown):
                both.put(source[:64])
                both.put(scales[:8])
                both.get(shown[:8])
                both.get(result[:64])

    a, b = numbers(64, dtype=np.int8), numbers(8, dtype=np.float32)
    c, d = np.zeros_like(a), np.zeros_like(b)
    mixed.options(**RACES)(a, b, c, d)
    assert np.array_equal(a, c) and np.array_equal(b, d) and a[1] == b[1] == 1


def test_room_for_a_launch_is_given_back() -> None:
    @air.jit
    def again(a, b):
        c = air.channel("c")
        for _ in air.sequential(50):

            @air.launch(air.cdiv(a.shape[0], 1024))
            def _(block):
                c.put(a[block * 1024 : (block + 1) * 1024])
                c.get(b[block * 1024 : (block + 1) * 1024])

    a = numbers(10000, dtype=np.float32)
    b = np.zeros_like(a)
    again.options(settings={"memory": "200000"})(a, b)
    assert np.array_equal(a, b)


@pytest.mark.parametrize("chip, orders", [("sm_90", "st.release.cta.shared"), ("gfx942", "ds_write_b64")])
def test_streams_are_compiled_for_gpus(chip: str, orders: str, tmp_path: Path) -> None:
    a, b = air.tensor([64], air.f32), air.tensor([64], air.f32)
    c = air.channel("c", size=[2])

    def body() -> None:
        c.put(a[0:32], [0])
        c.put(a[32:64], [1])

        @air.herd(2)
        def _(x):
            part = air.alloc([32])
            c.get(part, [x])
            b[x * 32 : x * 32 + 32] = part[:]

    source = tmp_path / "streams.mlir"
    source.write_text(in_segment(body).mlir(chip))
    lanes = "32" if chip == "sm_90" else "64"
    assert main(["air", "compile", str(source), "--target", chip, "--wave-size", lanes, "-o", str(tmp_path)]) == 0
    assert any(orders in path.read_text() for path in tmp_path.iterdir() if path.suffix in (".ptx", ".s"))


def never_put(c: Any, d: Any, a: Any) -> None:
    c.get(a)


def got_by_a_herd(c: Any, d: Any, a: Any) -> None:
    @air.herd(1)
    def _(_):
        d.get(air.alloc([8], air.i32), [0])


def other_type(c: Any, d: Any, a: Any) -> None:
    c.put(a)

    @air.herd(1)
    def _(_):
        c.get(air.alloc([8], air.f32))


def several_put(c: Any, d: Any, a: Any) -> None:
    @air.herd(3)
    def _(_):
        c.put(a[0:8])


def several_get(c: Any, d: Any, a: Any) -> None:
    d.put(a, [1])

    @air.herd((3, 1))
    def _(x, y):
        for turn in air.sequential(2):
            d.get(air.alloc([8], air.i32), [turn + 0])


def beyond(c: Any, d: Any, a: Any) -> None:
    d.put(a, 2)


def without_index(c: Any, d: Any, a: Any) -> None:
    d.put(a)


def no_message(c: Any, d: Any, a: Any) -> None:
    c.put(3)


def no_index(c: Any, d: Any, a: Any) -> None:
    d.put(a, ["x"])


def packed_by_a_list(c: Any, d: Any, a: Any) -> None:
    c.put(a, pack=[2, 4])


def packed_line(c: Any, d: Any, a: Any) -> None:
    c.put(a, pack=air.micro_tile(2, 2, 2).a(2, 4))


def waits_for_a_number(c: Any, d: Any, a: Any) -> None:
    c.put(a, dependency=[3])


def until_something(c: Any, d: Any, a: Any) -> None:
    for turn in air.sequential(2):
        for _ in air.sequential(a[turn]):
            c.put(a)


@pytest.mark.parametrize(
    "body, said",
    [
        (never_put, "nothing of i32 has been put into channel c"),
        (got_by_a_herd, "nothing of i32 has been put into channel d"),
        (other_type, "nothing of f32 has been put into channel c"),
        (several_put, "all 3 waves of this herd put into one end of channel c"),
        (several_get, "all 3 waves of this herd get from one end of channel d"),
        (beyond, "index 2 is outside of a dimension of 2, of <channel d[2]>"),
        (without_index, "<channel d[2]> has 1 dimensions, and 0 indices are given"),
        (no_message, "a channel's `put` takes an array or a part of one"),
        (no_index, "an index of a channel is a whole number, not 'x'"),
        (packed_by_a_list, "what is packed is a part of an array, by a shape"),
        (packed_line, "a part of 8 has no rows and columns of A alone"),
        (waits_for_a_number, "one waits for tokens, not for 3"),
        (until_something, "how much a block puts into channel c is not known before the launch"),
    ],
    ids=lambda case: case.__name__ if callable(case) else "",
)
def test_what_cannot_be_is_refused_at_the_line(body: Callable[..., None], said: str) -> None:
    a = air.tensor([8], air.i32)
    c, d = air.channel("c"), air.channel("d", size=[2])
    launch = in_segment(lambda: body(c, d, a))
    with pytest.raises(UsageError) as refused:
        launch.mlir()
    assert said in str(refused.value)
    assert "test_streams.py" in str(refused.value).splitlines()[0]


def test_channels_of_one_name_are_as_many_as_each_says() -> None:
    """What one of two has room for does not decide where the other's lies."""
    a = air.tensor([8], air.i32)
    one, several = air.channel("c"), air.channel("c", size=[3])

    def body() -> None:
        one.put(a)
        several.get(a, [2])

    with pytest.raises(UsageError, match="nothing of i32 has been put into channel c"):
        in_segment(body).mlir()


@pytest.mark.parametrize("size, ends", [([2], [4]), ([4], [2]), ([1, 2], [3, 4])])
def test_several_channels_have_an_end_each(size: list[int], ends: list[int]) -> None:
    with pytest.raises(UsageError, match=f"{size[-1]} channels cannot have {ends[-1]} ends in a dimension"):
        air.channel("c", size=size, broadcast_shape=ends)


def test_who_waits_for_more_than_is_put_is_told_so() -> None:
    a, b = air.tensor([64], air.i32), air.tensor([96], air.i32)
    c = air.channel("c")

    def body() -> None:
        c.put(a)

        @air.herd(1)
        def _(_):
            for turn in air.sequential(3):
                part = air.alloc([32], air.i32)
                c.get(part)
                b[turn * 32 : turn * 32 + 32] = part[:]

    with pytest.raises(Exception, match="asks whether 64 is at least 96") as hung:
        in_segment(body).compile()(numbers(64))
    assert "test_streams.py" in str(hung.value)
