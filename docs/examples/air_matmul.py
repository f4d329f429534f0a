"""C = A B for matrices of any size: a block makes a tile of C, of tiles of A and B that its waves share."""

import numpy as np

from tilewright import air


@air.jit
def matmul(a, b, c, *, bm=64, bn=64, bk=16):
    @air.launch((air.cdiv(b.shape[1], bn), air.cdiv(a.shape[0], bm)), waves=4)
    def _(x, y):
        rows, columns = slice(y * bm, (y + 1) * bm), slice(x * bn, (x + 1) * bn)
        total = air.zeros((bm, bn))
        for k in air.sequential(0, a.shape[1], bk):
            air.dot(air.load(a[rows, k : k + bk]), air.load(b[k : k + bk, columns]), acc=total)
        c[rows, columns] = total


if __name__ == "__main__":
    draw = np.random.default_rng(1)
    a, b = draw.standard_normal((100, 70)).astype(np.float32), draw.standard_normal((70, 90)).astype(np.float32)
    c = np.zeros((100, 90), np.float32)
    matmul(a, b, c)
    print("largest difference:", abs(c - a @ b).max())
