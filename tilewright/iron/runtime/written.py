"""Sequences as operations, in a device or before there is one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from xdsl.dialects.builtin import DenseArrayBase, i64
from xdsl.ir import Block, Region

from tilewright.dialects.aie.sequence import FLOAT_ARGUMENTS, RuntimeSequenceOp
from tilewright.iron.builders.location import at
from tilewright.iron.builders.operations import InsertionPoint, build
from tilewright.iron.runtime.data import argument_type, is_float_argument
from tilewright.iron.runtime.sequence import ActiveSequence


def sequence_op(given: Sequence[Any], names: Sequence[str]) -> RuntimeSequenceOp:
    """A sequence with arguments of the types that a program gives and, as far as they are known, names."""
    block = Block(arg_types=[*map(argument_type, given)])
    for ssa, name in zip(block.args, names, strict=False):
        ssa.name_hint = name
    floats = [number for number, type in enumerate(given) if is_float_argument(type)]
    attributes = {FLOAT_ARGUMENTS: DenseArrayBase.from_list(i64, floats)} if floats else {}
    return build(RuntimeSequenceOp, regions=[Region(block)], sym_name="sequence", attributes=attributes)


class WrittenSequence:
    """A sequence that was written before there is a device for it."""

    def __init__(self, op: RuntimeSequenceOp, active: ActiveSequence):
        self._op, self._active = op, active

    def resolve(self, prologue: Callable[[], None] | None) -> None:
        """A copy of it in the device, with what had to wait for the device."""
        copy = self._op.clone()
        InsertionPoint.current.insert(copy)
        if prologue is not None:
            with InsertionPoint.at_block_begin(copy.body.block):
                prologue()
        # both in the same order; a list, because actions change what is walked
        for original, marker in [*zip(self._op.walk(), copy.walk(), strict=False)]:
            if original in self._active.delayed:
                with InsertionPoint(marker), at(marker.location):
                    self._active.delayed[original]()
                marker.detach()
                marker.erase()
