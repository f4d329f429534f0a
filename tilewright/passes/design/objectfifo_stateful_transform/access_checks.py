"""What cores must not do with FIFOs: touch those that pass through their tile, or release what they do not hold."""

from __future__ import annotations

from collections import defaultdict
from typing import TypeAlias

from tilewright.device import ObjectFifoPort
from tilewright.dialects import scf
from tilewright.dialects.aie.core import CoreOp
from tilewright.dialects.aie.lookup import parent_of_type
from tilewright.dialects.aie.objectfifo_uses import (
    ObjectFifoAcquireOp,
    ObjectFifoReleaseOp,
    ObjectFifoSubviewAccessOp,
)
from tilewright.ir.diagnostics import fail_op
from tilewright.passes.design.objectfifo_stateful_transform.design import Access, placed
from tilewright.passes.design.objectfifo_stateful_transform.ends import End, Ends
from tilewright.passes.design.objectfifo_stateful_transform.sharing import Shared, shared_memory

Use: TypeAlias = ObjectFifoAcquireOp | ObjectFifoReleaseOp
Key: TypeAlias = tuple[End, ObjectFifoPort]

VERBS = {ObjectFifoAcquireOp: "acquire from", ObjectFifoReleaseOp: "release from"}


class CoreAccesses:
    """The accesses of all cores to FIFOs, each with the end that it means."""

    def __init__(self, ends: Ends):
        self.ends = ends
        self.by_core = {core: accesses for core, accesses in ends.design.accesses.items() if accesses}
        self.keys: dict[Use, Key] = {}
        for core, accesses in self.by_core.items():
            for op in accesses:
                if not isinstance(op, ObjectFifoSubviewAccessOp):
                    fifo = ends.design.fifos[op.fifo_name.root_reference.data]
                    self.keys[op] = ends.used_by(fifo, op.end, core.tile), op.end

    def check(self) -> None:
        for core, accesses in self.by_core.items():
            for op in accesses:
                self._check(op, core)
            for loop, uses in _uses_by_loop(accesses).items():
                self._check_balance(loop, uses)

    def _check(self, op: Access, core: CoreOp) -> None:
        if isinstance(op, ObjectFifoSubviewAccessOp):
            self._check_subview(op)
            return
        end, _ = self.keys[op]
        if end.link is not None and core.tile is end.link.tile:
            fail_op(op, "currently cannot access objectFifo used in ObjectFifoLinkOp", (end.link.op, "linked here"))
        if end.stream_port is not None:
            fail_op(op, f"cannot {VERBS[type(op)]} objectfifo stream port", (end.fifo, "the core uses a stream here"))

    def _check_subview(self, op: ObjectFifoSubviewAccessOp) -> None:
        acquire = op.subview.owner
        assert isinstance(acquire, ObjectFifoAcquireOp), "the verifier requires it"
        end, _ = self.keys[acquire]
        text = "currently cannot access objectFifo used in ObjectFifoLinkOp if"
        if end.link is None:
            return
        if end.link.branches:
            fail_op(op, f"{text} it is a distribute or join link", (end.link.op, "linked here"))
        others = [placed(tile) for tile in end.fifo.consumers] if end.is_producer else []
        if any(shared_memory(self.ends.design, end.tile, other) is Shared.NONE for other in others):
            fail_op(op, f"{text} the tiles don't share memory", (end.link.op, "linked here"))

    def _check_balance(self, loop: scf.ForOp, uses: list[Use]) -> None:
        """A loop that hands on more than it takes runs out, however often it runs.

        What an inner loop takes depends on how often that runs: a FIFO used there too is left alone.
        """
        taken, released = defaultdict[Key, list[Use]](list), defaultdict[Key, list[Use]](list)
        elsewhere: set[Key] = set()
        for op in uses:
            if parent_of_type(op, scf.ForOp) is not loop:
                elsewhere.add(self.keys[op])
            else:
                (taken if isinstance(op, ObjectFifoAcquireOp) else released)[self.keys[op]].append(op)
        for key, releases in released.items():
            surplus = sum(op.count for op in releases) - sum(op.count for op in taken[key])
            if key not in elsewhere and surplus > 0:
                first = taken[key][0] if taken[key] else releases[0]
                fail_op(
                    first,
                    "cannot release more elements than are already acquired",
                    (loop, f"each iteration releases {surplus} more elements of @{key[0].name} than it acquires"),
                )


def _uses_by_loop(accesses: list[Access]) -> dict[scf.ForOp, list[Use]]:
    """For each loop, innermost first, the uses of FIFOs anywhere in it."""
    found: dict[scf.ForOp, list[Use]] = {}
    for op in accesses:
        if isinstance(op, ObjectFifoSubviewAccessOp):
            continue
        loop = parent_of_type(op, scf.ForOp)
        while loop is not None:
            found.setdefault(loop, []).append(op)
            loop = parent_of_type(loop, scf.ForOp)
    return found
