"""Parameters of the clock: what is in time follows the clock, and whatever is allowed can be counted."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewright.device import Arch
from tilewright.device.timing import FUNCTIONAL, NO_LIMIT, TimingError, parameters, timing_of, timing_with
from tilewright.sim.host import FRACTION, HostLimit, HostPort, bursts_of, word_cost

NPU1, NPU2 = timing_of(Arch.AIE2), timing_of(Arch.AIE2p)


def allowed(name: str) -> range:
    """What a parameter may be, by the message for one that cannot be."""
    with pytest.raises(TimingError) as refused:
        timing_with(Arch.AIE2, {name: -1})
    low, high = str(refused.value).rpartition("from ")[2].split(" to ")
    return range(int(low), int(high) + 1)


def test_firmware_takes_time_not_cycles() -> None:
    assert NPU1.operation_cycles() == 112 and NPU2.operation_cycles() == 202
    slow = replace(NPU2, clock_mhz=900)
    assert slow.operation_cycles() == 101 and word_cost(slow, 1000) == word_cost(NPU2, 2000)


def test_operations_take_longer_for_more_registers() -> None:
    assert NPU1.operation_cycles(8) == 112 + 7 * 44


def test_shim_channels_warm_up() -> None:
    reads = [NPU1.host_read_cycles(tasks) for tasks in range(8)]
    assert reads[0] == 966 and reads == sorted(reads, reverse=True) and reads[-1] == 300
    assert NPU1.host_write_cycles(0) == 545 and NPU1.host_write_cycles(7) == 0
    assert FUNCTIONAL.host_read_cycles(0) == FUNCTIONAL.host_write_cycles(0) == 0


@given(st.data())
def test_whatever_is_allowed_can_be_counted(data: st.DataObject) -> None:
    names = [parameter.name for parameter in parameters()]
    given = {name: data.draw(st.sampled_from([allowed(name)[0], allowed(name)[-1]]), name) for name in names}
    timing = timing_with(Arch.AIE2p, given)
    cycles = [timing.operation_cycles(), timing.host_read_cycles(0), timing.host_write_cycles(0)]
    assert all(0 <= count <= 2 * NO_LIMIT for count in [*cycles, timing.cycles(1000 * timing.load_pdi_us)])
    burst = bursts_of(HostPort(timing), HostLimit(word_cost(timing, timing.column_mb_per_s)), timing, reads=True)
    for _ in range(3):
        burst.reserve(0, 1 << 20, 1 << 20, is_upsized=False)
    assert burst.free_at < 1 << 63


def rate(reads: int, writes: int, *, columns: int, is_upsized: bool = True, used: int = 128) -> float:
    """GB/s of channels of npu2, two a column, that all ask for bursts of 128 words as fast as they may."""
    port = HostPort(NPU2)
    limits = [HostLimit(word_cost(NPU2, NPU2.column_mb_per_s)) for _ in range(columns)]
    channels = [bursts_of(port, limits[n % columns], NPU2, n < reads) for n in range(reads + writes)]
    bursts, end = 200, 0
    for _ in range(bursts):
        for channel in channels:
            end = max(end, channel.reserve(0, used, 128, is_upsized))
    return len(channels) * bursts * used * 4 / end * NPU2.clock_hz / 1e9


@pytest.mark.parametrize(
    "wanted, reads, writes, columns, options",
    [
        pytest.param(50.0, 16, 0, 8, {}, id="reads alone"),
        pytest.param(66.6, 16, 16, 8, {}, id="both ways"),
        pytest.param(55.5, 16, 16, 8, {"is_upsized": False}, id="both ways, beats are not joined"),
        pytest.param(4 * 12.64, 8, 8, 4, {}, id="four columns"),
        pytest.param(66.6 * 28 / (28 + 25), 16, 16, 8, {"used": 28}, id="runs of 56 bf16, a quarter of the rest"),
    ],
)
def test_limits_of_host_memory(wanted: float, reads: int, writes: int, columns: int, options: dict[str, Any]) -> None:
    assert rate(reads, writes, columns=columns, **options) == pytest.approx(wanted, rel=0.02)
    assert FRACTION > 1000, "costs of a word would be rounded too much"
