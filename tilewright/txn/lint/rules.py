"""Rules for TXN streams, and what is found by them.

`RULES` is the one table of them: the checks take their texts from it, the documents show it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from tilewright.device import TileId
from tilewright.device.architecture import TASK_QUEUE_DEPTH
from tilewright.device.hazards import DESCRIPTOR_IN_FLIGHT, QUEUE_OVERFLOW


class LintLevel(StrEnum):
    """How bad a finding is."""

    ERROR = "error"
    """Wrong whatever the array does meanwhile."""
    WARNING = "warning"
    """Wrong unless something outside of the stream prevents it."""
    REMARK = "remark"
    """Worth knowing, and right in many programs."""


@dataclass(frozen=True)
class LintRule:
    """A rule: its name, how bad a finding is at most, what it finds, what the hardware does then, and the way out."""

    name: str
    level: LintLevel
    finds: str
    harm: str
    remedy: str


def _table(*rows: tuple[str, LintLevel, str, str, str]) -> dict[str, LintRule]:
    return {row[0]: LintRule(*row) for row in rows}


ERROR, WARNING, REMARK = LintLevel
RULES = _table(
    (
        QUEUE_OVERFLOW.name,
        WARNING,
        f"a push on a channel whose queue may hold {TASK_QUEUE_DEPTH} tasks already; a remark where a wait for "
        "something else lies between",
        "the channel drops the push",
        QUEUE_OVERFLOW.remedy,
    ),
    (
        DESCRIPTOR_IN_FLIGHT.name,
        WARNING,
        "a write to a descriptor that a task may still use; a remark where a wait for something else lies between, or "
        "where the task is the first of its channel, runs this descriptor alone and once, and was pushed long before",
        "the DMA runs a descriptor that is half old, half new",
        DESCRIPTOR_IN_FLIGHT.remedy,
    ),
    (
        "no-such-tile",
        ERROR,
        "an address on a tile that the device of the header does not have; a warning where the whole array has it",
        "the access is an error on the bus, or goes to another partition",
        "correct the address, or the columns and rows in the header",
    ),
    (
        "unaligned-address",
        ERROR,
        "an address of a register that is no multiple of 4",
        "the low bits are cut off, or the access is an error on the bus",
        "give the address of the whole word",
    ),
    (
        "reserved-register",
        WARNING,
        "a write where a tile has neither a register nor memory",
        "nothing, or something that is not documented",
        "correct the address or the length of the block",
    ),
    (
        "read-only-register",
        WARNING,
        "a write to a register that can only be read",
        "the write has no effect",
        "write the register that sets what this one shows",
    ),
    (
        "reserved-bits",
        WARNING,
        "a write that sets bits of a register which no field has; a remark for bit 0 of a channel's control, which "
        "enabled DMAs of the generation before",
        "the bits are lost, or mean something that is not documented",
        "leave these bits 0; a value that is too large for its field may have run over",
    ),
    (
        "field-range",
        ERROR,
        "a field whose value names something that the tile does not have: a descriptor, lock, port, arbiter or burst",
        "the hardware takes another one, or none",
        "choose one that is there",
    ),
    (
        "outside-memory",
        ERROR,
        "a valid descriptor of a core or mem tile whose words reach beyond the memory that the tile can address",
        "the DMA stops with an error, or goes on at another address",
        "let the transfer begin earlier, or move fewer words",
    ),
    (
        "unreachable-descriptor",
        ERROR,
        "a push of a descriptor that its channel cannot use: those of mem tiles are in two halves, for even and odd "
        "channels",
        "the channel stops with an error",
        "use a descriptor of the other half, or another channel",
    ),
    (
        "invalid-descriptor",
        ERROR,
        "a push of a descriptor, or of one that leads to it, whose valid bit the stream has last written as 0",
        "the channel stops with an error",
        "write the whole descriptor, with its valid bit, before the task is pushed",
    ),
    (
        "patch-not-address",
        ERROR,
        "an address patch on words that are not the address of a shim tile's descriptor",
        "other fields are overwritten with the address of a buffer",
        "patch the word of the descriptor that has the lower half of its address",
    ),
    (
        "lost-patch",
        WARNING,
        "an address patch whose words are written again before a task is pushed on that tile",
        "the transfer goes to the address that was written, not to the buffer",
        "write the descriptor first, then patch it",
    ),
    (
        "no-such-channel",
        ERROR,
        "a wait for a token of a tile or channel that the device does not have; a warning where the whole array "
        "has the tile",
        "the wait never ends",
        "correct the tile, the direction or the channel",
    ),
    (
        "wait-without-token",
        WARNING,
        "a wait for a token when the stream has pushed fewer tasks with tokens on that channel than it has waited for",
        "the wait never ends, unless a task from before the stream issues the token",
        "let the task issue a token (bit 31 of the push), or leave the wait out",
    ),
    (
        "endless-poll",
        ERROR,
        "a poll for bits outside of its mask, for bits that the register does not have, for a queue longer than "
        f"{TASK_QUEUE_DEPTH}, or of a register that cannot be read",
        "the poll never ends",
        "poll for a value that the register can have",
    ),
    (
        "value-outside-mask",
        WARNING,
        "a masked write whose value has bits that its mask does not have",
        "the bits are dropped or set, depending on who carries out the write",
        "clear these bits in the value, or set them in the mask",
    ),
    (
        "unfinished-transfer",
        REMARK,
        "a stream that ends with a task on an S2MM channel of a shim tile which nothing waits for: no token, no poll "
        "of the channel or of a lock of its tile",
        "the host may read its buffer before the last words are there",
        "wait for the task; traces may be left to run",
    ),
    (
        "unknown-operation",
        REMARK,
        "an operation whose effect is not documented",
        "what is known of queues and descriptors no longer holds, so that hazards may be missed",
        "nothing to do",
    ),
)
"""All rules, by name."""


NO_OFFSET = -1


@dataclass(frozen=True)
class LintFinding:
    """One thing that is wrong: the first place of its kind, and how many there are like it."""

    rule: LintRule
    level: LintLevel
    operation: int
    offset: int
    """Of the operation, in bytes from the beginning of the stream, or of the file; NO_OFFSET where it has none."""
    text: str
    notes: Sequence[tuple[int, int, str]] = ()
    """Operation, its offset, and what to add."""
    places: int = 1
    tile: TileId | None = None
    channel: str | None = None

    def moved(self, locate: Callable[[int], int]) -> LintFinding:
        """The same with other offsets."""
        notes = [(operation, locate(offset), text) for operation, offset, text in self.notes]
        return replace(self, offset=locate(self.offset), notes=notes)

    def lines(self) -> Iterator[str]:
        """What is said about it, line by line: each begins with a place."""
        yield f"{_place(self.operation, self.offset)}: {self.level}: {self.text} [{self.rule.name}]"
        yield from (f"{_place(operation, offset)}: note: {text}" for operation, offset, text in self.notes)

    def to_json(self) -> dict[str, Any]:
        return {
            "rule": self.rule.name,
            "severity": str(self.level),
            "operation": self.operation,
            "offset": _offset(self.offset),
            "tile": None if self.tile is None else [*self.tile],
            "channel": self.channel,
            "text": self.text,
            "places": self.places,
            "notes": [{"operation": at, "offset": _offset(offset), "text": text} for at, offset, text in self.notes],
        }


def _offset(offset: int) -> int | None:
    return None if offset == NO_OFFSET else offset


def _place(operation: int, offset: int) -> str:
    return f"operation {operation}" + ("" if offset == NO_OFFSET else f" at byte {offset:#x}")
