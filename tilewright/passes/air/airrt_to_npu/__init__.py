"""Turns what a host asks of the AIR runtime into runtime sequences: tasks on shim channels, and waits for them.

`devices` finds the device of each function, and a cleanup leaves what the host does. Transfers are joined and cut to
what descriptors can say (`limits`), transfers and waits become tasks (`tasks`), loads of herds become writes of their
parameters, and `ordering` sees to it that no queue overflows and no core waits for ever. If asked to, `devices` adds
the main device that runs the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import IndexType, IntegerAttr, ModuleOp, SymbolRefAttr, i32
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.traits import IsTerminator

from tilewright.device.layout import WORD_BYTES
from tilewright.dialects import arith, memref, scf
from tilewright.dialects.aie.flows import ShimDmaAllocationOp
from tilewright.dialects.aie.locks import LockOp
from tilewright.dialects.aie.sequence import RuntimeSequenceOp
from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.dialects.aiex.attributes import UI32
from tilewright.dialects.aiex.control import SetLockOp
from tilewright.dialects.aiex.instructions import NpuWriteRTPOp
from tilewright.dialects.air.types import MemorySpace, memory_space
from tilewright.dialects.airrt.events import EVENT, AllocOp, DeallocOp, EventType, WaitAllOp
from tilewright.dialects.airrt.loading import HerdLoadOp, HerdMetadataOp, ModuleMetadataOp, SegmentLoadOp
from tilewright.dialects.airrt.transfers import DmaMemcpyNdOp
from tilewright.dialects.func import FuncOp, ReturnOp
from tilewright.ir.diagnostics import fail, fail_op
from tilewright.ir.pass_manager import Pass
from tilewright.passes.air.airrt_to_npu import ordering
from tilewright.passes.air.airrt_to_npu.devices import (
    add_reset_device,
    device_named,
    devices_in,
    functions_in,
    place_functions,
    run_devices,
    run_only_device,
    sequences_in,
)
from tilewright.passes.air.airrt_to_npu.limits import coalesce_feeds, enforce_limits
from tilewright.passes.air.airrt_to_npu.tasks import (
    Launches,
    end_of_launch,
    launches_of,
    number_waves,
    transfer_to_task,
    wait_for_channels,
    wait_for_tasks,
)
from tilewright.passes.air.airrt_to_npu.traces import trace_sequence
from tilewright.passes.air.shim.host_transfers import LAUNCH_END, LAUNCH_WAVE
from tilewright.passes.air.shim.loops import innermost_first, unroll_affine_loops, unroll_parallels
from tilewright.rewrite.canonicalization import patterns_of
from tilewright.rewrite.driver import Config, rewrite_with
from tilewright.rewrite.effects import Effect, effects_of
from tilewright.rewrite.emitter import Emitter
from tilewright.rewrite.folding.constants import int_width, scalar_int, width_of
from tilewright.rewrite.folding.regions import only_block, recreate

BECOMES_SEQUENCE = "airrt.dma_memcpy_nd", "aiex.npu.", "aiex.dma_"
PLACE = "loc_x", "loc_y", "size_x", "size_y"
HOST_DIALECTS = "airrt.", "aie.", "aiex."
_FOLD = Config(fold=True, remove_dead=True)


@dataclass(frozen=True)
class AirrtToNpuPass(Pass):
    name = "airrt-to-npu"

    trace_size: int = field(default=0, metadata={"help": "bytes for the traces of all columns; 0: none are started"})
    trace_offset: int = field(
        default=0, metadata={"help": "where they begin in the third argument of a sequence, in bytes"}
    )
    output_elf: bool = field(default=False, metadata={"help": "make a main device that configures and runs the others"})
    coalesce_shim_dma: bool = field(
        default=False,
        metadata={"help": "join feeds of a channel that keep their order and follow each other in memory"},
    )

    def apply(self, ctx: Context, op: Operation) -> None:
        module = cast(ModuleOp, op)
        for name, number in {"trace-size": self.trace_size, "trace-offset": self.trace_offset}.items():
            if not 0 <= number < 1 << 32 or number % WORD_BYTES:
                fail(None, f"{name} takes bytes, in steps of {WORD_BYTES} below {1 << 32}; got {number}")
        program = place_functions(module, always_split=self.output_elf)
        _clean_up(module)
        devices = devices_in(module)
        launches = {device: launches_of(device) for device in devices}
        for device in devices:
            self._lower_device(module, device, launches[device])
        for device in devices:
            if self.output_elf and launches[device].needs_reset:
                add_reset_device(device)
        if program is not None:
            run_devices(module, program)
        elif self.output_elf:
            run_only_device(module)
        _drop_runtime(module)

    def _lower_device(self, module: ModuleOp, device: DeviceOp, launches: Launches) -> None:
        for function in functions_in(device):
            # marks of launches, by which feeds of one are told from those of the next
            if launches.are_several:
                number_waves(function)
            if self.coalesce_shim_dma:
                coalesce_feeds(function)
            # before transfers are cut: each piece then gets a wait for its channel
            wait_for_channels(function, launches, output_elf=self.output_elf)
            enforce_limits(function)
            inside = list(function.walk())
            has_loads = any(isinstance(inner, HerdLoadOp) and inner.rtp for inner in inside)
            if has_loads or any(inner.name.startswith(BECOMES_SEQUENCE) for inner in inside):
                self._lower_sequence(module, device, _to_sequence(function), launches)
        for sequence in sequences_in(device):
            _order(sequence, device, launches)
            if self.trace_size:
                trace_sequence(sequence, device, self.trace_size, self.trace_offset)

    def _lower_sequence(self, module: ModuleOp, device: DeviceOp, sequence: Operation, launches: Launches) -> None:
        for op in list(sequence.walk()):
            if isinstance(op, DmaMemcpyNdOp):
                transfer_to_task(op, device)
            elif isinstance(op, HerdLoadOp):
                load_herd(op, module)
            elif isinstance(op, WaitAllOp) and LAUNCH_END in op.attributes:
                for new in end_of_launch(op, launches, self.output_elf, frozenset()):
                    Emitter.before(op).insert(new)
        # events are gone: waits name channels
        _drop_rest(sequence)
        # sequences cannot allocate
        _buffers_to_arguments(cast(RuntimeSequenceOp, sequence))
        wait_for_tasks(sequence, device)
        ordering.pace_in_step(sequence, device)


def _clean_up(module: ModuleOp) -> None:
    for function in functions_in(module):
        drop_device_computing(function)
        drop_idle_parallels(function)
        # tasks are counted one by one, so loops over channels have to be gone
        unroll_parallels(function)
        unroll_affine_loops(function)
        # what depends on the counters of loops that were copied out is known now, and so are the branches they choose
        rewrite_with(function, lambda op: patterns_of(op) if isinstance(op, scf.IndexSwitchOp) else (), _FOLD)
        drop_carried_events(function)
    for device in devices_in(module):
        share_allocations(device)


def _to_sequence(function: FuncOp) -> RuntimeSequenceOp:
    """The sequence that does what a function did."""
    block = only_block(function.body)
    sequence = RuntimeSequenceOp(block.arg_types, function.sym_name.data)
    sequence.location = function.location
    for old, new in zip(block.args, sequence.body.block.args, strict=True):
        new.name_hint = old.name_hint
        old.replace_all_uses_with(new)
    for op in list(block.ops):
        if not isinstance(op, ReturnOp):
            op.detach()
            sequence.body.block.add_op(op)
    Rewriter.insert_op(sequence, InsertPoint.before(function))
    Rewriter.erase_op(function)
    return sequence


def _drop_rest(sequence: Operation) -> None:
    """What only the runtime knew, copies between host buffers that are one then, and stores into cores."""
    for op in list(innermost_first(sequence)):
        if isinstance(op, memref.CopyOp):
            _unite(op)
        elif isinstance(op, WaitAllOp | SegmentLoadOp | AllocOp | DeallocOp) or _stores_to_core(op):
            Rewriter.erase_op(op, safe_erase=False)


def _unite(copy: memref.CopyOp) -> None:
    for here, there in ((copy.source, copy.destination), (copy.destination, copy.source)):
        if isinstance(here.owner, Operation):
            maker = here.owner
            here.replace_all_uses_with(there)
            Rewriter.erase_op(copy)
            Rewriter.erase_op(maker)
            return
    Rewriter.erase_op(copy)


def _stores_to_core(op: Operation) -> bool:
    buffer = op.operands[1] if op.name in ("memref.store", "affine.store") else None
    return buffer is not None and memory_space(buffer.type) == MemorySpace.L1


def _buffers_to_arguments(sequence: RuntimeSequenceOp) -> None:
    """Host memory that a sequence would allocate is the host's to give."""
    for op in list(sequence.body.block.ops):
        is_buffer = op.name in ("memref.alloc", "memref.assume_alignment")
        for result in op.results if is_buffer else ():
            if memory_space(result.type) == MemorySpace.L3:
                sequence.add_argument(result.type, result.name_hint or "buffer")
                result.replace_all_uses_with(sequence.body.block.args[-1])


