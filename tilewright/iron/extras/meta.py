"""Decorators that fill regions of operations."""

from tilewright.iron.builders.operations import region_op

__all__ = ["region_op"]
