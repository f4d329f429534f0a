"""TXN streams as text that people read and edit, and that assembles back to the same bytes.

    txn 0.1 generation 4 columns 8 rows 6 mem_tile_rows 1
    write shim(0,0) DMA.MM2S0.queue = 0x80000003
    sync column 0 row 0 S2MM 0 columns 1 rows 1

A register is named by its tile and its place in it, or given as a number. Fields that the phrase of an operation does
not mention are written behind it in braces when they are not zero, payload words in brackets. `#` begins a comment.
`register_text` has the form that names fields of registers as well; both may stand in one text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from itertools import repeat, zip_longest
from typing import NamedTuple, TypeAlias

import numpy as np

from tilewright.device import DEVICES, Arch, DeviceModel, DeviceName, DmaDirection
from tilewright.device.layout import WORD_BYTES, Layout
from tilewright.device.register_fields import fields_at, layout_at, word_fields
from tilewright.device.register_names import find_address, name_address
from tilewright.txn.opcodes import LAYOUTS, Opcode, OperationLayout, opcode_name, opcode_number
from tilewright.txn.register_text import (
    MOST_ADDRESSES,
    MOST_VALUES,
    PHRASED,
    Kept,
    RegisterOperation,
    RegisterTexts,
    register_texts,
)
from tilewright.txn.stream import WORD, Header, OpcodeGroup, Operation, Stream, TxnError, layouts_of

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
MOST_LINES, LONGEST_LINE = 1 << 15, 512
"""Lines that are read once when they come again."""
MOST_DIGITS = 40
"""Of a number: more than any field can hold, so that what is too large is still read and said to be."""


@dataclass(frozen=True)
class Form:
    """How a field's value is written and read."""

    pattern: str
    conversion: str
    """Of `%`, which is given the number, or the text that `word` makes of it."""
    read: Callable[[str, DeviceModel | None], int]
    word: Callable[[DeviceModel | None], Callable[[int], str]] | None = None


@cache
def _register_names(device: DeviceName) -> Kept[int, str]:
    return Kept(lambda address: name_address(DEVICES[device], address) or f"{address:#010x}", MOST_ADDRESSES)


@cache
def _register_addresses(device: DeviceName) -> Kept[str, int]:
    return Kept(partial(find_address, DEVICES[device]), MOST_ADDRESSES)


def _register_word(model: DeviceModel | None) -> Callable[[int], str]:
    return "0x{:08x}".format if model is None else _register_names(model.name).__getitem__


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
    return _register_addresses(model.name)[text]


def _direction_word(_: DeviceModel | None) -> Callable[[int], str]:
    return lambda value: DmaDirection(value).name if value in tuple(DmaDirection) else str(value)


def _read_direction(text: str, _: DeviceModel | None) -> int:
    return _read_number(text) if text.isdigit() else DmaDirection[text]


FORMS = {
    "hex": Form(_NUMBER, "0x%08x", lambda text, _: _read_number(text)),
    "int": Form(_NUMBER, "%d", lambda text, _: _read_number(text)),
    "register": Form(rf"{_NUMBER}|\w+\({_COUNT},{_COUNT}\) [\w.+]+", "%s", _read_register, _register_word),
    "direction": Form(r"S2MM|MM2S|[0-9]+", "%s", _read_direction, _direction_word),
}


@dataclass(frozen=True)
class Phrase:
    """A phrase split at its fields, and the pattern that reads it back."""

    literals: tuple[str, ...]
    fields: tuple[tuple[str, Form], ...]
    pattern: re.Pattern[str]
    template: str
    """For `%`, which takes the fields in order."""


