"""Softmax of each row of a matrix: a block holds a row in registers, up to `width` numbers."""

import numpy as np

from tilewright import air


@air.jit
def softmax(x, y, *, width):
    @air.launch(x.shape[0], waves=4)
    def _(row):
        numbers = air.load(x[row, :width], fill=-float("inf"))
        powers = air.exp(numbers - numbers.max())
        y[row, :width] = powers / powers.sum()


if __name__ == "__main__":
    x = np.random.default_rng(1).standard_normal((20, 700)).astype(np.float32)
    y = np.zeros_like(x)
    softmax(x, y, width=1024)
    powers = np.exp(x - x.max(axis=1, keepdims=True))
    print("largest difference:", abs(y - powers / powers.sum(axis=1, keepdims=True)).max())
