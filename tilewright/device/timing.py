"""Costs, in cycles of the array's clock or in time: the only place with such numbers, each with its public source."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import Field, dataclass, field, fields, replace
from typing import Any, cast

from tilewright.errors import ArgumentError

from .enums import Arch

MOST_WARMING = 64
"""Tasks after which a channel is as warm as it gets, whatever warms it."""


def _parameter(default: int, unit: str, source: str, spread: str = "") -> Any:
    return field(default=default, metadata={"unit": unit, "source": source, "spread": spread})


@dataclass(frozen=True)
class Timing:
    """Parameters of the cycle model: integers all. Defaults are those of npu1; see `timing_of`."""

    clock_mhz: int = _parameter(
        1000,
        "MHz",
        "arXiv 2512.13282 section 5.2.1: what the driver reports under load; 1800 on npu2",
        "1000 to 1600 for npu1, 1000 to 1800 for npu2 in other public texts",
    )
    local_latency: int = _parameter(3, "cycles from a switch's slave port to a block of its tile", "AM020 ch. 2")
    local_depth: int = _parameter(6, "words on that way", "AM020 ch. 2")
    external_latency: int = _parameter(4, "cycles from a switch's slave port to the next switch", "AM020 ch. 2")
    external_depth: int = _parameter(8, "words on that way", "AM020 ch. 2")
    cascade_depth: int = _parameter(2, "accumulators between two cores", "AM020 ch. 4, its two queues taken as one")
    lock: int = _parameter(
        1,
        "cycles for a lock that is free",
        "trace of a product on npu1 (atassis/mlir-aie, `trace.txt`): a cycle of LOCK_STALL for each request",
    )
    descriptor: int = _parameter(8, "cycles to load a descriptor", "an assumption: no public figure")
    instruction_ns: int = _parameter(
        112,
        "ns for an operation of the controller, with one access to a register",
        "xdna-emu, finding of 2026-05-11: 112 cycles at 1 GHz; npu2 the same, which is an assumption",
    )
    access_ns: int = _parameter(
        44,
        "ns for each further access: words of a block, the two words of an address, what a masked write reads",
        "xdna-emu, finding of 2026-05-10: 889 cycles from one push to the next, of 4 operations and 14 accesses",
        "830 to 900 cycles",
    )
    token_ns: int = _parameter(
        2250,
        "ns for which tokens interrupt the controller; those that come meanwhile are dealt with at once",
        "xdna-emu, finding of 2026-05-27: 2,734 to 2,876 cycles from the end of a task with a token to the next task; "
        "npu2: 374,709 tokens a second on a column, AMD's sample of xrt-smi",
    )
    host_read_ns: int = _parameter(
        966,
        "ns from the push of a shim channel's first task until the first word that it reads comes",
        "xdna-emu, finding of 2026-05-25: the median of 12 transfers less 1.05 cycles per word; npu2 an assumption",
        "172 to 2,047; 747 by a line through those of 1,000 words and more",
    )
    host_read_warm_ns: int = _parameter(
        300,
        "the same of a channel that has had many tasks",
        "xdna-emu, finding of 2026-05-27: 364 and 369 cycles for the last of 8 tasks of 64 words",
        "249 in its finding of 2026-05-25",
    )
    host_warming: int = _parameter(
        3,
        "what each task divides the difference of both by, and the least time of a write",
        "xdna-emu, finding of 2026-05-27: 1739, 804, 497, 422, 398 cycles for tasks of 64 words",
    )
    host_write_ns: int = _parameter(
        160,
        "ns after the last word of a shim tile's write",
        "xdna-emu, finding of 2026-05-25: the constant part of 171 + 1.00 cycles per word; npu2 an assumption",
        "wide below 1,000 words",
    )
    host_write_cold_ns: int = _parameter(
        545,
        "ns that a shim channel's first write takes at least, from its start to its end",
        "xdna-emu, finding of 2026-05-27: 509 and 584 cycles for 64 words, medians of 50 runs; npu2 an assumption",
        "696 to 872 where it was measured once",
    )
    host_read_millicycles: int = _parameter(1050, "cycles for 1,000 words that a shim channel reads", "as host_read_ns")
    host_write_millicycles: int = _parameter(
        1000, "cycles for 1,000 words that a shim channel writes", "as host_write_ns"
    )
    host_read_mb_per_s: int = _parameter(
        15_000,
        "MB in a second from host memory to all shim tiles together",
        "arXiv 2512.13282 section 5.2.1: about 15 GB/s on npu1, 50 GB/s on npu2, for traffic like that of a GEMM",
    )
    host_mb_per_s: int = _parameter(
        20_000,
        "MB in a second between host memory and all shim tiles, both ways, where AxCache lets the NoC join beats",
        "mlir-aie #2559: 66.6 GB/s for a copy on 8 columns of npu2; npu1 by its share of reads, which is an assumption",
    )
    host_plain_mb_per_s: int = _parameter(
        16_650,
        "the same where AxCache of the descriptor does not let it",
        "mlir-aie #2559: 55.5 GB/s for a copy on 8 columns of npu2; npu1 by its share of reads, which is an assumption",
    )
    column_mb_per_s: int = _parameter(
        16_000,
        "MB in a second between host memory and one shim tile, reads and writes",
        "AMD's sample of xrt-smi's df-bw: 47.1 GiB/s over 4 columns of npu2; npu1: no limit below its four channels'",
    )
    burst_unused_percent: int = _parameter(
        25,
        "per cent of what a burst leaves unused that it takes time for: of a run that ends before it, or begins in it",
        "mlir-aie #2735: whole_array with i16 reaches 75 % of the peak of npu1, 12 GB/s of reads in runs of 128 bytes",
        "0 to 100; bursts have one length, 256 bytes on npu1 and 512 on npu2 if none is set (mlir-aie #2130, #2145)",
    )
    load_pdi_us: int = _parameter(
        3_400,
        "us to reconfigure the array",
        "arXiv 2512.13282 section 5.3.1: 3.4 ms on npu1, 4.9 ms on npu2",
        "3.8 ms on npu2 in AMD's sample of xrt-smi",
    )

    @property
    def clock_hz(self) -> float:
        return 1e6 * self.clock_mhz

    def cycles(self, ns: int) -> int:
        """How many there are in so much time."""
        return (ns * self.clock_mhz + 500) // 1000

    def operation_cycles(self, accesses: int = 1) -> int:
        """What an operation of the controller takes."""
        return self.cycles(self.instruction_ns + (accesses - 1) * self.access_ns)

    def host_read_cycles(self, tasks: int) -> int:
        """From the push of a task until its first word comes, after so many tasks of its channel."""
        return self.cycles(self.host_read_warm_ns + self._warmed(self.host_read_ns - self.host_read_warm_ns, tasks))

    def host_write_cycles(self, tasks: int) -> int:
        """From the start of a task to its end at least, after so many tasks of its channel."""
        return self.cycles(self._warmed(self.host_write_cold_ns, tasks))

    def _warmed(self, ns: int, tasks: int) -> int:
        return ns // self.host_warming ** min(tasks, MOST_WARMING)


OF_NPU2 = Timing(
    clock_mhz=1800,
    host_read_mb_per_s=50_000,
    host_mb_per_s=66_600,
    host_plain_mb_per_s=55_500,
    column_mb_per_s=12_640,
    token_ns=1755,
    load_pdi_us=4_900,
)
_BY_ARCH: Mapping[Arch, Timing] = {Arch.AIE1: Timing(), Arch.AIE2: Timing(), Arch.AIE2p: OF_NPU2}
TIME_ERROR_PERCENT = 15
"""Two of three times that were predicted and then found to be measured are nearer: docs/clock.md."""
NO_LIMIT = 1 << 40
"""Of any number of cycles or bytes: 18 minutes, so that sums of many still fit into 64 bits."""
MOST_DEPTH = 1 << 10
"""Words that wait on a way: simulators keep room for them at every port."""
MOST: Mapping[str, int] = {
    "_depth": MOST_DEPTH,
    "_percent": 100,
    "_mhz": 1 << 20,
    "_ns": 1 << 30,
    "_us": 1 << 20,
    "_millicycles": 1 << 30,
}
"""Of parameters by how their names end: time in cycles is no more than NO_LIMIT, then."""
FUNCTIONAL = Timing(
    local_latency=1,
    external_latency=1,
    lock=1,
    descriptor=1,
    instruction_ns=1,
    access_ns=0,
    token_ns=0,
    host_read_ns=0,
    host_read_warm_ns=0,
    host_write_cold_ns=0,
    host_write_ns=0,
    host_read_millicycles=1000,
    host_read_mb_per_s=NO_LIMIT,
    host_mb_per_s=NO_LIMIT,
    host_plain_mb_per_s=NO_LIMIT,
    column_mb_per_s=NO_LIMIT,
    burst_unused_percent=0,
    load_pdi_us=0,
)
"""Time counts as little as it can: only what a run computes matters."""


class TimingError(ArgumentError):
    """Parameters that cannot be; says which."""


def timing_of(arch: Arch) -> Timing:
    """What is known of devices of an architecture."""
    return _BY_ARCH[arch]


def parameters() -> tuple[Field[Any], ...]:
    """Each with its unit, source and spread in `metadata`."""
    return fields(Timing)


def timing_with(arch: Arch, given: object = None) -> Timing:
    """What is known of an architecture, with some parameters replaced; `none`: as little time as there can be."""
    if given is None:
        return timing_of(arch)
    is_none = isinstance(given, str) and given == "none"  # arrays compare by element
    return FUNCTIONAL if is_none else _with_parameters(timing_of(arch), given)


def read_parameters(text: str) -> object:
    """Parameters from JSON text, to be looked at by `timing_with`."""
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise TimingError(f"line {error.lineno}: {error.msg}; a JSON object of parameters is wanted") from error
    except (ValueError, RecursionError) as error:  # a number of thousands of digits, thousands of brackets
        raise TimingError("no JSON object of parameters") from error


def _with_parameters(base: Timing, given: object) -> Timing:
    if not isinstance(given, Mapping):
        raise TimingError(f"a JSON object of parameters is wanted, got {given!r}")
    given = cast("Mapping[str, object]", given)
    known = {parameter.name: parameter for parameter in parameters()}
    for name, value in given.items():
        if name not in known:
            raise TimingError(f"there is no parameter {name!r}; there are {', '.join(known)}")
        allowed = range(_least(name), _most(name) + 1)
        if not isinstance(value, int) or isinstance(value, bool) or value not in allowed:
            raise TimingError(f"{name} is {value!r:.80}, but has to be an integer from {allowed[0]} to {allowed[-1]}")
    return replace(base, **cast("dict[str, Any]", given))


def _least(name: str) -> int:
    """What is divided by, and room for words, cannot be 0; nor can a word be there before it was sent."""
    may_be_nothing = name in ("lock", "descriptor") or name.endswith(("_ns", "_us", "_percent"))
    return 0 if may_be_nothing else 1


def _most(name: str) -> int:
    """What the simulator counts in 64 bits, and keeps room for."""
    return next((most for ending, most in MOST.items() if name.endswith(ending)), NO_LIMIT)
