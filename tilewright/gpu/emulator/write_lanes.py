"""Operations that lanes of a wave do together, as calls; and vectors, which are short rows of numbers in every lane."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tilewright.gpu.emulator.program import Instruction

if TYPE_CHECKING:
    from tilewright.gpu.emulator.write import Writer

Write = Callable[["Writer", Instruction], None]


def _shuffle(w: Writer, i: Instruction) -> None:
    value, offset, width = i.ins
    found, valid = i.outs
    mode = i.extra["mode"]
    call = f"g.shuffle({w.spread(value)}, {w.text(offset)}, {w.text(width)}, {mode!r}, m, {w.site(i)})"
    w.line(f"s0, s1 = {call}")
    w.assign(found, "s0", True)
    w.assign(valid, "s1", True)


def _read_lane(w: Writer, i: Instruction) -> None:
    value, lane = i.ins
    w.assign(i.outs[0], f"g.read_lane({w.spread(value)}, {w.text(lane)}, m, {w.site(i)})", True)


def _ballot(w: Writer, i: Instruction) -> None:
    w.assign(i.outs[0], f"g.ballot({w.spread(i.ins[0])}, m, {w.dtype(i.outs[0].kind)})", True)


def _vote(w: Writer, i: Instruction) -> None:
    w.assign(i.outs[0], f"g.vote({w.spread(i.ins[0])}, m, {i.extra['all']})", True)


def _reduce(w: Writer, i: Instruction) -> None:
    extra = i.extra
    call = f"g.reduce({w.spread(i.ins[0])}, {extra['combine']!r}, {extra['size']}, {extra['stride']}, m)"
    w.assign(i.outs[0], call, True)


def _mbcnt(w: Writer, i: Instruction) -> None:
    mask, start, lane = (w.text(operand) for operand in i.ins)
    w.assign(i.outs[0], f"g.count_below({mask}, {start}, {lane}, {i.extra['high']})", True)


def _printf(w: Writer, i: Instruction) -> None:
    values = ", ".join(w.spread(operand) for operand in i.ins)
    w.line(f"g.printf({i.extra['format']!r}, m, [{values}])")


LANES: dict[str, Write] = {
    "shuffle": _shuffle,
    "readlane": _read_lane,
    "ballot": _ballot,
    "vote": _vote,
    "wavereduce": _reduce,
    "mbcnt": _mbcnt,
    "printf": _printf,
}
