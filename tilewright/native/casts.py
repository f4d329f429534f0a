"""`arith` and `index`: numbers of one type as numbers of another."""

from __future__ import annotations

from llvmlite import ir
from xdsl.ir import Operation

from tilewright.dialects.arith.casts import TruncFOp
from tilewright.dialects.arith.meaning import RESIZES
from tilewright.dialects.vector.types import element_type
from tilewright.ir.diagnostics import fail_op
from tilewright.ir.shown import shown
from tilewright.native import floats
from tilewright.native.floats import intrinsic, widen
from tilewright.native.integers import resize
from tilewright.native.lowering import Handler, Lowering
from tilewright.native.traps import Untranslatable
from tilewright.native.values import I64, element_of, value_type, with_element

NEAREST_EVEN = 0
"""The rounding mode that `arith.truncf` has by default."""


def want_at_most_64_bits(value: ir.Value) -> None:
    """LLVM calls a library for what the processor cannot do with wider ones, and there is none."""
    if element_of(value.type).width > I64.width:
        raise Untranslatable("there are only integers of up to 64 bits for divisions and conversions")


def resizing(unsigned: bool) -> Handler:
    def lower(lowering: Lowering, op: Operation) -> None:
        element = element_of(value_type(op.results[0].type))
        lowering[op.results[0]] = resize(lowering.builder, lowering[op.operands[0]], element, unsigned)

    return lower


def _extf(lowering: Lowering, op: Operation) -> None:
    source, target = (element_type(value.type) for value in (op.operands[0], op.results[0]))
    lowering[op.results[0]] = floats.extend(
        lowering.builder, lowering[op.operands[0]], source, element_of(value_type(target))
    )


def _truncf(lowering: Lowering, op: TruncFOp) -> None:
    if op.roundingmode is not None and op.roundingmode.value.data != NEAREST_EVEN:
        fail_op(op, "has no native translation: only rounding to nearest even is known here")
    builder, target = lowering.builder, element_type(op.results[0].type)
    wide = widen(builder, lowering[op.operands[0]], element_type(op.operands[0].type))
    if not isinstance(target, floats.NARROW):
        lowering[op.results[0]] = builder.fptrunc(wide, value_type(op.results[0].type))
        return
    # By way of f32 it would be rounded twice.
    odd = floats.to_odd(builder, wide) if element_of(wide.type) == floats.F64 else wide
    lowering[op.results[0]] = floats.narrow(builder, odd, target)


def bitcast(lowering: Lowering, op: Operation) -> None:
    value, target = lowering[op.operands[0]], value_type(op.results[0].type)
    lowering[op.results[0]] = value if value.type == target else lowering.builder.bitcast(value, target)


def _change_sign(lowering: Lowering, op: Operation) -> None:
    """An integer without sign as one with a sign, or the other way round: the same bits."""
    source, result = op.operands[0], op.results[0]
    if value_type(source.type) != value_type(result.type):
        raise Untranslatable(f"{shown(source.type)} is no {shown(result.type)}")
    lowering[result] = lowering[source]


def _to_float(unsigned: bool) -> Handler:
    """An integer as the nearest number; to narrow types by way of `f64`, which holds integers of up to 53 bits."""

    def lower(lowering: Lowering, op: Operation) -> None:
        builder, value = lowering.builder, lowering[op.operands[0]]
        want_at_most_64_bits(value)
        target = element_type(op.results[0].type)
        is_narrow = isinstance(target, floats.NARROW)
        wide = with_element(value.type, floats.F64 if is_narrow else element_of(value_type(target)))
        # Both round to nearest, ties to even.
        number = builder.uitofp(value, wide) if unsigned else builder.sitofp(value, wide)
        if is_narrow:
            number = floats.narrow(builder, floats.to_odd(builder, number), target)
        lowering[op.results[0]] = number

    return lower


def _to_integer(name: str) -> Handler:
    """Rounds toward zero; what does not fit becomes the nearest number that does, a NaN becomes 0."""

    def lower(lowering: Lowering, op: Operation) -> None:
        builder, source = lowering.builder, element_type(op.operands[0].type)
        wide = widen(builder, lowering[op.operands[0]], source)
        lowering[op.results[0]] = intrinsic(builder, name, wide, result=value_type(op.results[0].type))
        want_at_most_64_bits(lowering[op.results[0]])

    return lower


HANDLERS: dict[str, Handler] = {
    **{name: resizing(not signed) for name, signed in RESIZES.items()},
    "index.casts": resizing(unsigned=False),
    "index.castu": resizing(unsigned=True),
    "arith.extf": _extf,
    "arith.truncf": _truncf,
    "arith.bitcast": bitcast,
    "vector.bitcast": bitcast,
    "builtin.unrealized_conversion_cast": _change_sign,
    "arith.sitofp": _to_float(unsigned=False),
    "arith.uitofp": _to_float(unsigned=True),
    "arith.fptosi": _to_integer("llvm.fptosi.sat"),
    "arith.fptoui": _to_integer("llvm.fptoui.sat"),
}
