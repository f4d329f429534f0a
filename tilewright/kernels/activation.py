"""Functions of bf16: exp, softmax, gelu, silu, swiglu, and the rows after a matrix product.

Everything between two registers of the C++ source is rounded to bf16 as there. What the cores take from tables is the
true function here, rounded.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tilewright.kernels import cost
from tilewright.kernels.definition import Array, Call, MemoryArg, ScalarArg, define
from tilewright.kernels.elementwise import TILE
from tilewright.kernels.numbers import Floats, bf16, bf16_step, f32

_SQRT_2_OVER_PI = float(bf16_step(0.79788456))
_BETA = float(bf16_step(0.044715))
_LEAST = np.float32(-32768)  # what the search for a maximum starts from
_IN_OUT = [MemoryArg("a_in", "bf16", TILE), MemoryArg("c_out", "bf16", TILE)]
_EPSILON = np.float32(1e-5)
_ROW = [MemoryArg("input", "bf16"), MemoryArg("output", "bf16"), ScalarArg("cols")]
_F32_ROW = [MemoryArg("input", "f32"), MemoryArg("output", "f32"), ScalarArg("cols")]


def _steps(count: int) -> Callable[..., int]:
    """A loop with so many operations for each vector."""

    def cycles(call: Call, source: Array, *_others: Array) -> int:
        return cost.functions(call, source.size, count)

    return cycles


def exponential(x: Floats) -> Array:
    # Infinities are results here, as on the core, not something to warn about.
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        return bf16(np.exp(x.astype(np.float64)))


def _tanh(call: Call, x: Floats) -> Floats:
    """From a table it takes what is left of x in bf16."""
    # AIE2 looks tanh up by the bits of a bf16, AIE2P has an instruction that takes f32.
    given = x if call.unit.native_functions else bf16_step(x)
    return bf16_step(np.tanh(given.astype(np.float64)))


@define("exp_bf16_1024", _IN_OUT, _steps(4), "c = exp(a)")
def exp(call: Call, a: Array, c: Array) -> None:
    c[:] = exponential(f32(a))


def _sigmoid(call: Call, x: Floats) -> Floats:
    """(1 + tanh(x / 2)) / 2"""
    return bf16_step(bf16_step(_tanh(call, x * np.float32(0.5)) + 1) * np.float32(0.5))


def silu_of(call: Call, x: Floats) -> Array:
    return bf16(x * _sigmoid(call, x))


def gelu_of(call: Call, x: Floats) -> Array:
    """x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3)))"""
    cube = bf16_step(x * bf16_step(x * x))
    inner = bf16_step(x + bf16_step(cube * np.float32(_BETA)))
    share = bf16_step(_tanh(call, inner * np.float32(_SQRT_2_OVER_PI)) + 1)
    return bf16(x * bf16_step(np.float32(0.5) * share))


@define("silu_bf16", _IN_OUT, _steps(6), "c = a * sigmoid(a)")
def silu(call: Call, a: Array, c: Array) -> None:
    c[:] = silu_of(call, f32(a))


@define("gelu_bf16", _IN_OUT, _steps(10), "c = gelu(a), by tanh")
def gelu(call: Call, a: Array, c: Array) -> None:
    c[:] = gelu_of(call, f32(a))


@define(
    "swiglu_bf16",
    [MemoryArg(part, "bf16", TILE) for part in ("input", "weights_1", "weights_2", "output")],
    _steps(9),
    "output = input * weights_1 * silu(input * weights_2)",
)
def swiglu(call: Call, x: Array, first: Array, second: Array, out: Array) -> None:
    gate = f32(silu_of(call, bf16_step(f32(x) * f32(second))))
    out[:] = bf16(bf16_step(f32(x) * f32(first)) * gate)


def _softmax_cost(call: Call, _source: Array, _target: Array, count: int) -> int:
    return cost.functions(call, count, 8)


@define(
    "softmax_bf16",
    [MemoryArg("input", "bf16"), MemoryArg("output", "bf16"), ScalarArg("input_size")],
    _softmax_cost,
    "output = exp(input) / the sum of that",
)
def softmax(call: Call, source: Array, target: Array, count: int) -> None:
    """The newer core's source takes the maximum off first; that of the older one overflows where exp does."""
    x = f32(call.part(source, count))
    powers = exponential(x - x.max(initial=_LEAST) if call.unit.native_functions else x)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        # One division, then products, as the source does: dividing each would round differently.
        share = bf16_step(np.float32(1) / lane_sum(f32(powers), call.unit.lanes))
        call.part(target, count)[:] = bf16(f32(powers) * share)


