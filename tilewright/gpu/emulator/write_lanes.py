"""Operations that lanes of a wave do together, as calls; and vectors, which are short rows of numbers in every lane."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tilewright.gpu.emulator.program import Instruction

if TYPE_CHECKING:
    from tilewright.gpu.emulator.write import Writer


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


def _broadcast(w: Writer, i: Instruction) -> str:
    kind = i.outs[0].kind
    return f"vbroadcast({w.text(i.ins[0])}, {kind.shape}, {w.dtype(kind)})"


def _number(w: Writer, i: Instruction, text: str) -> str:
    """A result that is no vector; of a uniform vector it is a single number."""
    return f"one({text})" if i.outs[0].uniform and not i.outs[0].kind.shape else text


def _extract(w: Writer, i: Instruction) -> str:
    return _number(w, i, f"vextract({w.text(i.ins[0])}, {i.extra['position']})")


def _pick(w: Writer, i: Instruction) -> str:
    lanes = "1" if i.outs[0].uniform else "g.lanes"
    return _number(w, i, f"vpick({w.text(i.ins[0])}, {w.text(i.ins[1])}, {lanes})")


def _insert(w: Writer, i: Instruction) -> str:
    return f"vinsert({w.typed(i.ins[0])}, {w.text(i.ins[1])}, {i.extra['position']})"


def _reshape(w: Writer, i: Instruction) -> str:
    return f"vreshape({w.text(i.ins[0])}, {i.outs[0].kind.shape})"


def _slice(w: Writer, i: Instruction) -> str:
    return f"vslice({w.text(i.ins[0])}, {i.extra['starts']}, {i.extra['ends']})"


def _gather(w: Writer, i: Instruction) -> str:
    kind = i.outs[0].kind
    return f"vgather([{', '.join(map(w.text, i.ins))}], {kind.shape}, {w.dtype(kind)})"


def _reduce_vector(w: Writer, i: Instruction) -> str:
    return _number(w, i, f"vreduce({w.text(i.ins[0])}, {i.extra['combine']!r})")


LANES: dict[str, Callable[[Writer, Instruction], None]] = {
    "shuffle": _shuffle,
    "readlane": _read_lane,
    "ballot": _ballot,
    "vote": _vote,
    "wavereduce": _reduce,
    "mbcnt": _mbcnt,
    "printf": _printf,
}
"""Instructions that write their results themselves."""
VECTORS: dict[str, Callable[[Writer, Instruction], str]] = {
    "vbroadcast": _broadcast,
    "vextract": _extract,
    "vpick": _pick,
    "vinsert": _insert,
    "vreshape": _reshape,
    "vslice": _slice,
    "vgather": _gather,
    "vreduce": _reduce_vector,
}
"""Instructions as the expressions of their results."""
