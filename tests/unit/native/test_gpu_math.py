"""Functions that GPUs have no instruction for, made of those that they have: run on this computer."""

from __future__ import annotations

import ctypes
import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from llvmlite import ir

from tilewright.native.gpu_math import FUNCTIONS
from tilewright.native.host import NativeModule
from tilewright.native.values import F32


def computed(name: str, numbers: np.ndarray) -> np.ndarray:
    module = ir.Module("functions")
    function = ir.Function(module, ir.FunctionType(F32, [F32]), "function")
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    kernel: Any = SimpleNamespace(
        builder=builder, unit=SimpleNamespace(module=module), machine=SimpleNamespace(EXP2="llvm.exp2.f32")
    )
    builder.ret(FUNCTIONS[name](kernel, function.args[0]))
    code = NativeModule(module)
    call = ctypes.CFUNCTYPE(ctypes.c_float, ctypes.c_float)(code.address("function"))
    return np.array([call(float(number)) for number in numbers], np.float32)


@pytest.mark.parametrize("name, ulps", [("sin", 2), ("cos", 2), ("erf", 2)])
def test_results_are_within_units_in_the_last_place(name: str, ulps: int) -> None:
    draw = np.random.default_rng(1)
    numbers = np.concatenate([draw.normal(size=3000), draw.normal(size=1000) * 1e-4, draw.normal(size=1000) * 3000])
    numbers = numbers.astype(np.float32)
    exact = np.array([getattr(math, name)(float(number)) for number in numbers])
    # near a zero of a wave what the number itself was rounded by is more
    unit = np.spacing(np.maximum(abs(exact), 1e-3 if name != "erf" else 0).astype(np.float32))
    assert (abs(computed(f"math.{name}", numbers) - exact) / unit).max() <= ulps


def test_numbers_of_no_size() -> None:
    odd = np.array([0.0, -0.0, np.inf, -np.inf, np.nan], np.float32)
    assert np.array_equal(computed("math.sin", odd), [0, 0, np.nan, np.nan, np.nan], equal_nan=True)
    assert np.array_equal(computed("math.cos", odd), [1, 1, np.nan, np.nan, np.nan], equal_nan=True)
    assert np.array_equal(computed("math.erf", odd), [0, 0, 1, -1, np.nan], equal_nan=True)
    assert np.signbit(computed("math.erf", odd)[1])