def lane_sum(values: Floats, lanes: int) -> np.float32:
    """An f32 sum as a vector loop makes it: each lane adds up its own, then halves are added to each other."""
    whole = values.size // lanes * lanes
    total = np.zeros(lanes, np.float32)
    for row in values[:whole].reshape(-1, lanes):
        total += row
    # The order of the additions decides the last bits of an f32.
    while total.size > 1:
        total = total[: total.size // 2] + total[total.size // 2 :]
    return np.float32(sum(values[whole:], total[0]))


def _row_cost(call: Call, _source: Array, _target: Array, count: int, mode: int) -> int:
    return cost.functions(call, count, 10 if mode else 1)


@define(
    "mm_activation_epilogue_row",
    [MemoryArg("c_in", "f32"), MemoryArg("c_out", "f32"), ScalarArg("n"), ScalarArg("mode")],
    _row_cost,
    "c_out = c_in, its silu where mode is 1, its gelu where it is 2",
)
def activation_row(call: Call, source: Array, target: Array, count: int, mode: int) -> None:
    x = call.part(source, count)
    given = {1: lambda: x * _sigmoid(call, x), 2: lambda: f32(gelu_of(call, bf16_step(x)))}
    call.part(target, count)[:] = given.get(mode, lambda: x)()


def _cost(call: Call, _source: Array, _target: Array, count: int) -> int:
    return cost.functions(call, count, 6)


def _inverse_root(value: np.float32) -> np.float32:
    return np.float32(1) / np.sqrt(value)


@define("layer_norm", _ROW, _cost, "output = (input - mean) / deviation")
def layer_norm(call: Call, source: Array, target: Array, count: int) -> None:
    x, lanes = f32(call.part(source, count)), call.unit.lanes
    mean = lane_sum(x, lanes) / np.float32(count)
    # Mean of squares minus square of the mean, as the bf16 source has it; the f32 one below subtracts first.
    variance = lane_sum(x * x, lanes) / np.float32(count) - mean * mean
    scale = bf16_step(_inverse_root(variance + _EPSILON))
    call.part(target, count)[:] = bf16(bf16_step(x - bf16_step(mean)) * scale)


@define("layer_norm_f32", _F32_ROW, _cost, "output = (input - mean) / deviation")
def layer_norm_f32(call: Call, source: Array, target: Array, count: int) -> None:
    x, lanes = call.part(source, count), call.unit.lanes
    apart = x - lane_sum(x, lanes) / np.float32(count)
    variance = lane_sum(apart * apart, lanes) / np.float32(count)
    call.part(target, count)[:] = apart * _inverse_root(variance + _EPSILON)


@define("rms_norm", _ROW, _cost, "output = input / the root of the mean square")
def rms_norm(call: Call, source: Array, target: Array, count: int) -> None:
    x = f32(call.part(source, count))
    scale = bf16_step(_inverse_root(lane_sum(x * x, call.unit.lanes) / np.float32(count) + _EPSILON))
    call.part(target, count)[:] = bf16(x * scale)


def _rope_cost(call: Call, _source: Array, _angles: Array, _target: Array, count: int) -> int:
    return cost.functions(call, count, 6)


@define(
    "rope",
    [
        MemoryArg("input", "bf16"),
        MemoryArg("lut", "bf16"),
        MemoryArg("output", "bf16"),
        ScalarArg("dims"),
    ],
    _rope_cost,
    "output = input, each pair turned by the angle whose cosine and sine are in lut",
)
def rope(call: Call, source: Array, angles: Array, target: Array, count: int) -> None:
    even, odd = f32(call.part(source, count)).reshape(-1, 2).T
    cosine, sine = f32(call.part(angles, count)).reshape(-1, 2).T
    turned = bf16_step(even * cosine) - bf16_step(odd * sine), bf16_step(even * sine) + bf16_step(odd * cosine)
    call.part(target, count)[:] = bf16(np.stack(turned, axis=1).reshape(-1))
