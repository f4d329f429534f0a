"""Events that the modules of a tile can raise, by name and number: what traces record and counters count.

Source: the event headers of aie-rt (xaie_events_aie.h, xaie_events_aieml.h, xaie_events_aie2p.h).
"""

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from .enums import Arch, Keyword, TileType


class EventModule(Keyword):
    """A part of a tile with its own event numbers; a core tile has two."""

    Core = 0
    Mem = 1
    ShimTile = 2
    MemTile = 3


MODULES = {
    TileType.CoreTile: (EventModule.Core, EventModule.Mem),
    TileType.MemTile: (EventModule.MemTile,),
    TileType.ShimNOCTile: (EventModule.ShimTile,),
    TileType.ShimPLTile: (EventModule.ShimTile,),
}


def _numbered(*parts: str | int | Iterable[str]) -> Mapping[str, int]:
    """Names in order, words of a string one by one; a number moves on to it."""
    events: dict[str, int] = {}
    number = 0
    for part in parts:
        if isinstance(part, int):
            number = part
            continue
        for name in part.split() if isinstance(part, str) else part:
            events[name] = number
            number += 1
    return MappingProxyType(events)


def _each(pattern: str, count: int, first: int = 0) -> list[str]:
    return [pattern.format(number) for number in range(first, first + count)]


def _dma(*states: str, prefix: str = "") -> list[str]:
    channels = [f"DMA_{direction}_{prefix}{channel}" for direction in ("S2MM", "MM2S") for channel in range(2)]
    return [f"{channel}_{state}" for state in states for channel in channels]


def _dma_waits(prefix: str = "") -> list[str]:
    """What the two directions wait for differs: S2MM is starved by streams and held back by memory."""
    waits = (("S2MM", "STREAM_STARVATION"), ("MM2S", "STREAM_BACKPRESSURE"))
    waits += (("S2MM", "MEMORY_BACKPRESSURE"), ("MM2S", "MEMORY_STARVATION"))
    return [f"DMA_{direction}_{prefix}{channel}_{why}" for direction, why in waits for channel in range(2)]


def _locks(count: int, *what: str) -> list[str]:
    return [pattern.format(lock) for lock in range(count) for pattern in what]


_BASICS = "NONE TRUE GROUP_0 TIMER_SYNC TIMER_VALUE_REACHED"
_COMBOS = _each("COMBO_EVENT_{}", 4)
_EDGES = _each("EDGE_DETECTION_EVENT_{}", 2)
_PORTS = [f"PORT_{state}_{port}" for port in range(8) for state in ("IDLE", "RUNNING", "STALLED", "TLAST")]
_BROADCASTS = ["GROUP_BROADCAST", *_each("BROADCAST_{}", 16)]
_BROADCASTS_A = ["GROUP_BROADCAST_A", *_each("BROADCAST_A_{}", 16)]
_TASKS = ("START_TASK", "FINISHED_BD", "FINISHED_TASK", "STALLED_LOCK")
_BDS = ("START_BD", "FINISHED_BD", "GO_TO_IDLE", "STALLED_LOCK_ACQUIRE")
_PROGRAM = (
    "GROUP_PC_EVENT PC_0 PC_1 PC_2 PC_3 PC_RANGE_0_1 PC_RANGE_2_3 "
    "GROUP_STALL MEMORY_STALL STREAM_STALL CASCADE_STALL LOCK_STALL DEBUG_HALTED ACTIVE DISABLED "
    "ECC_ERROR_STALL ECC_SCRUBBING_STALL "
    "GROUP_PROGRAM_FLOW INSTR_EVENT_0 INSTR_EVENT_1 INSTR_CALL INSTR_RETURN INSTR_VECTOR INSTR_LOAD INSTR_STORE "
    "INSTR_STREAM_GET INSTR_STREAM_PUT INSTR_CASCADE_GET INSTR_CASCADE_PUT "
    "INSTR_LOCK_ACQUIRE_REQ INSTR_LOCK_RELEASE_REQ GROUP_ERRORS_0 GROUP_ERRORS_1"
)
_CORE_ERRORS = (
    "PM_REG_ACCESS_FAILURE STREAM_PKT_PARITY_ERROR CONTROL_PKT_ERROR AXI_MM_SLAVE_ERROR INSTR_DECOMPRSN_ERROR "
    "DM_ADDRESS_OUT_OF_RANGE PM_ECC_ERROR_SCRUB_CORRECTED PM_ECC_ERROR_SCRUB_2BIT PM_ECC_ERROR_1BIT PM_ECC_ERROR_2BIT "
    "PM_ADDRESS_OUT_OF_RANGE DM_ACCESS_TO_UNAVAILABLE LOCK_ACCESS_TO_UNAVAILABLE"
)
_DM_ECC = "DM_ECC_ERROR_SCRUB_CORRECTED DM_ECC_ERROR_SCRUB_2BIT DM_ECC_ERROR_1BIT DM_ECC_ERROR_2BIT"
_NSU_ERRORS = (
    "AXI_MM_DECODE_NSU_ERROR AXI_MM_SLAVE_NSU_ERROR AXI_MM_UNSUPPORTED_TRAFFIC "
    "AXI_MM_UNSECURE_ACCESS_IN_SECURE_MODE AXI_MM_BYTE_STROBE_ERROR"
)
_USER_EVENTS = ["GROUP_USER_EVENT", *_each("USER_EVENT_{}", 4)]


