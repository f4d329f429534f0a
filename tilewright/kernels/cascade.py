"""Products of matrices that cores add up along the cascade, one number after the other."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import numpy as np

from tilewright.kernels.definition import Array, Call, define
from tilewright.kernels.matmul import COMBINATIONS, check_scalar, matrices, product_of, rows_of, scalar_cost
from tilewright.kernels.numbers import wide, wrapped
from tilewright.sim.kernels import CallingCore

CASCADED = tuple(pair for pair in COMBINATIONS if pair[0] != "i8")
_ACCUMULATOR_BYTES = 64


def _accumulators(values: Array) -> list[bytes]:
    """Each number as the first of an accumulator's sixteen, cut to an integer."""
    words = np.zeros((values.size, _ACCUMULATOR_BYTES // 4), np.int32)
    words[:, 0] = wrapped(wide(values.reshape(-1)), words.dtype)
    return [row.tobytes() for row in words]


def _define_cascade(pair: tuple[str, str]) -> None:
    """Products that come from one neighbour, go to the next, or both; only `get_only` writes c."""

    def product(call: Call, a: Array, b: Array, c: Array) -> Array:
        left, right, target = rows_of(call, a, b, c)
        return product_of(left, right, np.zeros_like(target), 1).reshape(-1)

    def put_only(core: CallingCore, call: Call, a: Array, b: Array, c: Array) -> Generator[Any, Any, None]:
        for data in _accumulators(product(call, a, b, c)):
            yield from core.put_cascade(data)

    def get(core: CallingCore, total: Array) -> Generator[Any, Any, None]:
        for place in range(total.size):
            data = yield from core.get_cascade(_ACCUMULATOR_BYTES)
            total[place] = _added(total[place], int.from_bytes(data[:4], "little", signed=True))

    def get_only(core: CallingCore, call: Call, a: Array, b: Array, c: Array) -> Generator[Any, Any, None]:
        total = product(call, a, b, c)
        yield from get(core, total)
        c[:] = _added(c, total)

    def put_get(core: CallingCore, call: Call, a: Array, b: Array, c: Array) -> Generator[Any, Any, None]:
        total = product(call, a, b, c)
        for place in range(total.size):
            yield from get(core, total[place : place + 1])
            yield from core.put_cascade(_accumulators(total[place : place + 1])[0])

    summaries = {"put_only": "cascade = a * b", "get_only": "c += a * b + cascade", "put_get": "cascade += a * b"}
    for kind, function in (("put_only", put_only), ("get_only", get_only), ("put_get", put_get)):
        name = f"matmul_scalar_cascade_{kind}_{'_'.join(pair)}"
        define(name, matrices(pair), scalar_cost, summaries[kind], check=check_scalar, on_core=True)(function)


def _added(a: Any, b: Any) -> Any:
    if np.asarray(a).dtype.kind == "i":
        return wrapped(wide(np.asarray(a)) + wide(np.asarray(b)), np.asarray(a).dtype)
    return (np.float32(a) + np.asarray(b, np.float32)).astype(np.asarray(a).dtype)


for _pair in CASCADED:
    _define_cascade(_pair)