def _order(sequence: Operation, device: DeviceOp, launches: Launches) -> None:
    ordering.arm_first(sequence)
    if launches.are_several:
        ordering.outputs_first(sequence, device)
    ordering.hoist_feeds(sequence)
    ordering.await_appends(sequence)
    ordering.bound_bursts(sequence, device)
    # what was moved up may stand before its operands now
    ordering.repair_dominance(sequence)
    for op in sequence.walk():
        # ours, and only while the pass runs
        op.attributes.pop(LAUNCH_WAVE, None)


def _drop_runtime(module: ModuleOp) -> None:
    for op in list(module.walk()):
        if isinstance(op, ModuleMetadataOp | SegmentLoadOp | HerdLoadOp) and op.parent is not None:
            Rewriter.erase_op(op, safe_erase=False)


def load_herd(op: HerdLoadOp, module: ModuleOp) -> None:
    """Write the values that a herd is loaded with to each of its cores, and set the lock that they wait for."""
    column, row, columns, rows = _place(op, module)
    name = getattr(op.attributes.get("segment_name"), "data", None)
    device = None if name is None else device_named(module, name)
    build = Emitter.before(op)
    for x in range(column, column + columns):
        for y in range(row, row + rows):
            _load_core(op, f"{x}_{y}", device, [device] if device else devices_in(module), build)
    Rewriter.erase_op(op)


