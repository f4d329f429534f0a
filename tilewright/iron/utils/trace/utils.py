"""Words, bytes and commands of hardware traces, and summaries of the files that `TraceConfig.trace_to_json` writes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import takewhile
from pathlib import Path
from typing import Any, TypeAlias

from tilewright.device.packets import ControlHeader, PacketHeader, with_parity
from tilewright.device.trace_packets import (
    COUNTER,
    CYCLES,
    EVENT,
    EVENTS,
    KINDS,
    PACKET_WORDS,
    REPEATS,
    SLOTS,
    START,
    START_COUNTERS,
    SYNC,
    TIMER,
    WITH_COUNTER,
    FrameKind,
    RecordingMode,
    TraceFrame,
    frames_of,
)
from tilewright.iron.utils.trace.events import NUM_TRACE_TYPES

Command: TypeAlias = dict[str, Any]
"""A frame as programs for mlir-aie have it: its type, and numbers by name; `event3` is there for slot 3."""
_TYPES: dict[FrameKind, str] = {kind: kind.name.capitalize() for kinds in KINDS.values() for kind in kinds} | {
    START: "Start",
    START_COUNTERS: "Start",
    SYNC: "Event_Sync",
    WITH_COUNTER: "EventPC",
}
_KINDS = {name: kind for kind, name in _TYPES.items() if kind is not START_COUNTERS}
_UNSAID = ("Skip", "Fill")
FILLER = "fe" * 4
"""The word of a trace that has nothing to say."""
_UNWRITTEN = ("", "a5" * 4)
_NO_HEADER = 0x7 << 28 | 0x1 << 19 | 0x7F << 5
"""Bits that no field of a trace packet's header has."""
_BEGIN, _END = "INSTR_EVENT_0", "INSTR_EVENT_1"
_FIELDS = {EVENT: "event", CYCLES: "cycles", REPEATS: "repeats", COUNTER: "pc", TIMER: "timer_value"}


def commands_of(stream: Iterable[int], mode: RecordingMode, zero: bool = True) -> list[Command]:
    """The commands in the bytes of a trace; with `zero` starts tell no time."""
    found = list[Command]()
    for frame in frames_of(bytes(stream), mode):
        if _TYPES[frame.kind] in _UNSAID:
            continue
        command: Command = {"type": _TYPES[frame.kind]}
        command |= {name: frame[field] for field, name in _FIELDS.items() if field in frame.values}
        if EVENTS in frame.values:
            command |= {f"event{slot}": slot for slot in range(SLOTS) if frame.slots >> slot & 1}
        if zero and TIMER in frame.values:
            command["timer_value"] = 0
        found.append(command)
    return found


def frame_of(command: Command) -> TraceFrame:
    """The frame that a command is."""
    kind = _KINDS[command["type"]]
    values = {field: int(command[name]) for field, name in _FIELDS.items() if name in command}
    if EVENTS in kind.fields:
        values[EVENTS] = sum(1 << slot for slot in range(SLOTS) if f"event{slot}" in command)
    return TraceFrame(kind, values)


def convert_to_commands(byte_stream_list: Sequence[dict[str, list[int]]], zero: bool = True) -> list[dict[str, Any]]:
    """The commands in bytes of traces that tell times."""
    streams = ({place: commands_of(s, RecordingMode.TIME, zero) for place, s in of.items()} for of in byte_stream_list)
    return list(streams)


def decode_event_pc_stream(byte_stream: Iterable[int], zero: bool = True) -> list[Command]:
    """The commands in bytes of a trace that tells program counters."""
    return commands_of(byte_stream, RecordingMode.PROGRAM_COUNTER, zero)


def split_trace_segments(trace_pkts: Iterable[str], min_gap: int = PACKET_WORDS) -> list[list[str]]:
    """The parts of a buffer between runs of at least `min_gap` zeros: what several channels wrote."""
    segments, gap = list[list[str]](), min_gap
    zeros = list[str]()
    for word in trace_pkts:
        if word == "0" * PACKET_WORDS:
            zeros.append(word)
            gap += 1
        elif word:
            if gap >= min_gap:
                segments.append([])
            else:
                segments[-1] += zeros
            segments[-1].append(word)
            gap, zeros = 0, []
    return segments


def trim_trace_pkts(trace_pkts: list[str]) -> list[str]:
    """Words up to the last one of a trace: filler with nothing behind it."""
    nothing = ["0" * PACKET_WORDS] * 2
    for index, word in enumerate(trace_pkts):
        if word.lower() == FILLER and trace_pkts[index + 1 : index + 3] == nothing:
            return trace_pkts[: index + 1]
    return trace_pkts


