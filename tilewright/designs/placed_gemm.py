"""One core that multiplies matrices, placed by hand: tiles, fifos and its program, without a sequence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tilewright.designs.gemm_types import SUMS, WORD, GemmTypes
from tilewright.iron.dialects.aie import (
    ObjectFifoPort,
    buffer,
    core,
    external_func,
    object_fifo,
    object_fifo_link,
    tile,
)
from tilewright.iron.helpers.dialects.scf import _for as range_


@dataclass(frozen=True)
class PlacedGemm:
    """What a sequence needs to know of it."""

    a: Any
    b: Any
    c: Any
    steps: Any


def place_gemm(types: GemmTypes) -> PlacedGemm:
    """Put a core at (0, 2), a mem tile below it that reorders elements, and the fifos between them and the host."""
    shim, mem, compute = tile(0, 0), tile(0, 1), tile(0, 2)
    a = object_fifo("A_L3L2", shim, mem, 2, types.a())
    b = object_fifo("B_L3L2", shim, mem, 2, types.b())
    c = object_fifo("C_L2L3", mem, shim, 2, types.c(), types.c_from_blocks())
    left = object_fifo("A_L2L1", mem, compute, 2, types.a(), types.a_to_blocks())
    right = object_fifo("B_L2L1", mem, compute, 2, types.b(), types.b_to_blocks())
    result = object_fifo("C_L1L2", compute, mem, 2, types.c())
    object_fifo_link(a, left)
    object_fifo_link(b, right)
    object_fifo_link(result, c)
    steps = buffer(compute, WORD, name="steps", use_write_rtp=True)
    zero = external_func(f"zero_{SUMS[types.operand]}", [types.c()], link_with="mm.o")
    matmul = external_func(f"matmul_{types.names}", [types.a(), types.b(), types.c()], link_with="mm.o")

    @core(compute, dynamic_objfifo_lowering=True)
    def _program() -> None:
        for _ in range_(FOREVER):
            total = result.acquire(ObjectFifoPort.Produce, 1)
            zero(total)
            add_product(left, right, total, matmul)
            for _ in range_(1, steps[0]):  # it is there since the first tiles are
                add_product(left, right, total, matmul)
            result.release(ObjectFifoPort.Produce, 1)

    return PlacedGemm(a, b, c, steps)


def add_product(left: Any, right: Any, total: Any, matmul: Any) -> None:
    """Add the product of the next two tiles."""
    matmul(left.acquire(ObjectFifoPort.Consume, 1), right.acquire(ObjectFifoPort.Consume, 1), total)
    left.release(ObjectFifoPort.Consume, 1)
    right.release(ObjectFifoPort.Consume, 1)


FOREVER = 0x7FFFFFFF
