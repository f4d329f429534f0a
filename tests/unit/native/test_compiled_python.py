"""The small part of Python that becomes native code means what Python means."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewright.native.compiled_python import (
    CompiledFunctions,
    NotCompilable,
    copy_bytes,
    load32,
    load64,
    lowest_bit,
    rotated_right,
    store32,
)
from tilewright.native.object_cache import cached_object
from tilewright.native.shared_state import Column, Number, SharedState

STEP = 3
NUMBERS = st.integers(-(1 << 31), 1 << 31)


class Shared(SharedState):
    total: Number
    seen: Column


functions = CompiledFunctions(Shared)


@functions.entry
def classify(s: Shared, x: int, y: int) -> int:
    """Conditions of every kind."""
    if 0 < x <= y and not x & 1:
        return 1
    elif x < 0 or y < 0:
        return 2 if x < y else 3
    return x > y


@functions.entry
def collatz(s: Shared, n: int) -> int:
    """Loops, calls, division, and a column that is written."""
    steps = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else STEP * n + 1
        steps += 1
        if steps > 60:
            break
    for i in range(4):
        if i == 2:
            continue
        s.seen[i] += steps ^ i
    for i in range(1, 3):
        s.total += classify(s, i, steps)
    return steps


@functions.entry
def bits_of(s: Shared, x: int) -> int:
    """Bits, from the lowest on."""
    count = 0
    while x != 0:
        s.total = max(s.total, lowest_bit(x))
        x &= x - 1
        count += 1
    return -count if ~count < -8 else count


@functions.entry
def turned(s: Shared, bits: int, count: int) -> int:
    return rotated_right(bits, count)


@functions.entry
def copy_some(s: Shared, source: int, target: int, count: int) -> int:
    copy_bytes(target, source, count)
    return 0


@functions.entry
def copy_word(s: Shared, source: int, target: int) -> int:
    store32(target, load32(source))
    return load64(source)


def takes_text(s: Shared, x: int) -> int:
    return len(str(x))


@given(st.integers(-(1 << 63), (1 << 63) - 1), st.integers(0, 63))
def test_bits_that_are_turned(bits: int, count: int) -> None:
    shared = Shared(seen=1)
    found = functions[turned](shared.address, bits, count)
    assert found == turned(shared, bits, count)
    text = f"{bits & (1 << 64) - 1:064b}"
    assert f"{found & (1 << 64) - 1:064b}" == text[64 - count :] + text[: 64 - count]


@pytest.mark.parametrize("count", [0, 1, 7, 64])
def test_memory_that_is_copied(count: int) -> None:
    shared, source = Shared(seen=1), np.arange(64, dtype=np.uint8)
    for copy in (functions[copy_some], lambda _, *numbers: copy_some(shared, *numbers)):
        target = np.full(64, 99, np.uint8)
        copy(shared.address, source.ctypes.data, target.ctypes.data, count)
        assert target.tolist() == [*range(count), *[99] * (64 - count)]


@given(x=NUMBERS, y=NUMBERS)
def test_conditions(x: int, y: int) -> None:
    state = Shared(seen=4)
    assert functions[classify](state.address, x, y) == classify(state, x, y)


@given(n=st.integers(1, 10_000))
def test_loops_and_state(n: int) -> None:
    native, python = Shared(seen=4), Shared(seen=4)
    assert functions[collatz](native.address, n) == collatz(python, n)
    assert native.total == python.total and np.array_equal(native.array("seen"), python.array("seen"))


@given(x=st.integers(0, (1 << 62) - 1))
def test_bits(x: int) -> None:
    native, python = Shared(seen=4), Shared(seen=4)
    assert functions[bits_of](native.address, x) == bits_of(python, x)
    assert native.total == python.total


def test_memory() -> None:
    words = np.array([0x89ABCDEF, 0x01234567, 0, 5], dtype=np.uint32)
    found = functions[copy_word](Shared(seen=4).address, words.ctypes.data, words.ctypes.data + 8)
    assert found == 0x0123456789ABCDEF and words.tolist() == [0x89ABCDEF, 0x01234567, 0x89ABCDEF, 5]


def test_what_is_beyond_it_is_refused_with_its_place() -> None:
    refused = CompiledFunctions(Shared)
    with pytest.raises(NotCompilable, match=r"takes_text, line 2: len\(str\(x\)\)"):
        refused[refused.entry(takes_text)]


def test_machine_code_is_kept_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEWRIGHT_CACHE", str(tmp_path / "cache"))
    assert cached_object("key", lambda: b"code") == b"code"
    assert cached_object("key", lambda: b"other") == b"code"
    assert [path.name for path in (tmp_path / "cache").iterdir()] == ["key.o"]
    monkeypatch.setenv("TILEWRIGHT_CACHE", "/dev/null/nowhere")
    assert cached_object("key", lambda: b"made each time") == b"made each time"
