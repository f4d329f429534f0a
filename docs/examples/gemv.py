"""y = A x with A of any number of tiles each way: the core learns from runtime parameters how many there are."""

import numpy as np

from tilewright.iron import Buffer, ObjectFifo, Program, Runtime, TaskGroup, Worker, WorkerRuntimeBarrier, kernels
from tilewright.iron.controlflow import range_
from tilewright.iron.device import NPU1Col1

M_TILE, K_TILE = 32, 32

matvec = kernels.mv(M_TILE, K_TILE, vectorized=False)
tile_a, tile_x, tile_y = matvec.arg_types()
matrix = np.ndarray[(None,), np.dtype[np.int16]]
vector_x = np.ndarray[(None,), np.dtype[np.int16]]
vector_y = np.ndarray[(None,), np.dtype[np.int32]]

of_a = ObjectFifo(tile_a, name="A")
of_x = ObjectFifo(tile_x, name="x")
of_y = ObjectFifo(tile_y, name="y")
sizes = Buffer(np.ndarray[(2,), np.dtype[np.int32]], name="sizes", use_write_rtp=True)
sizes_are_set = WorkerRuntimeBarrier()


def multiply(a, x, y, sizes, sizes_are_set, zero, matvec):
    sizes_are_set.wait_for_value(1)
    rows, columns = sizes[0], sizes[1]
    sizes_are_set.release_with_value(1)  # now it is 2, and the core waits for the next run to set it
    for _ in range_(rows):
        result = y.acquire(1)
        zero(result)
        for _ in range_(columns):
            matvec(a.acquire(1), x.acquire(1), result)
            a.release(1)
            x.release(1)
        y.release(1)


worker = Worker(multiply, [of_a.cons(), of_x.cons(), of_y.prod(), sizes, sizes_are_set, matvec.zero, matvec])


def sequence(A, x, y, M, K, a_end, x_end, y_end):
    """Multiply `A`, `M` by `K`, with `x`; both are multiples of 32."""
    sizes[0] = M // M_TILE
    sizes[1] = K // K_TILE
    sizes_are_set.set(1)
    for n in range_(M // M_TILE):
        group = TaskGroup()
        tiles = {"sizes": [1, K // K_TILE, M_TILE, K_TILE], "strides": [0, K_TILE, K, 1]}
        a_end.fill(A, offset=K * n * M_TILE, **tiles, group=group)
        x_end.fill(x, transfer_len=K, group=group)
        y_end.drain(y, offset=n * M_TILE, transfer_len=M_TILE, wait=True, group=group)
        group.finish()


runtime = Runtime(sequence, [matrix, vector_x, vector_y, np.int32, np.int32, of_a.prod(), of_x.prod(), of_y.cons()])
program = Program(NPU1Col1(), runtime, [worker])