@cache
def _phrase(opcode: int) -> Phrase:
    source = PHRASES[Opcode(opcode)] if opcode in PHRASES else opcode_name(opcode).lower()
    parts = re.split(r"\{(\w+):(\w+)\}", source)
    fields = tuple((name, FORMS[form]) for name, form in zip(parts[1::3], parts[2::3], strict=True))
    pattern = "".join(
        _literal(text) + (f"({fields[i][1].pattern})" if i < len(fields) else "") for i, text in enumerate(parts[::3])
    )
    conversions = [form.conversion for _, form in fields]
    template = "".join(map("".join, zip_longest(parts[::3], conversions, fillvalue="")))
    return Phrase(tuple(parts[::3]), fields, re.compile(pattern), template)


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
    columns = {name: [value] for name, value in op.fields.items()}
    return next(_lines(op.opcode, layout, columns, [op.payload.tolist()], model))


def disassemble(stream: Stream, *, explained: bool = False, by_register: bool = False) -> Iterator[str]:
    """The lines of a stream's text; with a comment on what they mean where that is asked for and known.

    Args:
        stream: what to write
        explained: whether lines get comments
        by_register: whether lines say what is in registers by name and field, where that is known
    """
    header, model = stream.header, model_of(stream.header)
    yield _HEADER.format_map(vars(header)) + (f" pad {header.pad}" if header.pad else "")
    texts = register_texts(model.name) if by_register and model is not None and model.arch is not Arch.AIE1 else None
    lines = {opcode: _group_lines(opcode, group, model, explained, texts) for opcode, group in stream.groups.items()}
    yield from (next(lines[opcode]) for opcode in stream.opcodes.tolist())  # each opcode's are in order already


def _group_lines(
    opcode: int, group: OpcodeGroup, model: DeviceModel | None, explained: bool, texts: RegisterTexts | None
) -> Iterator[str]:
    """The lines of all operations of an opcode, made some thousands at a time: column by column is faster."""
    for columns, payloads in group.pieces():
        if texts is not None and opcode in PHRASED:
            yield from _lines(opcode, group.layout, columns, payloads, model, texts)
            continue
        lines = _lines(opcode, group.layout, columns, payloads, model)
        if not explained or model is None or opcode not in _EXPLAINED:
            yield from lines
            continue
        for line, comment in zip(lines, _comments(opcode, columns, payloads, model), strict=True):
            yield f"{line}  # {comment}" if comment else line


def _lines(
    opcode: int,
    layout: OperationLayout,
    columns: Mapping[str, list[int]],
    payloads: list[list[int]],
    model: DeviceModel | None,
    registers: RegisterTexts | None = None,
) -> Iterator[str]:
    phrase = _phrase(opcode)
    shown = [
        columns[name] if form.word is None else [*map(form.word(model), columns[name])] for name, form in phrase.fields
    ]
    texts = map(phrase.template.__mod__, zip(*shown, strict=True)) if shown else repeat(phrase.template)
    # What the phrase leaves out has to come back from `asm` as well.
    spoken = {name for name, _ in phrase.fields}
    left_out = {name: column for name, column in columns.items() if name not in spoken and any(column)}
    in_braces = Kept(partial(_fields_in_braces, [*left_out]), MOST_VALUES)
    others = map(in_braces.__getitem__, zip(*left_out.values(), strict=True)) if left_out else repeat("")
    # The usual padding is not shown, so that the common case reads as one phrase.
    default = [0] * layout.default_payload_words
    if registers is None:
        for text, payload, other in zip(texts, payloads, others, strict=False):
            words = "" if payload == default else _payload_template(len(payload)) % tuple(payload)
            yield f"{text}{words}{other}"
        return
    said = registers.phrases(opcode, columns, payloads)
    has_said_payload = opcode == Opcode.BLOCKWRITE
    for plain, text, payload, other in zip(texts, said, payloads, others, strict=False):
        is_silent = payload == default or (has_said_payload and text is not None)
        words = "" if is_silent else _payload_template(len(payload)) % tuple(payload)
        yield f"{text or plain}{words}{other}"


def _fields_in_braces(names: Sequence[str], values: Sequence[int]) -> str:
    found = [f"{name} = {value:#x}" for name, value in zip(names, values, strict=True) if value]
    return " {" + ", ".join(found) + "}" if found else ""


