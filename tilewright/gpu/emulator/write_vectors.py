"""Instructions on vectors as expressions."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tilewright.gpu.emulator.program import Instruction

if TYPE_CHECKING:
    from tilewright.gpu.emulator.write import Writer

Write = Callable[["Writer", Instruction], str]


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


def _reduce(w: Writer, i: Instruction) -> str:
    return _number(w, i, f"vreduce({w.text(i.ins[0])}, {i.extra['combine']!r})")


VECTORS: dict[str, Write] = {
    "vbroadcast": _broadcast,
    "vextract": _extract,
    "vpick": _pick,
    "vinsert": _insert,
    "vreshape": _reshape,
    "vslice": _slice,
    "vgather": _gather,
    "vreduce": _reduce,
}
