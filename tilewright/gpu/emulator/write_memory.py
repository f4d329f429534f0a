"""Accesses to memory as calls of the functions that do them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tilewright.gpu.emulator.program import (
    LDS_WINDOW,
    PRIVATE_SHIFT,
    PRIVATE_WINDOW,
    Constant,
    Instruction,
    Operand,
    Space,
    Unsupported,
)

if TYPE_CHECKING:
    from tilewright.gpu.emulator.write import Writer

Write = Callable[["Writer", Instruction], None]


def _private(w: Writer, pointer: Operand, place: Operand, size: int) -> tuple[int, str] | None:
    """Which private buffer a pointer points into, and at which element."""
    if not isinstance(pointer, Constant) or pointer.value < PRIVATE_WINDOW:
        return None
    number, start = divmod(pointer.value - PRIVATE_WINDOW, 1 << PRIVATE_SHIFT)
    if start % size:
        raise Unsupported("an address inside of a private buffer lies between two elements")
    return number, w.text(place) if start == 0 else f"{w.text(place)} + {start // size}"


def _shared_start(pointer: Operand) -> int | None:
    """At which byte of the block's memory a pointer points."""
    if isinstance(pointer, Constant) and LDS_WINDOW <= pointer.value < PRIVATE_WINDOW:
        return pointer.value - LDS_WINDOW
    return None


def _address(w: Writer, i: Instruction, pointer: Operand, place: Operand) -> str:
    size, limit = i.extra["kind"].bytes, i.extra.get("limit")
    if isinstance(place, Constant) and place.value == 0 and (limit is None or limit > 0) and _pattern(w, i) == "None":
        return w.text(pointer)
    return f"g.address({w.text(pointer)}, {w.text(place)}, {size}, m, {limit}, {w.site(i)}, {_pattern(w, i)})"


def _pattern(w: Writer, i: Instruction) -> str:
    """Which elements behind the first one a vector is made of."""
    pattern = i.extra.get("pattern")
    return "None" if pattern is None else w.name(f"pattern{id(pattern)}", pattern)


def _load(w: Writer, i: Instruction) -> None:
    pointer, place = i.ins
    kind, result = i.extra["kind"], i.outs[0]
    private = _private(w, pointer, place, kind.bytes)
    if private is not None:
        number, text = private
        name = "gather" if w.is_array(place) else "load"
        w.assign(result, f"g.private[{number}].{name}({text}, m, {w.site(i)}, {_pattern(w, i)})", True)
    else:
        w.assign(result, _shared_load(w, i, pointer, place), not result.uniform or bool(result.kind.shape))


def _shared_load(w: Writer, i: Instruction, pointer: Operand, place: Operand) -> str:
    kind, limit, site, pattern = w.dtype(i.extra["kind"]), i.extra["limit"], w.site(i), _pattern(w, i)
    one = i.outs[0].uniform
    if w.careful:
        address = _address(w, i, pointer, place)
        return f"g.access.{'load_one' if one else 'load'}(g, {address}, {kind}, m, {site}, {pattern})"
    # the common case: a buffer of the block, known when the code is written
    start = _shared_start(pointer)
    if start is not None:
        return f"g.load_lds({start}, {w.text(place)}, {kind}, m, {limit}, {site}, {pattern})"
    # one pointer into global memory is one range, which all lanes index; anything else is sorted by ranges first
    if w.is_array(pointer) or i.extra["space"] is not Space.GLOBAL:
        return f"g.load_any({_address(w, i, pointer, place)}, {kind}, m, {site}, {pattern})"
    name = "load_one" if one else "load"
    return f"g.{name}({w.text(pointer)}, {w.text(place)}, {kind}, m, {limit}, {site}, {pattern})"


def _store(w: Writer, i: Instruction) -> None:
    value, pointer, place = i.ins
    kind, limit, site, pattern = w.dtype(i.extra["kind"]), i.extra["limit"], w.site(i), _pattern(w, i)
    private = _private(w, pointer, place, i.extra["kind"].bytes)
    if private is not None:
        number, text = private
        name = "scatter" if w.is_array(place) else "store"
        w.line(f"g.private[{number}].{name}({text}, {w.spread(value)}, m, {site}, {pattern})")
        return
    start = _shared_start(pointer)
    text = w.typed(value)
    if w.careful:
        w.line(f"g.access.store(g, {_address(w, i, pointer, place)}, {text}, {kind}, m, {site}, {pattern})")
    elif start is not None:
        w.line(f"g.store_lds({start}, {w.text(place)}, {text}, {kind}, m, {limit}, {site}, {pattern})")
    elif w.is_array(pointer) or i.extra["space"] is not Space.GLOBAL:
        w.line(f"g.store_any({_address(w, i, pointer, place)}, {text}, {kind}, m, {site}, {pattern})")
    else:
        w.line(f"g.store({w.text(pointer)}, {w.text(place)}, {text}, {kind}, m, {limit}, {site}, {pattern})")


def _atomic(w: Writer, i: Instruction) -> None:
    value, pointer, place, *expected = i.ins
    if _private(w, pointer, place, i.extra["kind"].bytes) is not None:
        raise Unsupported("no other thread sees private memory: an atomic update of it makes no sense")
    if i.outs[0].kind.shape:
        raise Unsupported("vectors cannot be updated atomically")
    arguments = [_address(w, i, pointer, place), w.spread(value), w.dtype(i.extra["kind"]), "m", str(w.site(i))]
    arguments += [repr(i.extra["update"]), *map(w.spread, expected)]
    call = "g.access.atomic(g, " if w.careful else "g.atomic("
    w.assign(i.outs[0], f"{call}{', '.join(arguments)})", True)


def _fence(w: Writer, i: Instruction) -> None:
    # without an access model every store is seen at once
    if w.careful:
        w.line(f"g.access.fence(g, m, {w.site(i)})")


def _check(w: Writer, i: Instruction) -> None:
    w.line(f"g.check({w.text(i.ins[0])}, m, {w.site(i)}, {i.extra['text']!r})")


MEMORY: dict[str, Write] = {
    "load": _load,
    "store": _store,
    "atomic": _atomic,
    "cmpxchg": _atomic,
    "fence": _fence,
    "check": _check,
}
