"""Data between memories and between ranks: copies by DMA, channels, arrays of the symmetric heap."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    DenseArrayBase,
    IntegerAttr,
    MemRefType,
    NoneAttr,
    StringAttr,
    UnitAttr,
    UnrealizedConversionCastOp,
    i8,
    i64,
)
from xdsl.ir import Attribute, BlockArgument, SSAValue

from tilewright.air.arrays import Array, Region, buffer_type, product_of, region_of, stored_number
from tilewright.air.block_memory import BlockArray
from tilewright.air.dtypes import DType, as_dtype, f32
from tilewright.air.levels import rank_number, world_size
from tilewright.air.micro_tiles import PackedShape
from tilewright.air.streams import Stream
from tilewright.air.tile_transfers import cooperative_copy, load, store_tile
from tilewright.air.tiles import Buffer, Tile, as_tile
from tilewright.air.trace import at_start, call_runtime, current, declared
from tilewright.dialects import llvm, scf
from tilewright.dialects import memref as ops
from tilewright.dialects._mixed_indices import split_mixed
from tilewright.dialects._syntax import INDEX
from tilewright.dialects.air.addressing import TranslateOp
from tilewright.dialects.air.channels import SYMMETRIC, ChannelGetOp, ChannelOp, ChannelPutOp
from tilewright.dialects.air.memcpy import DmaMemcpyNdOp
from tilewright.dialects.air.types import MemorySpace, SymmetricHeapAttr, memory_space
from tilewright.dialects.gpu import memory as gpu
from tilewright.iron.builders.arithmetic import signless
from tilewright.iron.builders.handles import ssa_of
from tilewright.iron.builders.location import refuse
from tilewright.iron.builders.operations import InsertionPoint, build
from tilewright.iron.builders.scalars import ScalarValue, as_index, constant
from tilewright.iron.builders.types import is_integer, is_list
from tilewright.support.tracebacks import user_facing

PROTOCOLS = "line", "ordered"


def access_lists(region: Region, side: str) -> dict[str, Any]:
    """The operands and properties of a transfer for a part of an array."""
    lists: dict[str, Sequence[Any]] = {"offsets": [], "sizes": [], "strides": []}
    if not _is_whole(region):
        lists = {"offsets": region.offsets, "sizes": region.sizes, "strides": region.array.strides}
    fields: dict[str, Any] = {side: region.array}
    for name, entries in lists.items():
        mixed = [int(entry) if is_integer(entry) else as_index(entry).ssa for entry in entries]
        dynamic, static = split_mixed(mixed)
        fields |= {f"dynamic_{side}_{name}": dynamic, f"static_{side}_{name}": static}
    return fields


def _is_whole(region: Region) -> bool:
    return all(
        is_integer(offset)
        and offset == 0
        and (length is size or length == size if is_integer(size) else length is size)
        for offset, length, size in zip(region.offsets, region.sizes, region.array.shape, strict=True)
    )


def dma(target: Any, source: Any) -> None:
    """`air.dma_memcpy_nd`: a part of an array, `source`, into one of another, `target`, in the same order of elements.

    In a herd each lane moves for itself. Outside of herds the lanes of the block share the work, and wait for it.
    """
    into, out = region_of(target, "`air.dma`"), region_of(source, "`air.dma`")
    if into.dtype != out.dtype:
        refuse(f"a copy moves elements as they are, not {out.dtype} into {into.dtype}", (None, "load and store tiles"))
    if not current().is_kernel:
        refuse("copies by DMA are for kernels", (None, "write it in a launch; `air.copy` is for the host"))
    build(DmaMemcpyNdOp, **access_lists(into, "dst"), **access_lists(out, "src"))


class Token:
    """Something that was written down and is done: the line behind it may rely on that already."""


def wait(*tokens: Token) -> Token:
    """Say that `tokens` are done, which they are when they are there."""
    check_tokens(tokens)
    return Token()


def check_tokens(given: Any) -> None:
    """Refuse to wait for what is no token."""
    for token in () if given is None else given if is_list(given) else [given]:
        if not isinstance(token, Token):
            refuse(f"one waits for tokens, not for {token!r}", (None, "`ops.load` and `ops.store` give some"))


@user_facing
class Channel:
    """A channel, or an array of them; `put` sends and `get` receives.

    In programs of ranks it is between herds of ranks. In others it is between what a block does, outside of herds and
    in them: a stream, of which more or less may be got at a time than was put.

    `name` is its name in the program, `size` the shape of an array of channels, `broadcast_shape` that of the receiving
    ends where one message goes to several. `channel_type` is that of `air.channel`. Between ranks `protocol` is "line"
    or "ordered", and `depth` how many messages may be on their way.
    """

    def __init__(
        self,
        name: str,
        size: Sequence[int] | None = None,
        broadcast_shape: Sequence[int] | None = None,
        channel_type: str | None = None,
        protocol: str | None = None,
        depth: int | None = None,
    ):
        if not isinstance(name, str) or not name.isidentifier():
            refuse(f"a channel has a name, not {name!r}", (None, 'such as `air.channel("rows", size=[4])`'))
        if protocol is not None and protocol not in PROTOCOLS:
            refuse(f"there is no protocol {protocol!r}", (None, f"there are {', '.join(PROTOCOLS)}"))
        self.name, self.channel_type, self.protocol, self.depth = name, channel_type, protocol, depth
        self.size = _sizes("size", size) or []
        self.broadcast_shape = _sizes("broadcast_shape", broadcast_shape)
        if self.broadcast_shape is not None and len(self.broadcast_shape) != len(self.size):
            refuse(
                "a broadcast has as many dimensions as the channels have", (None, "`size=[n, 1]` goes with `[n, n]`")
            )
        for channels, ends in zip(self.size, self._ends, strict=True):
            if channels not in (1, ends):
                refuse(
                    f"{channels} channels cannot have {ends} ends in a dimension",
                    (None, "one channel has any number of ends, several have one each"),
                )

    def put(self, source: Any, indices: Any = (), *, pack: PackedShape | None = None, dependency: Any = None) -> Token:
        """Send `source` through the channel at `indices`: a part of an array, within a block also a tile or a buffer.

        With `pack`, a shape of `air.micro_tile`, a part of an array goes micro tile by micro tile. A `dependency` is a
        token, or some of them: what it stands for is done by now. Between ranks it waits while the channel is full.
        """
        check_tokens(dependency)
        if self._is_of_ranks:
            if pack is not None:
                refuse("between ranks messages are not packed", (None, "leave `pack` out"))
            self._end(ChannelPutOp, "src", source, indices)
        else:
            keys = self._keys(indices, self.size)
            given = as_tile(source)
            part = given if isinstance(given, Tile) else region_of(given, "a channel's `put`")
            if pack is not None:
                part = _packed(part, pack)
            self._stream(given.dtype).put(part, _number(keys, self.size))
        return Token()

    def get(self, target: Any, indices: Any = (), *, dependency: Any = None) -> Token:
        """Receive what is next in the channel at `indices` into `target`, a part of an array or a buffer.

        A `dependency` is a token, or some of them: what it stands for is done by now.
        """
        check_tokens(dependency)
        if self._is_of_ranks:
            self._end(ChannelGetOp, "dst", target, indices)
        else:
            ends = self._ends
            keys = self._keys(indices, ends)
            from_ = [0 if size == 1 else key for key, size in zip(keys, self.size, strict=True)]
            into = target if isinstance(target, Buffer) else region_of(target, "a channel's `get`")
            self._stream(into.dtype).get(into, _number(from_, self.size), _number(keys, ends))
        return Token()

    @property
    def _ends(self) -> list[int]:
        return self.size if self.broadcast_shape is None else self.broadcast_shape

    @property
    def _is_of_ranks(self) -> bool:
        """Whether messages go through symmetric heaps; elsewhere there is nobody to send them to."""
        trace = current()
        return self.channel_type == SYMMETRIC or trace.inner("rank") is not None or not trace.is_kernel

    def _stream(self, dtype: DType) -> Stream:
        launch = current().inner("launch")
        assert launch is not None, "it is a kernel"
        made = launch.made.setdefault("streams", {})
        # channels of one name and other sizes are others: rows of the room are counted by them
        key = self.name, dtype, tuple(self.size), tuple(self._ends)
        if key not in made:
            made[key] = Stream(self.name, dtype, prod(self.size), prod(self._ends))
        return made[key]

    def _keys(self, indices: Any, sizes: Sequence[int]) -> list[Any]:
        """An index for each dimension; a single channel needs none."""
        keys = list(indices) if is_list(indices) else [] if indices is None else [indices]
        if not keys and prod(sizes) == 1:
            keys = [0] * len(sizes)
        if len(keys) != len(self.size):
            refuse(f"{self!r} has {len(self.size)} dimensions, and {len(keys)} indices are given")
        for key, size in zip(keys, sizes, strict=True):
            if not is_integer(key) and not isinstance(key, ScalarValue):
                refuse(f"an index of a channel is a whole number, not {key!r}")
            if is_integer(key) and not 0 <= key < size:
                refuse(f"index {key} is outside of a dimension of {size}, of {self!r}")
        return keys

    def _end(self, op_class: Any, side: str, given: Any, indices: Any) -> None:
        if isinstance(given, Buffer | Tile):
            refuse("a message is a part of an array", (None, "store the tile first: `a[i : i + n] = tile`"))
        region = region_of(given, f"a channel's `{'put' if side == 'src' else 'get'}`")
        keys = list(indices) if is_list(indices) else [indices]
        if len(keys) != len(self.size):
            refuse(f"{self!r} has {len(self.size)} dimensions, and {len(keys)} indices are given")
        declared(self.name, self._declare)
        places = [_bundle_index(key) for key in keys]
        build(op_class, chan_name=self.name, indices=places, **access_lists(region, side))

    def _declare(self) -> Any:
        extra: dict[str, Attribute] = {}
        if self.broadcast_shape is not None:
            extra["broadcast_shape"] = _numbers(self.broadcast_shape)
        if self.protocol is not None:
            extra["protocol"] = StringAttr(self.protocol)
        if self.depth is not None:
            extra["buffer_resources"] = IntegerAttr(self.depth, i64)
        properties: dict[str, Any] = {"sym_name": self.name, "size": _numbers(self.size)}
        return build(ChannelOp, attributes=extra, channel_type=StringAttr(self.channel_type or SYMMETRIC), **properties)

    def __repr__(self) -> str:
        return f"<channel {self.name}{self.size}>"


channel = Channel


def _numbers(sizes: Sequence[int]) -> ArrayAttr[IntegerAttr[Any]]:
    return ArrayAttr([IntegerAttr(size, i64) for size in sizes])


def _sizes(what: str, given: Any) -> list[int] | None:
    if given is None:
        return None
    if not is_list(given) or not all(is_integer(size) and size > 0 for size in given):
        refuse(f"{what} of a channel is a list of numbers above 0, not {given!r}", (None, f"such as `{what}=[4]`"))
    return [int(size) for size in given]


def _packed(part: Any, pack: Any) -> Region:
    if not isinstance(pack, PackedShape) or not isinstance(part, Region):
        refuse(
            f"what is packed is a part of an array, by a shape, and not {part!r} by {pack!r}",
            (None, "such as `put(b[k : k + 96, :], pack=air.micro_tile(1, 16, 8).b(96, 48))`"),
        )
    return pack.walk(part)


def _number(keys: Sequence[Any], sizes: Sequence[int]) -> Any:
    """Which channel of a bundle it is."""
    number: Any = 0
    for key, size in zip(keys, sizes, strict=True):
        number = key if is_integer(number) and number == 0 else key + number * size
    return number


def _bundle_index(key: Any) -> SSAValue:
    """An index into a bundle, which the dialect does not allow to be the variable of a loop itself."""
    value = as_index(key)
    owner = value.ssa.owner
    is_variable = isinstance(value.ssa, BlockArgument) and isinstance(owner.parent_op(), scf.ForOp)
    return (value + 0).ssa if is_variable else value.ssa


@user_facing
class FlatArray(Array):
    """An array over memory of one dimension, with sizes of its own; several can be over the same memory."""

    def indices(self, keys: Sequence[Any]) -> list[SSAValue]:
        """What is at the same offset is found without knowing sizes."""
        place: Any = 0
        for key, stride in zip(keys, self.strides, strict=True):
            step = key if is_integer(stride) and stride == 1 else as_index(key) * stride
            place = step if is_integer(place) and place == 0 else place + step
        return [as_index(place).ssa]


@user_facing
class SymmetricArray(FlatArray):
    """An array that all ranks have at the same place of their symmetric heaps."""


def symmetric(shape: Any, dtype: Any = f32) -> SymmetricArray:
    """An array of a `shape` and a `dtype` in the symmetric heap of each rank; all ranks ask for the same."""
    if current().inner("rank") is None or current().is_kernel:
        refuse("symmetric arrays are for ranks", (None, "allocate them on the host, under `@air.rank()`"))
    sizes = _shape(shape)
    total, element = product_of(sizes), as_dtype(dtype)
    type = buffer_type([total], element, SymmetricHeapAttr())
    dynamic = [] if is_integer(total) else [as_index(total)]
    made = build(ops.AllocOp, results=[type], dynamic_sizes=dynamic).results[0]
    return SymmetricArray(made, element, sizes)


def peer(array: Any, rank: Any) -> SymmetricArray:
    """The symmetric `array` as another `rank` has it, to load from and store to."""
    if not isinstance(array, SymmetricArray):
        refuse(f"other ranks have symmetric arrays, not {array!r}", (None, "`air.symmetric(shape)` makes them"))
    bases = _heap_bases()
    moved = build(
        TranslateOp,
        results=[ssa_of(array).type],
        source=array,
        from_rank=rank_number(),
        to_rank=as_index(rank),
        heap_bases=bases,
    )
    return SymmetricArray(moved.result, array.dtype, array.shape)


def _heap_bases() -> SSAValue:
    """Where the heap of each rank begins, in memory of the device; made once in a rank."""
    level = current().inner("rank")
    if level is None:
        refuse("other ranks are there in programs of ranks", (None, "write it in a function under `@air.rank()`"))
    if "bases" not in level.made:
        level.made["bases"] = at_start(level.block, _copied_bases)
    return level.made["bases"]


def _copied_bases() -> SSAValue:
    count = world_size()
    table = call_runtime("mgpuGetHeapBases", [llvm.LLVMPointerType()])[0]
    here = _bytes_at(table, count * 8)
    type = MemRefType(INDEX, [DYNAMIC_INDEX])
    seen = build(ops.ViewOp, results=[type], source=here, byte_shift=as_index(0), sizes=[count]).result
    there = build(gpu.AllocOp, results=[type], dynamic_sizes=[count]).memref
    build(gpu.MemcpyOp, dst=there, src=seen)
    return there


def _bytes_at(pointer: SSAValue, size: ScalarValue) -> SSAValue:
    """Memory at a pointer, as bytes."""
    numbers = llvm.LLVMArrayType(1, i64)
    kind = llvm.LLVMStructType.from_type_list([pointer.type, pointer.type, i64, numbers, numbers])
    place = InsertionPoint.current
    value = build(llvm.PoisonOp, results=[kind]).results[0]
    for where, part in (([0], pointer), ([1], pointer), ([2], constant(0, i64)), ([3, 0], size.astype(i64))):
        value = _inserted(place, value, part, where)
    value = _inserted(place, value, constant(1, i64), [4, 0])
    return build(UnrealizedConversionCastOp, results=[MemRefType(i8, [DYNAMIC_INDEX])], inputs=[value]).results[0]


def _inserted(place: InsertionPoint, value: SSAValue, part: Any, where: Sequence[int]) -> SSAValue:
    position = DenseArrayBase.from_list(i64, list(where))
    return build(llvm.InsertValueOp, results=[value.type], container=value, value=part, position=position, ip=place).res


def _shape(given: Any) -> tuple[Any, ...]:
    sizes = tuple(given) if is_list(given) else (given,)
    for size in sizes:
        if not is_integer(size) and not isinstance(size, ScalarValue):
            refuse(f"a size is a whole number, of Python or of the program, not {size!r}")
    return sizes


def array(shape: Any, dtype: Any = f32, host_shared: bool = False) -> Array:
    """An array of a `shape` and a `dtype` in memory of the device, made on the host.

    With `host_shared` the host can read it as well.
    """
    if current().is_kernel:
        refuse("a kernel has memory of its block and its lanes", (None, "`air.shared(shape)`, `air.private(shape)`"))
    sizes, element = _shape(shape), as_dtype(dtype)
    dynamic = [as_index(size) for size in sizes if not is_integer(size)]
    mark = UnitAttr() if host_shared else None
    type = buffer_type(sizes, element)
    made = build(gpu.AllocOp, results=[type], dynamic_sizes=dynamic, hostShared=mark)
    return Array(made.memref, element, sizes)


def copy(target: Any, source: Any) -> None:
    """Copy `source` to `target`: whole arrays on the host, in kernels parts of arrays, and buffers."""
    if current().is_kernel:
        _copy_in_kernel(target, source)
        return
    for given in (target, source):
        if not isinstance(given, Array):
            refuse(f"the host copies whole arrays, not {given!r}")
    build(gpu.MemcpyOp, dst=_plain(target), src=_plain(source))


def _plain(given: Array) -> SSAValue:
    """Memory of a heap is that of a device."""
    value = ssa_of(given)
    type: Any = value.type
    if isinstance(type.memory_space, NoneAttr):
        return value
    plain = MemRefType(type.element_type, type.get_shape())
    return build(UnrealizedConversionCastOp, results=[plain], inputs=[value]).results[0]


def is_shared(given: Any) -> bool:
    """Whether the waves of a block share an array."""
    return isinstance(given, BlockArray) or (
        isinstance(given, Array) and memory_space(ssa_of(given).type) == MemorySpace.L2
    )


def _copy_in_kernel(target: Any, source: Any, fill: Any = 0) -> None:
    if isinstance(target, Buffer):
        target[:] = source if isinstance(source, Buffer | Tile) else load(_like(source, target), fill, like=target)
    elif isinstance(source, Buffer | Tile):
        store_tile(source, _like(target, source))
    elif is_shared(target):
        cooperative_copy(target, region_of(source, "`air.copy`"), fill)
    else:
        region = region_of(target, "`air.copy`")
        if current().inner("herd") is None:
            dma(region, source)
        else:
            store_tile(load(source, fill), region)


def _like(part: Any, tile: Buffer | Tile) -> Region:
    """A part of an array with the dimensions of a tile: leading ones of one element need not be there."""
    return region_of(part, "`air.copy`").of_rank(len(tile.shape))


def move(target: Any, source: Any, fill: Any = 0) -> None:
    """What `ops.load` and `ops.store` of mlir-air mean: data from one memory to another."""
    _copy_in_kernel(target, source, fill)


def fill(target: Any, value: Any) -> None:
    """Set all elements of an array of the device, `target`, to a number, `value`, on the host."""
    if not isinstance(target, Array) or current().is_kernel:
        refuse("the host fills whole arrays", (None, "in a kernel, store a tile or elements"))
    build(gpu.MemsetOp, dst=_plain(target), value=signless(stored_number(value, target.dtype)))
