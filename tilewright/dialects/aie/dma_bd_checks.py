"""Checks of a descriptor on the tile it is for, in the order upstream checks it.

Descriptors of runtime tasks and chains are not tied to a tile yet; who places them checks them.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import DYNAMIC_INDEX, UnrankedMemRefType
from xdsl.utils.exceptions import VerifyException

from tilewright.device import DeviceModel
from tilewright.device.layout import WORD_BYTES, WORD_MASK
from tilewright.dialects._syntax import Integers
from tilewright.dialects.aie.attributes import BDIterationAttr, packet_violation
from tilewright.dialects.aie.buffers import BufferOp, ExternalBufferOp
from tilewright.dialects.aie.data_layout import element_count
from tilewright.dialects.aie.dma_bd import BdDimLayout, DmaBdOp, is_contiguous
from tilewright.dialects.aie.interfaces import TileElement, TileLike
from tilewright.dialects.aie.lookup import ancestors, device_model, parent_tile_element
from tilewright.ir.diagnostics import VerifyError
from tilewright.ir.interned import array_numbers

BODIES = ("aie.mem", "aie.memtile_dma", "aie.shim_dma", "aie.dma")
MAX_ITERATIONS = 64  # a 6-bit field that holds iterations - 1
SIZE_LIMIT = 513  # upstream's limits are tighter than the fields and than what its messages say
STRIDE_LIMIT = 1 << 19


def verify_dma_bd(bd: DmaBdOp) -> None:
    _verify_operands(bd)
    parent = bd.parent_op()
    # a task checks its descriptors itself, once it knows its tile
    if parent is None or parent.name not in BODIES:
        return
    is_unranked = isinstance(bd.buffer.type, UnrankedMemRefType)
    if not is_unranked and not isinstance(bd.buffer.owner, BufferOp | ExternalBufferOp):
        raise VerifyException("BDs only support BufferOp or ExternalBufferOp operands.")
    if bd.len_bytes % WORD_BYTES:
        raise VerifyException("transfer length must be multiple of 4 (i.e., represent 4 byte aligned address)")
    element = parent_tile_element(bd)
    tile = element.tile_like if element is not None else None
    if element is None or tile is None:
        raise VerifyException("parent tile must implement TileLike interface")
    device = device_model(bd)
    if not is_unranked:
        _verify_local(bd, element)
    _verify_ids(bd, tile)
    _verify_length(bd, tile, device)
    verify_mixed_lists(bd)
    dimensions = _verify_dimensions(bd, tile)
    _verify_padding(bd, tile, dimensions)
    if tile.is_mem or tile.is_core:  # a shim's addresses are known at run time
        _verify_alignment(bd)
    if bd.packet is not None and (text := packet_violation(bd.packet)):
        raise VerifyException(text)
    if not bd.has_len and element_count(bd.buffer.type) is None:
        raise VerifyException("buffer with dynamic shape requires static length.")
    if bd.burst_length.value.data != 0 and not tile.is_shim_noc:
        raise VerifyException(
            "Burst length is only supported in Shim NOC tiles that are connected to the memory-mapped NOC."
        )
    if bd.iteration is not None:
        _verify_iteration(bd, bd.iteration, tile, device)


def verify_mixed_lists(bd: DmaBdOp) -> None:
    """Every run-time size and stride has its operand, and there are as many sizes as strides."""
    _verify_operands(bd)
    sizes, strides = len(_numbers(bd.static_sizes)), len(_numbers(bd.static_strides))
    if sizes != strides:
        raise VerifyError(f"expected the same number of sizes ({sizes}) and strides ({strides})", at=bd)


def _verify_operands(bd: DmaBdOp) -> None:
    """What is a number is not an operand too, and what is none is one."""
    if bd.has_values:
        for name, value, number in (("offset", bd.offset, bd.static_offset), ("len", bd.len, bd.static_len)):
            if value is not None and number is not None:
                raise VerifyError(f"cannot have both a constant and a runtime {name}", at=bd)
    if not bd.has_values and "static_sizes" not in bd.properties and "static_strides" not in bd.properties:
        return
    for name, numbers in (("sizes", bd.static_sizes), ("strides", bd.static_strides)):
        expected = _numbers(numbers).count(DYNAMIC_INDEX)
        given = (len(bd.sizes) if name == "sizes" else len(bd.strides)) if bd.has_values else 0
        if given != expected:
            raise VerifyError(f"expected {expected} dynamic {name} values", at=bd, bare=True)


def _numbers(list: Integers | None) -> Sequence[int]:
    return () if list is None else array_numbers(list)


def _verify_local(bd: DmaBdOp, element: TileElement) -> None:
    # mem tiles reach their neighbours' buffers, shim tiles the host's
    in_core_tile = any(op.name == "aie.mem" for op in ancestors(bd))
    buffer = bd.buffer_op
    if in_core_tile and (buffer is None or buffer.tile is not element.tile_value):
        raise VerifyException("Core tile DMAs can only access a buffer in the same tile.")


def _verify_ids(bd: DmaBdOp, tile: TileLike) -> None:
    last = tile.resources.bds - 1
    for name, number in (("bdId", bd.bd_id), ("nextBdId", bd.next_bd_id)):
        if number is not None and not 0 <= number.value.data <= last:
            raise VerifyException(f"{name} attribute exceeds max: {last}")


def _verify_length(bd: DmaBdOp, tile: TileLike, device: DeviceModel) -> None:
    length = bd.constant_len
    is_unknown = length is None and bd.has_len  # no length at all is the whole buffer
    if is_unknown or (length is not None and length <= 0):
        return
    words = bd.len_bytes * 8 // device.granule_bits
    limit = tile.resources.max_bd_length
    if words > limit:
        raise VerifyException(
            f"buffer descriptor length ({words} 32-bit words) exceeds the maximum of {limit} words supported by this "
            "tile type"
        )


def _verify_dimensions(bd: DmaBdOp, tile: TileLike) -> list[BdDimLayout] | None:
    if not bd.mixed_sizes:
        return None
    dimensions = bd.constant_dimensions
    if dimensions is None:
        raise VerifyException(
            "buffer descriptor size/stride is a runtime value; a compile-time constant is required on this path"
        )
    limit = tile.resources.bd_dims
    if len(dimensions) > limit:
        raise VerifyException(
            f"Cannot give more than {limit} dimensions for step sizes and wraps on this tile "
            f"(got {len(dimensions)} dimensions)."
        )
    if isinstance(bd.buffer.type, UnrankedMemRefType):
        raise VerifyException("dimensions attribute cannot be used with unranked memref buffer type.")
    _verify_bounds(dimensions, element_count(bd.buffer.type), is_linear=tile.is_shim and is_contiguous(dimensions))
    if bd.element_bytes != WORD_BYTES and dimensions[-1].stride != 1:
        relation = "<" if bd.element_bytes < WORD_BYTES else ">"
        raise VerifyException(f"For {relation}32b width datatypes, inner-most dim stride must be 1")
    return dimensions


def _verify_bounds(dimensions: list[BdDimLayout], elements: int | None, is_linear: bool) -> None:
    # as upstream computes it, in unsigned 32 bits: a size of 0 is out of bounds
    last = sum(stride * (size - 1 & WORD_MASK) & WORD_MASK for size, stride in dimensions)
    if elements is not None and elements <= last:
        raise VerifyException(
            f"Specified stride(s) and size(s) result in out of bounds access in buffer, for index {last} in memref of "
            f"length {elements}."
        )
    for size, stride in dimensions:
        if stride == 0:
            raise VerifyException("Invalid step size; must be a positive integer.")
        if elements is not None and stride > elements:
            raise VerifyException(f"Step size {stride} exceeds memref size {elements}")
        # the length alone bounds a linear transfer: no wrap is written
        if not is_linear and size >= SIZE_LIMIT:
            raise VerifyException("Size may not exceed 1023.")
        if stride >= STRIDE_LIMIT:
            raise VerifyException(f"Stride may not exceed {1 << 20}")


def _verify_padding(bd: DmaBdOp, tile: TileLike, dimensions: list[BdDimLayout] | None) -> None:
    padding = bd.pad_dimensions
    if padding is None:
        return
    if dimensions is None:
        raise VerifyException("Padding requires n-d data layouts expressed as wrap(s) and stride(s).")
    if not tile.is_mem:
        raise VerifyException("Padding is only supported by memtile dma bds.")
    if len(dimensions) != len(padding):
        raise VerifyException("Mismatch number of dimensions between padding(s) and wrap(s) and stride(s).")
    padded = 1  # elements; the length of a padded descriptor counts the padding
    for dimension, pad in zip(dimensions, padding, strict=True):
        padded *= sum(pad.numbers()) + dimension.size
        length = bd.constant_len
        if length is not None and padded > length:
            raise VerifyException("Data exceeds len after padding.")
        if length is None and bd.len is not None:
            raise VerifyException(
                "Padding with a runtime len operand is not yet supported; use a compile-time constant len with padded "
                "BDs."
            )
    for side, count in zip(("before", "after"), padding[-1].numbers(), strict=True):
        if count * bd.element_bytes % WORD_BYTES:
            raise VerifyException(f"Inner-most padding-{side} count must result in padding in 32-bit words.")


def _verify_alignment(bd: DmaBdOp) -> None:
    buffer = bd.buffer_op
    if buffer is None or buffer.address_bytes is None:
        return
    address = buffer.address_bytes + bd.offset_bytes
    if address % WORD_BYTES:
        raise VerifyException(f"bd address must be 4 byte (32b) aligned; got base+offset: {address} (bytes)")


def _verify_iteration(bd: DmaBdOp, iteration: BDIterationAttr, tile: TileLike, device: DeviceModel) -> None:
    if not device.architecture.bd_iteration:
        raise VerifyException("BD iteration is not supported on this target")
    size, stride, current = iteration.numbers()
    if not 1 <= size <= MAX_ITERATIONS:
        raise VerifyException("BD iteration size must be in [1, 64]")
    if size > 1:  # else no step is ever taken
        stride_bytes = stride * bd.element_bytes
        if stride_bytes % WORD_BYTES:
            raise VerifyException("BD iteration stride must be aligned to 32-bit words")
        limit = tile.resources.max_step
        if not 1 <= stride_bytes // WORD_BYTES <= limit:
            raise VerifyException(f"BD iteration stride must be in [1, {limit}] 32-bit words")
    if current >= size:
        raise VerifyException("BD iteration current must be in [0, size)")
