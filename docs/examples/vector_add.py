"""c = a + b for vectors of any number of tiles, on all four columns of an NPU at once."""

import numpy as np

from tilewright.iron import ObjectFifo, Program, Runtime, Worker
from tilewright.iron.controlflow import range_
from tilewright.iron.device import NPU1

TILE, COLUMNS = 256, 4

tile = np.ndarray[(TILE,), np.dtype[np.int32]]
vector = np.ndarray[(None,), np.dtype[np.int32]]

of_a = [ObjectFifo(tile, name=f"a{column}") for column in range(COLUMNS)]
of_b = [ObjectFifo(tile, name=f"b{column}") for column in range(COLUMNS)]
of_c = [ObjectFifo(tile, name=f"c{column}") for column in range(COLUMNS)]


def add(a, b, c):
    tile_c, tile_a, tile_b = c.acquire(1), a.acquire(1), b.acquire(1)
    for i in range_(TILE):
        tile_c[i] = tile_a[i] + tile_b[i]
    for end in (a, b, c):
        end.release(1)


workers = [Worker(add, [of_a[n].cons(), of_b[n].cons(), of_c[n].prod()]) for n in range(COLUMNS)]


def sequence(a, b, c, tiles, ends_a, ends_b, ends_c):
    """Add vectors of `tiles` * 1024 numbers: each column has its share, one tile after the other."""
    share = tiles * TILE
    for column in range(COLUMNS):
        ends_a[column].fill(a, offset=share * column, transfer_len=share)
        ends_b[column].fill(b, offset=share * column, transfer_len=share)
        ends_c[column].drain(c, offset=share * column, transfer_len=share, wait=True)


runtime = Runtime(
    sequence,
    [
        *(vector, vector, vector, np.int32),
        *([fifo.prod() for fifo in of_a], [fifo.prod() for fifo in of_b], [fifo.cons() for fifo in of_c]),
    ],
)
program = Program(NPU1(), runtime, workers)
