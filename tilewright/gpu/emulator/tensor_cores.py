"""What tensor cores do, for waves of 32 lanes side by side; matrix instructions of AMD's GPUs.

Matrices in memory of a block lie as PTX's matrix descriptors say: rows of 128 bytes whose chunks of 16 bytes are
exchanged by the three bits of the address above them. Sums are f32, added up by NumPy: tensor cores round in a way of
their own.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import ml_dtypes
import numpy as np

from tilewright.device.gpu_matrices import WARP_INSTRUCTIONS, Fragment, MatrixInstruction
from tilewright.gpu.emulator.copy_engine import CHUNK, ROW, CopyEngine, swizzled
from tilewright.gpu.emulator.lower_tensor_cores import Product
from tilewright.gpu.emulator.memory import Array

WARP = 32
SUM_COLUMNS = 8
"""Columns of sums that lanes hold as those of `mma.sync`, one group of them after the other."""
GROUP_ROWS = 8
TYPES: dict[str, Any] = {
    "f32": np.dtype(np.float32),
    "i8": np.dtype(np.int8),
    "f16": np.dtype(np.float16),
    "bf16": np.dtype(ml_dtypes.bfloat16),
    "tf32": np.dtype(np.float32),
    "e4m3": np.dtype(ml_dtypes.float8_e4m3fn),
    "e5m2": np.dtype(ml_dtypes.float8_e5m2),
}


@cache
def offsets(across: bool, extent: int, depth: int, size: int, stride: int, leading: int) -> Array:
    """Bytes from the start of a matrix of `extent` rows (of A) or columns (of B) to its elements, by depth."""
    out, deep = np.arange(extent)[:, None], np.arange(depth)[None, :]
    if across:
        width = ROW // size
        return out // width * leading + out % width * size + deep // GROUP_ROWS * stride + deep % GROUP_ROWS * ROW
    return out // GROUP_ROWS * stride + out % GROUP_ROWS * ROW + deep * size


class TensorCores(CopyEngine):
    """Products of matrices, of a group of waves."""

    waves: Array
    batch: Any

    def _whole_waves(self, m: Any, site: int, row: MatrixInstruction | None = None) -> Array:
        """Which waves, or warps of them, multiply; all of their lanes have to."""
        lanes = WARP if row is None else row.wave_size
        if not (self.wave_size == lanes if row is None else row.is_for(self.wave_size)):
            self.fault(site, f"multiplies with waves of {self.wave_size} lanes: those of tensor cores have {lanes}")
        active = self.active(m).reshape(-1, lanes)
        if (active.any(1) != active.all(1)).any():
            self.fault(site, "multiplies with a part of its lanes: all of a wave have to take part", m)
        return np.flatnonzero(active.any(1))

    def wgmma(self, ins: list[Array], product: Product, m: Any, site: int) -> Array:
        """Four waves multiply 64 rows, 16 each; each does its own here."""
        columns, sums = product.shape[1], np.stack(ins[2:])
        result, (held_rows, held_columns) = sums.copy(), held(WARP_INSTRUCTIONS[0].c, WARP)
        block_waves = self.batch.launch.block_waves
        for number in self._whole_waves(m, site):
            lane = number * WARP
            quarter = int(self.waves[number]) % block_waves % 4
            a = self._matrix(int(ins[0][lane]), product, 0, 64, lane, site)[quarter * 16 : quarter * 16 + 16]
            b = self._matrix(int(ins[1][lane]), product, 1, columns, lane, site)
            if self.profiler is not None:
                # the four waves of a group read B together
                size = TYPES[product.types[0]].itemsize
                self.profiler.product_reads((16 + columns // 4) * product.shape[2] * size, site)
            found = product.signs * (a @ b.T)
            parts = np.concatenate([found[held_rows, first + held_columns] for first in range(0, columns, SUM_COLUMNS)])
            here = slice(lane, lane + WARP)
            result[:, here] = sums[:, here] + parts if product.adds else parts
        return result

    def _matrix(self, descriptor: int, product: Product, side: int, extent: int, lane: int, site: int) -> Array:
        """Elements of a matrix that a descriptor says where, as f32."""
        start, leading, stride = ((descriptor >> shift & 0x3FFF) * CHUNK for shift in (0, 16, 32))
        if descriptor >> 62 & 3 != 1:
            self.fault(site, "multiplies a matrix whose chunks are not exchanged within 128 bytes", None)
        type = TYPES[product.types[side]]
        relative = offsets(product.across[side], extent, product.shape[2], type.itemsize, stride, leading)
        places = swizzled(start + relative)
        if int(places.max()) >= self.lds_bytes:
            self.fault(site, f"multiplies what is behind the memory of its block: byte {int(places.max())}")
        base = int(self.slots[lane]) * self.lds_bytes
        memory = self.memory.view(self.lds.base, np.dtype(np.uint8))[base : base + self.lds_bytes]
        if self.access is not None:
            chunks = np.unique(places // CHUNK) * CHUNK
            self.access.product_reads(self, self.lds.base + base + chunks, site)
        found = memory.view(f"u{type.itemsize}").take(places // type.itemsize)
        if product.types[side] == "tf32":
            found = found & np.uint32(0xFFFFE000)
        return found.view(type).astype(np.float32)

    def mma(self, ins: list[Array], product: Product, m: Any, site: int) -> Array:
        """Each wave multiplies what its lanes hold together."""
        name = product.types[0]
        row = next(row for row in WARP_INSTRUCTIONS if ((row.m, row.n, row.k), row.element) == (product.shape, name))
        self._whole_waves(m, site, row)
        waves, count = self.lanes // WARP, row.each // row.pair
        a, b = np.zeros((waves, row.m, row.k), np.float32), np.zeros((waves, row.k, row.n), np.float32)
        for matrix, fragment, registers in ((a, row.a, ins[:count]), (b, row.b, ins[count : -row.sums])):
            elements = [value.reshape(waves, WARP) for register in registers for value in _elements(register, name)]
            for place, (rows, columns) in enumerate(zip(*held(fragment, WARP), strict=True)):
                matrix[:, rows, columns] = elements[place]
        rows, columns = held(row.c, WARP)
        parts = (a @ b)[:, rows, columns].transpose(1, 0, 2)
        return np.stack(ins[-row.sums :]) + parts.reshape(row.sums, self.lanes)

    def matrices(self, ins: list[Array], row: MatrixInstruction, m: Any, site: int) -> list[Array]:
        """Each wave multiplies what its lanes hold, as the table of AMD's instructions says who holds what."""
        self._whole_waves(m, site, row)
        waves = self.lanes // row.wave_size
        a, b = (self._held(*side, row, waves, site) for side in zip(ins[:2], (row.a, row.b), strict=True))
        found = a @ b
        rows, columns = held(row.c, row.wave_size)
        parts = found[:, rows, columns].transpose(1, 0, 2).reshape(row.sums, self.lanes)
        return [ins[2] + parts]

    def _held(self, value: Array, fragment: Fragment, row: MatrixInstruction, waves: int, site: int) -> Array:
        """A matrix of each wave: A, or B."""
        words = np.ascontiguousarray(np.atleast_2d(value).T).view(TYPES[row.element])
        elements = words.reshape(waves, row.wave_size, row.each)
        halves = words.view(np.uint8).reshape(waves, 2, -1)
        if row.repeats and (halves[:, 0] != halves[:, 1]).any():
            self.fault(site, "multiplies a matrix whose second half of lanes does not repeat the first one")
        wide = np.int32 if row.element == "i8" else np.float32
        matrix = np.zeros((waves, *((row.m, row.k) if fragment is row.a else (row.k, row.n))), wide)
        rows, columns = held(fragment, row.wave_size)
        matrix[:, rows.T, columns.T] = elements.astype(wide)
        return matrix


@cache
def held(fragment: Fragment, lanes: int) -> tuple[Array, Array]:
    """Rows and columns of the elements that lanes hold, by place and lane."""
    places = range(len(fragment.places))
    found = np.array([[fragment.element(lane, place) for lane in range(lanes)] for place in places])
    return found[..., 0], found[..., 1]


def _elements(register: Array, name: str) -> list[Array]:
    """What a register of 32 bits holds, as f32: two short numbers, or one."""
    if name == "tf32":
        return [(register.view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32)]
    if register.ndim == 2:
        return [half.astype(np.float32) for half in register]
    halves = np.ascontiguousarray(register).view(TYPES[name]).reshape(-1, 2)
    return [halves[:, place].astype(np.float32) for place in range(2)]
