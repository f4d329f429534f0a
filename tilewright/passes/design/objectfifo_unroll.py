"""Unrolls the loops of cores in which FIFOs turn, so that each copy of a body has buffers and lock values of its own.

The stateful transform leaves a counter per FIFO and the number of iterations after which all of them are back where
they were. Unrolled that often, the counters fold to constants; what they chose is then chosen here.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import NamedTuple

from xdsl.dialects.builtin import IntegerAttr, UnitAttr
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import Rewriter

from tilewright.dialects import scf
from tilewright.dialects.aie.attributes import LockAction
from tilewright.dialects.aie.core import CoreOp
from tilewright.dialects.aie.locks import UseLockOp
from tilewright.dialects.aie.sequence import RuntimeSequenceOp
from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.ir.diagnostics import fail_op
from tilewright.ir.traversal import all_operations
from tilewright.passes.design.objectfifo_stateful_transform.core_accesses import UNROLL_HINT
from tilewright.rewrite.constant_propagation import propagate_constants
from tilewright.rewrite.driver import canonicalize
from tilewright.rewrite.pass_bases import DevicePass, ops_of
from tilewright.rewrite.unrolling import (
    iterations,
    loops_innermost_first,
    peel_first_iteration,
    unroll,
    unroll_by,
)


@dataclass(frozen=True)
class ObjectFifoUnrollPass(DevicePass):
    name = "aie-objectFifo-unroll"

    default_dynamic: bool = field(
        default=False, metadata={"help": "leave loops rolled in cores that do not say dynamic_objfifo_lowering"}
    )
    peel_first_iteration: str = field(
        default="auto",
        metadata={"help": "copy the first iteration out where lock values become constants: true, false, auto"},
    )
    keep_sequences: bool = field(
        default=False, metadata={"help": "leave runtime sequences as they are, which others canonicalize"}
    )

    def apply_to(self, device: DeviceOp) -> None:
        peels = self._peels(device)
        # Only cores have FIFOs that turn, and a sequence may be long.
        kept = (RuntimeSequenceOp,) if self.keep_sequences else ()
        for core in ops_of(device.body.ops, CoreOp):
            own = core.dynamic_objfifo_lowering
            _unroll_core(core, is_dynamic=self.default_dynamic if own is None else bool(own.value.data))
        if kept and not ops_of(device.body.ops, CoreOp):
            canonicalize(device, but=kept)
            # what is canonical stays so where nothing is changed
            if not _drop_repeated_acquires(device):
                return
        else:
            _fold(device, kept)
            if peels:
                _peel_loops(device, kept)
            _drop_repeated_acquires(device)
        canonicalize(device, but=kept)

    def _peels(self, device: DeviceOp) -> bool:
        choices = {"auto": not self.default_dynamic, "true": True, "false": False}
        if self.peel_first_iteration not in choices:
            fail_op(
                device,
                f"invalid peel-first-iteration value '{self.peel_first_iteration}'; "
                'expected "true", "false" or "auto"',
            )
        return choices[self.peel_first_iteration]


def _unroll_core(core: CoreOp, *, is_dynamic: bool) -> None:
    """Unroll the loops that have a hint, innermost first, and take the hints away."""
    if not is_dynamic:
        for loop in loops_innermost_first(core):
            hint = loop.attributes.get(UNROLL_HINT)
            if isinstance(hint, IntegerAttr) and hint.value.data > 1:
                _unroll_turns(loop, hint.value.data)
    for loop in loops_innermost_first(core):
        loop.attributes.pop(UNROLL_HINT, None)


def _unroll_turns(loop: scf.ForOp, factor: int) -> None:
    """Unroll a loop by `factor`, and what then remains of it, so that every iteration has its own buffers."""
    count = iterations(loop)
    is_short = count is not None and count <= factor  # not even one turn
    rest = loop if is_short else unroll_by(loop, factor)
    if rest is not None and (count := iterations(rest)):
        unroll(rest, count)


def _fold(device: DeviceOp, kept: tuple[type[Operation], ...]) -> None:
    """Bring the counters down to constants, through the loops that are left too, and remove what they leave unused."""
    canonicalize(device, but=kept)
    # From the device on, whose constants cores may use.
    if not kept or ops_of(device.body.ops, CoreOp):
        propagate_constants(device)
    canonicalize(device, but=kept)


class _Trial(NamedTuple):
    """A core in which a loop has been peeled, and how it was before."""

    core: CoreOp
    unpeeled: CoreOp
    runtime_values: int


PEEL_TRIED = "aie.peel_tried"
"""On a loop that has been offered for peeling, which happens once."""


def _peel_loops(device: DeviceOp, kept: tuple[type[Operation], ...]) -> None:
    """Peel loops whose lock values are computed at run time, and keep what makes some of them constants.

    Whether it does can only be seen afterwards, so one loop of each core is tried at a time.
    """
    while trials := [trial for core in ops_of(device.body.ops, CoreOp) if (trial := _try_peeling(core)) is not None]:
        _fold(device, kept)
        for trial in trials:
            if _runtime_values(trial.core) >= trial.runtime_values:  # nothing gained: the code would only be longer
                Rewriter.replace_op(trial.core, trial.unpeeled)
    for loop in (loop for core in ops_of(device.body.ops, CoreOp) for loop in loops_innermost_first(core)):
        loop.attributes.pop(PEEL_TRIED, None)


def _try_peeling(core: CoreOp) -> _Trial | None:
    # A loop whose number of iterations is not known stays whole: it may have none.
    loops = (loop for loop in loops_innermost_first(core) if (iterations(loop) or 0) > 1)
    loop = next((loop for loop in loops if PEEL_TRIED not in loop.attributes and _runtime_values(loop)), None)
    if loop is None:
        return None
    loop.attributes[PEEL_TRIED] = UnitAttr()
    # Before it is peeled, to be put back if that gains nothing.
    trial = _Trial(core, core.clone(), _runtime_values(core))
    peel_first_iteration(loop)
    return trial


def _runtime_values(op: Operation) -> int:
    """How many uses of locks in `op` have values that are not constants."""
    return sum(use.constant is None for use in ops_of(all_operations(op), UseLockOp))


def _drop_repeated_acquires(device: DeviceOp) -> bool:
    """Remove the acquires of a binary lock that the block has acquired before and not released since."""
    held: defaultdict[Block | None, set[SSAValue]] = defaultdict(set)
    changed = False
    for op in ops_of(all_operations(device), UseLockOp):
        of_block = held[op.parent]
        if op.lock_action is LockAction.Release:
            of_block.discard(op.lock)
        elif op.lock_action is LockAction.Acquire:
            if op.lock in of_block:
                Rewriter.erase_op(op)
                changed = True
            of_block.add(op.lock)
    return changed
