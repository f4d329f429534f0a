"""TXN streams as text that people read and edit, and that assembles back to the same bytes.

    txn 0.1 generation 4 columns 8 rows 6 mem_tile_rows 1
    write shim(0,0) DMA.MM2S0.queue = 0x80000003
    sync shim(0,0) S2MM 0 columns 1 rows 1

A register is named by its tile and its place in it, or given as a number. Fields that the phrase of an operation does
not mention are written behind it in braces when they are not zero, payload words in brackets. `#` begins a comment.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np

from tilewright.device import DEVICES, DeviceModel, DmaDirection
from tilewright.device.register_names import find_address, name_address
from tilewright.txn.opcodes import LAYOUTS, Opcode, OperationLayout, opcode_name, opcode_number
from tilewright.txn.stream import WORD, Header, Operation, Stream, TxnError, layouts_of

# One phrase per operation: {field:form}; `[]` is the payload. Operations without a phrase are their name and fields.
PHRASES = {
    Opcode.WRITE: "write {address:register} = {value:hex}",
    Opcode.MASKWRITE: "maskwrite {address:register} = {value:hex} mask {mask:hex}",
    Opcode.MASKPOLL: "maskpoll {address:register} == {value:hex} mask {mask:hex}",
    Opcode.MASKPOLL_BUSY: "maskpoll_busy {address:register} == {value:hex} mask {mask:hex}",
    Opcode.BLOCKWRITE: "blockwrite {address:register} =",
    Opcode.TCT: "sync column {column:int} row {row:int} {direction:direction} {channel:int} "
    "columns {column_count:int} rows {row_count:int}",
    Opcode.DDR_PATCH: "patch {address:register} = argument {argument_index:int} + {argument_offset:hex}",
    Opcode.PREEMPT: "preempt level {level:int}",
    Opcode.LOADPDI: "loadpdi {id:int} bytes {pdi_bytes:int} address {address:hex}",
    Opcode.CREATE_SCRATCHPAD: "create_scratchpad bytes {scratchpad_bytes:int}",
    Opcode.UPDATE_REG: "update_reg {address:register} += entry {state_table_index:int} function {function:int} "
    "{function_argument:hex}",
}
_HEADER = (
    "txn {major}.{minor} generation {device_generation} columns {columns} rows {rows} mem_tile_rows {mem_tile_rows}"
)
_HEADER_WANTED = "expected 'txn MAJOR.MINOR generation N columns N rows N mem_tile_rows N'"
_NUMBER = r"0[xX][0-9a-fA-F]+|[0-9]+"
_COUNT = r"[0-9]{1,9}"
MOST_DIGITS = 40
"""Of a number: more than any field can hold, so that what is too large is still read and said to be."""


@dataclass(frozen=True)
class Form:
    """How a field's value is written and read."""

    pattern: str
    write: Callable[[int, DeviceModel | None], str]
    read: Callable[[str, DeviceModel | None], int]


def _write_register(address: int, model: DeviceModel | None) -> str:
    return (model and name_address(model, address)) or f"{address:#010x}"


def _read_number(text: str) -> int:
    """A number as C writes it, but not in octal; ValueError says what is wrong with another."""
    if len(text) > MOST_DIGITS:
        raise ValueError(f"{text[:MOST_DIGITS]}... does not fit into a word of 32 bits")
    if digits := re.fullmatch("0+([0-9]+)", text):  # C would read octal
        raise ValueError(f"{text} may be meant in decimal or in hexadecimal: write {digits[1]} or 0x{digits[1]}")
    return int(text, 0)


def _read_register(text: str, model: DeviceModel | None) -> int:
    if re.fullmatch(_NUMBER, text):
        return _read_number(text)
    if model is None:
        raise ValueError(f"the device of this stream is not known: give {text!r} as a number")
    return find_address(model, text)


def _write_direction(value: int, _: DeviceModel | None) -> str:
    return DmaDirection(value).name if value in tuple(DmaDirection) else str(value)


def _read_direction(text: str, _: DeviceModel | None) -> int:
    return _read_number(text) if text.isdigit() else DmaDirection[text]


