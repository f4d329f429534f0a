"""Expressions of C++ kernels beside what they mean in NumPy: compiled together, run on random data, compared."""

from __future__ import annotations

import ctypes
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from ml_dtypes import bfloat16

import tilewright

INCLUDE = Path(tilewright.__file__).parent / "kernels" / "include"
FLAGS = ("-std=c++20", "-march=native", "-fno-strict-aliasing", "-fPIC", "-shared", f"-I{INCLUDE}")

DTYPES = {
    **{name: np.dtype(name) for name in ("int8", "uint8", "int16", "uint16", "int32", "uint32")},
    "float": np.dtype(np.float32),
    "bfloat16": np.dtype(bfloat16),
    "acc32": np.dtype(np.int32),
    "acc64": np.dtype(np.int64),
    "accfloat": np.dtype(np.float32),
    "mask": np.dtype(np.int8),
}
ACCUMULATORS = ("acc32", "acc64", "accfloat")
FLOATS = ("float", "bfloat16", "accfloat")

FLOOR, CEIL, TOWARDS_ZERO, AWAY_FROM_ZERO = 0, 1, 2, 3
NEGATIVE_INF, POSITIVE_INF, SYMMETRIC_ZERO, SYMMETRIC_INF, CONV_EVEN, CONV_ODD = 8, 9, 10, 11, 12, 13
NONE, SATURATE, SYMMETRIC = 0, 1, 3


class Type(NamedTuple):
    """`int16 x 32`: so many elements, or lanes of an accumulator or mask."""

    element: str
    size: int

    @property
    def cpp(self) -> str:
        """The type in C++; a size of 0 is a scalar."""
        if self.size == 0:
            return self.element
        if self.element == "mask":
            return f"aie::mask<{self.size}>"
        return f"aie::{'accum' if self.element in ACCUMULATORS else 'vector'}<{self.element}, {self.size}>"

    def zeros(self) -> np.ndarray:
        """Room for one."""
        return np.zeros(max(self.size, 1), DTYPES[self.element])

    def random(self, rng: np.random.Generator) -> np.ndarray:
        """One with every kind of value: small, large, the ends of the range."""
        dtype, size = DTYPES[self.element], max(self.size, 1)
        if self.element == "mask":
            return -rng.integers(0, 2, size, dtype=np.int8)
        if self.element in FLOATS:
            scale = 2.0 ** rng.integers(-6, 7, size)
            return (rng.standard_normal(size) * scale).astype(np.float32).astype(dtype)
        info = np.iinfo(dtype)
        values = rng.integers(info.min, info.max, size, dtype=dtype, endpoint=True)
        small = rng.integers(max(info.min, -9), 9, size).astype(dtype)
        ends = rng.choice(np.array([info.min, info.max], dtype), size)
        return np.select([rng.random(size) < 0.3, rng.random(size) < 0.1], [small, ends], values).astype(dtype)


def typed(text: str) -> Type:
    """`int16x32`, `acc64x8`, `mask x16`, or a scalar such as `int16`."""
    element, _, size = text.partition("x")
    return Type(element.strip(), int(size or 0))


class Case(NamedTuple):
    """`expression` of operands `a`, `b` and `c` has the bytes of `output`, and means what `meaning` says."""

    name: str
    expression: str
    inputs: tuple[str, ...]
    output: str
    meaning: Callable[..., np.ndarray]
    rounding: int = FLOOR
    saturation: int = NONE
    tolerance: float = 0.0


class CoreState(ctypes.Structure):
    """The head of `tilewright_core_state`: modes and counts."""

    _fields_ = (
        ("version", ctypes.c_uint32),
        ("rounding", ctypes.c_uint32),
        ("saturation", ctypes.c_uint32),
        ("counts", ctypes.c_uint64 * 32),
    )


def compile_source(folder: Path, text: str, *options: str, compiler: str = "g++", name: str = "kernel") -> ctypes.CDLL:
    """A library of a translation unit that includes our headers."""
    source, library = folder / f"{name}.cc", folder / f"lib{name}.so"
    source.write_text('#include "aie_api/aie.hpp"\n' + text)
    unique = ("-fno-gnu-unique",) if compiler == "g++" else ()
    command = [compiler, *FLAGS, *unique, *options, str(source), "-o", str(library)]
    outcome = subprocess.run(command, capture_output=True, text=True, check=False)
    assert outcome.returncode == 0, outcome.stderr[-4000:]
    return ctypes.CDLL(str(library))


def core_of(library: ctypes.CDLL) -> CoreState:
    """The core that a library stands for."""
    return CoreState.in_dll(library, "tilewright_core")


def function_numbers(cases: Sequence[Case]) -> list[int]:
    """The function of each case: those that differ in modes and meaning only share one."""
    first: dict[tuple[str, tuple[str, ...], str], int] = {}
    return [first.setdefault((case.expression, case.inputs, case.output), number) for number, case in enumerate(cases)]


def cases_source(cases: Sequence[Case]) -> str:
    """One function for each expression: operands in, bytes of the result out."""
    functions: list[str] = []
    for number in sorted(set(function_numbers(cases))):
        case = cases[number]
        reads = [
            f"  {typed(text).cpp} {name}; __builtin_memcpy(&{name}, p{name}, sizeof {name});"
            for name, text in zip("abc", case.inputs, strict=False)
        ]
        output = typed(case.output)
        functions += [
            f'extern "C" void case{number}(const void *pa, const void *pb, const void *pc, void *out) {{',
            *reads,
            f"  const {output.cpp} result = {case.expression};",
            "  __builtin_memcpy(out, &result, sizeof result);",
            "}",
        ]
    return "\n".join(functions) + "\n"


def check(library: ctypes.CDLL, cases: Sequence[Case], number: int, samples: int = 5) -> None:
    """Runs one case on random operands and compares with its meaning."""
    case, rng = cases[number], np.random.default_rng(number)
    core = core_of(library)
    function = getattr(library, f"case{function_numbers(cases)[number]}")
    for _ in range(samples):
        operands = [typed(text).random(rng) for text in case.inputs]
        result = typed(case.output).zeros()
        core.rounding, core.saturation = case.rounding, case.saturation
        pointers = [operand.ctypes.data_as(ctypes.c_void_p) for operand in operands]
        function(*pointers, *[None] * (3 - len(pointers)), result.ctypes.data_as(ctypes.c_void_p))
        core.rounding, core.saturation = FLOOR, NONE
        with np.errstate(all="ignore"):
            expected = np.atleast_1d(np.asarray(case.meaning(*operands))).astype(result.dtype)
        assert expected.shape == result.shape, (case.name, expected.shape, result.shape)
        if case.tolerance:
            np.testing.assert_allclose(result.astype(np.float64), expected.astype(np.float64), case.tolerance, 1e-30)
        else:
            np.testing.assert_array_equal(result.view(np.uint8), expected.view(np.uint8), f"{case.name}: {operands}")
