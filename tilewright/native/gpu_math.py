"""`math` on GPUs, which have no C library: powers and logarithms to base 2 from the chip, others made of them.

The results are those of the chip's approximations: within a few units in the last place of `f32`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import log2, log10, pi

from llvmlite import ir
from xdsl.ir import Operation

from tilewright.native.floats import intrinsic
from tilewright.native.gpu_kernel import KernelLowering
from tilewright.native.gpu_machine import call
from tilewright.native.lanes import constant_like, each_lane
from tilewright.native.lowering import Handler
from tilewright.native.math_functions import LIBRARY, on_numbers
from tilewright.native.traps import Untranslatable
from tilewright.native.values import F32, I1, I32, element_of

E = 2.718281828459045
FACTOR_REST = 1.925963033500011e-08
"""What log2(e) is above the nearest f32."""
MOST_POWER = 126.0
"""Powers of 2 up to this one are ordinary numbers, and so are their inverses."""
QUARTER_TURN = 1.5707963705062866, -4.371138828673793e-08, -1.7151245100058819e-15
"""pi / 2 as a sum of f32."""
SINE = -1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1
"""Of the square, what comes behind x, by x cubed."""
COSINE = 2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2, -0.5, 1.0
ERF_BORDER, ERF_END = 0.927734375, 4.0
ERF_NEAR = -5.96761703e-4, 4.99119423e-3, -2.67681349e-2, 1.12819925e-1, -3.76125336e-1, 1.28379166e-1
ERF_FAR = (
    *(-1.72853470e-5, 3.83197126e-4, -3.88396438e-3, 2.42546219e-2),
    *(-1.06777877e-1, -6.34846687e-1, -1.28717512e-1),
)
Function = Callable[[KernelLowering, ir.Value], ir.Value]


def _exp(kernel: KernelLowering, value: ir.Value) -> ir.Value:
    """2 to the power of x / log(2); what the product lost by rounding is put back, where the power is finite."""
    builder, factor = kernel.builder, ir.Constant(F32, log2(E))
    product = builder.fmul(value, factor)
    power = call(kernel, kernel.machine.EXP2, F32, product)
    # First what the product lost, then what the factor did when it was rounded to f32.
    lost = intrinsic(builder, "llvm.fma", value, factor, builder.fneg(product))
    lost = intrinsic(builder, "llvm.fma", value, ir.Constant(F32, FACTOR_REST), lost)
    better = intrinsic(builder, "llvm.fma", power, builder.fmul(lost, ir.Constant(F32, 1 / log2(E))), power)
    small = builder.fcmp_ordered("<", intrinsic(builder, "llvm.fabs", product), ir.Constant(F32, MOST_POWER))
    return builder.select(small, better, power)


def _log(factor: float) -> Function:
    """The logarithm to another base."""
    by = ir.Constant(F32, factor)
    return lambda kernel, value: kernel.builder.fmul(call(kernel, kernel.machine.LOG2, F32, value), by)


def _tanh(kernel: KernelLowering, value: ir.Value) -> ir.Value:
    """1 - 2 / (exp(2 x) + 1)."""
    builder, one, two = kernel.builder, constant_like(value, 1.0), constant_like(value, 2.0)
    # An infinite power gives 1, and one of 0 gives -1: no case needs to be told apart.
    power = _exp(kernel, builder.fadd(value, value))
    return builder.fsub(one, builder.fdiv(two, builder.fadd(power, one)))


def _series(builder: ir.IRBuilder, value: ir.Value, *factors: float) -> ir.Value:
    """A polynomial, the factor of the highest power first."""
    total: ir.Value = ir.Constant(F32, factors[0])
    for factor in factors[1:]:
        total = intrinsic(builder, "llvm.fma", total, value, ir.Constant(F32, factor))
    return total


def _sine(quarters: int) -> Function:
    """The sine of so many quarter turns more, by polynomials from -pi/4 to pi/4 (Cephes); exact up to about 1e5."""

    def build(kernel: KernelLowering, value: ir.Value) -> ir.Value:
        builder = kernel.builder
        turns = intrinsic(builder, "llvm.rint", builder.fmul(value, ir.Constant(F32, 2 / pi)))
        rest = value
        for part in QUARTER_TURN:
            rest = intrinsic(builder, "llvm.fma", turns, ir.Constant(F32, -part), rest)
        # a number of no size that fits in has no rest, so that it does not matter what it becomes
        quarter = builder.add(intrinsic(builder, "llvm.fptosi.sat", turns, result=I32), ir.Constant(I32, quarters))
        square = builder.fmul(rest, rest)
        sine = builder.fmul(_series(builder, square, *SINE), builder.fmul(square, rest))
        wave = builder.select(builder.trunc(quarter, I1), _series(builder, square, *COSINE), builder.fadd(sine, rest))
        is_below = builder.trunc(builder.lshr(quarter, ir.Constant(I32, 1)), I1)
        return builder.select(is_below, builder.fneg(wave), wave)

    return build


def _erf(kernel: KernelLowering, value: ir.Value) -> ir.Value:
    """By two polynomials, which N. Juffa has found: that of small numbers, and that in the power that is left to 1."""
    builder, size = kernel.builder, intrinsic(kernel.builder, "llvm.fabs", value)
    square = builder.fmul(value, value)
    near = intrinsic(builder, "llvm.fma", _series(builder, square, *ERF_NEAR), value, value)
    power = intrinsic(builder, "llvm.fma", _series(builder, size, *ERF_FAR), size, builder.fneg(size))
    # further on there is nothing between it and 1
    power = builder.select(builder.fcmp_ordered(">", size, ir.Constant(F32, ERF_END)), ir.Constant(F32, -64.0), power)
    far = builder.fsub(ir.Constant(F32, 1.0), _exp(kernel, power))
    is_near = builder.fcmp_unordered("<=", size, ir.Constant(F32, ERF_BORDER))
    return builder.select(is_near, near, intrinsic(builder, "llvm.copysign", far, value))


FUNCTIONS: dict[str, Function] = {
    "math.exp": _exp,
    "math.exp2": lambda kernel, value: call(kernel, kernel.machine.EXP2, F32, value),
    "math.log": _log(1 / log2(E)),
    "math.log2": lambda kernel, value: call(kernel, kernel.machine.LOG2, F32, value),
    "math.log10": _log(log10(2)),
    "math.tanh": _tanh,
    "math.sin": _sine(0),
    "math.cos": _sine(1),
    "math.erf": _erf,
}


def _handler(name: str) -> Handler:
    function = FUNCTIONS.get(name)

    def lower(lowering: KernelLowering, op: Operation) -> None:
        def build(builder: ir.IRBuilder, *values: ir.Value) -> ir.Value:
            if function is None or element_of(values[0].type) != F32:
                raise Untranslatable(f"GPUs compute {', '.join(FUNCTIONS)} of f32 and narrower numbers")
            return each_lane(builder, partial(function, lowering), values[0])

        on_numbers(build)(lowering, op)

    return lower


HANDLERS: dict[str, Handler] = {name: _handler(name) for name in LIBRARY}