FORMS = {
    "hex": Form(_NUMBER, lambda value, _: f"{value:#010x}", lambda text, _: _read_number(text)),
    "int": Form(_NUMBER, lambda value, _: str(value), lambda text, _: _read_number(text)),
    "register": Form(rf"{_NUMBER}|\w+\({_COUNT},{_COUNT}\) [\w.+]+", _write_register, _read_register),
    "direction": Form(r"S2MM|MM2S|[0-9]+", _write_direction, _read_direction),
}


@dataclass(frozen=True)
class Phrase:
    """A phrase split at its fields, and the pattern that reads it back."""

    literals: tuple[str, ...]
    fields: tuple[tuple[str, Form], ...]
    pattern: re.Pattern[str]


@cache
def _phrase(opcode: int) -> Phrase:
    source = PHRASES[Opcode(opcode)] if opcode in PHRASES else opcode_name(opcode).lower()
    parts = re.split(r"\{(\w+):(\w+)\}", source)
    fields = tuple((name, FORMS[form]) for name, form in zip(parts[1::3], parts[2::3], strict=True))
    pattern = "".join(
        _literal(text) + (f"({fields[i][1].pattern})" if i < len(fields) else "") for i, text in enumerate(parts[::3])
    )
    return Phrase(tuple(parts[::3]), fields, re.compile(pattern))


def _literal(text: str) -> str:
    return re.sub(r"\\? ", r"\\s+", re.escape(text))  # `re.escape` may have escaped blanks


def model_of(header: Header) -> DeviceModel | None:
    """The device that a header describes, if we know one."""
    for model in DEVICES.values():
        described = (model.txn_generation, model.columns, model.rows, model.mem_rows)
        if described == (header.device_generation, header.columns, header.rows, header.mem_tile_rows):
            return model
    return None


def operation_text(op: Operation, layout: OperationLayout, model: DeviceModel | None) -> str:
    """One line of text for one operation."""
    phrase = _phrase(op.opcode)
    text = phrase.literals[0]
    for (name, form), literal in zip(phrase.fields, phrase.literals[1:], strict=True):
        text += form.write(op.fields[name], model) + literal
    shown = {name for name, _ in phrase.fields}
    # what the phrase leaves out has to come back from `asm` as well
    rest = [f"{name} = {value:#x}" for name, value in op.fields.items() if value and name not in shown]
    default = [0] * layout.default_payload_words
    # The usual padding is not shown, so that the common case reads as one phrase.
    if op.payload.tolist() != default:
        text += " [" + ", ".join(f"{word:#010x}" for word in op.payload.tolist()) + "]"
    return text + (" {" + ", ".join(rest) + "}" if rest else "")


def disassemble(stream: Stream) -> Iterator[str]:
    """The lines of a stream's text."""
    header, model, layouts = stream.header, model_of(stream.header), layouts_of(stream.header)
    yield _HEADER.format_map(vars(header)) + (f" pad {header.pad}" if header.pad else "")
    for op in stream.operations:
        yield operation_text(op, layouts[op.opcode], model)


class TextError(TxnError):
    """Text that cannot be assembled; `line` and `column` count from 1."""

    def __init__(self, line: int, column: int, reason: str):
        super().__init__(None, reason)
        self.line, self.column = line, column


def assemble(text: str) -> Stream:
    """Read the text form; TextError with line and column where it is not one."""
    header: Header | None = None
    operations: list[Operation] = []
    for number, line in enumerate(text.splitlines(), start=1):
        code = line.split("#", 1)[0].rstrip()
        if not code.strip():
            continue
        if header is None:
            header = _read_header(code, number)
            continue
        operations.append(_read_operation(code, number, header))
    if header is None:
        raise TextError(1, 1, f"{_HEADER_WANTED} as the first line")
    return Stream.of(header, operations)


_HEADER_PATTERN = re.compile(
    rf"\s*txn\s+(?P<major>{_COUNT})\.(?P<minor>{_COUNT})\s+generation\s+(?P<device_generation>{_COUNT})"
    rf"\s+columns\s+(?P<columns>{_COUNT})\s+rows\s+(?P<rows>{_COUNT})\s+mem_tile_rows\s+(?P<mem_tile_rows>{_COUNT})"
    rf"(\s+pad\s+(?P<pad>{_COUNT}))?\s*"
)