def _place(op: HerdLoadOp, module: ModuleOp) -> list[int]:
    for found in module.walk():
        if isinstance(found, HerdMetadataOp) and found.sym_name == op.sym_name:
            numbers = [found.attributes.get(name) for name in PLACE]
            known = [number.value.data for number in numbers if isinstance(number, IntegerAttr)]
            if len(known) == len(PLACE):
                return known
    fail_op(
        op,
        "airrt.herd_metadata missing or incomplete.",
        (module, f"add an airrt.herd_metadata of this name with {', '.join(PLACE)}"),
    )


def _load_core(op: HerdLoadOp, place: str, device: DeviceOp | None, homes: list[DeviceOp], build: Emitter) -> None:
    wave = op.attributes.get(LAUNCH_WAVE)

    def insert(new: Operation) -> None:
        if wave is not None:
            new.attributes[LAUNCH_WAVE] = wave
        build.insert(new)

    buffer = f"__air_herd_rtp_{place}"
    if any(home.lookup(buffer) is not None for home in homes):
        for slot, value in enumerate(value for value in op.rtp if width_of(value.type) is not None):
            word = _as_word(value, build)
            if word is not None:
                properties = {"buffer": SymbolRefAttr(buffer), "index": IntegerAttr(slot, UI32)}
                insert(NpuWriteRTPOp.create(operands=[word], properties=properties))
    lock = device.lookup(f"__air_herd_lock_{place}") if device is not None and op.rtp else None
    if isinstance(lock, LockOp):
        insert(SetLockOp(lock.result, 1))


def _as_word(value: SSAValue, build: Emitter) -> SSAValue | None:
    """An integer as the 32 bits that a parameter has; None for numbers that are no integers."""
    if int_width(value.type) is None:
        return None
    number = scalar_int(value)
    if number is not None:
        return build.constant(number)
    if isinstance(value.type, IndexType):
        return build.value(arith.IndexCastOp(value, i32))
    width = width_of(value.type) or 32
    if width == 32:
        return value
    return build.value(arith.TruncIOp(value, i32) if width > 32 else arith.ExtUIOp(value, i32))


