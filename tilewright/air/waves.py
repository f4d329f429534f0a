"""Lanes of a wave and waves of a block: numbers, barriers, and values that lanes give each other."""

from __future__ import annotations

from typing import Any

from xdsl.dialects.builtin import i1, i32

from tilewright.air.trace import call_runtime, current, in_herd
from tilewright.dialects._syntax import INDEX
from tilewright.dialects.gpu.attributes import Dimension, DimensionAttr, ShuffleMode, ShuffleModeAttr
from tilewright.dialects.gpu.ids import BlockDimOp, ThreadIdOp
from tilewright.dialects.gpu.lanes import BarrierOp, ShuffleOp
from tilewright.iron.builders.arithmetic import signless, with_sign
from tilewright.iron.builders.location import refuse
from tilewright.iron.builders.operations import build
from tilewright.iron.builders.scalars import ScalarValue, constant
from tilewright.iron.builders.types import is_integer

__all__ = ["barrier", "lane", "lanes", "shuffle", "wave"]


def lane() -> ScalarValue:
    """The number of a lane in its wave."""
    found = in_herd("a lane").lane
    assert found is not None, "herds have lanes"
    return found


def lanes() -> int:
    """How many lanes a wave has on the GPU that the program is traced for."""
    return current().lanes


def wave() -> ScalarValue:
    """The number of a wave in its block."""
    workers = in_herd("a wave").workers
    assert workers is not None and workers.wave is not None
    return workers.wave


def barrier() -> None:
    """Wait for all waves of the block; on the host, for all ranks."""
    if current().is_kernel:
        build(BarrierOp)
    elif current().inner("rank") is not None:
        call_runtime("mgpuBarrier")
    else:
        refuse("a barrier is for waves of a block, or for ranks", (None, "write it in a herd or under `@air.rank()`"))


def shuffle(value: Any, offset: Any, mode: str = "xor") -> ScalarValue:
    """The `value` of another lane of the wave, at an `offset` by `mode`: `xor`, `up` or `down`, or of number `idx`."""
    if not isinstance(value, ScalarValue):
        refuse(f"lanes exchange numbers of the program, not {value!r}")
    modes = [kind.value for kind in ShuffleMode]
    if mode not in modes:
        refuse(f"there is no shuffle {mode!r}", (None, f"there are {', '.join(modes)}"))
    in_herd("a shuffle")
    distance = constant(int(offset), i32) if is_integer(offset) else ScalarValue(offset).astype(i32)
    bits = signless(value.ssa)
    found = build(
        ShuffleOp,
        results=[bits.type, i1],
        value=bits,
        offset=distance,
        width=constant(lanes(), i32),
        mode=ShuffleModeAttr(ShuffleMode(mode)),
    )
    return ScalarValue(with_sign(found.shuffle_result, value.type))


def thread_numbers() -> tuple[ScalarValue, ScalarValue]:
    """The number of a lane in its block and how many there are, outside of herds."""
    x, y = (DimensionAttr(dimension) for dimension in (Dimension.X, Dimension.Y))
    ids = [ScalarValue(build(ThreadIdOp, results=[INDEX], dimension=d).results[0]) for d in (x, y)]
    sizes = [ScalarValue(build(BlockDimOp, results=[INDEX], dimension=d).results[0]) for d in (x, y)]
    return ids[1] * sizes[0] + ids[0], sizes[0] * sizes[1]
