"""Contractions and transposes of vectors, and transfers in any order of dimensions: as NumPy has them, in each lane."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
import pytest
from emulated import emulator, in_kernel, run

from tilewright.ir.diagnostics import CompileError

LANES = 32
TYPES: dict[str, Any] = {"f32": np.float32, "f16": np.float16, "i8": np.int8, "i32": np.int32}
SIZES = {"m": 4, "n": 3, "k": 5, "b": 2}
HEAD = "%t = gpu.thread_id x %c0 = arith.constant 0 : index"


def shape(names: str) -> tuple[int, ...]:
    return tuple(SIZES[name] for name in names)


def text_of(kind: str, sizes: tuple[int, ...], element: str) -> str:
    return f"{kind}<{'x'.join([*map(str, sizes), element])}>"


def read(name: str, sizes: tuple[int, ...], element: str, lane: str = "%t") -> str:
    """A vector of the lane's own part of an array."""
    array = text_of("memref", (LANES, *sizes), element)
    zero = "0.0" if element.startswith("f") else "0"
    places = ", ".join([lane, *["%c0"] * len(sizes)])
    bounds = ", ".join(["true"] * len(sizes))
    return f"""%pad_{name} = arith.constant {zero} : {element}
      %{name} = vector.transfer_read %{name}s[{places}], %pad_{name} {{in_bounds = [{bounds}]}}
        : {array}, {text_of("vector", sizes, element)}"""


