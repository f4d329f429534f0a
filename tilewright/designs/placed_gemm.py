"""One core that multiplies matrices, placed by hand. How its sequence moves tiles is a choice of those who use it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from tilewright.designs.gemm_types import SUMS, WORD, GemmTypes, SingleCore
from tilewright.device import model
from tilewright.iron.dialects.aie import (
    ObjectFifoPort,
    buffer,
    core,
    device,
    external_func,
    object_fifo,
    object_fifo_link,
    tile,
)
from tilewright.iron.dialects.aiex import npu_rtp_write, runtime_sequence
from tilewright.iron.extras.context import mlir_mod_ctx
from tilewright.iron.helpers.dialects.scf import _for as range_
from tilewright.iron.open_sizes import require_multiple


@dataclass(frozen=True)
class PlacedGemm:
    """What a sequence needs to know of it."""

    a: Any
    b: Any
    c: Any
    steps: Any


class Pattern(NamedTuple):
    """Which elements of a matrix, in which order."""

    sizes: list[Any]
    strides: list[Any]
    offset: Any


Move: TypeAlias = Callable[[PlacedGemm, Sequence[Any], Sequence[Pattern]], None]
"""Has the patterns of A and B sent to the core and that of C fetched, and waits for it."""


def placed_program(shape: SingleCore, move: Move) -> Any:
    """The design; M, K and N are arguments of its sequence, which moves what each tile of C needs."""
    m, k, n = shape.multiples
    with mlir_mod_ctx() as ctx:

        @device(model(shape.device).name)
        def _design() -> None:
            gemm = place_gemm(shape.types)

            @runtime_sequence(*shape.arrays, np.int32, np.int32, np.int32)
            def sequence(A: Any, B: Any, C: Any, M: Any, K: Any, N: Any) -> None:
                for size, multiple, name in zip((M, K, N), shape.multiples, "MKN", strict=True):
                    require_multiple(size, multiple, name)
                npu_rtp_write("steps", 0, K // k)
                for i in range_(M // m):
                    for j in range_(N // n):
                        tiles_of_a = Pattern([1, K // k, m, k], [0, k, K, 1], i * m * K)
                        tiles_of_b = Pattern([1, K // k, k, n], [0, N * k, N, 1], j * n)
                        tile_of_c = Pattern([1, 1, m, n], [0, 0, N, 1], i * m * N + j * n)
                        move(gemm, (A, B, C), (tiles_of_a, tiles_of_b, tile_of_c))

    return ctx.module


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

    @core(compute, dynamic_objfifo_lowering=True)  # loops stay: how many tiles there are is known at run time
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


FOREVER = 0x7FFFFFFF  # a loop of the IR has an end
