"""DMA programs of tiles: channels and chains of descriptors in blocks."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

from xdsl.dialects.builtin import i1
from xdsl.ir import Block, Region
from xdsl.irdl import IRDLOperation

from tilewright.device import DmaDirection
from tilewright.device.architecture import AIE2
from tilewright.dialects._syntax import INDEX
from tilewright.dialects.aie import dma as ops
from tilewright.iron.builders.handles import AttributeView, OpView
from tilewright.iron.builders.location import refuse
from tilewright.iron.builders.operations import InsertionPoint, build, builder, call_body, new_block
from tilewright.iron.builders.types import as_int

DMAChannelDir = DmaDirection
MOST_DESCRIPTORS = max(resources.bds for resources in AIE2.tiles.values())


class ContextManagedBlock:
    """A block that `with` builds in."""

    def __init__(self, block: Block):
        self.block = block
        self._entered: list[InsertionPoint] = []

    def __enter__(self) -> InsertionPoint:
        point = InsertionPoint(self.block)
        self._entered.append(point)
        return point.__enter__()

    def __exit__(self, *error: Any) -> None:
        self._entered.pop().__exit__(*error)


class BlockMap:
    """The blocks of a body by any key; a key that is new makes a block at the end, and 0 is the first one."""

    def __init__(self, region: Region):
        self._region = region
        first = region.blocks[0] if region.blocks else new_block(region)
        self._blocks: dict[Any, ContextManagedBlock] = {0: ContextManagedBlock(first)}

    def __getitem__(self, key: Any) -> ContextManagedBlock:
        if key not in self._blocks:
            self._blocks[key] = ContextManagedBlock(new_block(self._region))
        return self._blocks[key]


@contextmanager
def bds(parent: Any) -> Generator[BlockMap]:
    """The blocks of a DMA program, a task or a chain: `with bds(task) as bd:` and then `with bd[0]:`."""
    if not isinstance(parent, OpView) or not parent.op.regions:
        refuse(f"expected a DMA program, a task or a chain, not {parent!r}")
    blocks = BlockMap(parent.op.regions[0])
    with blocks[0]:
        yield blocks


def _block(given: Any) -> Block:
    """Where a jump goes: a block, or the one that is being built."""
    if given is None:
        return InsertionPoint.current.block
    block = getattr(given, "block", given)
    if not isinstance(block, Block):
        refuse(f"expected a block to go on with, like `bd[1]`, not {given!r}")
    return block


class DMAStartOp(OpView):
    """The start of a channel: where its chain begins, and where the next channel is set up."""

    OP = ops.DmaStartOp


def dma_start(
    channel_dir: Any,
    channel_index: Any,
    *,
    dest: Any = None,
    chain: Any = None,
    repeat_count: int = 0,
    pad_value: int = 0,
    loc: Any = None,
    ip: Any = None,
) -> tuple[ContextManagedBlock, ContextManagedBlock]:
    """Start a channel with the descriptors from `dest` on; `chain` comes next in this program."""
    op = build(
        ops.DmaStartOp,
        results=[i1],
        successors=[_block(dest), _block(chain)],
        channel_dir=channel_dir,
        channel_index=channel_index,
        repeat_count=repeat_count,
        pad_value=pad_value or None,
        loc=loc,
        ip=ip,
    )
    # upstream gives the two blocks, for `with` to build in
    first, then = op.successors
    return ContextManagedBlock(first), ContextManagedBlock(then)


class NextBDOp(OpView):
    """Goes on with another descriptor."""

    OP = ops.NextBdOp

    def __init__(self, dest: Any = None, *, loc: Any = None, ip: Any = None):
        super().__init__(build(ops.NextBdOp, successors=[_block(dest)], loc=loc, ip=ip))


def next_bd(dest: Any = None, loc: Any = None, ip: Any = None) -> ContextManagedBlock:
    """Go on with the descriptor in `dest`."""
    return ContextManagedBlock(NextBDOp(dest, loc=loc, ip=ip).successors[0])


class _Program(OpView):
    """The DMA program of a tile."""

    def __init__(self, result: Any = None, tile: Any = None, *, loc: Any = None, ip: Any = None):
        kind = type(self).OP
        if kind is None or not issubclass(kind, IRDLOperation):
            raise TypeError("a DMA program has a kind")
        super().__init__(build(kind, results=[INDEX], regions=[Region()], tile=tile, loc=loc, ip=ip))


class MemOp(_Program):
    """The DMA program of a core's tile."""

    OP = ops.MemOp


