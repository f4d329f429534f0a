"""All the operations that have a native translation, by name."""

from __future__ import annotations

from collections.abc import Mapping

from tilewright.native import (
    affine_maps,
    arithmetic,
    casts,
    checks,
    contractions,
    functions,
    gathers,
    loops,
    math_functions,
    memrefs,
    reductions,
    updates,
    vector_memory,
    vectors,
    views,
)
from tilewright.native.lowering import Handler

OPERATIONS: Mapping[str, Handler] = {
    **arithmetic.HANDLERS,
    **casts.HANDLERS,
    **math_functions.HANDLERS,
    **memrefs.HANDLERS,
    **views.HANDLERS,
    **updates.HANDLERS,
    **affine_maps.HANDLERS,
    **vectors.HANDLERS,
    **reductions.HANDLERS,
    **contractions.HANDLERS,
    **vector_memory.HANDLERS,
    **gathers.HANDLERS,
    **loops.HANDLERS,
    **functions.HANDLERS,
    **checks.HANDLERS,
}
