"""Placers, for programs that still pass one: `resolve_program(SequentialPlacer())`.

Placement is a pass, `aie-place-tiles`; it sees the whole design, so a program has nothing to say about it but `tile=`.
"""

from __future__ import annotations


class Placer:
    """What older programs hand to `resolve_program`."""


class SequentialPlacer(Placer):
    """Compute tiles column by column, mem and shim tiles near them: what the pass does."""

    def __init__(self, cores_per_col: int | None = None) -> None:
        self.cores_per_col = cores_per_col
