"""Messages: the elements of a buffer that one put or get moves, by their numbers, and the bytes they are on the way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from math import prod
from typing import cast

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    BFloat16Type,
    Float16Type,
    Float32Type,
    Float64Type,
    IndexType,
    IntegerType,
    MemRefType,
    VectorType,
    i8,
    i64,
)
from xdsl.ir import Attribute, Operation, SSAValue

from tilewright.dialects import arith
from tilewright.dialects.air.accesses import Access
from tilewright.dialects.air.channels import ChannelEnd
from tilewright.dialects.air.types import MemorySpace, memory_space
from tilewright.dialects.memref.types import is_ranked
from tilewright.ir.diagnostics import fail_op
from tilewright.passes.air.copy_loops import delinearized, indices_of, shape_of, value_of
from tilewright.rewrite.emitter import CastOperation, Emitter, cast_op
from tilewright.rewrite.folding.constants import FloatType, as_integer_type, is_shaped, width_of
from tilewright.rewrite.folding.strided_views import Mixed, known_int

_LLVM_FLOATS = (Float16Type, BFloat16Type, Float32Type, Float64Type)
_WIDTHS = 8, 16, 32, 64, 128
_CASTS: dict[type[Attribute], tuple[type[CastOperation], type[CastOperation]]] = {
    IndexType: (arith.IndexCastOp, arith.IndexCastOp),
    IntegerType: (arith.ExtUIOp, arith.TruncIOp),
}
"""How types that LLVM lacks become what lies in a message, and back; others keep their bits."""


@dataclass(frozen=True)
class Message:
    """The elements that an end moves, in the order in which they lie in a message."""

    end: ChannelEnd

    @property
    def access(self) -> Access:
        return self.end.access(self.end.SIDE)

    @property
    def type(self) -> MemRefType:
        return cast(MemRefType, self.access.memref.type)

    @property
    def element_type(self) -> Attribute:
        return self.type.element_type

    @property
    def wire(self) -> Attribute:
        return wire_type(self.end, self.element_type)

    @property
    def element_bytes(self) -> int:
        return size_bytes(self.wire)

    @property
    def is_private(self) -> bool:
        """Whether each thread has a buffer of its own."""
        return memory_space(self.type) == MemorySpace.L1

    @property
    def length(self) -> int | None:
        """How many elements there are, if that is known."""
        sizes = [known_int(size) for size in self.access.sizes] if self.access.sizes else self.type.get_shape()
        known = [size for size in sizes if size is not None and size != DYNAMIC_INDEX]
        return prod(known) if len(known) == len(sizes) else None

    @property
    def room(self) -> int | None:
        """How many elements its buffer has, if that is known."""
        shape = self.type.get_shape()
        return None if DYNAMIC_INDEX in shape else prod(shape)

    def check(self) -> None:
        """Refuse what no transfer between ranks can do."""
        end = self.end
        if not is_ranked(self.access.memref.type):
            fail_op(end, "moves a buffer of unknown rank", (end, "cast it to one of known rank"))
        if getattr(end, "pad_before", None) is not None:
            fail_op(end, "pads what it moves; messages between ranks are not padded", (end, "pad with stores"))
        # only puts have it
        if getattr(end, "dest", None) is not None:
            fail_op(end, "chooses its receiver with dest(); a put between ranks does so by its indices")
        if not self.element_bytes:
            fail_op(end, f"moves elements of type {self.element_type}, which are no whole number of bytes")

    def total(self, emitter: Emitter) -> SSAValue:
        """How many elements there are."""
        if self.length is not None:
            return emitter.index(self.length)
        return reduce(emitter.folded_product, [value_of(emitter, size) for size in self._sizes(emitter)])

    def load(self, emitter: Emitter, number: SSAValue) -> SSAValue:
        """An element as it lies in a message."""
        value = emitter.load(self.access.memref, self._indices(emitter, number))
        return to_wire(emitter, value, self.wire)

    def store(self, emitter: Emitter, number: SSAValue, value: SSAValue) -> None:
        element = from_wire(emitter, value, self.element_type)
        emitter.store(element, self.access.memref, self._indices(emitter, number))

    def _sizes(self, emitter: Emitter) -> list[Mixed]:
        """How many elements there are in each dimension."""
        if self.access.sizes:
            return self.access.sizes
        return shape_of(emitter, self.access.memref)

    def _indices(self, emitter: Emitter, number: SSAValue) -> Sequence[SSAValue]:
        sizes = self._sizes(emitter)
        # dimensions of one element cost a division each otherwise
        longer = [at for at, size in enumerate(sizes) if known_int(size) != 1]
        place = dict(zip(longer, delinearized(emitter, number, [sizes[at] for at in longer]), strict=True))
        position = [place[at] if at in place else emitter.index(0) for at in range(len(sizes))]
        return indices_of(self.end, emitter, self._counted_access, position, sizes)

    @property
    def _counted_access(self) -> Access:
        """All of a buffer, whatever its size, is what starts at its first element."""
        access = self.access
        if access.sizes or access.offsets:
            return access
        return Access(access.memref, [0] * self.type.get_num_dims(), [], [])


def check_match(messages: Sequence[Message]) -> None:
    """All puts and gets of a channel move as many elements of one type."""
    first = messages[0]
    for other in messages[1:]:
        if other.element_type != first.element_type:
            fail_op(
                other.end,
                f"moves elements of type {other.element_type}; elsewhere {first.element_type} go through this channel",
                (first.end, "it is here"),
            )
        if other.length is not None and first.length is not None and other.length != first.length:
            fail_op(
                other.end,
                f"moves {other.length} elements; elsewhere {first.length} at a time go through this channel",
                (first.end, "it is here"),
            )


def wire_type(op: Operation, type: Attribute) -> Attribute:
    """What an element of `type` is in a message."""
    integer = as_integer_type(type)
    if isinstance(type, IndexType):
        return i64
    # widths between those of machines take the next larger one
    if integer is not None and integer.width.data <= _WIDTHS[-1]:
        return IntegerType(next(width for width in _WIDTHS if width >= integer.width.data))
    if isinstance(type, _LLVM_FLOATS):
        return type
    # LLVM has no floats of 8 bits: their bits travel
    if isinstance(type, FloatType) and type.bitwidth <= 8:
        return i8
    if is_shaped(type) and size_bytes(type):
        return type
    fail_op(op, f"moves elements of type {type}, which messages between ranks cannot hold")


def size_bytes(type: Attribute) -> int:
    """Bytes of an element in a message; 0 if its size is no whole number of them."""
    width = width_of(type)
    if width is None or width % 8:
        return 0
    return width // 8 * (prod(cast(VectorType[Attribute], type).get_shape()) if is_shaped(type) else 1)


def to_wire(emitter: Emitter, value: SSAValue, wire: Attribute) -> SSAValue:
    """An element as it lies in a message."""
    if value.type == wire:
        return value
    return emitter.value(cast_op(_CASTS.get(value.type.__class__, (arith.BitcastOp,))[0], value, wire))


def from_wire(emitter: Emitter, value: SSAValue, type: Attribute) -> SSAValue:
    """An element of `type`, from what lies in a message."""
    if value.type == type:
        return value
    return emitter.value(cast_op(_CASTS.get(type.__class__, (arith.BitcastOp,))[-1], value, type))
