"""How many cycles a core needs for an operation: an estimate, since the vendor's scheduler is not public.

An operation that is not listed takes one cycle. Whatever only names a value or a place in memory takes none.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Operation

DEFAULT_CYCLES = 1
DECLARED = "tilewright.cycles"
"""Attribute of a `func.func`: how many cycles a call takes on the device, however the body is written here."""


@dataclass(frozen=True)
class Cost:
    """`source` says where a number comes from."""

    cycles: int
    source: str


def _free(names: Iterable[str], source: str = "no instruction: resolved by the compiler") -> dict[str, Cost]:
    return dict.fromkeys(names, Cost(0, source))


COSTS: Mapping[str, Cost] = {
    **_free(("arith.constant", "index.constant", "index.bool.constant", "arith.index_cast", "arith.index_castui")),
    **_free(("builtin.unrealized_conversion_cast",)),
    **_free(("arith.bitcast", "vector.shape_cast", "vector.bitcast", "memref.dim", "memref.rank", "memref.cast")),
    **_free(("memref.subview", "memref.reinterpret_cast", "memref.collapse_shape", "memref.expand_shape")),
    **_free(("memref.memory_space_cast", "memref.view", "memref.transpose", "memref.get_global", "memref.alloca")),
    **_free(("memref.assume_alignment", "memref.alloc", "memref.dealloc", "aie.buffer", "aie.lock")),
    **_free(
        ("aie.use_lock", "aie.put_cascade", "aie.get_cascade", "aie.put_stream", "aie.get_stream"),
        "the tile counts these: timing.py",
    ),
}


def declared_cycles(op: Operation) -> int | None:
    """What a function says that a call of it takes."""
    found = op.attributes.get(DECLARED)
    return found.value.data if isinstance(found, IntegerAttr) else None


def cycles_of(op: Operation) -> int:
    cost = COSTS.get(op.name)
    return DEFAULT_CYCLES if cost is None else cost.cycles