@cache
def _payload_template(words: int) -> str:
    return f" [{', '.join(['0x%08x'] * words)}]"


_EXPLAINED = (Opcode.WRITE, Opcode.MASKWRITE, Opcode.BLOCKWRITE)


def _comments(
    opcode: int, columns: Mapping[str, list[int]], payloads: list[list[int]], model: DeviceModel
) -> Iterator[str]:
    match opcode:
        case Opcode.BLOCKWRITE:
            return map(partial(words_meaning, model), columns["address"], payloads)
        case Opcode.WRITE:
            return (
                words_meaning(model, at, [value])
                for at, value in zip(columns["address"], columns["value"], strict=True)
            )
        case _:
            return map(partial(_masked_meaning, model), columns["address"], columns["value"], columns["mask"])


def explain(op: Operation, model: DeviceModel | None) -> str:
    """The fields that an operation sets, `name = value`, those of value 0 left out; empty if they are not known.

    A block that covers several descriptors has the fields of each, set apart by `;`.
    """
    if model is None or op.opcode not in _EXPLAINED:
        return ""
    return next(
        _comments(op.opcode, {name: [value] for name, value in op.fields.items()}, [op.payload.tolist()], model)
    )


def words_meaning(model: DeviceModel, address: int, words: Sequence[int]) -> str:
    """The fields that words set in consecutive registers, from an address on."""
    texts = [
        ", ".join(filter(None, [texts[words[index]] for index, texts in group]))
        for group in _meanings(model.name)[address, len(words)]
    ]
    return texts[0] if len(texts) == 1 else "; ".join(filter(None, texts))


def _masked_meaning(model: DeviceModel, address: int, value: int, mask: int) -> str:
    kept = fields_at(model, address, mask)
    fields = fields_at(model, address, value).items()
    return ", ".join(f"{name} = {value}" for name, value in fields if value and kept.get(name))


WordTexts: TypeAlias = "Kept[int, str]"
"""What the values of a register mean: `length = 64`."""


@cache
def _word_texts(layout: type[Layout], word: int) -> WordTexts:
    def text(value: int) -> str:
        fields = word_fields(layout, word, value).items()
        return ", ".join(f"{name} = {number}" for name, number in fields if number)

    return Kept(text, MOST_VALUES)


@cache
def _meanings(device: DeviceName) -> Kept[tuple[int, int], list[list[tuple[int, WordTexts]]]]:
    """By address and number of words: which of them mean something, descriptor by descriptor."""
    model = DEVICES[device]

    def find(block: tuple[int, int]) -> list[list[tuple[int, WordTexts]]]:
        (column, row), offset = model.locate(block[0])
        if not model.is_valid_tile(column, row):
            return []
        groups: list[list[tuple[int, WordTexts]]] = []
        names = set[str]()
        for index in range(block[1]):
            if (found := layout_at(model, model.tile_type(column, row), offset + WORD_BYTES * index)) is None:
                continue
            fields = word_fields(*found, 0).keys()
            # A field that comes a second time belongs to the next descriptor of the block.
            if not groups or names & fields:
                groups.append([])
                names.clear()
            groups[-1].append((index, _word_texts(*found)))
            names |= fields
        return groups

    return Kept(find, MOST_ADDRESSES)


class TextError(TxnError):
    """Text that cannot be assembled; `line` and `column` count from 1."""

    def __init__(self, line: int, column: int, reason: str):
        super().__init__(None, reason)
        self.line, self.column = line, column


class ReadLine(NamedTuple):
    """An operation as a line has it: its fields in the order of their layout."""

    opcode: int
    values: tuple[int, ...]
    payload: list[int]


@dataclass
class _Rows:
    """The operations of one opcode, while they are read."""

    positions: list[int]
    values: list[tuple[int, ...]]
    payload: list[int]
    payload_starts: list[int]

    def group(self, layout: OperationLayout) -> OpcodeGroup:
        columns = np.array(self.values, dtype=np.uint32).reshape(len(self.values), len(layout.fields)).T.copy()
        return OpcodeGroup(
            layout,
            np.array(self.positions, dtype=np.int64),
            dict(zip(layout.fields, columns, strict=True)),
            np.array(self.payload, dtype=np.uint32),
            np.array(self.payload_starts, dtype=np.int64),
        )


