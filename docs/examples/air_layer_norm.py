"""Rows of a matrix with mean 0 and variance 1, times a weight, plus a bias."""

import numpy as np

from tilewright import air


@air.jit
def layer_norm(x, weight, bias, y, epsilon, *, width):
    n = x.shape[1]

    @air.launch(x.shape[0], waves=4)
    def _(row):
        numbers = air.load(x[row, :width])
        count = n.astype(air.f32)
        mean = numbers.sum() / count
        centered = air.where(air.arange(width) < n, numbers - mean, 0.0)
        scale = air.rsqrt((centered * centered).sum() / count + epsilon)
        y[row, :width] = centered * scale * air.load(weight[:width]) + air.load(bias[:width])


if __name__ == "__main__":
    draw = np.random.default_rng(1)
    x = draw.standard_normal((20, 700)).astype(np.float32)
    weight, bias = draw.standard_normal((2, 700)).astype(np.float32)
    y = np.zeros_like(x)
    layer_norm(x, weight, bias, y, 1e-5, width=1024)
    mean, variance = x.mean(axis=1, keepdims=True), x.var(axis=1, keepdims=True)
    print("largest difference:", abs(y - ((x - mean) / np.sqrt(variance + 1e-5) * weight + bias)).max())
