"""What a program computes once some of its values are known is what folding would give: in the width of its types."""

from __future__ import annotations

import pytest

from tilewright.dialects.func import FuncOp
from tilewright.ir.context import make_context
from tilewright.ir.parser import parse_source
from tilewright.passes.air.air_gpu_channel_to_cacheline.visits import evaluate


@pytest.mark.parametrize(
    "line, wanted",
    [
        pytest.param("arith.addi %most, %x : i32", -(1 << 31) + 299, id="sums wrap"),
        pytest.param("arith.trunci %x : i32 to i8", 44, id="upper bits go"),
        pytest.param("arith.extui %minus : i32 to i64", (1 << 32) - 1, id="bits without sign"),
        pytest.param("arith.extui %true : i1 to i32", 1, id="a truth is one"),
        pytest.param("arith.divui %minus, %x : i32", ((1 << 32) - 1) // 300, id="division without sign"),
        pytest.param("arith.floordivsi %minus, %x : i32", -1, id="towards less"),
        pytest.param("arith.shrsi %minus, %x : i32", None, id="too far a shift is undefined"),
        pytest.param("arith.remsi %x, %zero : i32", None, id="so is a division by zero"),
        pytest.param("arith.cmpi ult, %x, %minus : i32", -1, id="bits are compared"),
        pytest.param("arith.addi %x, %other : i32", None, id="what depends on more is unknown"),
    ],
)
def test_values(line: str, wanted: int | None) -> None:
    numbers = {"most": "2147483647 : i32", "minus": "-1 : i32", "true": "true", "zero": "0 : i32"}
    constants = "\n".join(f"%{name} = arith.constant {number}" for name, number in numbers.items())
    text = f"func.func @f(%x: i32, %other: i32) {{\n{constants}\n%result = {line}\nreturn\n}}"
    function = next(op for op in parse_source(make_context(), text, "f.mlir").body.ops if isinstance(op, FuncOp))
    block = function.body.block
    *_, last, _ = block.ops
    assert evaluate(last.results[0], {block.args[0]: 300}) == wanted