def assemble(text: str) -> Stream:
    """Read the text form; TextError with line and column where it is not one."""
    lines = enumerate(text.splitlines(), start=1)
    header: Header | None = None
    for number, line in lines:
        if code := _code(line):
            header = _read_header(code, number)
            break
    if header is None:
        raise TextError(1, 1, f"{_HEADER_WANTED} as the first line")
    found, opcodes = dict[int, _Rows](), bytearray()
    known = _known_lines(header)
    for number, line in lines:
        if not (code := _code(line)):
            continue
        try:
            opcode, values, payload = known[code] if len(code) < LONGEST_LINE else known.make(code)
        except TextError as error:
            raise TextError(number, error.column, error.reason) from None
        rows = found.get(opcode) or found.setdefault(opcode, _Rows([], [], [], [0]))
        rows.positions.append(len(opcodes))
        rows.values.append(values)
        rows.payload += payload
        rows.payload_starts.append(len(rows.payload))
        opcodes.append(opcode)
    groups = {opcode: rows.group(layouts_of(header)[opcode]) for opcode, rows in found.items()}
    return Stream(header, np.frombuffer(bytes(opcodes), dtype=np.uint8), groups)


@lru_cache(maxsize=2)
def _known_lines(header: Header) -> Kept[str, ReadLine]:
    """Streams of a family have most of their lines in common."""
    return Kept(partial(_read_operation, header=header, model=model_of(header)), MOST_LINES)


def _code(line: str) -> str:
    """A line without its comment."""
    return line.split("#", 1)[0].rstrip()


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
_BY_REGISTER = re.compile(r"\s*((?:\w+\(\d+,\d+\) \w[^:\[{]*:|wait |\w+ \w+\(\d+,\d+\) [\w.+]+:)[^\[{]*)")
"""The beginning of a line that names fields of registers, up to payload and other fields."""


def _read_operation(code: str, header: Header, model: DeviceModel | None) -> ReadLine:
    """What a line says. TextError has its column; in which line it is, the caller knows."""
    start = len(code) - len(code.lstrip())
    if model is not None and (by_register := _BY_REGISTER.match(code)):
        found, end = _read_by_register(by_register, model), by_register.end()
    else:
        found, end = _read_phrase(code, start, model, header)
    opcode, said, payload = found
    layout = layouts_of(header)[opcode]
    mnemonic = code.split()[0]
    given, more = _read_rest(code, end)
    if given is not None and payload is not None:
        raise TextError(1, end + 1, "the words are said already: leave out those in brackets")
    payload = given if payload is None else payload
    fields = {**said, **more}
    for name, value in fields.items():
        if name not in layout.fields:
            raise TextError(1, start + 1, f"{mnemonic} has no field {name!r}; it has {', '.join(layout.fields)}")
        if value not in layout.fields[name].limits:
            raise TextError(1, start + 1, f"{name} = {value:#x} does not fit into its bits")
    if payload is not None and layout.size_word is None:
        raise TextError(1, start + 1, f"{mnemonic} takes no payload")
    words = payload if payload is not None else [0] * layout.default_payload_words
    return ReadLine(opcode, tuple(fields.get(name, 0) for name in layout.fields), words)


def _read_by_register(found: re.Match[str], model: DeviceModel) -> RegisterOperation:
    text = found[1].rstrip()
    try:
        operation = register_texts(model.name).read(text)
    except ValueError as error:
        raise TextError(1, found.start(1) + 1, str(error)) from None
    if operation is None:
        wanted = "'TILE BD0: ...', 'TILE MM2S0: push BD0', 'wait TILE S2MM0' or 'write REGISTER: FIELD VALUE, ...'"
        raise TextError(1, found.start(1) + 1, f"expected {wanted}")
    return operation


