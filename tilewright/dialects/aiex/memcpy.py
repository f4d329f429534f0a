"""Transfers between host memory and the array: one op programs a descriptor and starts it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, cast

from xdsl.dialects.builtin import (
    DenseArrayBase,
    FlatSymbolRefAttrConstr,
    IntegerAttr,
    MemRefType,
    SymbolRefAttr,
    UnrankedMemRefType,
    i1,
    i64,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    operand_def,
    opt_prop_def,
    prop_def,
    var_operand_def,
)
from xdsl.utils.exceptions import VerifyException

from tilewright.device import Arch, DeviceModel
from tilewright.dialects._mixed_indices import (
    MixedIndices,
    join_mixed,
    verify_mixed,
)
from tilewright.dialects._ods import i64_attr, op_definition, unsigned_attr
from tilewright.dialects._syntax import Integers, segments
from tilewright.dialects.aie.attributes import PacketInfoAttr, packet_violation
from tilewright.dialects.aie.data_layout import element_count, type_bits
from tilewright.dialects.aie.dma_bd import ANY_MEMREF
from tilewright.dialects.aie.flows import ShimDmaAllocationOp
from tilewright.dialects.aie.interfaces import Target
from tilewright.dialects.aie.lookup import constant_values, device_model, lookup_symbol, parent_of_type, tile_of
from tilewright.dialects.aie.objectfifo import ObjectFifoOp
from tilewright.ir.interned import array_numbers

from .access_pattern import DIMENSIONS, ITERATION, AccessPattern, encode_integers
from .attributes import ShimChannelUser, TokenIssuer
from .decomposition import decompose
from .descriptor_checks import (
    DescriptorLimits,
    burst_violation,
    has_free_loop,
    pattern_violation,
    realizability_violation,
)
from .write_bd import PADDING

ZERO = IntegerAttr(0, i64)
CONTINUED = "tilewright.continued"
"""Discardable attribute of a transfer that is a part of another one, not the last: nothing waits for it."""
INDICES = DenseArrayBase.constr(i64)


@op_definition
class NpuDmaMemcpyNdOp(TokenIssuer, ShimChannelUser):
    """Move data between a host buffer and the shim DMA channel that `metadata` names.

    Offsets, sizes and strides count elements and stand outermost first. `id` is the descriptor to use.
    """

    name = "aiex.npu.dma_memcpy_nd"

    memref = operand_def(ANY_MEMREF)
    offsets = var_operand_def(i64)
    sizes = var_operand_def(i64)
    strides = var_operand_def(i64)
    static_offsets = prop_def(INDICES)
    static_sizes = prop_def(INDICES)
    static_strides = prop_def(INDICES)
    packet = opt_prop_def(PacketInfoAttr)
    metadata = prop_def(SymbolRefAttr)
    id = prop_def(i64_attr())
    d0_zero_before = opt_prop_def(i64_attr(), ZERO)
    d1_zero_before = opt_prop_def(i64_attr(), ZERO)
    d2_zero_before = opt_prop_def(i64_attr(), ZERO)
    d0_zero_after = opt_prop_def(i64_attr(), ZERO)
    d1_zero_after = opt_prop_def(i64_attr(), ZERO)
    d2_zero_after = opt_prop_def(i64_attr(), ZERO)
    burst_length = opt_prop_def(i64_attr(), ZERO)  # in bytes; 0 asks for the longest
    offset_parameter = opt_prop_def(FlatSymbolRefAttrConstr)
    offset_state_table_idx = opt_prop_def(unsigned_attr(8))

    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    CHANNEL_NAME: ClassVar[str] = "metadata"
    custom_directives = (MixedIndices,)
    assembly_format = (
        "`(` $memref `` custom<MixedIndices>($offsets, $static_offsets) `` custom<MixedIndices>($sizes, $static_sizes) "
        "`` custom<MixedIndices>($strides, $static_strides) (`,` `packet` `=` $packet^)? `)` "
        "attr-dict `:` type($memref)"
    )

    def __init__(
        self,
        memref: SSAValue,
        pattern: AccessPattern,
        metadata: str | SymbolRefAttr,
        id: int,
        *,
        issue_token: bool = False,
    ):
        super().__init__(
            operands=[memref, [], [], []],
            properties={
                **_static_lists(pattern),
                "metadata": SymbolRefAttr(metadata) if isinstance(metadata, str) else metadata,
                "id": IntegerAttr(id, i64),
                "issue_token": IntegerAttr(issue_token, i1),
            },
        )

    def with_pattern(self, pattern: AccessPattern) -> NpuDmaMemcpyNdOp:
        """The same transfer along another, constant pattern."""
        # the values of the old pattern are operands no more
        properties = self.properties | _static_lists(pattern) | {"operandSegmentSizes": segments(1, 0, 0, 0)}
        return NpuDmaMemcpyNdOp.create(operands=[self.memref], properties=properties)

    @property
    def is_continued(self) -> bool:
        return CONTINUED in self.attributes

    @property
    def mixed_offsets(self) -> list[SSAValue | int]:
        return join_mixed(self.offsets, self.static_offsets, "offset")

    @property
    def mixed_sizes(self) -> list[SSAValue | int]:
        return join_mixed(self.sizes, self.static_sizes, "size")

    @property
    def mixed_strides(self) -> list[SSAValue | int]:
        return join_mixed(self.strides, self.static_strides, "stride")

    @property
    def constant_pattern(self) -> AccessPattern | None:
        """The access pattern, if all of it is known."""
        if len(self._operands) == 1:  # the memory: everything else is written out
            lists = (self.static_sizes, self.static_strides, self.static_offsets)
            return AccessPattern.from_outermost(*map(array_numbers, lists))
        offsets, sizes, strides = (
            [value for value in constant_values(values) if value is not None]
            for values in (self.mixed_offsets, self.mixed_sizes, self.mixed_strides)
        )
        if not len(offsets) == len(sizes) == len(strides) == DIMENSIONS:
            return None
        return AccessPattern.from_outermost(sizes, strides, offsets)

    @property
    def element_bits(self) -> int:
        return type_bits(cast(MemRefType | UnrankedMemRefType, self._operands[0].type).element_type)

    @property
    def is_padded(self) -> bool:
        """Whether zeros are added around the data."""
        pads = (self.properties.get(name) for name in PADDING)
        return any(isinstance(pad, IntegerAttr) and pad.value.data for pad in pads)

    def verify_(self) -> None:
        self._verify_lists()
        device, element_bits = device_model(self), self.element_bits
        if element_bits > device.granule_bits:
            raise VerifyException(f"Maximum element bit width allowed is {device.granule_bits}bits. ")
        elements = element_count(self.memref.type)
        if elements is not None and elements * element_bits < device.granule_bits:
            raise VerifyException(f"Minimum data transfer size required is {device.granule_bits}bits. ")
        pattern = self.constant_pattern
        text = self._runtime_violation(device) if pattern is None else self._constant_violation(device, pattern)
        if text is not None:
            raise VerifyException(text)

    def _verify_lists(self) -> None:
        for name in ("offsets", "sizes", "strides"):
            values = cast(Integers, self.properties[f"static_{name}"])
            if len(array_numbers(values)) != DIMENSIONS:
                raise VerifyException(
                    f"attribute 'static_{name}' failed to satisfy constraint: "
                    f"i64 dense array attribute with exactly {DIMENSIONS} elements"
                )
            verify_mixed(getattr(self, name) if len(self._operands) > 1 else (), values, name[:-1])

    def _constant_violation(self, device: DeviceModel, pattern: AccessPattern) -> str | None:
        if text := burst_violation(device, self.burst_length.value.data):
            return text
        if device.arch is Arch.AIE1:  # upstream checks no patterns there
            return None
        if pattern.offset * self.element_bits % device.granule_bits != 0:
            return "Offset must be 4-byte-aligned."
        allocation = self.allocation
        if allocation is not None and (text := self._pattern_violation(device, pattern, allocation)):
            return text
        return None if self.packet is None else packet_violation(self.packet)

    def _pattern_violation(
        self, device: DeviceModel, pattern: AccessPattern, allocation: ShimDmaAllocationOp
    ) -> str | None:
        """What is wrong with the pattern, unless aie-decompose-large-dma-bd or its lowering can split it."""
        tile = tile_of(allocation.tile)
        if tile is None or not tile.is_placed or tile.place is None:
            return "shim DMA allocation must reference a valid TileOp"
        # splitting is tried only where the pattern does not fit, as it takes long
        text = pattern_violation(device, *tile.place, self.element_bits, pattern)
        limits = DescriptorLimits.of_tile(device, *tile.place, self.element_bits) if text is not None else None
        if limits is None:
            return text
        can_be_split = has_free_loop(pattern.sizes) and limits.violation(pattern, ignore_wraps=True) is None
        return None if can_be_split or decompose(pattern, limits) else text

    def _runtime_violation(self, device: DeviceModel) -> str | None:
        if isinstance(self.named_channel, ObjectFifoOp):
            return None  # its lowering makes the allocation
        if self.allocation is None:
            return "runtime sizes/strides require a shim_dma_allocation to resolve the tile; none found."
        place = self.tile.place if self.tile is not None else None
        if place is None:
            return "shim DMA allocation must reference a valid TileOp"
        limits = DescriptorLimits.of_tile(device, *place, self.element_bits)
        if limits is None or not device.is_shim_noc(*place):
            return "runtime sizes/strides are only supported for shim NOC tile DMAs."
        if self.is_padded:
            return "zero padding is not supported with runtime sizes/strides."
        # what is known of the pattern can be wrong before the rest is known; generated code checks that
        sizes = constant_values(self.mixed_sizes)[::-1]
        strides = constant_values(self.mixed_strides)[::-1]
        # d0 and d1 may be too long where the lowering can split them
        limited = (None, None, *sizes[2:]) if has_free_loop(sizes) else sizes
        return (
            size_violation(limits, limited)
            or realizability_violation(limits, sizes, strides)
            or burst_violation(device, self.burst_length.value.data)
        )


def _static_lists(pattern: AccessPattern) -> dict[str, Attribute]:
    return {
        "static_offsets": DenseArrayBase.from_list(i64, pattern.outermost_offsets),
        "static_sizes": DenseArrayBase.from_list(i64, pattern.outermost_sizes),
        "static_strides": DenseArrayBase.from_list(i64, pattern.outermost_strides),
    }


def size_violation(limits: DescriptorLimits, sizes: Sequence[int | None]) -> str | None:
    """Why the known sizes, innermost first, do not fit their fields."""
    # a size that is not known yet stands as 0, which fits
    known = AccessPattern((0,) * DIMENSIONS, tuple(size or 0 for size in sizes), (0,) * DIMENSIONS)
    hardware = encode_integers(known, limits.element_bits, limits.granule_bits)
    for dimension, what, limit in (
        (0, "d0 size", limits.max_wrap),
        (1, "d1 size", limits.max_wrap),
        (ITERATION, "iteration size", limits.max_iterations - 1),
    ):
        value = hardware.sizes[dimension]
        if not 0 <= value <= limit:
            return f"{what} hardware value {value} exceeds hardware range [0:{limit}]."
    return None


@op_definition
class NpuDmaWaitOp(IRDLOperation):
    """Wait for the completion token of the shim channel that `symbol` names."""

    name = "aiex.npu.dma_wait"

    symbol = prop_def(FlatSymbolRefAttrConstr)

    assembly_format = "attr-dict"

    def verify_(self) -> None:
        device = parent_of_type(self, Target)
        if device is not None and lookup_symbol(device, self.symbol) is None:
            raise VerifyException("couldn't find symbol in parent device")


OPS = [NpuDmaMemcpyNdOp, NpuDmaWaitOp]
