"""Tensor maps: what NVIDIA's copy engine is told of an array, and of the boxes that it copies of it.

Numbers and limits are those of `cuTensorMapEncodeTiled` in the CUDA driver API.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

MAP_BYTES, MAP_ALIGNMENT = 128, 64
CHUNK_BYTES = 16
"""What addresses and rows begin at multiples of, and what is exchanged within a row of a box."""
MOST_DIMENSIONS, MOST_BOX = 5, 256
MOST_SIZE, MOST_STRIDE = 1 << 32, 1 << 40


class DataType(Enum):
    """What an element is: its number as a CUtensorMapDataType, and its bytes."""

    UINT8 = 0, 1
    UINT16 = 1, 2
    UINT32 = 2, 4
    INT32 = 3, 4
    UINT64 = 4, 8
    INT64 = 5, 8
    FLOAT16 = 6, 2
    FLOAT32 = 7, 4
    FLOAT64 = 8, 8
    BFLOAT16 = 9, 2
    TFLOAT32 = 11, 4
    """Rounded to 19 bits when it is copied."""

    def __init__(self, code: int, bytes: int):
        self.code, self.bytes = code, bytes

    @classmethod
    def of(cls, code: int) -> DataType:
        return next(type for type in cls if type.code == code)


DATA_TYPES: Mapping[str, DataType] = {
    **dict.fromkeys(("i8", "si8", "ui8", "f8E4M3FN", "f8E5M2"), DataType.UINT8),
    **dict.fromkeys(("i16", "si16", "ui16"), DataType.UINT16),
    **dict.fromkeys(("i32", "si32"), DataType.INT32),
    "ui32": DataType.UINT32,
    **dict.fromkeys(("i64", "si64"), DataType.INT64),
    "ui64": DataType.UINT64,
    "f16": DataType.FLOAT16,
    "bf16": DataType.BFLOAT16,
    "f32": DataType.FLOAT32,
    "tf32": DataType.TFLOAT32,
    "f64": DataType.FLOAT64,
}
"""By MLIR's name of the type of an element."""


def exchanged_bytes(swizzle: int) -> int:
    """The width of a row of a box whose chunks are exchanged, by CUtensorMapSwizzle."""
    return CHUNK_BYTES << swizzle


@dataclass(frozen=True)
class TensorMap:
    """An array and the boxes that are copied of it; the first dimension is the innermost, strides are in bytes."""

    address: int
    data_type: DataType
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    box: tuple[int, ...]
    swizzle: int = 0
    l2_promotion: int = 0
    oob_fill: int = 0

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to copy."""
        return 0 in self.sizes

    @property
    def row_bytes(self) -> int:
        """Of a row of a box."""
        return self.box[0] * self.data_type.bytes

    def fault(self) -> str | None:
        """What the engine does not take, in words that the driver has none for."""
        dimensions, chunk = len(self.sizes), f"multiples of {CHUNK_BYTES} bytes"
        if not 1 <= dimensions <= MOST_DIMENSIONS:
            return f"has an array of {dimensions} dimensions; the copy engine takes 1 to {MOST_DIMENSIONS}"
        if self.address % CHUNK_BYTES:
            return f"has an array at {self.address:#x}; the copy engine takes those that begin at {chunk}"
        if self.strides[0] != self.data_type.bytes:
            return f"has elements of a row {self.strides[0]} bytes apart; the copy engine takes rows without gaps"
        for stride in self.strides[1:]:
            if stride % CHUNK_BYTES or not 0 <= stride < MOST_STRIDE:
                return f"has rows that are {stride} bytes apart; the copy engine takes {chunk}: pad them"
        if self.oob_fill and "INT" in self.data_type.name:
            return "fills what is beyond an array of integers with NaN, which they have not"
        if max(self.sizes) > MOST_SIZE:
            return f"has an array of sizes {self.sizes}; the copy engine takes up to {MOST_SIZE}"
        return self._box_fault()

    def _box_fault(self) -> str | None:
        if not all(1 <= size <= MOST_BOX for size in self.box):
            return f"has boxes of {self.box} elements; the copy engine takes 1 to {MOST_BOX} in each dimension"
        if self.row_bytes % CHUNK_BYTES:
            return f"has boxes with rows of {self.row_bytes} bytes; the copy engine takes multiples of {CHUNK_BYTES}"
        if self.swizzle and self.row_bytes > exchanged_bytes(self.swizzle):
            most = exchanged_bytes(self.swizzle)
            return f"has boxes with rows of {self.row_bytes} bytes, and chunks are exchanged within {most}"
        return None
