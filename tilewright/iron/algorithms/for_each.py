"""Designs that change a tensor in place."""

from __future__ import annotations

from typing import Any

from tilewright.iron.algorithms.elementwise import Elementwise, chosen_device


def for_each(func: Any, tensor_ty: Any, tile_size: int = 16) -> Any:
    """A design that computes `tensor = func(tensor)` on one core; its sequence takes that one tensor.

    `func` is a function of an element, or a kernel of `(input tile, output tile, tile_size)`.
    """
    device = chosen_device("iron.algorithms.for_each")
    return Elementwise("for_each", func, 1, tensor_ty, tile_size, in_place=True).program(device).resolve_program()
