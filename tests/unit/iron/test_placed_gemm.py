"""A matrix product with every buffer, lock and descriptor by hand: one build for any M, K and N."""

from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tilewright.iron.builders import ModuleContext
from tilewright.iron.dialects.aie import (
    AIEDevice,
    DMAChannelDir,
    EndOp,
    LockAction,
    buffer,
    core,
    device,
    dma_bd,
    dma_start,
    flow,
    lock,
    mem,
    next_bd,
    shim_dma_allocation,
    tile,
    use_lock,
)
from tilewright.iron.dialects.aiex import (
    dma_await_task,
    dma_free_task,
    dma_start_task,
    runtime_sequence,
    set_lock_value,
    shim_dma_single_bd_task,
)
from tilewright.iron.dialects.arith import extsi
from tilewright.iron.extras import types as T
from tilewright.iron.extras.context import mlir_mod_ctx
from tilewright.iron.helpers.dialects.scf import range_

m, k, n = 16, 8, 4  # one step of the core: a tile of A with m rows and k columns, of B with k rows and n columns
Settings = dict[str, Any]
TAKE, GIVE = LockAction.AcquireGreaterEqual, LockAction.Release


def array(dtype: Any, *shape: int | None) -> Any:
    return np.ndarray[shape, np.dtype[dtype]]  # pyright: ignore[reportInvalidTypeArguments]


def multiply(a: Any, b: Any, c: Any) -> None:
    """Add the product of two tiles to a third."""
    for i in range_(m):
        for j in range_(n):
            for x in range_(k):
                c[i, j] = c[i, j] + extsi(a[i, x], to=T.i32()) * extsi(b[x, j], to=T.i32())


def channel(bd: Any, direction: DMAChannelDir, number: int, data: Any, before: Any, after: Any) -> Any:
    """A channel that moves one buffer again and again; what comes next is to be written in the block it gives."""
    here, then = f"{direction} {number}", f"after {direction} {number}"
    dma_start(direction, number, dest=bd[here], chain=bd[then])
    with bd[here]:
        use_lock(before, TAKE)
        dma_bd(data)
        use_lock(after, GIVE)
        next_bd(bd[here])
    return bd[then]


def gemm_program() -> ModuleContext:
    with mlir_mod_ctx() as ctx:

        @device(AIEDevice.npu2)
        def _() -> None:
            shim, compute = tile(0, 0), tile(0, 2)
            a = buffer(compute, array(np.int16, m, k), name="a")
            b = buffer(compute, array(np.int16, k, n), name="b")
            c = buffer(compute, array(np.int32, m, n), name="c")
            counts = buffer(compute, array(np.int32, 2), name="counts", use_write_rtp=True)
            started = lock(compute, init=0, sym_name="started")
            a_empty, a_full, b_empty, b_full, c_empty, c_full = (lock(compute, init=i) for i in (1, 0, 1, 0, 1, 0))
            for number, name in enumerate("AB"):
                flow(shim, source_channel=number, dest=compute, dest_channel=number)
                shim_dma_allocation(name, shim, DMAChannelDir.MM2S, number)
            flow(compute, dest=shim)
            shim_dma_allocation("C", shim, DMAChannelDir.S2MM, 0)

            @mem(compute)
            def _(bd: Any) -> None:
                with (
                    channel(bd, DMAChannelDir.S2MM, 0, a, a_empty, a_full),
                    channel(bd, DMAChannelDir.S2MM, 1, b, b_empty, b_full),
                    channel(bd, DMAChannelDir.MM2S, 0, c, c_full, c_empty),
                ):
                    EndOp()

            @core(compute)
            def _() -> None:
                for _ in range_(1 << 30):
                    use_lock(started, TAKE)
                    tiles, steps = counts[0], counts[1]
                    for _ in range_(tiles):
                        use_lock(c_empty, TAKE)
                        for i in range_(m):
                            for j in range_(n):
                                c[i, j] = 0
                        for _ in range_(steps):
                            use_lock(a_full, TAKE)
                            use_lock(b_full, TAKE)
                            multiply(a, b, c)
                            use_lock(a_empty, GIVE)
                            use_lock(b_empty, GIVE)
                        use_lock(c_full, GIVE)

            @runtime_sequence(array(np.int16, None), array(np.int16, None), array(np.int32, None), *[np.int32] * 3)
            def gemm(A: Any, B: Any, C: Any, M: Any, K: Any, N: Any) -> None:
                rows, steps, columns = M // m, K // k, N // n
                counts[0] = rows * columns
                counts[1] = steps
                set_lock_value(started, 1)
                for row in range_(rows):
                    of_a: dict[str, Any] = {
                        "offset": K * m * row,
                        "sizes": [columns, steps, m, k],
                        "strides": [0, k, K, 1],
                    }
                    of_b: Settings = {"sizes": [columns, steps, k, n], "strides": [n, N * k, N, 1]}
                    of_c: Settings = {"offset": N * m * row, "sizes": [1, columns, m, n], "strides": [0, n, N, 1]}
                    given = [shim_dma_single_bd_task("A", A, **of_a), shim_dma_single_bd_task("B", B, **of_b)]
                    taken = shim_dma_single_bd_task("C", C, **of_c, issue_token=True)
                    dma_start_task(*given, taken)
                    dma_await_task(taken)
                    dma_free_task(*given)

    return ctx


@pytest.fixture(scope="module")
def design() -> tw.Design:
    return tw.compile(gemm_program())


@pytest.mark.parametrize("seed", range(25))
def test_any_size(design: tw.Design, seed: int):
    random = np.random.default_rng(seed)
    M, K, N = (int(random.integers(1, 6)) * size for size in (m, k, n))
    A = random.integers(-(1 << 15), 1 << 15, (M, K), dtype=np.int16)
    B = random.integers(-(1 << 15), 1 << 15, (K, N), dtype=np.int16)
    C = np.zeros((M, N), np.int32)
    design.run(A, B, C, M, K, N)
    np.testing.assert_array_equal(C, (A.astype(np.int64) @ B).astype(np.int32))


def test_two_runs_of_a_loaded_device(design: tw.Design):
    loaded = design.load()
    A, B = np.ones((m, k), np.int16), np.ones((k, 2 * n), np.int16)
    for factor in (1, 3):
        C = np.zeros((m, 2 * n), np.int32)
        loaded.run(A * np.int16(factor), B, C, m, k, 2 * n)
        np.testing.assert_array_equal(C, factor * k)
