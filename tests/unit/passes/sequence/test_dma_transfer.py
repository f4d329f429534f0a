"""Parts of the arithmetic that generated code does on sizes and strides."""

from __future__ import annotations

import pytest
from helpers import first, parsed
from hypothesis import given
from hypothesis import strategies as st
from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from tilewright.codegen.interpreter import Interpreter
from tilewright.codegen.txn_words import TxnEmitter
from tilewright.dialects import arith
from tilewright.dialects.aie.sequence import RuntimeSequenceOp
from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.passes.sequence.dma_transfer import largest_divisor
from tilewright.passes.sequence.limit_checks import largest_value
from tilewright.rewrite.emitter import Emitter
from tilewright.rewrite.exact_arithmetic import Numbers

EMPTY = "aie.device(npu1) { aie.runtime_sequence @run(%n: i64, %bound: i64) { } }"


@given(st.integers(1, 1 << 31), st.integers(1, 2000))
def test_largest_divisor(number: int, bound: int) -> None:
    module = parsed(EMPTY)
    device, sequence = first(DeviceOp, module), first(RuntimeSequenceOp, module)
    block = sequence.body.block
    numbers = Numbers(Emitter.at_end(block, sequence.location))
    found = largest_divisor(numbers, *block.args)
    assert isinstance(found, SSAValue)
    run = Interpreter(sequence, TxnEmitter(device), dict(zip(block.args, (number, bound), strict=True)))
    assert list(run.run()) == []
    expected = max(divisor for divisor in range(1, bound + 1) if number % divisor == 0)
    assert run.values[found] == expected == largest_divisor(numbers, number, bound)


@pytest.mark.parametrize(
    "computation, largest",
    [
        ("arith.minsi %n, %five : i64", 5),
        ("arith.maxsi %five, %five : i64", 5),
        ("arith.remui %n, %five : i64", 4),
        ("arith.andi %n, %five : i64", 5),
        ("arith.select %flag, %five, %bound : i64", (1 << 63) - 1),
        ("arith.extui %byte : i8 to i64", 255),
        ("arith.extsi %byte : i8 to i64", 127),
        ("arith.addi %five, %five : i64", (1 << 63) - 1),
    ],
)
def test_largest_value(computation: str, largest: int) -> None:
    arguments = "%n: i64, %bound: i64, %flag: i1, %byte: i8"
    body = f"%five = arith.constant 5 : i64\n%result = {computation}\n%end = arith.addi %result, %five : i64"
    module = parsed(f"aie.device(npu1) {{ aie.runtime_sequence @run({arguments}) {{ {body} }} }}")
    *_, end = (op for op in module.walk() if isinstance(op, arith.AddiOp))
    assert end.operands[0].type == i64 and largest_value(end.operands[0]) == largest
