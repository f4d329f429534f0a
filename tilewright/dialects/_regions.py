"""Values that flow between an operation and its regions, checked and worded as MLIR's region branch interface does."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Attribute, Operation
from xdsl.traits import OpTrait
from xdsl.utils.exceptions import VerifyException

from tilewright.ir.diagnostics import VerifyError
from tilewright.ir.shown import quoted


class NoRegionArguments(OpTrait):
    """Nothing flows into the regions."""

    def verify(self, op: Operation) -> None:
        for number, region in enumerate(op.regions):
            if region.first_block is not None and region.first_block.args:
                which = f"region #{number}" if len(op.regions) > 1 else "region"
                raise VerifyException(f"{which} should have no arguments")


def verify_flow(
    branch: Operation,
    target: str,
    given: Sequence[Attribute],
    needed: Sequence[Attribute],
    source: str | None = None,
) -> None:
    """The types that `branch` passes on must be those that `target` (`parent`, `Region #0`) takes.

    It is a terminator, or with `source="parent"` the operation with the regions itself.
    """
    note = (branch, "region branch point")  # MLIR has it with each of these errors
    edge = f"along control flow edge from {source or f'Operation {branch.name}'} to {target}: "
    if len(given) != len(needed):
        raise VerifyError(
            f"{edge}region branch point has {len(given)} operands, but region successor needs {len(needed)} inputs",
            note,
        )
    for number, (have, want) in enumerate(zip(given, needed, strict=True)):
        if have != want:
            raise VerifyError(
                f"{edge}successor operand type #{number} {quoted(have)} should match "
                f"successor input type #{number} {quoted(want)}",
                note,
            )
