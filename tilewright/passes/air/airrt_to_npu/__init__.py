"""Turns what a host asks of the AIR runtime into runtime sequences: tasks on shim channels, and waits for them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.rewriter import InsertPoint, Rewriter

from tilewright.dialects import memref
from tilewright.dialects.aie.sequence import RuntimeSequenceOp
from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.dialects.air.types import MemorySpace, memory_space
from tilewright.dialects.airrt.events import AllocOp, DeallocOp, WaitAllOp
from tilewright.dialects.airrt.loading import HerdLoadOp, SegmentLoadOp
from tilewright.dialects.airrt.metadata import ModuleMetadataOp
from tilewright.dialects.airrt.transfers import DmaMemcpyNdOp
from tilewright.dialects.func import FuncOp, ReturnOp
from tilewright.ir.pass_manager import Pass
from tilewright.passes.air.airrt_to_npu import cleanup, ordering, pacing
from tilewright.passes.air.airrt_to_npu.coalescing import coalesce_feeds
from tilewright.passes.air.airrt_to_npu.launches import Launches, launches_of, number_waves
from tilewright.passes.air.airrt_to_npu.limits import enforce_limits
from tilewright.passes.air.airrt_to_npu.loads import load_herd
from tilewright.passes.air.airrt_to_npu.main_device import add_reset_device, run_devices, run_only_device, sequences_in
from tilewright.passes.air.airrt_to_npu.placement import devices_in, functions_in, place_functions
from tilewright.passes.air.airrt_to_npu.transfers import transfer_to_task
from tilewright.passes.air.airrt_to_npu.waits import end_of_launch, wait_for_channels, wait_for_tasks
from tilewright.passes.air.shim.affine_loops import unroll_affine_loops
from tilewright.passes.air.shim.chains import unroll_parallels
from tilewright.passes.air.shim.markers import LAUNCH_END, LAUNCH_WAVE
from tilewright.passes.air.shim.walking import innermost_first
from tilewright.rewrite.folding.regions import only_block
from tilewright.rewrite.insertion import building_before

BECOMES_SEQUENCE = "airrt.dma_memcpy_nd", "aiex.npu.", "aiex.dma_"


@dataclass(frozen=True)
class AirrtToNpuPass(Pass):
    name = "airrt-to-npu"

    output_elf: bool = field(default=False, metadata={"help": "make a main device that configures and runs the others"})
    coalesce_shim_dma: bool = field(
        default=False,
        metadata={"help": "join feeds of a channel that keep their order and follow each other in memory"},
    )

    def apply(self, ctx: Context, op: Operation) -> None:
        module = cast(ModuleOp, op)
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
            if launches.are_several:
                number_waves(function)
            if self.coalesce_shim_dma:
                coalesce_feeds(function)
            wait_for_channels(function, launches, output_elf=self.output_elf)
            enforce_limits(function)
            if any(inner.name.startswith(BECOMES_SEQUENCE) or _is_load(inner) for inner in function.walk()):
                sequence = _to_sequence(function)
                self._lower_sequence(module, device, sequence, launches)
        for sequence in sequences_in(device):
            _order(sequence, device, launches)

    def _lower_sequence(self, module: ModuleOp, device: DeviceOp, sequence: Operation, launches: Launches) -> None:
        for op in list(sequence.walk()):
            if isinstance(op, DmaMemcpyNdOp):
                transfer_to_task(op, device)
            elif isinstance(op, HerdLoadOp):
                load_herd(op, module)
            elif isinstance(op, WaitAllOp) and LAUNCH_END in op.attributes:
                for new in end_of_launch(op, launches, self.output_elf, frozenset()):
                    building_before(op).insert(new)
        _drop_rest(sequence)
        _buffers_to_arguments(cast(RuntimeSequenceOp, sequence))
        wait_for_tasks(sequence, device)
        pacing.pace_in_step(sequence, device)


def _is_load(op: Operation) -> bool:
    return isinstance(op, HerdLoadOp) and bool(op.rtp)


def _clean_up(module: ModuleOp) -> None:
    for function in functions_in(module):
        cleanup.drop_device_computing(function)
        cleanup.drop_idle_parallels(function)
        unroll_parallels(function)
        unroll_affine_loops(function)
        cleanup.fold_counters(function)
        cleanup.drop_carried_events(function)
    for device in devices_in(module):
        cleanup.share_allocations(device)


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
    pacing.bound_bursts(sequence, device)
    ordering.repair_dominance(sequence)
    for op in sequence.walk():
        op.attributes.pop(LAUNCH_WAVE, None)


def _drop_runtime(module: ModuleOp) -> None:
    for op in list(module.walk()):
        if isinstance(op, ModuleMetadataOp | SegmentLoadOp | HerdLoadOp) and op.parent is not None:
            Rewriter.erase_op(op, safe_erase=False)
