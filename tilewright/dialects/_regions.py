"""Values that flow between an operation and its regions, checked and worded as MLIR's region branch interface does."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Attribute, Operation
from xdsl.utils.exceptions import VerifyException

from tilewright.ir.shown import quoted


def verify_flow(source: Operation | str, target: str, given: Sequence[Attribute], needed: Sequence[Attribute]) -> None:
    """The types that a terminator (or `parent`) passes on must be those that `target` (`parent`, `Region #0`) takes."""
    origin = source if isinstance(source, str) else f"Operation {source.name}"
    edge = f"along control flow edge from {origin} to {target}: "
    if len(given) != len(needed):
        raise VerifyException(
            f"{edge}region branch point has {len(given)} operands, but region successor needs {len(needed)} inputs"
        )
    for number, (have, want) in enumerate(zip(given, needed, strict=True)):
        if have != want:
            raise VerifyException(
                f"{edge}successor operand type #{number} {quoted(have)} should match "
                f"successor input type #{number} {quoted(want)}"
            )
