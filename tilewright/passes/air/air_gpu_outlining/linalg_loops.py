"""Structured operations on buffers become loops."""

from __future__ import annotations

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Operation

from tilewright.ir.diagnostics import fail_op
from tilewright.rewrite.driver import rewrite


def lower_linalg(op: Operation) -> None:
    """Lower what there is of linalg in `op`; most programs have none, and do not load it."""
    found = [inner for inner in op.walk() if inner.name.startswith("linalg.") and inner.regions]
    if not found:
        return
    from xdsl.transforms.convert_linalg_to_loops import LowerLinalgStructuredOpPattern

    for inner in found:
        if not all(isinstance(value.type, MemRefType) for value in inner.operands[-1:]):
            fail_op(inner, "works on tensors; bufferize it before kernels are taken out")
    rewrite(op, LowerLinalgStructuredOpPattern())
