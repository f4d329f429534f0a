"""Transfers between the host and an object FIFO, with the descriptor's number given by hand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tilewright.dialects.aiex.memcpy import NpuDmaMemcpyNdOp
from tilewright.iron.builders.checks import as_list
from tilewright.iron.builders.handles import OpView
from tilewright.iron.builders.location import refuse
from tilewright.iron.builders.operations import build
from tilewright.iron.placed.descriptors import split_mixed
from tilewright.iron.placed.patterns import tap_pattern

DIMENSIONS = 4


class NpuDmaMemcpyNd(OpView):
    """Sets up descriptor `bd_id` and starts a transfer between a host buffer and an object FIFO.

    Offsets, sizes and strides have four dimensions, outermost first, in elements; each may be a value of the sequence.
    A `tap` gives them instead. `issue_token` lets `dma_wait` and `npu_sync` wait for it.
    """

    OP = NpuDmaMemcpyNdOp

    def __init__(
        self,
        metadata: Any,
        bd_id: int,
        mem: Any,
        tap: Any = None,
        offsets: Sequence[Any] | None = None,
        sizes: Sequence[Any] | None = None,
        strides: Sequence[Any] | None = None,
        issue_token: bool | None = None,
        burst_length: int = 0,
        packet: Any = None,
        offset_parameter: Any = None,
    ):
        if tap is not None:
            if not (offsets is None and sizes is None and strides is None):
                refuse(
                    "NpuDmaMemcpyNd can take either a TileAccessPattern OR (sizes and/or strides and/or offsets), but "
                    "not both."
                )
            pattern = tap_pattern(tap)
            offsets, sizes, strides = [0, 0, 0, pattern.offset], pattern.sizes, pattern.strides
        lists = {
            "offsets": [0] * DIMENSIONS if offsets is None else as_list(offsets, "offsets"),
            "sizes": [0] * DIMENSIONS if sizes is None else as_list(sizes, "sizes"),
            "strides": [0, 0, 0, 1] if strides is None else as_list(strides, "strides"),
        }
        fields: dict[str, Any] = {}
        for name, values in lists.items():
            if len(values) != DIMENSIONS:
                refuse(f"npu_dma_memcpy_nd takes {DIMENSIONS} {name}, outermost first, not {len(values)}")
            fields[name], fields[f"static_{name}"] = split_mixed(values)
        op = build(
            NpuDmaMemcpyNdOp,
            memref=mem,
            metadata=metadata,
            id=bd_id,
            issue_token=issue_token,
            burst_length=burst_length,
            packet=packet,
            offset_parameter=offset_parameter,
            **fields,
        )
        super().__init__(op)


npu_dma_memcpy_nd = NpuDmaMemcpyNd