def trace_pkts_de_interleave(word_stream: Sequence[str]) -> list[dict[str, list[str]]]:
    """The words of packets behind their headers, for each type of packet by `row,column` of its tile."""
    found: list[dict[str, list[str]]] = [{} for _ in range(NUM_TRACE_TYPES)]
    words = list(takewhile(bool, word_stream))  # a file ends with an empty line
    into: list[str] | None = None
    for index in range(0, len(words), PACKET_WORDS):
        header = parse_pkt_hdr_in_stream(int(words[index], 16))
        if header["valid"]:
            into = found[header["type"]].setdefault(f"{header['row']},{header['col']}", [])
        # a word that is no header is taken for one that was lost: the tile is that of the packet before
        if into is not None:
            into += words[index + 1 : index + PACKET_WORDS]
    return found


def parse_pkt_hdr_in_stream(word: int) -> dict[str, Any]:
    """The fields of a packet's header; `valid` says whether the word can be one."""
    if not check_odd_word_parity(int(word)) or int(word) & _NO_HEADER:
        return {"valid": False}
    return {"valid": True, **dict(zip(("col", "row", "type", "id"), extract_tile(word), strict=True))}


def check_odd_word_parity(word: int) -> bool:
    """Whether a word has an odd number of ones, as headers do."""
    return bool(parity(int(word) & 0xFFFFFFFF))


def convert_to_byte_stream(toks_list: Sequence[dict[str, list[str]]]) -> list[dict[str, list[int]]]:
    """The bytes of words, the upper one of each first; empty ones and those that were never written left out."""
    return [
        {
            place: [*bytes.fromhex("".join(word for word in words if word not in _UNWRITTEN))]
            for place, words in of.items()
        }
        for of in toks_list
    ]


def parity(x: int) -> int:
    """1 for an odd number of ones."""
    return x.bit_count() & 1


def extract_tile(data: int) -> tuple[int, int, int, int]:
    """Column, row, type and id of a packet's header."""
    fields = PacketHeader.decode([int(data)])
    return fields["source_column"], fields["source_row"], fields["type"] & 3, fields["id"]


def pack4bytes(b3: int, b2: int, b1: int, b0: int) -> int:
    """Four bytes as a word, the upper one first."""
    return int.from_bytes(bytes(byte & 0xFF for byte in (b3, b2, b1, b0)), "big")


def create_ctrl_pkt(operation: int, beats: int, addr: int, ctrl_pkt_read_id: int = 28) -> int:
    """The header of a control packet; `beats` is one less than the words."""
    (word,) = ControlHeader.pack(return_id=ctrl_pkt_read_id, operation=operation, beats=beats, address=addr)
    return with_parity(word)


def get_cycles_summary(trace_path: Any) -> list[list[Any]]:
    """For each process its name, then the cycles from each `INSTR_EVENT_0` to the `INSTR_EVENT_1` behind it."""
    entries = json.loads(Path(trace_path).read_text())
    names = {entry["pid"]: entry["args"]["name"] for entry in entries if entry["name"] == "process_name"}
    return [[name, *_calls(entries, process)] for process, name in names.items()]


def _calls(entries: list[dict[str, Any]], process: int) -> Iterator[int]:
    begun: int | None = None
    for entry in entries:
        if entry["pid"] != process or entry["ph"] != "B":
            continue
        if entry["name"] == _BEGIN and begun is None:
            begun = entry["ts"]
        elif entry["name"] == _END and begun is not None:
            yield entry["ts"] - begun
            begun = None


def print_cycles_summary(trace_path: Any) -> None:
    """Print how often kernels were called, and how long they took."""
    for name, *cycles in get_cycles_summary(trace_path):
        print(name)
        print(f"Total number of full kernel invocations is {len(cycles)}")
        if cycles:
            average = sum(cycles) / len(cycles)
            print(f"First/Min/Avg/Max cycles is {cycles[0]}/ {min(cycles)}/ {average}/ {max(cycles)}")


def get_vector_time(trace: Any) -> float:
    """Of the time from the last `INSTR_EVENT_0` to the last `INSTR_EVENT_1`, the part in which vector code ran."""
    entries = json.loads(Path(trace).read_text())
    marks = {name: [e["ts"] for e in entries if e["name"] == name and e["ph"] == "B"] for name in (_BEGIN, _END)}
    if not all(times and times[-1] for times in marks.values()):
        return 0
    first, last = marks[_BEGIN][-1], marks[_END][-1]
    begun, total = list[int](), 0
    for entry in entries:
        if entry["name"] != "INSTR_VECTOR" or not first <= entry["ts"] <= last:
            continue
        if entry["ph"] == "B":
            begun.append(entry["ts"])
        elif entry["ph"] == "E" and begun:
            total += entry["ts"] - begun.pop()
    return total / (last - first)


def get_cycles(trace_path: Any) -> float:
    """Cycles of the first call of a kernel; infinitely many if there is none."""
    return next((cycles for _, *calls in get_cycles_summary(trace_path) for cycles in calls), float("inf"))
