"""Passes of upstream MLIR: canonicalization, common subexpressions, control flow, affine maps."""
