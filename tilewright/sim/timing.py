"""What things cost, in cycles of the array's clock: the only place with such numbers, each with its source."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tilewright.device import Arch

CLOCK_HZ: Mapping[Arch, float] = {Arch.AIE1: 1.0e9, Arch.AIE2: 1.0e9, Arch.AIE2p: 1.8e9}
"""The array's clock under load: about 1.0 GHz on XDNA, 1.8 GHz on XDNA2. arXiv 2512.13282 section 5.2.1 (what the
driver says); other public texts assume 1.6 and 1.0 GHz. For AIE1 an assumption."""


@dataclass(frozen=True)
class Timing:
    """Parameters of the cycle model."""

    local_latency: int = 3
    """Cycles from a switch's slave port to a master port of the same tile's blocks. AM020 ch. 2."""
    local_depth: int = 6
    """Words that such a path holds. AM020 ch. 2."""
    external_latency: int = 4
    """Cycles from a switch's slave port to a master port towards a neighbour. AM020 ch. 2."""
    external_depth: int = 8
    """AM020 ch. 2."""
    cascade_depth: int = 2
    """Cascade words between two cores. AM020 ch. 4 (a two-deep FIFO at each end, taken as one)."""
    lock: int = 1
    """An uncontested lock request. An assumption; AM020 gives none."""
    instruction: int = 112
    """One operation of the command processor. xdna-emu, finding of 2026-05-11, measured on Phoenix."""
    host_read: int = 700
    """Cycles from the start of a shim read until its first word. xdna-emu, finding of 2026-05-25: the constant part."""
    host_write: int = 150
    """Cycles that the end of a shim write takes. xdna-emu, finding of 2026-05-25: the constant part."""
    descriptor: int = 8
    """Loading a descriptor. An assumption."""
    load_pdi: int = 3_400_000
    """Reconfiguring the whole array: 3.4 ms at 1 GHz on npu1. arXiv 2512.13282 section 5.3.1."""


FUNCTIONAL = Timing(local_latency=1, external_latency=1, instruction=1, host_read=1, host_write=1, descriptor=1, lock=1)
"""Time counts as little as it can."""