def _read_phrase(code: str, start: int, model: DeviceModel | None, header: Header) -> tuple[RegisterOperation, int]:
    """An operation with numbers, and where its phrase ends."""
    mnemonic = code.split()[0]
    try:
        opcode = _MNEMONICS[mnemonic] if mnemonic in _MNEMONICS else opcode_number(mnemonic.upper())
    except (KeyError, ValueError):
        raise TextError(1, start + 1, f"unknown operation {mnemonic!r}") from None
    if opcode not in layouts_of(header):
        raise TextError(1, start + 1, f"{mnemonic} has no known layout in this stream's version")
    phrase = _phrase(opcode)
    found = phrase.pattern.match(code, start)
    if not found:
        raise TextError(1, start + 1, f"expected '{''.join(_example(opcode))}'")
    fields: dict[str, int] = {}
    for index, (name, form) in enumerate(phrase.fields, start=1):
        try:
            fields[name] = form.read(found[index], model)
        except (ValueError, KeyError) as error:
            raise TextError(1, found.start(index) + 1, str(error)) from None
    return RegisterOperation(opcode, fields), found.end()


def _read_word(match: re.Match[str], begin: int, group: int = 0) -> int:
    """The 32-bit number that a match found in the text from column `begin` on."""
    try:
        number = _read_number(match[group])
    except ValueError as error:
        raise TextError(1, begin + match.start(group) + 1, str(error)) from None
    if number not in WORD:
        raise TextError(1, begin + match.start(group) + 1, f"{match[group]} does not fit into a word of 32 bits")
    return number


def _example(opcode: int) -> Iterator[str]:
    phrase = _phrase(opcode)
    for index, literal in enumerate(phrase.literals):
        yield literal
        if index < len(phrase.fields):
            yield phrase.fields[index][0].upper()


_WORDS = re.compile(r"\s*\[((?:0x[0-9a-f]{8}, )*0x[0-9a-f]{8})\]")
"""A payload as `disassemble` writes it, which is read at once."""
_PAYLOAD = re.compile(rf"\s*\[((?:\s*(?:{_NUMBER})\s*(?:,|(?=\])))*\s*)\]")
_FIELDS = re.compile(rf"\s*\{{((?:\s*\w+\s*=\s*(?:{_NUMBER})\s*(?:,|(?=\}})))*\s*)\}}")


@lru_cache(maxsize=MOST_VALUES)
def _fields_only(rest: str) -> dict[str, int] | None:
    """The end of most lines; None where it is another one, or wrong."""
    if not rest:
        return {}
    found = _FIELDS.fullmatch(rest)
    try:
        pairs = re.finditer(rf"(\w+)\s*=\s*({_NUMBER})", found[1]) if found else None
        return None if pairs is None else {pair[1]: _read_word(pair, 0, group=2) for pair in pairs}
    except TextError:
        return None


def _read_rest(code: str, at: int) -> tuple[list[int] | None, dict[str, int]]:
    """Payload in brackets and fields in braces, both optional."""
    if (known := _fields_only(code[at:])) is not None:
        return None, known
    payload: list[int] | None = None
    fields: dict[str, int] = {}
    if found := _WORDS.match(code, at):
        digits = found[1].replace("0x", "").replace(", ", "")
        payload, at = np.frombuffer(bytes.fromhex(digits), dtype=">u4").tolist(), found.end()
    elif found := _PAYLOAD.match(code, at):
        payload, at = [_read_word(word, found.start(1)) for word in re.finditer(_NUMBER, found[1])], found.end()
    if found := _FIELDS.match(code, at):
        for pair in re.finditer(rf"(\w+)\s*=\s*({_NUMBER})", found[1]):
            fields[pair[1]] = _read_word(pair, found.start(1), group=2)
        at = found.end()
    if rest := code[at:].lstrip():
        raise TextError(1, len(code) - len(rest) + 1, f"unexpected {rest!r}")
    return payload, fields
