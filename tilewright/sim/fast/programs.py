"""What native code has to know of the programs of cores."""

from __future__ import annotations

from tilewright.device import LockAction
from tilewright.dialects.aie.locks import UseLockOp
from tilewright.sim.core import Activation
from tilewright.sim.core_binding import TilePort
from tilewright.sim.core_code import Stop
from tilewright.sim.fast.state import StopKind


def core_port(activation: Activation) -> TilePort:
    assert isinstance(activation.port, TilePort)
    return activation.port


def stop_kind(stop: Stop) -> StopKind:
    if not isinstance(stop.op, UseLockOp):
        return StopKind.SERVICE
    if not stop.op.is_acquire:
        return StopKind.RELEASE
    at_least = stop.op.lock_action is LockAction.AcquireGreaterEqual
    return StopKind.ACQUIRE_AT_LEAST if at_least else StopKind.ACQUIRE_EQUAL
