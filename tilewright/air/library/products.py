"""Products of matrices, on tensor cores where the GPU and the types have them, else on the lanes.

`matmul` is what programs call; `lane_products`, `tensor_cores` and `matrix_cores` are those that it chooses from.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

from tilewright.air.dtypes import bf16, f16, f32, i8, i32
from tilewright.air.functions import defaults
from tilewright.air.library.lane_products import lane_product
from tilewright.air.library.matrix_cores import matrix_instruction, matrix_product
from tilewright.air.library.schedules import Schedule
from tilewright.air.library.tensor_cores import tensor_product
from tilewright.air.library.tile_model import MOST_ITEMS, MOST_SHARES
from tilewright.air.ops import gelu, relu, sigmoid, silu, tanh
from tilewright.air.program import default_chip
from tilewright.device.gpu_targets import GPU_TARGETS, Vendor
from tilewright.errors import ArgumentError
from tilewright.gpu.chips import nvidia_chip

Numbers = npt.NDArray[Any]
ACTIVATIONS: dict[str, Callable[[Any], Any]] = {
    "relu": relu,
    "gelu": gelu,
    "sigmoid": sigmoid,
    "silu": silu,
    "tanh": tanh,
}
LAYOUTS = "row", "column"
LEAST_TILE = 64
"""Rows and columns of the smallest tiles."""
TENSOR_CHIP = "sm_90a"
FP8 = {np.dtype(ml_dtypes.float8_e4m3fn): "e4m3", np.dtype(ml_dtypes.float8_e5m2): "e5m2"}
TENSOR_TYPES: Mapping[Any, str] = {f16: "f16", bf16: "bf16", **FP8}
"""What tensor cores multiply, by the type of the matrices."""
FLOATS = f32, *TENSOR_TYPES
PRECISIONS = "f32", "tf32", "tf32x3"
"""What f32 is multiplied in: as it is, in 19 bits, or in three products of those, which come close to f32."""


def matmul(
    a: Numbers,
    b: Numbers,
    bias: Numbers | None = None,
    activation: str | None = None,
    scale: float = 1.0,
    layouts: tuple[str, str] = ("row", "row"),
    out_dtype: Any = None,
    precision: str = "f32",
    schedule: Schedule = Schedule(),  # noqa: B008
    **options: Any,
) -> Numbers:
    """`activation(scale * a @ b + bias)`, added up in f32.

    `a` and `b` are matrices of f32, f16, bf16, fp8 (`float8_e4m3fn`, `float8_e5m2`) or i8, or stacks of them with the
    same number of matrices. With "column" in `layouts` a matrix is given transposed, as its columns lie one after the
    other. `bias` has a number for each column. The result is of `out_dtype`: unless given, the type of `a`, or f32 for
    fp8. `precision` is what f32 is multiplied in: "f32", "tf32", or "tf32x3" for three products that come close to f32.

    Tensor cores of Hopper GPUs multiply f16, bf16, fp8, and f32 as tf32: with `backend="cuda"` on such a GPU, and on
    the emulator with `chip="sm_90a"`. Matrix instructions of AMD's GPUs multiply f32, f16, bf16 and i8, as far as the
    chip has them; products of i8 are i32, exact, and nothing else is done with them. Elsewhere lanes do it, with tf32
    as f32. `schedule` says how blocks of Hopper's tensor cores go about their work; elsewhere there is nothing to say.
    """
    _check(activation, layouts, precision)
    left, right = (check_matrix(name, given, (*FLOATS, i8)) for name, given in (("a", a), ("b", b)))
    if left.dtype != right.dtype:
        raise ArgumentError(f"a and b are of one type, not {left.dtype} and {right.dtype}")
    (batch, m, k), (others, depth, n) = (
        (array.shape[0], *(array.shape[1:] if layout == "row" else array.shape[:0:-1]))
        for array, layout in zip((left, right), layouts, strict=True)
    )
    if batch != others or k != depth:
        raise ArgumentError(f"arrays of shape {np.shape(a)} and {np.shape(b)} have no product in layouts {layouts}")
    if k == 0:
        left, right, layouts = np.zeros((batch, m, 1), left.dtype), np.zeros((batch, 1, n), left.dtype), ("row", "row")
    if batch * -(-m // LEAST_TILE) * -(-n // LEAST_TILE) * MOST_SHARES > MOST_ITEMS:
        raise ArgumentError(
            f"{batch} products of {m} x {n} are more tiles than can be numbered: multiply a part at a time"
        )
    if bias is not None and np.shape(bias) != (n,):
        raise ArgumentError(f"bias has {n} numbers, one for each column, not shape {np.shape(bias)}")
    if left.dtype == i8 and (
        bias is not None or activation is not None or scale != 1.0 or out_dtype not in (None, i32)
    ):
        raise ArgumentError("products of i8 are i32 as they are: leave bias, activation, scale and out_dtype out")
    result = np.zeros((batch, m, n), _result_type(left, out_dtype))
    offsets = np.zeros(1, np.float32) if bias is None else np.ascontiguousarray(bias, np.float32)
    constants: dict[str, Any] = {
        "layouts": tuple(layouts),
        "has_bias": bias is not None,
        "function": None if activation is None else ACTIVATIONS[activation],
    }
    computed_in = TENSOR_TYPES.get(left.dtype, precision)
    options = {**defaults.get(), **options}
    chip = _amd_chip(options)
    if result.size and chip is not None and matrix_instruction(chip, left.dtype) is not None:
        program = matrix_product.options(**{**options, "chip": chip})
        program(left, right, offsets, result, float(scale), chip=chip, **constants)
    elif result.size and left.dtype == i8:
        raise ArgumentError("i8 is multiplied by matrix instructions of AMD's GPUs alone, such as chip='gfx942'")
    elif result.size and computed_in != "f32" and _has_tensor_cores(options):
        if left.dtype in FP8:
            left, right = left.view(np.uint8), right.view(np.uint8)
        program = tensor_product.options(**{**options, "chip": TENSOR_CHIP})
        program(left, right, offsets, result, float(scale), computed_in=computed_in, schedule=schedule, **constants)
    elif result.size:
        if left.dtype in FP8:
            # f16 has all numbers of both
            left, right = left.astype(np.float16), right.astype(np.float16)
        lane_product.options(**options)(left, right, offsets, result, float(scale), **constants)
    return result if np.ndim(a) == 3 else result[0]


def _check(activation: str | None, layouts: Sequence[str], precision: str) -> None:
    for layout in layouts:
        if layout not in LAYOUTS:
            raise ArgumentError(f"there is no layout '{layout}'; there is {', '.join(LAYOUTS)}")
    if activation is not None and activation not in ACTIVATIONS:
        raise ArgumentError(f"there is no activation '{activation}'; there is {', '.join(ACTIVATIONS)}")
    if precision not in PRECISIONS:
        raise ArgumentError(f"there is no precision '{precision}'; there is {', '.join(PRECISIONS)}")


def _result_type(left: Numbers, wanted: Any) -> np.dtype[Any]:
    if left.dtype == i8:
        return i32
    if wanted is None:
        return f32 if left.dtype in FP8 else left.dtype
    try:
        found = np.dtype(wanted)
    except TypeError:
        found = None
    if found is None or found not in (f32, f16, bf16):
        raise ArgumentError(f"a product is of f32, f16 or bf16, not {wanted!r}")
    return found


def _has_tensor_cores(options: Mapping[str, Any]) -> bool:
    """Whether the GPU that is asked for has those of Hopper."""
    backend, chip = options.get("backend", "emulator"), options.get("chip")
    if backend == "emulator":
        return chip == TENSOR_CHIP
    found = (chip or nvidia_chip()) if backend == "cuda" else None
    return found is not None and found.startswith("sm_90")


def _amd_chip(options: Mapping[str, Any]) -> str | None:
    """The GPU that is asked for, if it is one of AMD's whose waves are as its matrix instructions want them."""
    backend = options.get("backend", "emulator")
    chip = options.get("chip") or default_chip(backend)
    target = GPU_TARGETS.get(chip)
    if target is None or target.vendor is not Vendor.AMD:
        return None
    return chip if options.get("wave_size") in (None, target.wave_size) else None


def check_matrix(name: str, given: Any, types: Sequence[np.dtype[Any]]) -> Numbers:
    """A matrix, or a stack of them, as a stack."""
    array = np.ascontiguousarray(given)
    if array.ndim not in (2, 3) or array.dtype not in types:
        known = "f32, f16, bf16, fp8 or i8" if i8 in types else "f32, f16, bf16 or fp8"
        raise ArgumentError(f"{name} is a matrix of {known}, or a stack of them, not {array.dtype} {array.shape}")
    return array if array.ndim == 3 else array[None]
