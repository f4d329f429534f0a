"""The `affine` dialect for Python programs: maps; loops and loads are written with `scf` and `memref`."""

from tilewright.iron.ir import AffineConstantExpr, AffineDimExpr, AffineMap, AffineSymbolExpr

__all__ = ["AffineConstantExpr", "AffineDimExpr", "AffineMap", "AffineSymbolExpr"]
