"""Operations under mlir-air's names: data between memories, and numbers and tiles element by element."""

from __future__ import annotations

from typing import Any

from tilewright.air import atomics, tile_products
from tilewright.air.messages import Token, check_tokens, copy, move, wait
from tilewright.air.tile_scans import cumsum, place_of_extreme, scan
from tilewright.air.tiles import Tile, combine, reduced
from tilewright.iron import math
from tilewright.iron.builders.location import refuse

__all__ = [
    "Token",
    "argmax",
    "argmin",
    "atomic_add",
    "ceil",
    "clip",
    "copy",
    "cos",
    "cumsum",
    "dot",
    "erf",
    "exp",
    "exp2",
    "floor",
    "fma",
    "gelu",
    "load",
    "log",
    "log2",
    "max",
    "maximum",
    "min",
    "minimum",
    "reduce",
    "relu",
    "rsqrt",
    "scan",
    "sigmoid",
    "silu",
    "sin",
    "sqrt",
    "store",
    "sum",
    "tanh",
    "wait",
    "where",
]

atomic_add = atomics.atomic_add


def load(target: Any, source: Any, fill: Any = 0, *, dependency: Any = None) -> Token:
    """Bring a part of an array into a buffer, or into memory of the block; what is outside of the array is `fill`.

    A `dependency` is a token, or some of them: what it stands for is done by now.
    """
    check_tokens(dependency)
    move(target, source, fill)
    return Token()


def store(source: Any, target: Any, *, dependency: Any = None) -> Token:
    """Take what a buffer or memory of the block holds to a part of an array, as far as it is in the array.

    A `dependency` is a token, or some of them: what it stands for is done by now.
    """
    check_tokens(dependency)
    move(target, source)
    return Token()


def dot(
    a: Any,
    b: Any,
    acc: Any = None,
    *,
    transpose_b: bool = False,
    precision: str = "f32",
    dependency: Any = None,
    kernel: str | None = None,
) -> Any:
    """Products of rows of `a` with columns of `b`, as `air.dot` makes them; a token where they are added to `acc`.

    A `dependency` is a token, or some of them; `kernel` names a function of AIE cores that does it there.
    """
    check_tokens(dependency)
    if not isinstance(kernel, str | None):
        refuse(f"a kernel has a name, and is not {kernel!r}", (None, "leave it out: GPUs need none"))
    products = tile_products.dot(a, b, acc, transpose_b=transpose_b, precision=precision)
    return products if acc is None else Token()


def _elementwise(name: str, doc: str) -> Any:
    function = getattr(math, name)

    def apply(*given: Any) -> Any:
        return combine(function, *given)

    apply.__name__ = apply.__qualname__ = name
    apply.__doc__ = f"{doc}, of numbers, or of tiles element by element."
    return apply


exp = _elementwise("exp", "e to the power of it")
exp2 = _elementwise("exp2", "2 to the power of it")
log = _elementwise("log", "The natural logarithm")
log2 = _elementwise("log2", "The logarithm to base 2")
sqrt = _elementwise("sqrt", "The square root")
rsqrt = _elementwise("rsqrt", "One by the square root")
sin = _elementwise("sin", "The sine")
cos = _elementwise("cos", "The cosine")
tanh = _elementwise("tanh", "The hyperbolic tangent")
erf = _elementwise("erf", "The error function")
ceil = _elementwise("ceil", "The next whole number above")
floor = _elementwise("floor", "The next whole number below")
fma = _elementwise("fma", "`a * b + c`, rounded once")
maximum = _elementwise("maximum", "The larger one")
minimum = _elementwise("minimum", "The smaller one")
where = _elementwise("where", "The second where the first holds, the third elsewhere")
clip = _elementwise("clip", "The first, but not below the second nor above the third")


def relu(x: Any) -> Any:
    """`x` where it is above 0, and 0 elsewhere."""
    return maximum(x, 0)


def sigmoid(x: Any) -> Any:
    """`1 / (1 + exp(-x))`."""
    return 1.0 / (exp(-x) + 1.0)


def silu(x: Any) -> Any:
    """`x * sigmoid(x)`."""
    return x * sigmoid(x)


GELU_SQRT_2_OVER_PI, GELU_BETA = 0.7978845608028654, 0.044715
"""Factors of the polynomial, and of its cube."""


def gelu(x: Any) -> Any:
    """`x` by the normal distribution function of it, as the tanh of a polynomial."""
    return 0.5 * x * (tanh(GELU_SQRT_2_OVER_PI * (x + GELU_BETA * x * x * x)) + 1.0)


def sum(tile: Tile, axis: int | None = None, keepdims: bool = False) -> Any:
    """The sum of a `tile`, which all lanes get, or of its lines along an `axis`: `tile.sum(axis, keepdims)`."""
    return reduced("sum", tile, axis, keepdims)


def max(tile: Tile, axis: int | None = None, keepdims: bool = False) -> Any:
    """The largest element of a `tile`, or of its lines along an `axis`: `tile.max(axis, keepdims)`."""
    return reduced("max", tile, axis, keepdims)


def min(tile: Tile, axis: int | None = None, keepdims: bool = False) -> Any:
    """The smallest element of a `tile`, or of its lines along an `axis`: `tile.min(axis, keepdims)`."""
    return reduced("min", tile, axis, keepdims)


def argmax(tile: Tile, axis: int | None = None, keepdims: bool = False) -> Any:
    """The index of the first of the largest elements of a `tile`: `tile.argmax(axis, keepdims)`."""
    return place_of_extreme("max", tile, axis, keepdims)


def argmin(tile: Tile, axis: int | None = None, keepdims: bool = False) -> Any:
    """The index of the first of the smallest elements of a `tile`: `tile.argmin(axis, keepdims)`."""
    return place_of_extreme("min", tile, axis, keepdims)


def reduce(tile: Tile, kind: str = "sum", axis: int | None = None, keepdims: bool = False) -> Any:
    """The `kind`, "sum", "max" or "min", of a `tile`, or of its lines along an `axis`, with `keepdims` as of these."""
    return reduced(kind, tile, axis, keepdims)
