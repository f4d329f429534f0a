"""Dialect registries, by the name of MLIR's bindings: programs have all dialects already."""

from __future__ import annotations


class DialectRegistry:
    """Nothing is kept in it."""


def get_dialect_registry() -> DialectRegistry:
    """What a context is given so that it knows dialects."""
    return DialectRegistry()


__all__ = ["DialectRegistry", "get_dialect_registry"]
