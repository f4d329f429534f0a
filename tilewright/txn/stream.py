"""A decoded TXN stream: its header, and its operations kept as columns of fields.

Production streams have hundreds of thousands of operations, so the fields of all operations with one opcode are NumPy
arrays; `Stream.operations` shows them one at a time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, repeat
from operator import index
from typing import TYPE_CHECKING, Any, SupportsIndex, TypeGuard, cast, overload

import numpy as np
import numpy.typing as npt

from tilewright.errors import Error
from tilewright.txn.opcodes import LAYOUTS, LONG_PATCH_LAYOUTS, VERSION, Opcode, OperationLayout, opcode_name

if TYPE_CHECKING:
    from tilewright.device import DeviceModel

Words = npt.NDArray[np.uint32]
Indices = npt.NDArray[np.int64]
HEADER_WORDS = 4
SHOWN_WORDS = 8
"""Of a payload, in the text of an operation."""
AT_A_TIME = 4096
"""Operations whose fields become Python numbers at once."""

BYTE, WORD = range(1 << 8), range(1 << 32)


@dataclass(frozen=True)
class Header:
    """What a stream says about its device; the counts in the four header words follow from the operations.

    Args:
        major: version of the format, with `minor`: 0.1 has padded operations, 1.0 compact ones
        minor: see `major`
        device_generation: 3 for npu1, 4 for npu2
        rows: of the device, shim and memory tiles among them
        columns: of the device
        mem_tile_rows: how many of the rows have memory tiles
        pad: the upper half of word 1, zero in every stream seen
        long_patches: 1 if address patches in version 1.0 have the 48 bytes of version 0.1; told by their sizes
    """

    major: int = 0
    minor: int = 1
    device_generation: int = 3
    rows: int = 6
    columns: int = 4
    mem_tile_rows: int = 1
    pad: int = 0
    long_patches: int = 0

    def __post_init__(self) -> None:
        limits = {"pad": range(1 << 16), "long_patches": range(1 if self.version == VERSION else 2)}
        for name, value in vars(self).items():
            object.__setattr__(self, name, checked(f"header: {name}", value, limits.get(name, BYTE)))

    @classmethod
    def of(cls, model: DeviceModel) -> Header:
        """The header of streams for the device of a `model`; one without a number there passes for npu1."""
        return cls(*VERSION, model.txn_generation or 3, model.rows, model.columns, model.mem_rows)

    @property
    def version(self) -> tuple[int, int]:
        """`major` and `minor`."""
        return self.major, self.minor


class Operation:
    """One operation: an opcode, its fields as attributes (`op.address`), and its payload words."""

    __slots__ = ("fields", "opcode", "payload")

    opcode: int
    fields: dict[str, int]
    payload: Words

    def __init__(self, opcode: int, payload: npt.ArrayLike | None = None, **fields: int):
        self.opcode = opcode
        self.fields = fields
        # checked word by word only where they come from a user
        self.payload = payload if _is_words(payload) else payload_words(opcode, () if payload is None else payload)

    @property
    def name(self) -> str:
        """What its opcode is called."""
        return opcode_name(self.opcode)

    def __getattr__(self, name: str) -> int:
        try:
            return self.fields[name]
        except KeyError:
            raise AttributeError(f"{self.name} has no field {name!r}; it has {', '.join(self.fields)}") from None

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Operation)
            and self.opcode == other.opcode
            and self.fields == other.fields
            and np.array_equal(self.payload, other.payload)
        )

    def __repr__(self) -> str:
        parts = [f"{name}={value:#x}" for name, value in self.fields.items() if value]
        if len(self.payload):
            rest = ", ..." if len(self.payload) > SHOWN_WORDS else ""
            parts.append(f"payload=[{', '.join(map(str, self.payload[:SHOWN_WORDS].tolist()))}{rest}]")
        return f"{self.name}({', '.join(parts)})"


@dataclass
class OpcodeGroup:
    """All operations of one opcode, field by field."""

    layout: OperationLayout
    positions: Indices
    """Index of each of them among all operations of the stream."""
    fields: dict[str, Words]
    payload: Words
    """Their payloads, one after the other."""
    payload_starts: Indices
    """Where in `payload` each of them begins; one entry more than there are operations."""

    def operation(self, opcode: int, row: int) -> Operation:
        payload = self.payload[self.payload_starts[row] : self.payload_starts[row + 1]]
        return Operation(opcode, payload, **{name: int(column[row]) for name, column in self.fields.items()})

    def operations(self, opcode: int) -> Iterator[Operation]:
        """All of them, in order."""
        for first in range(0, len(self.positions), AT_A_TIME):
            # lists of Python numbers, a piece at a time: faster than NumPy's elements, smaller than all at once
            starts = self.payload_starts[first : first + AT_A_TIME + 1].tolist()
            columns = [column[first : first + AT_A_TIME].tolist() for column in self.fields.values()]
            rows = zip(*columns, strict=True) if columns else repeat(())
            for (start, end), row in zip(pairwise(starts), rows, strict=False):
                yield Operation(opcode, self.payload[start:end], **dict(zip(self.fields, row, strict=True)))


@dataclass(repr=False)
class Stream:
    """A `header` and operations in order, as columns: their `opcodes`, and the fields of each opcode in `groups`."""

    header: Header
    opcodes: npt.NDArray[np.uint8]
    groups: dict[int, OpcodeGroup]

    def __repr__(self) -> str:
        return f"<Stream: {len(self.opcodes):,} operations, {self.header}>"

    @property
    def operations(self) -> Operations:
        """The operations in order, each made when it is asked for."""
        return Operations(self)

    @staticmethod
    def of(header: Header, operations: Iterable[Operation]) -> Stream:
        """A stream of a `header` and `operations` in order; fields that are not given are 0."""
        ops = list(operations)
        layouts = layouts_of(header)
        for op in ops:
            checked("opcode", op.opcode, BYTE)
        rows: dict[int, list[int]] = {}
        for position, op in enumerate(ops):
            rows.setdefault(op.opcode, []).append(position)
        groups = {
            opcode: _gather(opcode, _layout(layouts, opcode), [ops[p] for p in positions], positions)
            for opcode, positions in rows.items()
        }
        return Stream(header, np.array([op.opcode for op in ops], dtype=np.uint8), groups)


class Operations(Sequence[Operation]):
    """The operations of a stream, made when asked for."""

    def __init__(self, stream: Stream):
        self._stream = stream
        self._rows: Indices | None = None

    def __len__(self) -> int:
        return len(self._stream.opcodes)

    def __repr__(self) -> str:
        return f"<{len(self):,} operations of a stream>"

    @overload
    def __getitem__(self, index: int) -> Operation: ...
    @overload
    def __getitem__(self, index: slice) -> list[Operation]: ...
    def __getitem__(self, index: int | slice) -> Operation | list[Operation]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        if self._rows is None:
            self._rows = np.empty(len(self), dtype=np.int64)
            for group in self._stream.groups.values():
                self._rows[group.positions] = np.arange(len(group.positions))
        opcode = int(self._stream.opcodes[index])
        return self._stream.groups[opcode].operation(opcode, int(self._rows[index]))

    def __iter__(self) -> Iterator[Operation]:
        found = {opcode: group.operations(opcode) for opcode, group in self._stream.groups.items()}
        return (next(found[opcode]) for opcode in self._stream.opcodes.tolist())  # each opcode's are in order already


def layouts_of(header: Header) -> Mapping[int, OperationLayout]:
    if header.version not in LAYOUTS:
        known = ", ".join(f"{major}.{minor}" for major, minor in LAYOUTS)
        raise TxnError(0, "unsupported TXN version {}.{}; known are {}".format(*header.version, known))
    return (LONG_PATCH_LAYOUTS if header.long_patches else LAYOUTS)[header.version]


def _layout(layouts: Mapping[int, OperationLayout], opcode: int) -> OperationLayout:
    if opcode not in layouts:
        raise TxnError(None, f"opcode {opcode} ({opcode_name(opcode)}) has no known layout in this stream's version")
    return layouts[opcode]


def _gather(opcode: int, layout: OperationLayout, ops: list[Operation], positions: list[int]) -> OpcodeGroup:
    for op in ops:
        _check_fields(op, layout)
    payloads = [
        op.payload if len(op.payload) else np.zeros(layout.default_payload_words, dtype=np.uint32) for op in ops
    ]
    if layout.size_word is None and any(len(p) for p in payloads):
        raise TxnError(None, f"{opcode_name(opcode)} takes no payload")
    starts = np.concatenate(([0], np.cumsum([len(p) for p in payloads], dtype=np.int64)))
    columns = {name: np.array([op.fields.get(name, 0) for op in ops], dtype=np.uint32) for name in layout.fields}
    return OpcodeGroup(layout, np.array(positions, dtype=np.int64), columns, _joined(payloads), starts)


def _joined(payloads: list[Words]) -> Words:
    return np.concatenate(payloads) if payloads else np.empty(0, dtype=np.uint32)


def _check_fields(op: Operation, layout: OperationLayout) -> None:
    for name, value in op.fields.items():
        bits = layout.fields.get(name)
        if bits is None and not value and _is_elsewhere(op.opcode, name):
            continue
        if bits is None:
            raise TxnError(None, f"{op.name} has no field {name!r}; it has {', '.join(layout.fields)}")
        checked(f"{op.name}: {name}", value, bits.limits)


def _is_elsewhere(opcode: int, name: str) -> bool:
    """Whether operations have a field in another version; 0 in it is as good as none."""
    return any(opcode in layouts and name in layouts[opcode].fields for layouts in LAYOUTS.values())


def checked(what: str, value: object, limits: range) -> int:
    """A value as an integer; `TxnError` if it is none, or not within these limits."""
    try:
        number = index(cast(SupportsIndex, value))
    except TypeError:
        raise TxnError(None, f"{what} = {value!r:.80} is no integer; its range is [0:{limits[-1]}]") from None
    if number not in limits:
        raise TxnError(None, f"{what} = {number} does not fit; its range is [0:{limits[-1]}]")
    return number


def _is_words(payload: Any) -> TypeGuard[Words]:
    return isinstance(payload, np.ndarray) and (payload.dtype, payload.ndim) == (np.uint32, 1)  # pyright: ignore


def payload_words(opcode: int, payload: npt.ArrayLike) -> Words:
    """A payload as 32-bit words; `TxnError` if it is nothing of the kind."""
    try:
        values = np.asarray(payload)
    except ValueError:
        values = np.empty((0, 0))
    # numbers beyond 64 bits are objects to NumPy; an empty list is floating point
    if values.ndim != 1 or (len(values) and values.dtype.kind not in "uiO"):
        raise TxnError(None, f"{opcode_name(opcode)}: the payload is a list of 32-bit words, not {payload!r:.80}")
    for position, value in enumerate(values.tolist()):
        checked(f"{opcode_name(opcode)}: payload[{position}]", value, WORD)
    return values.astype(np.uint32)


def write(address: int, value: int) -> Operation:
    """Set the 32-bit register at an `address` to a `value`."""
    return Operation(Opcode.WRITE, address=address, value=value)


def mask_write(address: int, value: int, mask: int) -> Operation:
    """Set those bits of the register at an `address` that `mask` has to those of `value`."""
    return Operation(Opcode.MASKWRITE, address=address, value=value, mask=mask)


def block_write(address: int, data: npt.ArrayLike, column: int = 0, row: int = 0) -> Operation:
    """Set consecutive registers, from an `address` on, to the words of `data`; `column` and `row` are informative."""
    return Operation(Opcode.BLOCKWRITE, data, address=address, column=column, row=row)


def sync(column: int, row: int, direction: int, channel: int, columns: int = 1, rows: int = 1) -> Operation:
    """Wait for a task-complete token of a DMA `channel` (`direction` 0 is S2MM, 1 is MM2S) from each of some tiles.

    They are `columns` x `rows` tiles, from (`column`, `row`) on.
    """
    fields: dict[str, Any] = {"column_count": columns, "row_count": rows}
    return Operation(Opcode.TCT, column=column, row=row, direction=direction, channel=channel, **fields)


def address_patch(address: int, argument_index: int, argument_offset: int) -> Operation:
    """Put the address of the host buffer `argument_index`, plus `argument_offset` bytes, into a descriptor.

    Its address words are those at `address` and behind it.
    """
    fields: dict[str, Any] = {"argument_index": argument_index, "argument_offset": argument_offset}
    return Operation(Opcode.DDR_PATCH, address=address, **fields)


class TxnError(Error, ValueError):
    """A stream that is no TXN stream, or a damaged one; `offset` is the byte at which that shows, if it has one."""

    def __init__(self, offset: int | None, reason: str, file: str | None = None):
        self.offset, self.reason, self.file = offset, reason, file
        super().__init__(f"{_place(file, offset)}{reason}")

    def with_file(self, file: str) -> TxnError:
        return TxnError(self.offset, self.reason, file)


def _place(file: str | None, offset: int | None) -> str:
    parts = [file] if file else []
    if offset is not None:
        parts.append(f"at byte {offset} ({offset:#x})")
    return ": ".join(parts) + ": " if parts else ""