class MemTileDMAOp(_Program):
    """The DMA program of a memory tile."""

    OP = ops.MemTileDmaOp


class ShimDMAOp(_Program):
    """The DMA program of a shim tile."""

    OP = ops.ShimDmaOp


def _program(kind: type[_Program], tile: Any) -> Callable[[Callable[..., Any]], OpView]:
    """The decorator of a function that writes a DMA program; it may take the blocks."""

    def decorate(body: Callable[..., Any]) -> OpView:
        takes = len(inspect.signature(body).parameters)
        if takes > 1:
            refuse("Expected function to take zero or one argument(s).")
        view = kind(tile=tile)
        with bds(view) as blocks:
            body(*[blocks][:takes])
        return view

    return decorate


def mem(tile: Any) -> Callable[[Callable[..., Any]], OpView]:
    """Write the DMA program of a core's tile: `@mem(tile)` on a function that takes the blocks."""
    return _program(MemOp, tile)


def memtile_dma(tile: Any) -> Callable[[Callable[..., Any]], OpView]:
    """Write the DMA program of a memory tile."""
    return _program(MemTileDMAOp, tile)


def shim_mem(tile: Any) -> Callable[[Callable[..., Any]], OpView]:
    """Write the static DMA program of a shim tile."""
    return _program(ShimDMAOp, tile)


def dma(
    channel_dir: Any,
    channel_index: Any,
    *,
    num_blocks: int = 1,
    loop: bool | None = None,
    repeat_count: int | None = None,
    sym_name: str | None = None,
    pad_value: int = 0,
    loc: Any = None,
    ip: Any = None,
) -> Callable[[Callable[[], Any]], OpView]:
    """Write one channel as a list of descriptors; the function is the first, `another_bd` adds more."""
    number = channel_index.value if isinstance(channel_index, AttributeView) else channel_index
    if not 1 <= as_int(num_blocks, "num_blocks") <= MOST_DESCRIPTORS:
        refuse(f"a channel has 1 to {MOST_DESCRIPTORS} descriptors, not {num_blocks}")

    def decorate(body: Callable[[], Any]) -> OpView:
        op = build(
            ops.DmaOp,
            results=[i1],
            regions=[Region() for _ in range(num_blocks)],
            channel_dir=channel_dir,
            channel_index=number,
            loop=loop,
            repeat_count=repeat_count,
            sym_name=sym_name,
            pad_value=pad_value or None,
            loc=loc,
            ip=ip,
        )
        view = OpView(op)
        another_bd(view)(body)
        return view

    return decorate


def another_bd(dma_op: Any) -> Callable[[Callable[[], Any]], OpView]:
    """Write the next descriptor of a channel made with `dma(..., num_blocks=n)`."""

    if not isinstance(dma_op, OpView):
        refuse(f"expected a channel made with `dma`, not {dma_op!r}")

    def decorate(body: Callable[[], Any]) -> OpView:
        region = next((region for region in dma_op.op.regions if not region.blocks), None)
        if region is None:
            refuse("this channel has all its descriptors", (dma_op.location, "num_blocks says how many it has"))
        with InsertionPoint(new_block(region)):
            call_body(body)
        return dma_op

    return decorate


dma_bd_packet = builder(ops.DmaBdPacketOp, "packet_type packet_id")
