"""LLVM IR of cores computes what the simulator's cores compute: its own tests, and random programs on both.

The code that the compiler for cores gets runs on this computer, with functions in place of the vendor's intrinsics.
"""

from __future__ import annotations

import re
from typing import Any

import core_programs
import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest
import test_core_vectors
from core_ir import HostedCore, aligned_copy, ir_of, run_core_ir
from core_programs import ELEMENTS, FakeTile, memref_text
from hypothesis import given, settings
from hypothesis import strategies as st
from test_core_numbers import test_bits_of_integers as test_bits_of_integers
from test_core_numbers import test_both_halves_of_a_product as test_both_halves_of_a_product
from test_core_numbers import test_constants as test_constants
from test_core_numbers import (
    test_extremes_differ_in_what_they_do_with_nan as test_extremes_differ_in_what_they_do_with_nan,
)
from test_core_numbers import test_float_comparisons_with_nan as test_float_comparisons_with_nan
from test_core_numbers import (
    test_float_operations_round_once_to_nearest_even as test_float_operations_round_once_to_nearest_even,
)
from test_core_numbers import test_floats_to_integers_saturate as test_floats_to_integers_saturate
from test_core_numbers import (
    test_integer_operations_wrap_and_never_crash as test_integer_operations_wrap_and_never_crash,
)
from test_core_numbers import test_integers_to_floats_and_back as test_integers_to_floats_and_back
from test_core_numbers import test_math_functions as test_math_functions
from test_core_numbers import test_math_of_several_operands as test_math_of_several_operands
from test_core_numbers import test_maximum_prefers_positive_zero as test_maximum_prefers_positive_zero
from test_core_numbers import test_truncf_rounds_ties_to_even as test_truncf_rounds_ties_to_even
from test_core_random import CELLS, Statement, programs
from test_core_vectors import test_bf16_vectors_are_rounded_like_scalars as test_bf16_vectors_are_rounded_like_scalars
from test_core_vectors import test_contraction_extends_narrow_factors as test_contraction_extends_narrow_factors
from test_core_vectors import test_contraction_is_a_matrix_product as test_contraction_is_a_matrix_product
from test_core_vectors import test_gather_and_scatter as test_gather_and_scatter
from test_core_vectors import test_masks as test_masks
from test_core_vectors import test_reduction as test_reduction
from test_core_vectors import test_transfer_pads_where_the_buffer_ends as test_transfer_pads_where_the_buffer_ends
from test_core_vectors import (
    test_transfer_with_permuted_and_repeated_dimensions as test_transfer_with_permuted_and_repeated_dimensions,
)
from test_core_vectors import test_vector_operation as test_vector_operation

from tilewright.ir.diagnostics import DiagnosedError

Array = npt.NDArray[Any]
BF16 = np.dtype(ml_dtypes.bfloat16)
simulated = core_programs.run_core
pytestmark = pytest.mark.filterwarnings("ignore:invalid value encountered:RuntimeWarning")


def run_for_cores(body: str, tile: FakeTile | None = None, outside: str = "", **buffers: Array) -> FakeTile:
    """`run_core` with the code for the compiler; what cores cannot compute is refused, and simulated instead."""
    arrays = buffers if tile is None else tile.buffers
    if not re.search(r"\bf16\b", body + " ".join(map(memref_text, arrays.values())).replace("xf16", " f16")):
        return run_core_ir(body, tile, outside, **buffers)
    with pytest.raises(DiagnosedError, match="there is no f16 on cores"):
        run_core_ir(body, FakeTile({name: array.copy() for name, array in arrays.items()}), outside)
    return simulated(body, tile, outside, **buffers)


@pytest.fixture(autouse=True)
def on_code_for_the_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (core_programs, test_core_vectors):
        monkeypatch.setattr(module, "run_core", run_for_cores)


@given(programs)
@settings(max_examples=12)
def test_statements_compute_and_wait_alike(program: list[Statement]) -> None:
    start = [pow(7, number + 3, 101) for number in range(CELLS)]
    expected = list(start)
    waits = sum(statement.run(expected, 0) for statement in program)
    text = "%zero = arith.constant 0 : index" + "".join(statement.text("%zero") for statement in program)
    arrays = [np.array(start, np.int32) for _ in range(2)]
    tiles = [run(text, FakeTile({"cells": array})) for run, array in zip((simulated, run_core_ir), arrays, strict=True)]
    assert arrays[1].view(np.uint32).tolist() == expected
    assert len(tiles[1].log) == waits
    assert tiles[0].log == tiles[1].log


INTEGERS = ["addi", "subi", "muli", "andi", "ori", "xori", "maxsi", "minui", "shli", "shrsi"]
FLOATS = ["addf", "subf", "mulf", "maximumf", "minnumf"]


