"""The vector unit of a core, as the kernels that vendors and users write for it see it.

Peaks are products per cycle (AM020 and AMD's product briefs; the one of i16 on AIE2P is that of AIE2, no other being
public). The blocks are those of `aie_kernels/*/mm.cc` in mlir-aie at 3ca0193cea9e: a matrix product works on blocks of
A with r rows and s columns, of B with s rows and t columns, and takes several of them at a time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum

from .enums import Arch


class OperationClass(IntEnum):
    """Operations of the vector unit that a compiled kernel counts, in the order of its counters: core.hpp."""

    VECTOR_MAC = 0
    VECTOR_ALU = 1
    VECTOR_SHUFFLE = 2
    VECTOR_CONVERT = 3
    LOAD = 4
    STORE = 5
    LOOKUP = 6
    SCALAR_FLOAT = 7
    CASCADE = 8
    STREAM = 9


ISSUE_SLOTS: Sequence[tuple[Sequence[OperationClass], int]] = (
    ((OperationClass.VECTOR_MAC, OperationClass.VECTOR_ALU), 1),
    ((OperationClass.VECTOR_SHUFFLE,), 1),
    # A conversion goes with a load or a store, as one instruction, so it has no share in their slots.
    ((OperationClass.VECTOR_CONVERT,), 1),
    ((OperationClass.LOAD, OperationClass.LOOKUP), 2),
    ((OperationClass.STORE,), 1),
    ((OperationClass.CASCADE,), 1),
    ((OperationClass.STREAM,), 1),
)
"""Classes that share a slot of the instruction word, and how many of them one instruction has (AM020 ch. 4)."""


@dataclass(frozen=True)
class Blocks:
    """The blocks of a matrix product, and how many rows and columns of blocks one step of the kernel takes."""

    r: int
    s: int
    t: int
    rows: int = 2
    columns: int = 2

    @property
    def dims(self) -> tuple[int, int, int]:
        return self.r, self.s, self.t


@dataclass(frozen=True)
class VectorUnit:
    """What one core's vector unit can do."""

    arch: Arch
    macs: Mapping[str, int]
    """Products per cycle, by the type of both operands."""
    blocks: Mapping[tuple[str, str], Blocks]
    """By the types of the operands and of the sum."""
    emulated_blocks: Mapping[tuple[str, str], Blocks]
    """The same where bf16 is multiplied as block floating point."""
    product_overheads: Mapping[tuple[str, str], float]
    """What a product of matrices takes beyond the peak, by the types of the operands and of the sum, in cycles for
    M * N / K: see `product_cycles`."""
    native_functions: bool
    """Has exp2 and tanh; otherwise they come from tables, and softmax is written without the maximum."""
    load_bytes: int = 64
    """In a cycle: two loads of 256 bits (AM020 ch. 4)."""
    store_bytes: int = 32
    lanes: int = 16
    """Of a transcendental function."""
    scalar_mac_cycles: int = 10
    """A load, its seven cycles until use, a multiplication of two and an addition of one (AM020 ch. 4)."""
    loop_cycles: int = 8
    """Before a pipelined loop is full and after it: mlir-aie's guide, section 4c, measures 72 for 64 stores."""

    def product_cycles(self, pair: tuple[str, str], m: int, k: int, n: int) -> int:
        """How long the kernel of a product takes: its multiplications at the peak, and what keeps it from that.

        A kernel loads, stores and empties its pipeline once for each element of C, so what it loses grows with M * N.
        The tiles of the literature fill a core's memory; the shallower they are, the more of it is C, and the more
        often that is in the bank that A or B are read from. That is the division by K.
        """
        overhead = self.product_overheads[pair] * m * n / k
        return max(1, -(-m * k * n // self.macs[pair[0]]) + round(overhead))

    def cycles(self, counts: Sequence[int]) -> int:
        """How long operations take, by class, if they are one pipelined loop: as long as the busiest slot is busy."""
        busiest = max(-(-sum(counts[kind] for kind in kinds) // width) for kinds, width in ISSUE_SLOTS)
        # Functions of single numbers wait for each other.
        functions = counts[OperationClass.SCALAR_FLOAT] * self.scalar_mac_cycles
        return busiest + functions + (self.loop_cycles if busiest else 0)


_AIE2_BLOCKS = {
    ("i8", "i8"): Blocks(4, 8, 8, rows=4),
    ("i8", "i16"): Blocks(4, 8, 8, rows=4),
    ("i8", "i32"): Blocks(4, 8, 8, rows=4),
    ("i16", "i16"): Blocks(4, 4, 4),
    ("i16", "i32"): Blocks(4, 4, 4),
    ("bf16", "bf16"): Blocks(4, 8, 4, rows=4, columns=4),
    ("bf16", "f32"): Blocks(4, 8, 4, rows=4, columns=4),
}
_AIE2P_BLOCKS = {
    ("i8", "i8"): Blocks(8, 8, 8),
    ("i8", "i16"): Blocks(8, 8, 8),
    ("i8", "i32"): Blocks(8, 8, 8),
    ("i16", "i16"): Blocks(4, 4, 8),
    ("i16", "i32"): Blocks(4, 4, 8),
    ("bf16", "bf16"): Blocks(4, 8, 8),
    ("bf16", "f32"): Blocks(4, 8, 8),
}
_EMULATED = {("bf16", "bf16"): Blocks(8, 8, 8), ("bf16", "f32"): Blocks(8, 8, 8)}

# From arXiv 2512.13282, tables 2 and 3, one tile each: MACs per cycle of i8 to i8, i16, i32 and of bf16. Sums of bf16
# in f32 are taken as those in bf16, and i16 by the 80 % of the peak that mlir-aie #2735 measures for 64 x 64 x 64.
_AIE2_OVERHEADS = {
    ("i8", "i8"): 10.03,  # 112 x 112 x 112: 212.5
    ("i8", "i16"): 16.33,  # 96 x 112 x 96: 192.0
    ("i8", "i32"): 22.79,  # 80 x 88 x 96: 146.0
    ("i16", "i16"): 16.0,
    ("i16", "i32"): 16.0,
    ("bf16", "bf16"): 6.92,  # 96 x 56 x 96: 99.8
    ("bf16", "f32"): 6.92,
}
_AIE2P_OVERHEADS = {
    ("i8", "i8"): 4.99,  # 144 x 72 x 144: 343.0
    ("i8", "i16"): 6.75,  # 128 x 72 x 112: 307.2
    ("i8", "i32"): 8.0,  # 96 x 64 x 96: 256.0
    ("i16", "i16"): 16.0,
    ("i16", "i32"): 16.0,
    ("bf16", "bf16"): 7.79,  # 112 x 48 x 96: 137.2
    ("bf16", "f32"): 7.79,
}

_AIE2 = VectorUnit(
    Arch.AIE2,
    {"i8": 256, "i16": 64, "bf16": 128, "f32": 16},
    _AIE2_BLOCKS,
    _AIE2_BLOCKS,
    _AIE2_OVERHEADS,
    native_functions=False,
)
_AIE2P = VectorUnit(
    Arch.AIE2p,
    {"i8": 512, "i16": 64, "bf16": 256, "f32": 16},
    _AIE2P_BLOCKS,
    {**_AIE2P_BLOCKS, **_EMULATED},
    _AIE2P_OVERHEADS,
    native_functions=True,
)
_UNITS = {Arch.AIE2: _AIE2, Arch.AIE2p: _AIE2P}


def vector_unit(arch: Arch) -> VectorUnit:
    """The unit of a generation; kernels for the first one are written like those for AIE2."""
    return _UNITS.get(arch, _AIE2)
