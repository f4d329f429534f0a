"""Adds one to numbers, with every tile, buffer, lock and descriptor written out; how many is said when it runs."""

import numpy as np

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
from tilewright.iron.dialects.aiex import dma_await_task, dma_start_task, runtime_sequence, shim_dma_single_bd_task
from tilewright.iron.extras.context import mlir_mod_ctx
from tilewright.iron.helpers.dialects.scf import range_

LINE = 64
line = np.ndarray[(LINE,), np.dtype[np.int32]]
numbers = np.ndarray[(4096,), np.dtype[np.int32]]
take, give = LockAction.AcquireGreaterEqual, LockAction.Release

with mlir_mod_ctx() as ctx:

    @device(AIEDevice.npu2)
    def design():
        shim, compute = tile(0, 0), tile(0, 2)
        work = buffer(compute, line, name="work")
        empty, filled, done = (lock(compute, init=init) for init in (1, 0, 0))
        flow(shim, dest=compute)
        flow(compute, dest=shim)
        shim_dma_allocation("fill", shim, DMAChannelDir.MM2S, 0)
        shim_dma_allocation("drain", shim, DMAChannelDir.S2MM, 0)

        @mem(compute)
        def descriptors(bd):
            dma_start(DMAChannelDir.S2MM, 0, dest=bd["in"], chain=bd["then"])
            with bd["in"]:
                use_lock(empty, take)
                dma_bd(work)
                use_lock(filled, give)
                next_bd(bd["in"])
            with bd["then"]:
                dma_start(DMAChannelDir.MM2S, 0, dest=bd["out"], chain=bd["end"])
            with bd["out"]:
                use_lock(done, take)
                dma_bd(work)
                use_lock(empty, give)
                next_bd(bd["out"])
            with bd["end"]:
                EndOp()

        @core(compute)
        def add_one():
            for _ in range_(1 << 30):
                use_lock(filled, take)
                for i in range_(LINE):
                    work[i] = work[i] + 1
                use_lock(done, give)

        @runtime_sequence(numbers, numbers, np.int64)
        def sequence(a, b, n):
            given = shim_dma_single_bd_task("fill", a, sizes=[1, 1, 1, n])
            taken = shim_dma_single_bd_task("drain", b, sizes=[1, 1, 1, n], issue_token=True)
            dma_start_task(given, taken)
            dma_await_task(taken)


if __name__ == "__main__":
    print(ctx.module)
