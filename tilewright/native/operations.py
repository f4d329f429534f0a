"""All the operations that have a native translation, by name."""

from __future__ import annotations

from collections.abc import Mapping

from tilewright.dialects import cf
from tilewright.native import (
    access,
    affine_maps,
    arithmetic,
    casts,
    functions,
    gathers,
    loops,
    math_functions,
    vector_memory,
    vectors,
    views,
)
from tilewright.native.lanes import constant
from tilewright.native.lowering import Handler, Lowering, on_values
from tilewright.native.traps import stopping


def _assert(lowering: Lowering, op: cf.AssertOp) -> None:
    lowering.trap_unless(op, lowering[op.arg], stopping(op.msg.data))


OPERATIONS: Mapping[str, Handler] = {
    **arithmetic.HANDLERS,
    **casts.HANDLERS,
    **math_functions.HANDLERS,
    **access.HANDLERS,
    **views.HANDLERS,
    **affine_maps.HANDLERS,
    **vectors.HANDLERS,
    **vector_memory.HANDLERS,
    **gathers.HANDLERS,
    **loops.HANDLERS,
    **functions.HANDLERS,
    "cf.assert": _assert,
    # A value that no program may rely on: always the same one, so that two runs are alike.
    "ub.poison": on_values(lambda b, type, x: constant(type, 0)),
}
