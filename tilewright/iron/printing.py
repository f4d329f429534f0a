"""Printing from a core: values as they are when the program runs, on the simulated NPU."""

from __future__ import annotations

from typing import Any

from xdsl.dialects.builtin import IndexType, StringAttr, i64
from xdsl.ir import Operation

from tilewright.dialects import func
from tilewright.dialects.aie.core import CoreOp
from tilewright.dialects.aie.sequence import RuntimeSequenceOp
from tilewright.iron.builders.functions import FuncOp, call, declare, home_of_functions
from tilewright.iron.builders.handles import Value
from tilewright.iron.builders.location import refuse
from tilewright.iron.builders.operations import InsertionPoint
from tilewright.iron.builders.scalars import ScalarValue


def print_(*values: Any, sep: str = " ") -> None:
    """Print a line when the core gets here: texts and Python numbers, numbers of the program, and whole buffers.

    The simulator shows it with the core's tile and the cycle, and keeps it in `result.printed`. A core on hardware has
    nowhere to print to: leave these lines out of a design that is packaged for one. `sep` is between values.
    """
    _check_place()
    shown = [_operand(value) for value in values if isinstance(value, Value)]
    # the text is a format, so braces of the user's are doubled
    parts = ("{}" if isinstance(value, Value) else str(value).replace("{", "{{").replace("}", "}}") for value in values)
    text = sep.join(parts)
    call(_declaration(text, [value.type for value in shown]), shown)


def _operand(value: Value) -> Value:
    """Indices are as wide as the core's registers; as integers they have a width."""
    return value.astype(i64) if isinstance(value, ScalarValue) and isinstance(value.type, IndexType) else value


def _check_place() -> None:
    op: Operation | None = InsertionPoint.current.block.parent_op()
    while op is not None and not isinstance(op, CoreOp | RuntimeSequenceOp):
        op = op.parent_op()
    if isinstance(op, RuntimeSequenceOp):
        refuse(
            "a runtime sequence has nothing to print to: its numbers are known when its words are made",
            (None, "print in a worker's function, or look at the words: `tilewright txn dis`"),
        )


def _declaration(text: str, types: list[Any]) -> Any:
    """A function that prints in this way; calls that print alike share it."""
    home, before = home_of_functions()
    functions = [op for op in home.regions[0].blocks[0].ops if isinstance(op, func.FuncOp)]
    for function in functions:
        if function.attributes.get(func.PRINTS) == StringAttr(text) and list(function.function_type.inputs) == types:
            return FuncOp(function)
    # a program may have functions of such names itself
    names = {function.sym_name.data for function in functions}
    name = next(name for n in range(len(names) + 1) if (name := f"print_{n}") not in names)
    return declare(name, types, [], "private", attributes={func.PRINTS: StringAttr(text)}, ip=before)
