"""Attention, softmax(Q K^T / sqrt(d)) V: a block takes some queries and all keys in turn, and keeps no scores."""

import numpy as np

from tilewright import air


@air.jit
def attention(q, k, v, y, *, bm=32, bn=32, d=64, causal=False):
    n, scale = k.shape[0], d**-0.5

    @air.launch(air.cdiv(q.shape[0], bm), waves=4)
    def _(block):
        rows = slice(block * bm, (block + 1) * bm)
        top, total, sums = air.full(bm, -1e30), air.zeros(bm), air.zeros((bm, d))
        for at in air.sequential(0, n, bn):
            keys = slice(at, at + bn)
            column, row = at + air.arange(bn)[None, :], block * bm + air.arange(bm)[:, None]
            there = (column < n) & (column <= row) if causal else column < n
            scores = air.where(there, air.dot(q[rows, :d], k[keys, :d], transpose_b=True) * scale, -1e30)
            higher = air.maximum(top, scores.max(axis=1))
            powers = air.exp(scores - higher[:, None])
            shrink = air.exp(top - higher)
            sums[:] = air.fma(sums, shrink[:, None], air.dot(powers.astype(v.dtype), v[keys, :d]))
            total[:] = total * shrink + powers.sum(axis=1)
            top[:] = higher
        y[rows, :d] = sums / total[:, None]


if __name__ == "__main__":
    q, k, v = np.random.default_rng(1).standard_normal((3, 100, 64)).astype(np.float16)
    y = np.zeros((100, 64), np.float32)
    attention(q, k, v, y)
    powers = np.exp(q.astype(np.float32) @ k.T.astype(np.float32) / 8)
    print("largest difference:", abs(y - powers @ v / powers.sum(axis=1, keepdims=True)).max())
