"""Whatever buffers and locks a tile has: they get places and numbers that the hardware has, or a located error."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple, TypeVar

import pytest
from helpers import parsed, run_passes
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.ir import Operation

from tilewright.device import DeviceName, model
from tilewright.dialects.aie.buffers import BufferOp
from tilewright.dialects.aie.locks import LockOp
from tilewright.ir.diagnostics import DiagnosedError, errors_in, file_position
from tilewright.ir.pass_manager import Pass
from tilewright.passes.design.assign_buffer_addresses import AssignBufferAddressesPass, descending_order
from tilewright.passes.design.assign_lock_ids import AssignLockIdsPass

NPU1 = model(DeviceName.npu1)
CORE, MEM = (0, 2), (0, 1)
OpT = TypeVar("OpT", bound=Operation)


class Wish(NamedTuple):
    """A buffer as a program asks for it."""

    size: int
    address: int | None
    bank: int | None
    aligned: bool

    def text(self, number: int) -> str:
        numbers = {"address": self.address, "mem_bank": self.bank}
        parts = [f"{name} = {value} : i32" for name, value in numbers.items() if value is not None]
        parts += [f'sym_name = "b{number}"', f"aligned = {str(self.aligned).lower()}"]
        return f"%b{number} = aie.buffer(%tile) {{{', '.join(parts)}}} : memref<{self.size}xi8>"


@st.composite
def wishes(draw: st.DrawFn, memory: int, banks: int) -> Wish:
    size = draw(st.integers(1, 64) | st.integers(1, memory // 3))
    kind = draw(st.sampled_from(["free", "free", "free", "address", "bank"]))
    address = 32 * draw(st.integers(0, memory // 32)) if kind == "address" else None
    bank = draw(st.integers(0, banks)) if kind == "bank" else None
    return Wish(size, address, bank, draw(st.booleans()))


@st.composite
def tiles(draw: st.DrawFn) -> tuple[tuple[int, int], int, list[Wish]]:
    """A tile, the size of the stack, and what is to go into the tile's memory."""
    place = draw(st.sampled_from([CORE, MEM]))
    resources = NPU1.tile_resources(*place)
    stack = draw(st.sampled_from([0, 0x400, 0x5000])) if place == CORE else 0
    found = draw(st.lists(wishes(resources.data_memory_bytes, resources.memory_banks), max_size=12))
    return place, stack, found


def run(text: str, step: Pass, kind: type[OpT]) -> list[OpT] | None:
    """The operations of a kind after the pass; None if it refuses the program, and says where and why."""
    module = parsed(text)
    try:
        run_passes(module, step)
    except DiagnosedError as error:
        errors = errors_in(error.diagnostics)
        assert errors and all(file_position(found.location) for found in errors)
        return None
    return [op for op in module.walk() if isinstance(op, kind)]


def program(place: tuple[int, int], stack: int, wanted: list[Wish]) -> str:
    core = f"%core = aie.core(%tile) {{ aie.end }} {{stack_size = {stack} : i32}}" if stack else ""
    buffers = "\n".join(wish.text(number) for number, wish in enumerate(wanted))
    return f"aie.device(npu1) {{\n%tile = aie.tile({place[0]}, {place[1]})\n{buffers}\n{core}\n}}"


@settings(max_examples=60, deadline=None)
@given(tiles(), st.sampled_from(["", "bank-aware", "basic-sequential"]))
def test_addresses(tile: tuple[tuple[int, int], int, list[Wish]], scheme: str) -> None:
    place, stack, wanted = tile
    buffers = run(program(*tile), AssignBufferAddressesPass(scheme), BufferOp)
    if buffers is None:
        return
    resources = NPU1.tile_resources(*place)
    bank_bytes = resources.data_memory_bytes // resources.memory_banks
    ranges: list[range] = []
    for wish, buffer in zip(wanted, buffers, strict=True):
        address = buffer.address_bytes
        assert address is not None and wish.address in (None, address)
        assert not wish.aligned or address % (resources.bus_bits // 8) == 0
        if scheme != "basic-sequential":
            assert wish.bank is None or address // bank_bytes == wish.bank
        if scheme == "bank-aware":
            assert buffer.mem_bank is not None and buffer.mem_bank.value.data == address // bank_bytes
            assert (address + wish.size - 1) // bank_bytes == address // bank_bytes
        ranges.append(range(address, address + wish.size))
    ranges.sort(key=lambda each: each.start)
    assert all(lower.stop <= upper.start for lower, upper in pairwise(ranges))
    assert not ranges or (ranges[0].start >= stack and ranges[-1].stop <= resources.data_memory_bytes)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(16, 2048), max_size=8), st.sampled_from([CORE, MEM]))
def test_what_fits_is_placed(sizes: list[int], place: tuple[int, int]) -> None:
    """Nobody asks for anything: eight buffers of 2 KiB have room in any tile, whichever the scheme."""
    wanted = [Wish(size, None, None, True) for size in sizes]
    for scheme in ("", "bank-aware", "basic-sequential"):
        assert run(program(place, 0, wanted), AssignBufferAddressesPass(scheme), BufferOp) is not None


@pytest.mark.parametrize(
    "sizes, order",
    [
        pytest.param([1, 3, 2, 3, 1], [1, 3, 2, 0, 4], id="few: in the order of the program"),
        pytest.param([1] * 20, [10, *range(19, 10, -1), 0, *range(9, 0, -1)], id="many equal ones"),
        pytest.param([1, 2] * 9, [9, 17, 15, 13, 11, 7, 5, 3, 1, 6, 8, 0, 10, 4, 12, 14, 2, 16], id="two sizes"),
    ],
)
def test_order_of_equal_buffers(sizes: list[int], order: list[int]) -> None:
    """As a C++ program prints it that sorts the same sizes with `std::sort` (g++ 12, libstdc++)."""
    assert descending_order(sizes) == order


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.booleans(), st.none() | st.integers(0, 15)), max_size=24))
def test_lock_numbers(wanted: list[tuple[bool, int | None]]) -> None:
    """Numbers are unique in their tile and those that were asked for; only too many or equal ones are refused."""
    lines = [
        f"%l{i} = aie.lock(%{'a' if first else 'b'}{'' if number is None else f', {number}'})"
        for i, (first, number) in enumerate(wanted)
    ]
    text = "\n".join(["aie.device(npu1) {", "%a = aie.tile(0, 2)", "%b = aie.tile(0, 3)", *lines, "}"])
    locks = run(text, AssignLockIdsPass(), LockOp)
    per_tile = {tile: [number for first, number in wanted if first is tile] for tile in (True, False)}
    asked = {tile: [number for number in numbers if number is not None] for tile, numbers in per_tile.items()}
    is_possible = all(len(each) <= 16 for each in per_tile.values()) and all(
        len(set(each)) == len(each) for each in asked.values()
    )
    assert (locks is not None) == is_possible
    if locks is None:
        return
    found = [lock.number for lock in locks]
    assert all(number in (None, got) for (_, number), got in zip(wanted, found, strict=True))
    for tile in (True, False):
        numbers = [got for (first, _), got in zip(wanted, found, strict=True) if first is tile]
        assert len(set(numbers)) == len(numbers) and set(numbers) <= set(range(16))