def drop_device_computing(function: FuncOp) -> None:
    """Keep what talks to the runtime or touches host memory, and what that needs."""
    live = set[Operation]()
    pending = [op for op in function.walk() if _is_root(op)]
    while pending:
        op = pending.pop()
        if op in live or op is function:
            continue
        live.add(op)
        pending += [value.owner for value in op.operands if isinstance(value.owner, Operation)]
        parent = op.parent_op()
        if parent is not None:
            pending.append(parent)
    # inner ones first, so that what used a value is gone before its maker
    for op in [found for found in innermost_first(function) if found not in live]:
        if all(result.first_use is None for result in op.results):
            Rewriter.erase_op(op)


def _is_root(op: Operation) -> bool:
    if op.name.startswith(HOST_DIALECTS) or op.has_trait(IsTerminator, value_if_unregistered=False):
        return True
    touches = effects_of(op) & (Effect.READ | Effect.WRITE | Effect.FREE)
    return bool(touches) and any(memory_space(value.type) == MemorySpace.L3 for value in op.operands)


def drop_idle_parallels(op: Operation) -> None:
    """Replace parallel loops that only join events."""
    for loop in reversed([found for found in op.walk() if isinstance(found, scf.ParallelOp)]):
        acting = (inner for inner in loop.walk() if not isinstance(inner, WaitAllOp | scf.ParallelOp))
        if all(inner.has_trait(IsTerminator, value_if_unregistered=False) for inner in acting):
            joined = Emitter.before(loop).value(WaitAllOp.create(operands=loop.initVals, result_types=[EVENT]))
            Rewriter.replace_op(loop, (), [joined] * len(loop.results))


def share_allocations(device: DeviceOp) -> None:
    """Let transfers through one channel of one shim tile name it in one way."""
    first: dict[object, str] = {}
    names: dict[str, str] = {}
    for op in device.body.ops:
        if isinstance(op, ShimDmaAllocationOp):
            name = op.sym_name.data
            names[name] = first.setdefault((op.tile, op.direction, op.channel), name)
    for op in device.walk():
        if isinstance(op, DmaMemcpyNdOp) and op.metadata is not None:
            name = op.metadata.root_reference.data
            op.attributes["metadata"] = SymbolRefAttr(names.get(name, name))


def drop_carried_events(op: Operation) -> None:
    """Loops and branches do not hand on events: what waits after them waits for what it finds itself."""
    for inner in list(innermost_first(op)):
        is_carrier = isinstance(inner, scf.IfOp | scf.IndexSwitchOp | scf.ForOp)
        if is_carrier and any(isinstance(result.type, EventType) for result in inner.results):
            _without_events(inner)


def _without_events(op: scf.IfOp | scf.IndexSwitchOp | scf.ForOp) -> None:
    kept = [number for number, result in enumerate(op.results) if not isinstance(result.type, EventType)]
    build = Emitter.before(op)
    operands = list(op.operands)
    if isinstance(op, scf.ForOp):
        operands = [op.lb, op.ub, op.step, *(op.iter_args[number] for number in kept)]
        _drop_arguments(only_block(op.body), kept)
    for region in op.regions:
        for block in region.blocks:
            end = cast(Operation, block.last_op)
            end.operands = [end.operands[number] for number in kept]
    types = [op.results[number].type for number in kept]
    new = build.insert(recreate(op, operands=operands, result_types=types))
    ended = Emitter(InsertPoint.after(new), op.location)
    for number, result in enumerate(op.results):
        if number in kept:
            result.replace_all_uses_with(new.results[kept.index(number)])
        elif result.first_use is not None:
            result.replace_all_uses_with(ended.value(WaitAllOp.create(result_types=[EVENT])))
    Rewriter.erase_op(op)


def _drop_arguments(block: Block, kept: Sequence[int]) -> None:
    """Take events out of what a loop carries; what waits for one waits for nothing."""
    build = Emitter.at_start(block, cast(Operation, block.first_op).location)
    for argument in list(block.args[1:])[::-1]:
        if argument.index - 1 not in kept:
            if argument.first_use is not None:
                argument.replace_all_uses_with(build.value(WaitAllOp.create(result_types=[EVENT])))
            block.erase_arg(argument)
