"""What tensor cores do, for waves of 32 lanes side by side; matrix instructions of AMD's GPUs.

Matrices in memory of a block lie as PTX's matrix descriptors say: rows of 128 bytes whose chunks of 16 bytes are
exchanged by the three bits of the address above them. Sums are f32, added up by NumPy: tensor cores round in a way of
their own.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np

from tilewright.device.gpu_matrices import MatrixInstruction
from tilewright.gpu.emulator.copy_engine import CHUNK, ROW, CopyEngine, swizzled
from tilewright.gpu.emulator.lower_tensor_cores import Product
from tilewright.gpu.emulator.memory import Array

WARP = 32
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

    def _whole_waves(self, m: Any, site: int, lanes: int = WARP) -> Array:
        """Which waves multiply; all of their lanes have to."""
        if self.wave_size != lanes:
            self.fault(site, f"multiplies with waves of {self.wave_size} lanes: those of tensor cores have {lanes}")
        active = self.active(m).reshape(-1, lanes)
        if (active.any(1) != active.all(1)).any():
            self.fault(site, "multiplies with a part of its lanes: all of a wave have to take part", m)
        return np.flatnonzero(active.any(1))

    def wgmma(self, ins: list[Array], product: Product, m: Any, site: int) -> Array:
        """Four waves multiply 64 rows, 16 each; each does its own here."""
        columns, sums = product.shape[1], np.stack(ins[2:])
        result = sums.copy()
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
            # rows of 8 lanes groups, pairs of columns of 4 lanes
            parts = found.reshape(2, 8, columns // 8, 4, 2).transpose(2, 0, 4, 1, 3).reshape(columns // 2, WARP)
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
        (rows, columns, depth), name = product.shape, product.types[0]
        self._whole_waves(m, site)
        waves = self.lanes // WARP
        a, b = np.zeros((waves, rows, depth), np.float32), np.zeros((waves, columns, depth), np.float32)
        group, member = np.arange(WARP) // 4, np.arange(WARP) % 4
        for number in range(4):
            for place, value in enumerate(_elements(ins[number], name)):
                deep = _depth_of(name, member, place, number // 2)
                a[:, group + number % 2 * 8, deep] = value.reshape(waves, WARP)
        for number in range(2):
            for place, value in enumerate(_elements(ins[4 + number], name)):
                b[:, group, _depth_of(name, member, place, number)] = value.reshape(waves, WARP)
        found = a @ b.transpose(0, 2, 1)
        parts = [found[:, group + half * 8, member * 2 + place] for half in range(2) for place in range(2)]
        return np.stack(ins[6:]) + np.stack(parts).reshape(4, self.lanes)

    def matrices(self, ins: list[Array], row: MatrixInstruction, m: Any, site: int) -> list[Array]:
        """Each wave multiplies what its lanes hold, as the table of AMD's instructions says who holds what."""
        self._whole_waves(m, site, row.wave_size)
        waves, layout = self.lanes // row.wave_size, layout_of(row)
        a, b = (self._held(value, row, layout, waves, site) for value in ins[:2])
        found = a @ b.transpose(0, 2, 1)
        rows, columns = layout.sums
        parts = found[:, rows, columns].transpose(1, 0, 2).reshape(row.sums, self.lanes)
        return [ins[2] + parts]

    def _held(self, value: Array, row: MatrixInstruction, layout: MatrixLayout, waves: int, site: int) -> Array:
        """A matrix of each wave: rows of A, or columns of B, by depth."""
        words = np.ascontiguousarray(np.atleast_2d(value).T).view(TYPES[row.element])
        elements = words.reshape(waves, row.wave_size, row.each)
        halves = words.view(np.uint8).reshape(waves, 2, -1)
        if row.repeats and (halves[:, 0] != halves[:, 1]).any():
            self.fault(site, "multiplies a matrix whose second half of lanes does not repeat the first one")
        wide = np.int32 if row.element == "i8" else np.float32
        matrix = np.zeros((waves, row.m, row.k), wide)
        matrix[:, layout.rows[:, None], layout.depths] = elements.astype(wide)
        return matrix


class MatrixLayout(NamedTuple):
    """Which elements lanes hold: rows of A by lane, their depths by lane and place, and rows and columns of sums."""

    rows: Array
    depths: Array
    sums: tuple[Array, Array]


@cache
def layout_of(row: MatrixInstruction) -> MatrixLayout:
    """As the table says."""
    lanes = range(row.wave_size)
    depths = np.array([[row.depth(lane, place) for place in range(row.each)] for lane in lanes])
    rows = np.array([[row.row(lane, number) for lane in lanes] for number in range(row.sums)])
    columns = np.broadcast_to(np.arange(row.wave_size) % row.n, rows.shape)
    return MatrixLayout(np.arange(row.wave_size) % row.m, depths, (rows, columns))


def _elements(register: Array, name: str) -> list[Array]:
    """What a register of 32 bits holds, as f32: two short numbers, or one."""
    if name == "tf32":
        return [(register.view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32)]
    if register.ndim == 2:
        return [half.astype(np.float32) for half in register]
    halves = np.ascontiguousarray(register).view(TYPES[name]).reshape(-1, 2)
    return [halves[:, place].astype(np.float32) for place in range(2)]


def _depth_of(name: str, member: Array, place: int, half: int) -> Array:
    return member + 4 * half if name == "tf32" else member * 2 + place + 8 * half