@st.composite
def vector_programs(draw: st.DrawFn) -> tuple[str, dict[str, Array]]:
    """A loop over vectors of a random type and length that computes some random values of them, at any distance."""
    dtype = np.dtype(draw(st.sampled_from([np.int8, np.int16, np.int32, np.float32, BF16])))
    count, step = draw(st.sampled_from([4, 8, 16, 32, 64])), draw(st.sampled_from([1, 3, 8, 16, 64]))
    rounds, offset = draw(st.integers(1, 3)), draw(st.sampled_from([0, 1, 8, 32]))
    element, total = ELEMENTS[dtype], offset + step * rounds + count
    vector, memory = f"vector<{count}x{element}>", f"memref<{total}x{element}>"
    names, lines = ["%x", "%y"], list[str]()
    for number in range(draw(st.integers(1, 4))):
        name, lhs, rhs = f"%v{number}", draw(st.sampled_from(names)), draw(st.sampled_from(names))
        match draw(st.sampled_from(["compute", "choose", "reverse", "splat", "lane", "bits"])):
            case "compute":
                operation = draw(st.sampled_from(FLOATS if element in ("f32", "bf16") else INTEGERS))
                lines.append(f"{name} = arith.{operation} {lhs}, {rhs} : {vector}")
            case "choose":
                compare = "cmpf olt" if element in ("f32", "bf16") else "cmpi slt"
                lines.append(f"{name}c = arith.{compare}, {lhs}, {rhs} : {vector}")
                lines.append(f"{name} = arith.select {name}c, {lhs}, {rhs} : vector<{count}xi1>, {vector}")
            case "reverse":
                mask = ", ".join(str(place) for place in reversed(range(count)))
                lines.append(f"{name} = vector.shuffle {lhs}, {rhs} [{mask}] : {vector}, {vector}")
            case "splat":
                lines.append(
                    f"{name}s = vector.extract {lhs}[{draw(st.integers(0, count - 1))}] : {element} from {vector}"
                )
                lines.append(f"{name} = vector.broadcast {name}s : {element} to {vector}")
            case "lane":
                place = draw(st.integers(0, count - 1))
                lines.append(f"{name}s = vector.extract {lhs}[{place}] : {element} from {vector}")
                lines.append(f"{name} = vector.insert {name}s, {rhs} [{count - 1 - place}] : {element} into {vector}")
            case _:
                width = 8 * dtype.itemsize
                other = 16 if width == 32 else 32
                bits = f"vector<{count * width // other}xi{other}>"
                lines.append(f"{name}b = vector.bitcast {lhs} : {vector} to {bits}")
                lines.append(f"{name}n = arith.addi {name}b, {name}b : {bits}")
                lines.append(f"{name} = vector.bitcast {name}n : {bits} to {vector}")
        names.append(name)
    body = f"""%c0 = arith.constant {offset} : index
      %end = arith.constant {offset + step * rounds} : index
      %step = arith.constant {step} : index
      %first = vector.load %b[%c0] : {memory}, {vector}
      %last = scf.for %i = %c0 to %end step %step iter_args(%y = %first) -> ({vector}) {{
        %x = vector.load %a[%i] : {memory}, {vector}
        {" ".join(f"{chr(10)}{line}" for line in lines)}
        vector.store {names[-1]}, %b[%i] : {memory}, {vector}
        scf.yield {draw(st.sampled_from(names))} : {vector}
      }}
      vector.store %last, %a[%c0] : {memory}, {vector}"""
    random = np.random.default_rng(draw(st.integers(0, 99)))
    bits = random.integers(0, 256, (2, total * dtype.itemsize), np.uint8)
    return body, {"a": bits[0].view(dtype), "b": bits[1].view(dtype)}


@given(vector_programs())
@settings(max_examples=25)
def test_vectors_compute_alike(program: tuple[str, dict[str, Array]]) -> None:
    body, buffers = program
    copies = [{name: array.copy() for name, array in buffers.items()} for _ in range(2)]
    simulated(body, FakeTile(copies[0]))
    run_core_ir(body, FakeTile(copies[1]))
    for name in buffers:
        left, right = copies[0][name], copies[1][name]
        same = (left.view(np.uint8) == right.view(np.uint8)).reshape(len(left), -1).all(1)
        if left.dtype.kind != "i":  # one NaN is as good as another
            same |= np.isnan(left.astype(np.float32)) & np.isnan(right.astype(np.float32))
        assert same.all(), (name, left[~same][:4], right[~same][:4])


def test_streams_cascades_events_and_kernels_get_what_they_are_told() -> None:
    numbers, called = np.arange(16, dtype=np.int32), list[Any]()
    tile = FakeTile({"data": numbers}, cascade=[numbers.tobytes()], stream=[b"\7\0\0\0"])
    memory = {"data": aligned_copy(numbers)}
    tile.kernels = {"keep": lambda place, number: called.append((place - memory["data"].ctypes.data, number))}
    body = """%c0 = arith.constant 0 : index
      %channel = arith.constant 0 : i32
      %word = aie.get_stream(%channel : i32) : i32
      aie.put_stream(%channel : i32, %word : i32)
      %row = aie.get_cascade() : vector<16xi32>
      %twice = arith.addi %row, %row : vector<16xi32>
      aie.put_cascade(%twice : vector<16xi32>)
      aie.event(1)
      %part = memref.subview %data[4] [4] [1] : memref<16xi32> to memref<4xi32, strided<[1], offset: 4>>
      %any = memref.cast %part
        : memref<4xi32, strided<[1], offset: 4>> to memref<4xi32, strided<[1], offset: ?>>
      func.call @keep(%any, %word) : (memref<4xi32, strided<[1], offset: ?>>, i32) -> ()"""
    outside = "func.func private @keep(memref<4xi32, strided<[1], offset: ?>>, i32)"
    HostedCore(ir_of(body, tile.buffers, outside), tile, memory).run("core_0_2")
    assert tile.log == [("put_stream", 7, 0), ("put_cascade", (2 * numbers).tobytes()), ("event", 1)]
    assert called == [(16, 7)], "a kernel gets the address of the first element"
