"""The `memref` dialect for Python programs."""

from tilewright.iron.builders.memrefs import (
    MemRefValue,
    alloc,
    alloca,
    cast,
    collapse_shape,
    get_global,
    global_,
    load,
    store,
    subview,
    view,
)

__all__ = [
    "MemRefValue",
    "alloc",
    "alloca",
    "cast",
    "collapse_shape",
    "get_global",
    "global_",
    "load",
    "store",
    "subview",
    "view",
]
