"""Lowers token-gated copies: tokens become locks, copies become streams and DMA tasks on both sides.

That is for devices with counting locks. On the older ones copies stand in the device itself, become programs of the
DMAs and keep their tokens, as in mlir-aie.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain, count

from xdsl.context import Context
from xdsl.ir import Operation
from xdsl.rewriter import InsertPoint, Rewriter

from tilewright.device import Arch
from tilewright.dialects.aie.core import CoreOp
from tilewright.dialects.aie.locks import LockOp
from tilewright.dialects.aie.lookup import parent_of_type
from tilewright.dialects.aie.sequence import RuntimeSequenceOp
from tilewright.dialects.aie.tiles import DeviceOp, TileOp
from tilewright.dialects.aiex.token_memcpy import MemcpyOp
from tilewright.dialects.aiex.tokens import UseTokenOp
from tilewright.ir.diagnostics import fail_op
from tilewright.ir.pass_manager import Pass
from tilewright.passes.design.lower_memcpy.compat import lower_as_first_version
from tilewright.passes.design.lower_memcpy.copies import LockName, read_copy
from tilewright.passes.design.lower_memcpy.cores import always_waits, ends, repeat_forever, start_with, use_locks
from tilewright.passes.design.lower_memcpy.overlap import overlap_loops
from tilewright.passes.design.lower_memcpy.programs import program_copies
from tilewright.passes.design.lower_memcpy.rehearsal import rehearse
from tilewright.passes.design.lower_memcpy.schedule import Scheduler
from tilewright.passes.design.lower_memcpy.sites import TokenSites, check_sides, place_of
from tilewright.passes.design.lower_memcpy.streams import Streams
from tilewright.passes.design.lower_memcpy.token_checks import check_tokens
from tilewright.rewrite.device_tiles import tiles_by_place
from tilewright.rewrite.emitter import Emitter
from tilewright.rewrite.unrolling import iterations, loops_innermost_first, unroll


@dataclass(frozen=True)
class LowerMemcpyPass(Pass):
    name = "aie-lower-memcpy"
    anchor = "aie.device"

    compat: bool = field(default=False, metadata={"help": "write the registers that the first version of this wrote"})

    def apply(self, ctx: Context, op: Operation) -> None:
        assert isinstance(op, DeviceOp)
        copies = [copy for copy in op.walk() if isinstance(copy, MemcpyOp)]
        if self.compat:
            lower_as_first_version(op, copies)
        elif op.model.arch is Arch.AIE1:
            program_copies(op, [copy for copy in copies if copy.parent is op.body])
        else:
            _check_in_sequences(copies)
            lower_sequence_copies(op)


def _check_in_sequences(copies: Sequence[MemcpyOp]) -> None:
    for copy in copies:
        if parent_of_type(copy, RuntimeSequenceOp) is None:
            fail_op(copy, "is not in a runtime sequence", (copy, "only one that is can be started, and started again"))


def lower_sequence_copies(device: DeviceOp) -> None:
    """Put tokens on tiles, find channels, and have sequences start and await the copies."""
    sequences = [op for op in device.body.ops if isinstance(op, RuntimeSequenceOp)]
    for sequence in sequences:
        _unroll(sequence)
    overlapping = {loop for sequence in sequences for loop in overlap_loops(sequence)}
    ops = [op for sequence in sequences for op in sequence.walk() if isinstance(op, MemcpyOp)]
    copies = {op: read_copy(op) for op in ops}
    sites = TokenSites(device, list(copies.values()))
    if not copies and not any(sites.demands.values()):
        return
    check_tokens(sites)
    sites.settle()
    check_sides(list(copies.values()))
    locks = _make_locks(device, sites)
    streams = Streams(device, list(copies.values()))
    streams.connect()
    cores = [op for op in device.body.ops if isinstance(op, CoreOp)]
    moving = [sequence for sequence in sequences if any(isinstance(op, MemcpyOp) for op in sequence.walk())]
    starts = _start_over(device, cores, moving)
    use_locks(sites.uses, locks)
    steps = [Scheduler(device, streams, locks, copies, overlapping).run(sequence) for sequence in moving]
    if len(moving) == 1 and steps[0] is not None:  # who runs several decides about their order
        rehearse(locks, starts, cores, steps[0])
    for op in ops:
        Rewriter.erase_op(op)
    _erase_tokens(device, sites)


def _start_over(device: DeviceOp, cores: Sequence[CoreOp], moving: Sequence[RuntimeSequenceOp]) -> list[LockOp]:
    """Have cores that end do the same for each run of a sequence. Returns locks with which sequences start some."""
    locks = list[LockOp]()
    for core in (core for core in cores if ends(core)):
        waits = always_waits(core.body.block)
        if not waits and len(moving) != 1:
            continue
        repeated = repeat_forever(core)
        if not waits and (tile := core.tile_like) is not None and core.place is not None:
            name = _free_name(device, "start_{}_{}_lock".format(*core.place))
            lock = Emitter(InsertPoint.after(tile), core.location).insert(LockOp(core.tile, init=0, sym_name=name))
            start_with(moving[0], repeated, lock)
            locks.append(lock)
    return locks


def _unroll(sequence: RuntimeSequenceOp) -> None:
    """Write out the loops around copies whose number of iterations is known."""
    for loop in list(loops_innermost_first(sequence)):
        times = iterations(loop)
        if times and any(isinstance(op, MemcpyOp) for op in loop.walk()):
            unroll(loop, times)


def _make_locks(device: DeviceOp, sites: TokenSites) -> dict[LockName, LockOp]:
    """A lock for each token on each of its tiles, behind the tile; it starts with the token's value."""
    tiles, locks = tiles_by_place(device), dict[LockName, LockOp]()
    last: dict[object, Operation] = {}
    _declare_first(device, [tiles[name.place] for use, name in sites.uses.items() if name.place != place_of(use)])
    for name in (names := sites.locks):
        token, tile = sites.tokens[name.token], tiles[name.place]
        lock = LockOp(tile.result, init=token.value.value.data, sym_name=_lock_name(device, name, names))
        Emitter(InsertPoint.after(last.get(tile, tile)), token.location).insert(lock)
        locks[name] = last[tile] = lock
    return locks


def _declare_first(device: DeviceOp, tiles: Sequence[TileOp]) -> None:
    """Put tiles before everything else: cores before them are to use their locks."""
    for tile in dict.fromkeys(tiles):
        tile.detach()
        Rewriter.insert_op(tile, InsertPoint.at_start(device.body))


def _lock_name(device: DeviceOp, name: LockName, names: Sequence[LockName]) -> str:
    """The token's name; with the tile's place where it has several, and the value it is for."""
    wanted = f"{name.token}_lock"
    if len({other.place for other in names if other.token == name.token}) > 1:
        wanted += f"_{name.place.column}_{name.place.row}"
    if name.value is not None:
        wanted += f"_{name.value}"
    return _free_name(device, wanted)


def _free_name(device: DeviceOp, wanted: str) -> str:
    numbered = (f"{wanted}_{number}" for number in count())
    return next(free for free in chain([wanted], numbered) if device.lookup(free) is None)


def _erase_tokens(device: DeviceOp, sites: TokenSites) -> None:
    for use in [op for op in device.walk() if isinstance(op, UseTokenOp)]:
        Rewriter.erase_op(use)  # of nothing
    for token in sites.tokens.values():
        Rewriter.erase_op(token)