def _aie2_core(sparsity_error: str) -> Mapping[str, int]:
    return _numbered(
        *(_BASICS, _each("PERF_CNT_{}", 4), _COMBOS, _EDGES, _PROGRAM),
        *("SRS_OVERFLOW UPS_OVERFLOW FP_HUGE INT_FP_0 FP_INVALID FP_INF", 55, _CORE_ERRORS),
        f"INSTR_WARNING INSTR_ERROR {sparsity_error} STREAM_SWITCH_PORT_PARITY_ERROR PROCESSOR_BUS_ERROR",
        *("GROUP_STREAM_SWITCH", _PORTS, _BROADCASTS, _USER_EVENTS),
    )


def _memory_module(dma: Iterable[str], locks: Iterable[str], errors: str, dma_start: int, edges: list[str]):
    return _numbered(
        *(_BASICS, _each("PERF_CNT_{}", 2), _COMBOS, edges, 15, "GROUP_WATCHPOINT WATCHPOINT_0 WATCHPOINT_1"),
        *(dma_start, "GROUP_DMA_ACTIVITY", dma, 43, "GROUP_LOCK", locks),
        *("GROUP_MEMORY_CONFLICT", _each("CONFLICT_DM_BANK_{}", 8), 86, "GROUP_ERRORS", _DM_ECC),
        *(_each("DM_PARITY_ERROR_BANK_{}", 6, first=2), _dma("ERROR"), errors, 106, _BROADCASTS, _USER_EVENTS),
    )


_AIE2_MEM = _memory_module(
    dma=[*_dma(*_TASKS), *_dma_waits()],
    locks=_locks(8, "LOCK_SEL{}_ACQ_EQ", "LOCK_SEL{}_ACQ_GE", "LOCK_{}_REL", "LOCK_SEL{}_EQUAL_TO_VALUE"),
    errors="LOCK_ERROR DMA_TASK_TOKEN_STALL",
    dma_start=18,
    edges=_EDGES,
)

_AIE2_SHIM = _numbered(
    *(_BASICS, _each("PERF_CNT_{}", 2), _COMBOS, _EDGES, "GROUP_DMA_ACTIVITY", _dma(*_TASKS), _dma_waits()),
    *("GROUP_LOCK", _locks(6, "LOCK_{}_ACQ_EQ", "LOCK_{}_ACQ_GE", "LOCK_{}_REL", "LOCK_{}_EQUAL_TO_VALUE")),
    *("GROUP_ERRORS AXI_MM_SLAVE_ERROR CONTROL_PKT_ERROR STREAM_SWITCH_PARITY_ERROR", _NSU_ERRORS),
    *("DMA_S2MM_ERROR DMA_MM2S_ERROR LOCK_ERROR DMA_TASK_TOKEN_STALL GROUP_STREAM_SWITCH", _PORTS),
    *(_BROADCASTS_A, "USER_EVENT_0 USER_EVENT_1"),
)

