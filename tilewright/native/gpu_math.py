"""`math` on GPUs, which have no C library: powers and logarithms to base 2 from the chip, others made of them.

The results are those of the chip's approximations: within a few units in the last place of `f32`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import log2, log10

from llvmlite import ir
from xdsl.ir import Operation

from tilewright.native.floats import intrinsic
from tilewright.native.gpu_kernel import KernelLowering
from tilewright.native.gpu_machine import call
from tilewright.native.lanes import constant_like, each_lane
from tilewright.native.lowering import Handler
from tilewright.native.math_functions import LIBRARY, on_numbers
from tilewright.native.traps import Untranslatable
from tilewright.native.values import F32, element_of

E = 2.718281828459045
FACTOR_REST = 1.925963033500011e-08
"""What log2(e) is above the nearest f32."""
MOST_POWER = 126.0
"""Powers of 2 up to this one are ordinary numbers, and so are their inverses."""
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


FUNCTIONS: dict[str, Function] = {
    "math.exp": _exp,
    "math.exp2": lambda kernel, value: call(kernel, kernel.machine.EXP2, F32, value),
    "math.log": _log(1 / log2(E)),
    "math.log2": lambda kernel, value: call(kernel, kernel.machine.LOG2, F32, value),
    "math.log10": _log(log10(2)),
    "math.tanh": _tanh,
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
