"""Putting operations into a program outside of patterns, with locations as patterns give them."""

from __future__ import annotations

from xdsl.builder import Builder
from xdsl.dialects.builtin import LocationAttr, UnknownLoc
from xdsl.ir import Operation
from xdsl.rewriter import InsertPoint


def building(at: InsertPoint, location: LocationAttr) -> Builder:
    """Inserts operations at a point; those without a location get this one."""

    def locate(op: Operation) -> None:
        if isinstance(op.location, UnknownLoc):
            op.location = location

    return Builder(at, operation_insertion_handler=[locate])


def building_before(op: Operation) -> Builder:
    """Inserts operations before `op`, for the same place in the source."""
    return building(InsertPoint.before(op), op.location)