_AIE2_MEM_TILE = _numbered(
    *(_BASICS, _each("PERF_CNT{}_EVENT", 4), _COMBOS, _EDGES, "GROUP_WATCHPOINT", _each("WATCHPOINT_{}", 4)),
    *("GROUP_DMA_ACTIVITY", _dma(*_TASKS, prefix="SEL"), _dma_waits(prefix="SEL"), "GROUP_LOCK"),
    _locks(8, "LOCK_SEL{}_ACQ_EQ", "LOCK_SEL{}_ACQ_GE", "LOCK_SEL{}_REL", "LOCK_SEL{}_EQUAL_TO_VALUE"),
    *("GROUP_STREAM_SWITCH", _PORTS, "GROUP_MEMORY_CONFLICT", _each("CONFLICT_DM_BANK_{}", 16)),
    *("GROUP_ERRORS", _DM_ECC, "DMA_S2MM_ERROR DMA_MM2S_ERROR STREAM_SWITCH_PARITY_ERROR STREAM_PKT_ERROR"),
    *("CONTROL_PKT_ERROR AXI_MM_SLAVE_ERROR LOCK_ERROR DMA_TASK_TOKEN_STALL", _BROADCASTS),
    "GROUP_USER_EVENT USER_EVENT_0 USER_EVENT_1",
)

_AIE1_CORE = _numbered(
    *(_BASICS, _each("PERF_CNT_{}", 4), _COMBOS, 15, _PROGRAM),
    "SRS_SATURATE UPS_SATURATE FP_OVERFLOW FP_UNDERFLOW FP_INVALID FP_DIV_BY_ZERO TLAST_IN_WSS_WORDS_0_2",
    *(_CORE_ERRORS, "INSTR_EVENT_2 INSTR_EVENT_3", 73, "GROUP_STREAM_SWITCH", _PORTS, _BROADCASTS, _USER_EVENTS),
)

_AIE1_MEM = _memory_module(
    dma=_dma(*_BDS, "MEMORY_CONFLICT"),
    locks=_locks(16, "LOCK_{}_ACQ", "LOCK_{}_REL"),
    errors="",
    dma_start=20,
    edges=[],
)

_AIE1_SHIM = _numbered(
    *(_BASICS, _each("PERF_CNT_{}", 2), _COMBOS, "GROUP_DMA_ACTIVITY", _dma(*_BDS)),
    *("GROUP_LOCK", _locks(16, "LOCK_{}_ACQUIRED", "LOCK_{}_RELEASED")),
    *("GROUP_ERRORS AXI_MM_SLAVE_TILE_ERROR CONTROL_PKT_ERROR", _NSU_ERRORS, _dma("ERROR")),
    *("GROUP_STREAM_SWITCH", _PORTS, _BROADCASTS_A, _USER_EVENTS),
)

_AIE2_SHARED = {
    EventModule.Mem: _AIE2_MEM,
    EventModule.ShimTile: _AIE2_SHIM,
    EventModule.MemTile: _AIE2_MEM_TILE,
}

EVENTS: Mapping[Arch, Mapping[EventModule, Mapping[str, int]]] = {
    Arch.AIE1: {EventModule.Core: _AIE1_CORE, EventModule.Mem: _AIE1_MEM, EventModule.ShimTile: _AIE1_SHIM},
    Arch.AIE2: {EventModule.Core: _aie2_core("DECOMPRESSION_UNDERFLOW"), **_AIE2_SHARED},
    Arch.AIE2p: {EventModule.Core: _aie2_core("SPARSITY_OVERFLOW"), **_AIE2_SHARED},
}
"""Number of each event, by generation and module."""

_SPELLING = {Arch.AIE1: "AIE", Arch.AIE2: "AIE2", Arch.AIE2p: "AIE2P"}


def vocabulary(arch: Arch, module: EventModule) -> str:
    """What programs write before `::` to say whose event they mean: `CoreEventAIE2`."""
    return f"{module}Event{_SPELLING[arch]}"


VOCABULARIES = {
    vocabulary(arch, module): events for arch, modules in EVENTS.items() for module, events in modules.items()
}
