"""Structured operations on buffers become loops."""

from __future__ import annotations

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Operation
from xdsl.rewriter import Rewriter

from tilewright.dialects import affine, arith, memref, scf
from tilewright.ir.diagnostics import fail_op
from tilewright.rewrite.driver import rewrite

MADE_BY_XDSL: dict[type[Operation], type[Operation]] = {
    ours.__mro__[1]: ours
    for ours in (
        affine.ApplyOp,
        arith.ConstantOp,
        memref.DimOp,
        memref.LoadOp,
        memref.StoreOp,
        scf.ForOp,
        scf.YieldOp,
    )
}


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
    for inner in [*op.walk()]:
        if (ours := MADE_BY_XDSL.get(type(inner))) is not None:
            _replace(inner, ours)


def _replace(op: Operation, ours: type[Operation]) -> None:
    """Put an operation of our class in the place of one that xDSL's pattern made of its own."""
    new = ours.create(
        operands=op.operands,
        result_types=op.result_types,
        properties=op.properties,
        attributes=op.attributes,
        regions=[op.detach_region(region) for region in [*op.regions]],
        location=op.location,
    )
    Rewriter.replace_op(op, new)
