"""Finds kernels by name."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from importlib import import_module

from tilewright.kernels.definition import LIBRARY, Definition

_MODULES = (
    "activation",
    "block_floats",
    "bottleneck",
    "convolution",
    "elementwise",
    "matmul",
    "reduction",
    "vision",
)
_PREFIX = re.compile("v?[0-9a-f]{8,}_")
"""What stands before the name of a kernel that is compiled for one set of parameters: a digest of them."""


def definitions(name: str) -> Sequence[Definition]:
    """The kernels of a name, which differ in types; with or without a digest before the name."""
    library = _loaded()
    # The exact name first: a kernel of the library might itself begin like a digest.
    return library.get(name) or library.get(_PREFIX.sub("", name, count=1), ())


def all_definitions() -> list[Definition]:
    """The whole library, by name."""
    return [definition for name in sorted(_loaded()) for definition in LIBRARY[name]]


@cache
def _loaded() -> dict[str, list[Definition]]:
    for module in _MODULES:
        import_module(f"tilewright.kernels.{module}")
    return LIBRARY
