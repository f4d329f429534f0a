"""The `arith` dialect for Python programs."""

from __future__ import annotations

from enum import IntEnum
from functools import partial
from typing import Any

from xdsl.ir import Attribute

from tilewright.dialects import arith as ops
from tilewright.iron.builders.arithmetic import INTEGER_PREDICATES
from tilewright.iron.builders.handles import OpView, plain
from tilewright.iron.builders.operations import build
from tilewright.iron.builders.scalars import ScalarValue, binary, cast_to, cmpf, cmpi, index_cast
from tilewright.iron.builders.scalars import constant as _constant

CmpIPredicate: Any = IntEnum("CmpIPredicate", INTEGER_PREDICATES, start=0, module=__name__)
CmpIPredicate.__doc__ = "How `cmpi` compares."


# one by one, not by a table: editors and type checkers have to know the names
addi = partial(binary, ops.AddiOp)
subi = partial(binary, ops.SubiOp)
muli = partial(binary, ops.MuliOp)
divsi = partial(binary, ops.DivSIOp)
divui = partial(binary, ops.DivUIOp)
ceildivsi = partial(binary, ops.CeilDivSIOp)
ceildivui = partial(binary, ops.CeilDivUIOp)
floordivsi = partial(binary, ops.FloorDivSIOp)
remsi = partial(binary, ops.RemSIOp)
remui = partial(binary, ops.RemUIOp)
andi = partial(binary, ops.AndIOp)
ori = partial(binary, ops.OrIOp)
xori = partial(binary, ops.XOrIOp)
shli = partial(binary, ops.ShLIOp)
shrsi = partial(binary, ops.ShRSIOp)
shrui = partial(binary, ops.ShRUIOp)
maxsi = partial(binary, ops.MaxSIOp)
maxui = partial(binary, ops.MaxUIOp)
minsi = partial(binary, ops.MinSIOp)
minui = partial(binary, ops.MinUIOp)
addf = partial(binary, ops.AddfOp)
subf = partial(binary, ops.SubfOp)
mulf = partial(binary, ops.MulfOp)
divf = partial(binary, ops.DivfOp)
remf = partial(binary, ops.RemfOp)
maximumf = partial(binary, ops.MaximumfOp)
minimumf = partial(binary, ops.MinimumfOp)
maxnumf = partial(binary, ops.MaxnumfOp)
minnumf = partial(binary, ops.MinnumfOp)
extsi = cast_to(ops.ExtSIOp)
extui = cast_to(ops.ExtUIOp)
trunci = cast_to(ops.TruncIOp)
extf = cast_to(ops.ExtFOp)
truncf = cast_to(ops.TruncFOp)
sitofp = cast_to(ops.SIToFPOp)
uitofp = cast_to(ops.UIToFPOp)
fptosi = cast_to(ops.FPToSIOp)
fptoui = cast_to(ops.FPToUIOp)
bitcast = cast_to(ops.BitcastOp)


class ConstantOp(OpView):
    """`arith.constant` as an operation: its type, and its number or attribute."""

    OP = ops.ConstantOp

    def __init__(self, result: Any, value: Any, *, loc: Any = None, ip: Any = None):
        number = plain(value) if isinstance(value, Attribute) else value
        made = _constant(number, result, loc=loc, ip=ip).owner
        assert isinstance(made, OpView)
        super().__init__(made.op)


def constant(result: Any, value: Any = None, *, loc: Any = None, ip: Any = None) -> ScalarValue:
    """`arith.constant`, the type first as in MLIR's bindings; `extras.dialects.arith` has the value first."""
    return _constant(result, loc=loc, ip=ip) if value is None else _constant(value, result, loc=loc, ip=ip)


def select(condition: Any, true_value: Any, false_value: Any, *, loc: Any = None, ip: Any = None) -> ScalarValue:
    """One value or the other, by a condition."""
    first = true_value if isinstance(true_value, ScalarValue) else ScalarValue(true_value)
    other = ScalarValue(false_value, dtype=first.type)
    made = build(ops.SelectOp, results=[first.type], cond=condition, lhs=first, rhs=other, loc=loc, ip=ip)
    return ScalarValue(made.result)


__all__ = [
    "CmpIPredicate",
    "ConstantOp",
    "ScalarValue",
    "addf",
    "addi",
    "andi",
    "bitcast",
    "ceildivsi",
    "ceildivui",
    "cmpf",
    "cmpi",
    "constant",
    "divf",
    "divsi",
    "divui",
    "extf",
    "extsi",
    "extui",
    "floordivsi",
    "fptosi",
    "fptoui",
    "index_cast",
    "maximumf",
    "maxnumf",
    "maxsi",
    "maxui",
    "minimumf",
    "minnumf",
    "minsi",
    "minui",
    "mulf",
    "muli",
    "ori",
    "remf",
    "remsi",
    "remui",
    "select",
    "shli",
    "shrsi",
    "shrui",
    "sitofp",
    "subf",
    "subi",
    "truncf",
    "trunci",
    "uitofp",
    "xori",
]