def numbers(sizes: tuple[int, ...], element: str, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(-9, 10, (LANES, *sizes)).astype(TYPES[element])


@pytest.mark.parametrize("element, sum_type", [("f32", "f32"), ("f16", "f32"), ("i8", "i32")])
@pytest.mark.parametrize(
    "left, right, sums", [("mk", "kn", "mn"), ("km", "nk", "nm"), ("bmk", "bkn", "bmn"), ("mk", "k", "m")]
)
@pytest.mark.parametrize("lane", ["%t", "%c0"], ids=["lanes of their own", "one for all lanes"])
def test_contractions_are_sums_of_products(
    left: str, right: str, sums: str, element: str, sum_type: str, lane: str
) -> None:
    names = sorted({*left, *right})
    dims = {name: f"d{number}" for number, name in enumerate(names)}
    inputs = ", ".join(dims.values())
    maps = ", ".join(
        f"affine_map<({inputs}) -> ({', '.join(dims[name] for name in side)})>" for side in (left, right, sums)
    )
    kinds = ", ".join(f'"{"parallel" if name in sums else "reduction"}"' for name in names)
    sides = (("a", left, element), ("b", right, element), ("c", sums, sum_type))
    types = [text_of("vector", shape(side), type) for _, side, type in sides]
    places = ", ".join(["%t", *["%c0"] * len(sums)])
    body = f"""{HEAD} {" ".join(read(name, shape(side), type, lane) for name, side, type in sides)}
      %d = vector.contract {{indexing_maps = [{maps}], iterator_types = [{kinds}], kind = #vector.kind<add>}}
        %a, %b, %c : {types[0]}, {types[1]} into {types[2]}
      vector.transfer_write %d, %out[{places}] {{in_bounds = [{", ".join(["true"] * len(sums))}]}}
        : {types[2]}, {text_of("memref", (LANES, *shape(sums)), sum_type)}"""
    arrays = [numbers(shape(side), type, seed) for seed, (_, side, type) in enumerate(sides)]
    out = np.zeros_like(arrays[2])
    arguments = [f"%{name}s: {text_of('memref', (LANES, *shape(side)), type)}" for name, side, type in sides]
    arguments.append(f"%out: {text_of('memref', out.shape[0:1] + shape(sums), sum_type)}")
    run(in_kernel(body, ", ".join(arguments)), *arrays, out, block=(LANES,), device=emulator("sm_90"))
    if lane == "%c0":
        arrays = [np.broadcast_to(array[:1], array.shape) for array in arrays]
    a, b, c = (array.astype(TYPES[sum_type]) for array in arrays)
    assert (out == np.einsum(f"l{left},l{right}->l{sums}", a, b) + c).all()


@pytest.mark.parametrize("order", [*permutations(range(3))])
def test_transposes_change_dimensions(order: tuple[int, ...]) -> None:
    sizes = 2, 3, 4
    wanted = tuple(sizes[dimension] for dimension in order)
    kept, turned = text_of("vector", sizes, "i32"), text_of("vector", wanted, "i32")
    body = f"""{HEAD} {read("x", sizes, "i32")}
      %y = vector.transpose %x, [{", ".join(map(str, order))}] : {kept} to {turned}
      vector.transfer_write %y, %out[%t, %c0, %c0, %c0] {{in_bounds = [true, true, true]}}
        : {turned}, {text_of("memref", (LANES, *wanted), "i32")}"""
    x = numbers(sizes, "i32", 1)
    out = np.zeros((LANES, *wanted), np.int32)
    arguments = f"%xs: {text_of('memref', x.shape, 'i32')}, %out: {text_of('memref', out.shape, 'i32')}"
    run(in_kernel(body, arguments), x, out, block=(LANES,), device=emulator("sm_90"))
    assert (out == x.transpose(0, *(dimension + 1 for dimension in order))).all()


@pytest.mark.parametrize(
    "map, wanted",
    [
        ("(d0, d1, d2) -> (d2, d1)", lambda x: x.transpose(0, 2, 1)),
        ("(d0, d1, d2) -> (d1, d2)", lambda x: x),
        ("(d0, d1, d2) -> (0, d2)", lambda x: np.broadcast_to(x[:, :1], x.shape)),
        ("(d0, d1, d2) -> (d1, 0)", lambda x: np.broadcast_to(x[:, :, :1], x.shape)),
    ],
)
def test_transfers_walk_dimensions_as_they_say(map: str, wanted: Any) -> None:
    body = f"""{HEAD} %pad = arith.constant 0 : i32
      %v = vector.transfer_read %xs[%t, %c0, %c0], %pad {{in_bounds = [true, true],
        permutation_map = affine_map<{map}>}} : memref<{LANES}x4x4xi32>, vector<4x4xi32>
      vector.transfer_write %v, %out[%t, %c0, %c0] {{in_bounds = [true, true],
        permutation_map = affine_map<(d0, d1, d2) -> (d2, d1)>}} : vector<4x4xi32>, memref<{LANES}x4x4xi32>"""
    x = numbers((4, 4), "i32", 2)
    out = np.zeros_like(x)
    arguments = f"%xs: memref<{LANES}x4x4xi32>, %out: memref<{LANES}x4x4xi32>"
    run(in_kernel(body, arguments), x, out, block=(LANES,), device=emulator("sm_90"))
    assert (out == wanted(x).transpose(0, 2, 1)).all()


def test_what_is_not_done_is_said() -> None:
    arguments, body = "%xs: memref<4x4xf32>", "%c0 = arith.constant 0 : index %pad = arith.constant 0.0 : f32"
    padded = "%x = vector.transfer_read %xs[%c0, %c0], %pad : memref<4x4xf32>, vector<4x4xf32>"
    with pytest.raises(CompileError, match="without a mask that are in bounds"):
        run(in_kernel(f"{body} {padded}", arguments), np.zeros((4, 4), np.float32))
    most = f"""{body} {padded.replace("%pad :", "%pad {in_bounds = [true, true]} :")}
      %m = vector.contract {{indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>,
        affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>],
        iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<maximumf>}} %x, %x, %x
        : vector<4x4xf32>, vector<4x4xf32> into vector<4x4xf32>"""
    with pytest.raises(CompileError, match="there are sums of products here, none of kind"):
        run(in_kernel(most, arguments), np.zeros((4, 4), np.float32))