def _read_header(code: str, line: int) -> Header:
    found = _HEADER_PATTERN.fullmatch(code)
    if not found:
        raise TextError(line, 1, _HEADER_WANTED)
    values = {name: int(value) for name, value in found.groupdict(default="0").items()}
    try:
        header = Header(**values)
    except TxnError as error:
        raise TextError(line, 1, error.reason) from None
    # Only here, where a line is known, not in the header's own check.
    if header.version not in LAYOUTS:
        raise TextError(line, 1, "unsupported TXN version {}.{}".format(*header.version))
    return header


_MNEMONICS = {_phrase(opcode).literals[0].split()[0]: opcode for opcode in PHRASES}


def _read_operation(code: str, line: int, header: Header) -> Operation:
    start = len(code) - len(code.lstrip())
    mnemonic = code.split()[0]
    try:
        opcode = _MNEMONICS[mnemonic] if mnemonic in _MNEMONICS else opcode_number(mnemonic.upper())
    except (KeyError, ValueError):
        raise TextError(line, start + 1, f"unknown operation {mnemonic!r}") from None
    layout = layouts_of(header).get(opcode)
    if layout is None:
        raise TextError(line, start + 1, f"{mnemonic} has no known layout in this stream's version")
    phrase, model = _phrase(opcode), model_of(header)
    found = phrase.pattern.match(code, start)
    if not found:
        example = "".join(_example(opcode))
        raise TextError(line, start + 1, f"expected '{example}'")
    fields: dict[str, int] = {}
    for index, (name, form) in enumerate(phrase.fields, start=1):
        try:
            fields[name] = form.read(found[index], model)
        except (ValueError, KeyError) as error:
            raise TextError(line, found.start(index) + 1, str(error)) from None
    payload, more = _read_rest(code, found.end(), line)
    fields |= more
    for name, value in fields.items():
        if name not in layout.fields:
            raise TextError(line, start + 1, f"{mnemonic} has no field {name!r}; it has {', '.join(layout.fields)}")
        if value not in layout.fields[name].limits:
            raise TextError(line, start + 1, f"{name} = {value:#x} does not fit into its bits")
    if payload is not None and layout.size_word is None:
        raise TextError(line, start + 1, f"{mnemonic} takes no payload")
    words = payload if payload is not None else [0] * layout.default_payload_words
    return Operation(opcode, np.array(words, dtype=np.uint32), **{n: fields.get(n, 0) for n in layout.fields})


def _read_word(match: re.Match[str], begin: int, line: int, group: int = 0) -> int:
    """The 32-bit number that a match found in the text from column `begin` on."""
    try:
        number = _read_number(match[group])
    except ValueError as error:
        raise TextError(line, begin + match.start(group) + 1, str(error)) from None
    if number not in WORD:
        raise TextError(line, begin + match.start(group) + 1, f"{match[group]} does not fit into a word of 32 bits")
    return number


def _example(opcode: int) -> Iterator[str]:
    phrase = _phrase(opcode)
    for index, literal in enumerate(phrase.literals):
        yield literal
        if index < len(phrase.fields):
            yield phrase.fields[index][0].upper()


_PAYLOAD = re.compile(rf"\s*\[((?:\s*(?:{_NUMBER})\s*(?:,|(?=\])))*\s*)\]")
_FIELDS = re.compile(rf"\s*\{{((?:\s*\w+\s*=\s*(?:{_NUMBER})\s*(?:,|(?=\}})))*\s*)\}}")


def _read_rest(code: str, at: int, line: int) -> tuple[list[int] | None, dict[str, int]]:
    """Payload in brackets and fields in braces, both optional."""
    payload: list[int] | None = None
    fields: dict[str, int] = {}
    if found := _PAYLOAD.match(code, at):
        payload, at = [_read_word(word, found.start(1), line) for word in re.finditer(_NUMBER, found[1])], found.end()
    if found := _FIELDS.match(code, at):
        for pair in re.finditer(rf"(\w+)\s*=\s*({_NUMBER})", found[1]):
            fields[pair[1]] = _read_word(pair, found.start(1), line, group=2)
        at = found.end()
    if rest := code[at:].lstrip():
        raise TextError(line, len(code) - len(rest) + 1, f"unexpected {rest!r}")
    return payload, fields
