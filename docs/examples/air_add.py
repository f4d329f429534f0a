"""The sum of two vectors of any length: blocks of four waves, each lane takes its elements of a tile."""

import numpy as np

from tilewright import air


@air.jit
def add(a, b, total, *, size=1024):
    @air.launch(air.cdiv(a.shape[0], size), waves=4)
    def _(block):
        part = slice(block * size, (block + 1) * size)
        total[part] = air.load(a[part]) + air.load(b[part])


if __name__ == "__main__":
    a, b = np.random.default_rng(1).standard_normal((2, 1000)).astype(np.float32)
    total = np.zeros_like(a)
    add(a, b, total)
    print("largest difference:", abs(total - (a + b)).max())
