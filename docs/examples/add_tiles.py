"""c = a + b on some columns of an NPU: how large should tiles be, how many buffers of them, on how many columns?

tilewright sweep docs/examples/add_tiles.py
"""

import numpy as np

import tilewright as tw
from tilewright.iron import ObjectFifo, Program, Runtime, Worker
from tilewright.iron.controlflow import range_
from tilewright.iron.device import NPU1

VECTOR = np.ndarray[(None,), np.dtype[np.int32]]


def program(tile, depth, columns):
    """Vectors of `count` numbers in tiles of `tile` numbers, of which each FIFO holds `depth`."""
    tile_type = np.ndarray[(tile,), np.dtype[np.int32]]
    fifos = [[ObjectFifo(tile_type, depth=depth, name=f"{name}{n}") for n in range(columns)] for name in "abc"]

    def add(a, b, c):
        tile_c, tile_a, tile_b = c.acquire(1), a.acquire(1), b.acquire(1)
        for i in range_(tile):
            tile_c[i] = tile_a[i] + tile_b[i]
        for end in (a, b, c):
            end.release(1)

    def sequence(a, b, c, count, ends_a, ends_b, ends_c):
        share = count // columns
        for n in range(columns):
            ends_a[n].fill(a, offset=share * n, transfer_len=share)
            ends_b[n].fill(b, offset=share * n, transfer_len=share)
            ends_c[n].drain(c, offset=share * n, transfer_len=share, wait=True)

    workers = [Worker(add, [a.cons(), b.cons(), c.prod()]) for a, b, c in zip(*fifos, strict=True)]
    ends = [[fifo.prod() for fifo in fifos[0]], [fifo.prod() for fifo in fifos[1]], [fifo.cons() for fifo in fifos[2]]]
    return Program(NPU1(), Runtime(sequence, [VECTOR, VECTOR, VECTOR, np.int32, *ends]), workers)


def check(result, arrays, values):
    """Raise where the sum is wrong; what it gives becomes columns of the table."""
    np.testing.assert_array_equal(arrays["c"], arrays["a"] + arrays["b"])
    return {"checked": True}


sweep = tw.Sweep(
    program,
    {"tile": [64, 256, 1024, 4096], "depth": [1, 2], "columns": [1, 2], "count": [8192, 16384]},
    objective=["time", "l1_bytes"],
    constraints=["count % (tile * columns) == 0", "l1_bytes <= 65536"],
    columns={"numbers_per_us": "count / time / 1e6"},
    arguments={"a": "random:1", "b": "random:2"},
    measure=check,
)
