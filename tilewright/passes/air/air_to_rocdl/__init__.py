"""Lowers launches, segments and herds to kernels that stand in place; for AMD and for NVIDIA GPUs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import ClassVar, cast

from xdsl.context import Context
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tilewright.device.gpu_targets import DEFAULT_AMD, DEFAULT_NVIDIA, GpuTarget, Vendor
from tilewright.dialects import arith
from tilewright.dialects.aie.lookup import parent_of_type
from tilewright.dialects.air.channels import ChannelEnd
from tilewright.dialects.air.hierarchy import Hierarchy
from tilewright.dialects.air.levels import HerdOp, LaunchOp, RankOp, SegmentOp
from tilewright.dialects.air.memcpy import DmaMemcpyNdOp
from tilewright.dialects.air.types import MemorySpace, memory_space
from tilewright.dialects.gpu import launches as gpu
from tilewright.dialects.gpu.kernels import LEAST_BLOCKS
from tilewright.dialects.gpu.lanes import BarrierOp
from tilewright.ir.diagnostics import fail_op
from tilewright.ir.pass_manager import Pass
from tilewright.ir.traversal import all_operations, ops_of
from tilewright.passes.air.air_to_rocdl.alignment import versions
from tilewright.passes.air.air_to_rocdl.banks import spread_banks
from tilewright.passes.air.air_to_rocdl.kernel_resources import (
    BlockShape,
    attribute_buffers,
    cluster_size,
    grid_sizes,
)
from tilewright.passes.air.copy_loops import Workers, lower_copy
from tilewright.passes.air.ended_tokens import drop_tokens
from tilewright.passes.air.hierarchies import (
    find_target,
    inline_body,
    replace_token,
    wait_before,
    wave_size_of,
)
from tilewright.rewrite.effects import children, is_memory_effect_free
from tilewright.rewrite.emitter import Emitter
from tilewright.rewrite.folding.air_tokens import buffer_behind
from tilewright.rewrite.folding.constants import scalar_int
from tilewright.rewrite.folding.regions import terminator


@dataclass(frozen=True)
class AirToRocdlPass(Pass):
    name = "air-to-rocdl"
    vendor: ClassVar[Vendor] = Vendor.AMD

    wave_size: int = field(default=0, metadata={"help": "lanes of a wave; 0 for what the chip has"})
    chip: str = field(default=DEFAULT_AMD, metadata={"help": "the GPU to compile for"})
    vector_bytes: int = field(
        default=0,
        metadata={"help": "bytes that copies move at a time where they can"},
    )
    spread_banks: bool = field(
        default=False,
        metadata={
            "help": "let groups of 16 bytes of a block's buffers change places, so that lanes meet in fewer banks"
        },
    )

    def apply(self, ctx: Context, op: Operation) -> None:
        target = find_target(self.chip, self.vendor)
        wave_size = wave_size_of(target, self.wave_size)
        for root in list(_outermost(op)):
            for form, width in versions(root, self.vector_bytes):
                lowering = HierarchyLowering(form, target, wave_size, width)
                lowering.run()
                # of elements one by one compilers make wide accesses only while they are neighbours
                if self.spread_banks and width:
                    spread_banks(lowering.launch, target, wave_size)


@dataclass(frozen=True)
class AirToNvvmPass(AirToRocdlPass):
    name = "air-to-nvvm"
    vendor: ClassVar[Vendor] = Vendor.NVIDIA

    chip: str = field(default=DEFAULT_NVIDIA, metadata={"help": "the GPU to compile for"})


def _outermost(op: Operation) -> Iterator[Hierarchy]:
    """What becomes a kernel: a launch, or a segment or herd without one."""
    for inner in children(op):
        if isinstance(inner, LaunchOp | SegmentOp | HerdOp):
            yield inner
        else:
            yield from _outermost(inner)


class HierarchyLowering:
    """Turns one hierarchy into a `gpu.launch`."""

    def __init__(self, root: Hierarchy, target: GpuTarget, wave_size: int, vector_bytes: int = 0):
        self.root, self.target, self.wave_size, self.vector_bytes = root, target, wave_size, vector_bytes
        _check_contents(root)
        emitter = Emitter.before(root)
        wait_before(root, emitter)
        drop_tokens(root.regions[0])
        herds = ops_of(all_operations(root), HerdOp)
        self._shape = BlockShape(root, herds, wave_size, target, emitter)
        grid = grid_sizes(root, isinstance(root, LaunchOp), emitter)
        cluster = [emitter.index(size) for size in cluster_size(root)]
        self.launch = emitter.insert(gpu.LaunchOp.of(grid, self._shape.sizes, cluster))
        if LEAST_BLOCKS in root.attributes:
            self.launch.attributes[LEAST_BLOCKS] = root.attributes[LEAST_BLOCKS]

    def run(self) -> None:
        self._move_in()
        segments = ops_of(all_operations(self.launch), SegmentOp)
        # while herds are there: what is outside of them is done by all threads together
        self._lower_shared_copies()
        for herd in ops_of(all_operations(self.launch), HerdOp):
            self._unwrap_herd(herd)
        for segment in segments:
            inline_body(segment, _zeros(segment))
        for copy in ops_of(all_operations(self.launch), DmaMemcpyNdOp):
            lower_copy(copy, None, self.vector_bytes)
            Rewriter.erase_op(copy)
        # last, when no hierarchy passes buffers on under other names
        attribute_buffers(self.launch, self.target)

    def _move_in(self) -> None:
        """The body of a launch is that of the kernel; anything else is in the kernel."""
        root, end = self.root, self.launch.block.last_op
        assert end is not None
        replace_token(root)
        # the launch waits for them, before it starts
        root.set_dependencies([])
        root.detach()
        Rewriter.insert_op(root, InsertPoint.before(end))
        if isinstance(root, LaunchOp):
            dimensions = len(root.extents)
            inline_body(root, self.launch.block_ids[:dimensions], self.launch.grid_dims[:dimensions])

    def _lower_shared_copies(self) -> None:
        """Copies outside of herds are done once, by all threads together, and are there when the next thing starts."""
        copies = [op for op in ops_of(all_operations(self.launch), DmaMemcpyNdOp) if not _is_private(op)]
        for copy in copies:
            lower_copy(copy, self._all_threads(), self.vector_bytes)
            if not isinstance(_next_with_effect(copy), BarrierOp) and not _is_followed_by_copy(copy):
                Emitter.before(copy).insert(BarrierOp.create())
        for copy in copies:
            Rewriter.erase_op(copy)

    def _all_threads(self) -> Workers:
        x, y, z = self.launch.thread_ids
        width, height, depth = self.launch.block_dims

        def number(emitter: Emitter) -> SSAValue:
            rows = emitter.folded_sum(y, emitter.folded_product(height, z)) if self._has_depth else y
            return emitter.folded_sum(x, emitter.folded_product(width, rows))

        def count(emitter: Emitter) -> SSAValue:
            plane = emitter.folded_product(width, height)
            return emitter.folded_product(plane, depth) if self._has_depth else plane

        launch = self.launch
        sizes = [scalar_int(size) for size in (launch.block_size_x, launch.block_size_y, launch.block_size_z)]
        return Workers(number, count, None if None in sizes else prod(cast("list[int]", sizes)))

    @property
    def _has_depth(self) -> bool:
        return scalar_int(self.launch.block_size_z) != 1

    def _unwrap_herd(self, herd: HerdOp) -> None:
        """A processing element is a wave: its place is that of its threads, the lanes left out."""
        emitter = Emitter.before(herd)
        thread_x, thread_y, _ = self.launch.thread_ids
        wave = emitter.value(arith.DivUIOp(thread_x, emitter.index(self.wave_size)))
        ids = [wave, thread_y]
        needs_barrier = _is_followed(herd) and not isinstance(terminator(herd.body).prev_op, BarrierOp)
        guards = [
            emitter.compare("ult", identity, _size(herd, dimension, emitter))
            for dimension, identity in enumerate(ids)
            if self._shape.is_smaller(herd, dimension)
        ]
        # outside of the guard: a barrier has to be reached by all waves of a block
        if needs_barrier:
            Emitter(InsertPoint.after(herd), herd.location).insert(BarrierOp.create())
        if guards:
            _guard(herd, emitter, guards)
        inline_body(herd, ids[: len(herd.extents)])


def _check_contents(root: Hierarchy) -> None:
    """What runs on the host, or on other devices, cannot be in a kernel."""
    for op in ops_of(all_operations(root), RankOp, ChannelEnd):
        if isinstance(op, RankOp):
            fail_op(op, "is in a kernel, which runs on one device", (op, "run --air-rank-to-mgpu first"))
        fail_op(
            op,
            "moves data through a channel in a kernel",
            (op, "run --air-gpu-channel-to-cacheline first if it is between ranks, else use air.dma_memcpy_nd"),
        )


def _size(herd: HerdOp, dimension: int, emitter: Emitter) -> SSAValue:
    return herd.extents[dimension] if dimension < len(herd.extents) else emitter.index(1)


def _guard(herd: HerdOp, emitter: Emitter, guards: Sequence[SSAValue]) -> None:
    """Let the waves that are processing elements of this herd run it, and no others."""
    for op in ops_of(all_operations(herd), BarrierOp):
        fail_op(
            op,
            "is reached by some of the waves only: another herd of this kernel is larger",
            (herd, "make all herds of the launch the same size, or put the barrier after this herd"),
        )
    condition, *others = guards
    for other in others:
        condition = emitter.value(arith.AndIOp(condition, other))
    guarded = emitter.when(condition, lambda inner: None)
    assert guarded.last_op is not None
    herd.detach()
    Rewriter.insert_op(herd, InsertPoint.before(guarded.last_op))


def _zeros(segment: SegmentOp) -> list[SSAValue]:
    """The one point of a segment that is not unrolled."""
    if any(scalar_int(size) != 1 for size in segment.extents):
        fail_op(segment, "is unrolled; a block holds one segment", (segment, "make it a dimension of the launch"))
    emitter = Emitter.before(segment)
    return [emitter.index(0) for _ in segment.extents]


def _is_private(copy: DmaMemcpyNdOp) -> bool:
    """Whether each thread copies for itself: in a herd, or from or to its own memory."""
    if MemorySpace.L1 in (memory_space(copy.src.type), memory_space(copy.dst.type)):
        return True
    return parent_of_type(copy, HerdOp) is not None


def _next_with_effect(op: Operation) -> Operation | None:
    """What comes after `op` in its block and touches memory, or ends the block."""
    following = op.next_op
    while following is not None and (is_memory_effect_free(following) or following.name == "memref.alloc"):
        if following.next_op is None:
            return following
        following = following.next_op
    return following


def _is_followed_by_copy(copy: DmaMemcpyNdOp) -> bool:
    """Whether another shared copy that has nothing to do with this one comes next, and the barrier after it will do."""
    following = _next_with_effect(copy)
    if not isinstance(following, DmaMemcpyNdOp) or _is_private(following):
        return False
    written = buffer_behind(copy.dst)
    return written not in (buffer_behind(following.src), buffer_behind(following.dst))


def _is_followed(herd: HerdOp) -> bool:
    """Whether anything runs after a herd that may use what it has written."""
    # segments are inlined: what follows one follows the herd in it
    block: Block | None = herd.parent
    op: Operation = herd
    while block is not None:
        following = op.next_op
        while following is not None:
            # deallocations and terminators read nothing that the herd has written
            if following.name not in ("memref.dealloc", "air.segment_terminator", "gpu.terminator"):
                return not isinstance(following, BarrierOp)
            following = following.next_op
        parent = block.parent_op()
        if parent is None or isinstance(parent, gpu.LaunchOp):
            return False
        if not isinstance(parent, SegmentOp):
            return True
        op, block = parent, parent.parent
    return False
