"""What the attributes of a channel may say."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import ArrayAttr, IntegerAttr
from xdsl.ir import Attribute
from xdsl.irdl import IRDLOperation
from xdsl.utils.exceptions import VerifyException

REFEED_COUNT = "air.refeed_count"
PACKET_IDS = "packet_ids"
MAX_PACKET_ID = 31
"""Packet headers have five bits for the id."""
INT32_MAX = (1 << 31) - 1


def verify_broadcast(sizes: Sequence[Attribute], shape: Sequence[Attribute]) -> None:
    """The receiving end follows from the sending one by NumPy's broadcasting rules."""
    if len(sizes) != len(shape):
        raise VerifyException("bundle rank should match broadcast_shape rank")
    for number, (size_attr, wide_attr) in enumerate(zip(sizes, shape, strict=True)):
        size, wide = _integer(size_attr, f"size[{number}]"), _integer(wide_attr, f"broadcast_shape[{number}]")
        if wide < size:
            raise VerifyException(
                f"broadcast_shape[{number}] ({wide}) must be >= size[{number}] ({size}): broadcasting cannot shrink "
                "a dimension"
            )
        if size not in (wide, 1):
            raise VerifyException(
                f"size[{number}] ({size}) is not compatible with broadcast_shape[{number}] ({wide}): size must be 1 "
                "or equal to broadcast_shape (NumPy broadcasting rules)"
            )


def _integer(attribute: Attribute, what: str) -> int:
    if not isinstance(attribute, IntegerAttr):
        raise VerifyException(f"expected integer attribute for {what}, but found {attribute}")
    return cast(IntegerAttr, attribute).value.data


def verify_refeed_count(op: IRDLOperation) -> None:
    """How often one buffer is sent again: it sizes the locks of the producer."""
    count = op.attributes.get(REFEED_COUNT)
    if count is None:
        return
    if not isinstance(count, IntegerAttr):
        raise VerifyException(f'"{REFEED_COUNT}" must be an integer attribute')
    value = cast(IntegerAttr, count).value.data
    if not 1 <= value <= INT32_MAX:
        raise VerifyException(f'"{REFEED_COUNT}" ({value}) must be in [1, INT32_MAX]')


def verify_packet_ids(op: IRDLOperation, is_packet: bool) -> None:
    """Ids that packets of the channel are routed by."""
    ids = op.attributes.get(PACKET_IDS)
    if ids is None:
        return
    if not isinstance(ids, ArrayAttr):
        raise VerifyException(f'"{PACKET_IDS}" must be an array attribute')
    if not is_packet:
        raise VerifyException(f'"{PACKET_IDS}" is only valid on a "npu_dma_packet" channel')
    seen: set[int] = set()
    for entry in cast("ArrayAttr[Attribute]", ids):
        if not isinstance(entry, IntegerAttr):
            raise VerifyException(f'"{PACKET_IDS}" elements must be integer attributes')
        number = cast(IntegerAttr, entry).value.data
        if not 0 <= number <= MAX_PACKET_ID:
            raise VerifyException(f'"{PACKET_IDS}" id ({number}) must be in [0, {MAX_PACKET_ID}]')
        if number in seen:
            raise VerifyException(f'"{PACKET_IDS}" id ({number}) is duplicated')
        seen.add(number)
