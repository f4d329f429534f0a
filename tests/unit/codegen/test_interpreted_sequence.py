"""Words without native code: those of the native generator, and refused for the same reasons, word for word."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tilewright as tw
from tilewright.codegen.interpreted_sequence import InterpretedSequence
from tilewright.codegen.interpreter import EXECUTED
from tilewright.codegen.sequence_scalars import RangeError, ScalarSequence
from tilewright.codegen.txn_words import TxnEmitter
from tilewright.driver.compiled_design import Design

pytestmark = pytest.mark.llvm
TEXT = """
aie.device(npu2) {
  %shim = aie.tile(0, 0)
  aie.shim_dma_allocation @in(%shim, MM2S, 0)
  aie.runtime_sequence @run(%a: memref<?xi32>, %rows: i64, %columns: i64, %pitch: i64, %turns: i64, %step: index) {
    aiex.npu.dma_memcpy_nd(%a[0, 0, 0, 0][1, 1, %rows, %columns][0, 0, %pitch, 1]) {id = 0 : i64, metadata = @in} : memref<?xi32>
    %zero = arith.constant 0 : index
    %end = arith.index_cast %turns : i64 to index
    scf.for %i = %zero to %end step %step {
      %j = arith.index_cast %i : index to i32
      %address = arith.constant 119300 : i32
      %n = arith.index_cast %step : index to i32
      %quotient = arith.divsi %address, %n : i32
      %value = arith.addi %j, %quotient : i32
      aiex.npu.write32(%address, %value) {column = 0 : i32, row = 0 : i32} : i32, i32
    }
  }
}
"""  # noqa: E501
DESIGN: Design = tw.compile(TEXT)


def interpreted() -> ScalarSequence:
    operation = DESIGN.operation()
    device = operation.parent_op()
    assert device is not None
    return InterpretedSequence(operation, TxnEmitter(device), DESIGN.scalars())


def outcome(sequence: ScalarSequence, scalars: dict[str, int]) -> list[int] | str:
    try:
        return sequence(scalars).tolist()
    except RangeError as error:
        return str(error)


sizes = st.integers(-2, 70) | st.sampled_from([1 << 20, (1 << 20) + 1, 1 << 31, -(1 << 63)])
scalars = st.fixed_dictionaries(
    {
        **dict.fromkeys(("rows", "columns", "pitch"), sizes),
        "turns": st.integers(-1, 5),
        "step": st.sampled_from([-1, 0, 1, 2]),
    }
)


@given(scalars)
@settings(max_examples=60)
def test_words_and_refusals_are_those_of_native_code(given: dict[str, int]) -> None:
    native = DESIGN._compile(None)
    assert not isinstance(native, InterpretedSequence)
    assert outcome(interpreted(), given) == outcome(native, given)


def test_both_are_there_and_some_are_refused() -> None:
    fine = {"rows": 4, "columns": 8, "pitch": 16, "turns": 3, "step": 1}
    assert len(outcome(interpreted(), fine)) > 20
    for name, value, text in (
        ("columns", -1, "but must be"),
        ("step", 0, "step of the loop is 0"),
        ("rows", 1 << 64, "does not fit"),
    ):
        assert text in str(outcome(interpreted(), {**fine, name: value}))


def test_arguments_are_checked_alike() -> None:
    for scalars in ({}, {"row": 1}, {"rows": "4"}):
        with pytest.raises(tw.Error) as ours:
            interpreted()(scalars)  # pyright: ignore[reportArgumentType]
        with pytest.raises(tw.Error) as native:
            DESIGN._compile(None)(scalars)  # pyright: ignore[reportArgumentType]
        assert str(ours.value) == str(native.value)


def test_both_know_the_same_operations() -> None:
    from tilewright.codegen.native_generator import HANDLERS

    assert set(HANDLERS) == EXECUTED
