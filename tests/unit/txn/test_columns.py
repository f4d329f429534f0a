"""Native code and NumPy take the same streams apart, put the same ones together, and refuse the same."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random
from types import ModuleType
from typing import Any, TypeVar

import numpy as np
import pytest
from damaged_streams import EXAMPLES, mutated
from hypothesis import given, settings
from hypothesis import strategies as st

from tilewright import txn
from tilewright.txn import codec, columns

T = TypeVar("T")


def outcome(work: Callable[[], T]) -> T | str:
    try:
        return work()
    except txn.TxnError as error:
        return str(error)


def with_route(native: ModuleType | None, work: Callable[[], T]) -> T | str:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(codec, "_native", lambda _words: native)
        return outcome(work)


def by_both(work: Callable[[], T]) -> tuple[T | str, T | str]:
    return with_route(columns, work), with_route(None, work)


def assert_same(left: txn.Stream | str, right: txn.Stream | str) -> None:
    if isinstance(left, str) or isinstance(right, str):
        assert left == right
        return
    assert left.header == right.header and np.array_equal(left.opcodes, right.opcodes)
    assert left.groups.keys() == right.groups.keys()
    for opcode, group in left.groups.items():
        other = right.groups[opcode]
        assert group.layout is other.layout and group.fields.keys() == other.fields.keys()
        for a, b in (
            (getattr(group, name), getattr(other, name)) for name in ("positions", "payload_starts", "payload")
        ):
            assert a.dtype == b.dtype and np.array_equal(a, b)
        for name, column in group.fields.items():
            assert column.dtype == other.fields[name].dtype and np.array_equal(column, other.fields[name])


@settings(max_examples=300)
@given(st.sampled_from(EXAMPLES), st.integers(0, 1 << 30), st.booleans())
def test_both_take_a_stream_apart_alike_or_refuse_it_alike(data: bytes, seed: int, whole: bool):
    data = data if whole else mutated(data, Random(seed))
    left, right = by_both(lambda: txn.decode(data))
    assert_same(left, right)
    if isinstance(left, txn.Stream):
        for words in by_both(lambda: txn.encode(left)):
            assert isinstance(words, np.ndarray) and words.tobytes() == data


def test_a_header_that_announces_a_billion_operations_asks_for_no_memory():
    words = np.array([0x06030100, 0x104, 1 << 30, 40, 0, 0, 4, 0, 5, 24], dtype=np.uint32)
    left, right = by_both(lambda: txn.decode(words))
    assert left == right and "announces 1073741824 operations" in str(left)


def _shorter_column(group: Any) -> Any:
    return replace(group, fields=group.fields | {"address": group.fields["address"][:-1]})


def _payload_behind_its_end(group: Any) -> Any:
    return replace(group, payload_starts=group.payload_starts + 5)


def _positions_of_others(group: Any) -> Any:
    return replace(group, positions=group.positions[::-1].copy())


def _wide_numbers(group: Any) -> Any:
    return replace(group, fields={name: column.astype(np.int64) for name, column in group.fields.items()})


@pytest.mark.parametrize(
    "change",
    [_shorter_column, _payload_behind_its_end, _positions_of_others, _wide_numbers],
    ids=lambda it: it.__name__,
)
def test_columns_that_do_not_fit_each_other_never_reach_native_code(change: Callable[[Any], Any]):
    blocks = [txn.block_write(0x1D000 + 32 * index, range(8)) for index in range(4)]
    stream = txn.Stream.of(txn.Header(), blocks)
    group = stream.groups[txn.Opcode.BLOCKWRITE]
    stream.groups[txn.Opcode.BLOCKWRITE] = change(group)

    def encoded() -> bytes | str:
        try:
            return txn.encode(stream).tobytes()
        except (IndexError, ValueError) as error:
            return str(error)

    left, right = by_both(encoded)
    assert left == right
