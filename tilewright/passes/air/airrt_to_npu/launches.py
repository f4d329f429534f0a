"""Several launches in one sequence: which devices have them, and which operations belong to which."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import IntegerAttr, i64
from xdsl.ir import Operation

from tilewright.device import Arch
from tilewright.dialects import affine, scf
from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.dialects.airrt.events import WaitAllOp
from tilewright.dialects.airrt.loading import HerdLoadOp
from tilewright.dialects.airrt.transfers import DmaMemcpyNdOp
from tilewright.passes.air.shim.affine_loops import constant_bounds
from tilewright.passes.air.shim.markers import LAUNCH_END, LAUNCH_WAVE

CASCADES = frozenset({"aie.cascade_flow", "aie.get_cascade", "aie.put_cascade"})


@dataclass(frozen=True)
class Launches:
    """What the ends of launches mean for one device."""

    needs_reset: bool
    """Whether DMAs that count repetitions, or a cascade, have to be set back before the next launch."""
    are_several: bool
    is_second_generation: bool


def launches_of(device: DeviceOp) -> Launches:
    """Look at a device while its launches can still be told apart."""
    ends = [op for op in device.walk() if isinstance(op, WaitAllOp) and LAUNCH_END in op.attributes]
    repeats = any(not _runs_once(end) for end in ends)
    has_cascade = any(op.name in CASCADES for op in device.walk())
    is_single = len(ends) == 1 and not repeats
    return Launches(
        needs_reset=_has_repeating_dmas(device) or (has_cascade and is_single),
        are_several=len(ends) > 1 or (bool(ends) and repeats),
        is_second_generation=device.model.arch is Arch.AIE2p,
    )


def _has_repeating_dmas(device: DeviceOp) -> bool:
    for op in device.walk():
        count = op.properties.get("repeat_count") if op.name == "aie.dma_start" else None
        if isinstance(count, IntegerAttr) and count.value.data > 0:
            return True
    return False


def _runs_once(op: Operation) -> bool:
    parent = op.parent_op()
    while parent is not None:
        if isinstance(parent, scf.ForOp | scf.WhileOp):
            return False
        if isinstance(parent, affine.ForOp):
            bounds = constant_bounds(parent)
            if bounds is None or len(bounds) != 1:
                return False
        parent = parent.parent_op()
    return True


def number_waves(function: Operation) -> None:
    """Give what a launch starts the number of the launch."""
    wave = 0
    for op in function.walk():
        if isinstance(op, DmaMemcpyNdOp | HerdLoadOp):
            op.attributes[LAUNCH_WAVE] = IntegerAttr(wave, i64)
        elif isinstance(op, WaitAllOp) and LAUNCH_END in op.attributes:
            wave += 1


def wave_of(op: Operation) -> int | None:
    wave = op.attributes.get(LAUNCH_WAVE)
    return wave.value.data if isinstance(wave, IntegerAttr) else None
