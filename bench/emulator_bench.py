"""The emulator of GPUs: lane operations in a second, and a tiled product of f32 matrices beside NumPy's.

The kernel is the usual one: 128 x 128 tiles staged in memory of the block, 8 x 8 results in registers of each thread,
blocks of 256 threads. Loops of plain arithmetic show what is left when nothing is loaded or stored, and messages
between two blocks what a turn costs.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from gpu_kernels import ARITHMETIC, MESSAGES, matmul_text
from timing import best

from tilewright.device.gpu_targets import DEFAULT_AMD, GPU_TARGETS
from tilewright.dialects.gpu.kernels import GPUModuleOp
from tilewright.gpu.device import Size3
from tilewright.gpu.emulator import EmulatorDevice
from tilewright.ir.context import make_context
from tilewright.ir.parser import parse_source


class Bench:
    """A kernel with its arguments on a device."""

    def __init__(self, text: str, arrays: list[np.ndarray], grid: Size3, block: Size3, **options: Any):
        module = parse_source(make_context(), text, "kernel.mlir")
        kernels = next(op for op in module.walk() if isinstance(op, GPUModuleOp))
        self.device = EmulatorDevice(GPU_TARGETS[DEFAULT_AMD], **options)
        self.kernel = self.device.load(kernels).kernel("k")
        self.arrays, self.grid, self.block = arrays, grid, block
        self.places = [self.device.allocate(array.nbytes) for array in arrays]
        for place, array in zip(self.places, arrays, strict=True):
            self.device.copy(place, array.ctypes.data, array.nbytes)

    def run(self) -> None:
        flat = list[bytes]()
        for place, array in zip(self.places, self.arrays, strict=True):
            strides = [stride // array.itemsize for stride in array.strides]
            flat += [int(n).to_bytes(8, "little") for n in (place, place, 0, *array.shape, *strides)]
        self.device.launch(self.kernel, self.grid, self.block, 0, flat)

    def measure(self) -> tuple[float, int]:
        """Seconds and lane operations of a launch."""
        self.run()
        before = self.device.counters()["lane_operations"]
        self.run()
        operations = self.device.counters()["lane_operations"] - before
        return best(self.run), operations

    def result(self, number: int) -> np.ndarray:
        array = np.empty_like(self.arrays[number])
        self.device.copy(array.ctypes.data, self.places[number], array.nbytes)
        return array


def matmul(size: int) -> None:
    random = np.random.default_rng(0)
    a, b = (random.random((size, size), dtype=np.float32) for _ in range(2))
    tiles = size // 128
    bench = Bench(matmul_text(size), [a, b, np.zeros_like(a)], Size3(tiles, tiles), Size3(256))
    seconds, operations = bench.measure()
    assert np.allclose(bench.result(2), a @ b, rtol=1e-4), "the product is wrong"
    numpy_seconds = best(lambda: a @ b)
    print(
        f"  {size}^3 f32: {seconds:.2f} s, {operations / seconds / 1e6:,.0f} million lane operations/s; NumPy"
        f" {numpy_seconds * 1e3:.1f} ms: {seconds / numpy_seconds:,.0f}x"
    )


def arithmetic(blocks: int) -> None:
    out = np.zeros(blocks * 256, np.float32)
    bench = Bench(ARITHMETIC, [out], Size3(blocks), Size3(256))
    seconds, operations = bench.measure()
    print(f"  arithmetic, {blocks * 256:,} lanes: {operations / seconds / 1e6:,.0f} million lane operations/s")


def messages(name: str, **options: Any) -> None:
    arrays = [np.zeros(64, np.int32), np.zeros(64, np.int32), np.zeros((100, 64), np.int32)]
    bench = Bench(MESSAGES, arrays, Size3(2), Size3(64), **options)
    seconds = best(bench.run)
    assert np.array_equal(bench.result(2), np.arange(100)[:, None] + np.arange(64)), "a message is wrong"
    print(f"  messages between blocks, {name}: {100 / seconds:,.0f}/s")


def main(arguments: list[str]) -> int:
    matmul(256)
    if "--quick" not in arguments:
        matmul(512)
    for blocks in (1, 16, 64):
        arithmetic(blocks)
    messages("plain")
    messages("reordered", reorder=True)
    messages("checked for races", check=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
