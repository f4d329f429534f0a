"""Designs from a function: `transform` and its kin, run on the simulator."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from iron_programs import vector

import tilewright as tw
from tilewright import iron
from tilewright.iron import Kernel, ObjectFifo, Program, Runtime, Worker, algorithms, kernels
from tilewright.iron.controlflow import range_
from tilewright.iron.device import NPU1, NPU1Col1


@pytest.fixture(autouse=True)
def device() -> Iterator[None]:
    before = iron.get_current_device()
    iron.set_current_device(NPU1Col1())
    yield
    iron.set_current_device(before)


A = np.arange(256, dtype=np.int32)
B = A[::-1].copy()


def run(module: Any, *arrays: Any) -> None:
    tw.compile(module).run(*arrays)


def test_a_function_of_each_element():
    out = np.zeros_like(A)
    run(algorithms.transform(lambda x: x * x + 1, vector(256), tile_size=64), A, out)
    assert (out == A * A + 1).all()


def test_a_function_of_two():
    out = np.zeros_like(A)
    run(algorithms.transform_binary(lambda a, b: a - b, vector(256)), A, B, out)
    assert (out == A - B).all()


def test_a_kernel_with_a_parameter():
    """The factor is an array of one number, which the host sends before the vector."""
    out, scale = np.zeros_like(A), kernels.scale(tile_size=64, dtype=np.int32)
    run(algorithms.transform(scale, vector(256), vector(1), tile_size=64), A, out, np.array([3], np.int32))
    assert (out == A * 3).all()


@pytest.mark.parametrize("channels", [1, 2])
def test_all_columns(channels: int):
    iron.set_current_device(NPU1())
    out = np.zeros_like(A)
    module = algorithms.transform_parallel(lambda x: x + 5, vector(256), tile_size=16, num_channels=channels)
    assert str(module).count("aie.core") == 4 * channels
    run(module, A, out)
    assert (out == A + 5).all()


def test_in_place():
    data = A.copy()
    run(algorithms.for_each(lambda x: x + 1, vector(256)), data)
    assert (data == A + 1).all()


def test_a_reduction():
    out = np.zeros(1, np.int32)
    run(algorithms.reduce(kernels.reduce_add(tile_size=256), vector(256), vector(1)), A, out)
    assert out[0] == A.sum()


def test_a_window_of_three_rows():
    """The rows of an image and their neighbours, the border's own rows for those that are missing."""
    height, width = 5, 16
    row = vector(width)
    of_in, of_out, of_weights = (
        ObjectFifo(row, name="in", depth=4),
        ObjectFifo(row, name="out"),
        ObjectFifo(vector(3), name="weights"),
    )

    def filter_row(above: Any, at: Any, below: Any, out: Any, weights: Any, border: int) -> None:
        for i in range_(width):
            out[i] = above[i] * weights[0] + at[i] * weights[1] + below[i] * weights[2] + border

    def core(source: Any, target: Any, weights: Any) -> None:
        algorithms.sliding_3row(source, target, n_out_rows=height, do_kernel=filter_row, of_wts=weights)

    def sequence(image: Any, weights: Any, result: Any, source: Any, weights_end: Any, target: Any) -> None:
        weights_end.fill(weights)
        source.fill(image)
        target.drain(result, wait=True)

    worker = Worker(core, [of_in.cons(), of_out.prod(), of_weights.cons()])
    arrays = [vector(height * width), vector(3), vector(height * width)]
    runtime = Runtime(sequence, [*arrays, of_in.prod(), of_weights.prod(), of_out.cons()])
    image = np.arange(height * width, dtype=np.int32).reshape(height, width)
    result, weights = np.zeros_like(image), np.array([1, 10, 100], np.int32)
    run(Program(NPU1Col1(), runtime, [worker]), image.reshape(-1), weights, result.reshape(-1))
    padded = np.pad(image, ((1, 1), (0, 0)), mode="edge")
    borders = np.array([0, 1, 1, 1, 2])[:, None]
    assert (result == padded[:-2] + 10 * padded[1:-1] + 100 * padded[2:] + borders).all()


@pytest.mark.parametrize(
    "build, text",
    [
        (lambda: algorithms.transform(abs, vector(100)), "100 elements are no multiple of 16"),
        (lambda: algorithms.transform(abs, 3), "transform takes an array type"),
        (lambda: algorithms.transform(Kernel("f", None, [vector(8)] * 2), vector(64)), "works on 8 elements"),
        (lambda: algorithms.transform_parallel(abs, vector(64), num_channels=3), "num_channels must be 1 or 2"),
        (lambda: algorithms.reduce(abs, vector(64), vector(1)), "reduce takes a kernel"),
    ],
)
def test_refusals(build: Any, text: str):
    with pytest.raises(iron.UsageError, match=text):
        build()
