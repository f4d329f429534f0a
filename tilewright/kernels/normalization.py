"""Rows made comparable: layer norm, RMS norm, and rotary embeddings."""

from __future__ import annotations

import numpy as np

from tilewright.kernels import cost
from tilewright.kernels.activation import lane_sum
from tilewright.kernels.definition import Array, Call, Memory, Scalar, define
from tilewright.kernels.numbers import bf16, bf16_step, f32

_EPSILON = np.float32(1e-5)
_ROW = [Memory("input", "bf16"), Memory("output", "bf16"), Scalar("cols")]
_F32_ROW = [Memory("input", "f32"), Memory("output", "f32"), Scalar("cols")]


def _cost(call: Call, _source: Array, _target: Array, count: int) -> int:
    return cost.functions(call, count, 6)


def _inverse_root(value: np.float32) -> np.float32:
    return np.float32(1) / np.sqrt(value)


@define("layer_norm", _ROW, _cost, "output = (input - mean) / deviation")
def layer_norm(call: Call, source: Array, target: Array, count: int) -> None:
    x, lanes = f32(call.part(source, count)), call.unit.lanes
    mean = lane_sum(x, lanes) / np.float32(count)
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
    [Memory("input", "bf16"), Memory("lut", "bf16"), Memory("output", "bf16"), Scalar("dims")],
    _rope_cost,
    "output = input, each pair turned by the angle whose cosine and sine are in lut",
)
def rope(call: Call, source: Array, angles: Array, target: Array, count: int) -> None:
    even, odd = f32(call.part(source, count)).reshape(-1, 2).T
    cosine, sine = f32(call.part(angles, count)).reshape(-1, 2).T
    turned = bf16_step(even * cosine) - bf16_step(odd * sine), bf16_step(even * sine) + bf16_step(odd * cosine)
    call.part(target, count)[:] = bf16(np.stack(turned, axis=1).reshape(-1))
