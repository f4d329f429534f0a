"""DMA programs of tiles: channels, and chains of descriptors in blocks.

Descriptors have access patterns and lengths, written out or a tensor access pattern; each number may be a value.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import reduce
from operator import mul
from typing import Any

from xdsl.dialects.builtin import DYNAMIC_INDEX, DenseArrayBase, IntegerType, i1, i32, i64
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.irdl import IRDLOperation

from tilewright.device import DmaDirection
from tilewright.device.architecture import AIE2
from tilewright.dialects._syntax import INDEX
from tilewright.dialects.aie import dma as ops
from tilewright.dialects.aie.dma_bd import DmaBdOp
from tilewright.iron.builders.handles import AttributeView, OpView
from tilewright.iron.builders.location import refuse
from tilewright.iron.builders.operations import InsertionPoint, build, builder, call_body, new_block
from tilewright.iron.builders.scalars import ScalarValue, as_integer
from tilewright.iron.builders.types import as_int, as_list, is_integer

DMAChannelDir = DmaDirection
# mem tiles have the most; which tile a channel is on may not be known yet
MOST_DESCRIPTORS = max(resources.bds for resources in AIE2.tiles.values())


class ContextManagedBlock:
    """A block that `with` builds in."""

    def __init__(self, block: Block):
        self.block = block
        self._entered: list[InsertionPoint] = []  # a stack: a block may be entered again inside its own `with`

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
    # upstream gives the two blocks, for `with` to build in
    first, then = build(
        ops.DmaStartOp,
        results=[i1],
        successors=[_block(dest), _block(chain)],
        channel_dir=channel_dir,
        channel_index=channel_index,
        repeat_count=repeat_count,
        pad_value=pad_value or None,
        loc=loc,
        ip=ip,
    ).successors
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
        # `result` is for callers of upstream's constructor, which takes the type of the result first
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
        return another_bd(OpView(op))(body)

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


DESCRIPTOR_DIMENSIONS = 3  # the dimension beyond them repeats the transfer


class DMABDOp(OpView):
    """A buffer descriptor."""

    OP = DmaBdOp


def split_mixed(values: Sequence[Any]) -> tuple[list[SSAValue], Attribute]:
    """Numbers and values apart: the values as i64 operands, and an array of the numbers with marks where they go."""
    operands = [as_integer(value, i64) for value in values if not is_integer(value)]
    numbers = [int(value) if is_integer(value) else DYNAMIC_INDEX for value in values]
    return operands, DenseArrayBase.from_list(i64, numbers)


def _split_scalar(value: Any) -> tuple[SSAValue | None, int | None]:
    """An operand or an attribute."""
    if value is None or is_integer(value):
        return None, None if value is None else int(value)
    return as_integer(value, i32), None


def dma_bd(
    buffer: Any,
    sizes: Sequence[Any] | None = None,
    strides: Sequence[Any] | None = None,
    offset: Any = None,
    transfer_len: Any = None,
    **kwargs: Any,
) -> DMABDOp:
    """A buffer descriptor; outermost dimension first, all in elements.

    Every number may be a value of the program. More settings: `burst_length`, `packet=(type, id)`, `pad_dimensions`,
    `iteration=(size, stride, current)`, `bd_id`, `next_bd_id`, `offset_parameter`. Older programs say `len` for
    `transfer_len`, and `dimensions` for pairs of a size and a stride.
    """
    operands: dict[str, Any] = {}
    sizes, strides = _older_dimensions(sizes, strides, kwargs.pop("dimensions", None))
    transfer_len = _older_length(transfer_len, kwargs.pop("len", None))
    for name, values in (("sizes", sizes), ("strides", strides)):
        if numbers := as_list([] if values is None else values, name):
            operands[name], operands[f"static_{name}"] = split_mixed(numbers)
    for name, value in (("offset", offset), ("len", transfer_len)):
        operands[name], operands[f"static_{name}"] = _split_scalar(value)
    if unknown := kwargs.keys() - DmaBdOp.get_irdl_definition().properties.keys() - {"loc", "ip"}:
        refuse(f"'aie.dma_bd' has no {', '.join(sorted(unknown))}")
    return DMABDOp(build(DmaBdOp, buffer=buffer, **operands, **kwargs))


def _older_length(transfer_len: Any, length: Any) -> Any:
    if transfer_len is not None and length is not None:
        refuse("dma_bd takes transfer_len or its older name len, not both")
    return length if transfer_len is None else transfer_len


def _older_dimensions(
    sizes: Sequence[Any] | None, strides: Sequence[Any] | None, dimensions: Any
) -> tuple[Sequence[Any] | None, Sequence[Any] | None]:
    if dimensions is None:
        return sizes, strides
    if sizes is not None or strides is not None:
        refuse("dma_bd takes sizes and strides or dimensions, not both")
    pairs = [as_list(pair, "a dimension") for pair in as_list(dimensions, "dimensions")]
    if not all(len(pair) == 2 for pair in pairs):
        refuse("each of dimensions is a pair of a size and a stride", (None, "such as [(4, 64), (16, 1)]"))
    return [size for size, _ in pairs], [stride for _, stride in pairs]


@dataclass(frozen=True)
class TransferPattern:
    """Offset, sizes and strides, outermost first; numbers or values of the program."""

    offset: Any
    sizes: list[Any]
    strides: list[Any]

    @property
    def length(self) -> Any:
        """How many elements one run of the descriptor moves."""
        inner = self.sizes[-DESCRIPTOR_DIMENSIONS:]
        numbers = [int(size) for size in inner if is_integer(size)]
        values = [ScalarValue(as_integer(size, i32)) for size in inner if not is_integer(size)]
        known = reduce(mul, numbers, 1)
        # a product of values and numbers has one multiplication for all of the numbers, or none
        return known if not values else reduce(mul, values) if known == 1 else reduce(mul, values) * known

    def converted(self) -> TransferPattern:
        """With values of the types that descriptors take."""
        sizes, strides = ([_as(i64, value) for value in values] for values in (self.sizes, self.strides))
        return TransferPattern(_as(i32, self.offset), sizes, strides)

    def padded(self, dimensions: int) -> TransferPattern:
        """With more outer dimensions, each gone through once."""
        missing = dimensions - len(self.sizes)
        return TransferPattern(self.offset, [1] * missing + self.sizes, [0] * missing + self.strides)

    def with_sizes(self, who: str, sizes: Sequence[Any]) -> TransferPattern:
        """With other sizes, where they are not None."""
        if len(sizes) != len(self.sizes):
            remedy = "give None for those that stay as they are"
            refuse(
                f"{who} got {len(sizes)} dynamic_sizes for a pattern of {len(self.sizes)} dimensions", (None, remedy)
            )
        chosen = [old if new is None else new for old, new in zip(self.sizes, sizes, strict=True)]
        return TransferPattern(self.offset, chosen, self.strides)


def _all_given(who: str, sizes: Sequence[Any]) -> Sequence[Any]:
    if any(size is None for size in sizes):
        refuse(f"{who} has no pattern whose sizes None could mean", (None, "give all of dynamic_sizes, or a tap"))
    return sizes


def _as(type: IntegerType, value: Any) -> Any:
    return value if is_integer(value) else ScalarValue(as_integer(value, type))


def tap_pattern(tap: Any) -> TransferPattern:
    """The pattern of a `TensorAccessPattern`."""
    if not all(hasattr(tap, name) for name in ("offset", "sizes", "strides")):
        refuse(f"expected a TensorAccessPattern as tap, not {tap!r}")
    offset = int(tap.offset) if is_integer(tap.offset) else tap.offset
    return TransferPattern(offset, [*tap.sizes], [*tap.strides])


def pattern_of(
    who: str,
    tap: Any,
    offset: Any,
    sizes: Sequence[Any] | None,
    strides: Sequence[Any] | None,
    dynamic_sizes: Sequence[Any] | None = None,
) -> TransferPattern:
    """The pattern that arguments describe: a tensor access pattern, or numbers with defaults for those left out.

    Of `dynamic_sizes`, those that are not None take the places of the pattern's.
    """
    if dynamic_sizes is not None:
        open_sizes = as_list(dynamic_sizes, "dynamic_sizes")
        if tap is None and sizes is None:
            return pattern_of(who, None, offset, _all_given(who, open_sizes), strides)
        return pattern_of(who, tap, offset, sizes, strides).with_sizes(who, open_sizes)
    if tap is not None:
        if not (offset is None and sizes is None and strides is None):
            refuse(
                f"{who} can take either a TensorAccessPattern OR (sizes and/or strides and/or offsets), but not both."
            )
        return tap_pattern(tap)
    # upstream's defaults; a size of 0 means that it is left out
    chosen_sizes = [0] * 4 if sizes is None else as_list(sizes, "sizes")
    chosen_strides = [0] * (len(chosen_sizes) - 1) + [1] if strides is None else as_list(strides, "strides")
    if len(chosen_sizes) != len(chosen_strides):
        refuse(f"{who} got {len(chosen_sizes)} sizes and {len(chosen_strides)} strides")
    return TransferPattern(0 if offset is None else offset, chosen_sizes, chosen_strides)
