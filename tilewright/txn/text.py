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
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from itertools import filterfalse, pairwise, repeat
from typing import NamedTuple

import numpy as np

from tilewright.device import DEVICES, Arch, DeviceModel
from tilewright.device.layout import WORD_BYTES
from tilewright.txn.codec import encode, lay_out, read_operations
from tilewright.txn.meanings import EXPLAINED, register_meanings
from tilewright.txn.opcodes import LAYOUTS, Opcode, OperationLayout, opcode_number
from tilewright.txn.phrases import COUNT, NUMBER, PHRASES, phrase_of, read_number
from tilewright.txn.register_text import (
    MOST_VALUES,
    PHRASED,
    Kept,
    RegisterOperation,
    RegisterTexts,
    register_texts,
)
from tilewright.txn.stream import (
    HEADER_WORDS,
    WORD,
    Header,
    Indices,
    OpcodeGroup,
    Operation,
    Stream,
    TxnError,
    Words,
    layouts_of,
)

_HEADER = (
    "txn {major}.{minor} generation {device_generation} columns {columns} rows {rows} mem_tile_rows {mem_tile_rows}"
)
_HEADER_WANTED = "expected 'txn MAJOR.MINOR generation N columns N rows N mem_tile_rows N'"
MOST_LINES, LONGEST_LINE = 1 << 15, 512
"""Lines that are read once when they come again."""
MOST_BRACES = 1 << 15
"""Fields in braces whose text is kept: bits that nothing reads have many values."""
PIECE_WORDS, KEPT_CHARACTERS = 1 << 17, 1 << 26
"""Words of a stream whose lines are made at a time, and the text that is kept for operations that come again."""


def model_of(header: Header) -> DeviceModel | None:
    """The device that a header describes, if we know one."""
    for model in DEVICES.values():
        described = (model.txn_generation, model.columns, model.rows, model.mem_rows)
        if described == (header.device_generation, header.columns, header.rows, header.mem_tile_rows):
            return model
    return None


def disassemble(stream: Stream, *, explained: bool = False, by_register: bool = False) -> Iterator[str]:
    """The lines of a stream's text; with a comment on what they mean where that is asked for and known.

    Args:
        stream: what to write
        explained: whether lines get comments
        by_register: whether lines say what is in registers by name and field, where that is known
    """
    header, model = stream.header, model_of(stream.header)
    yield _header_line(header)
    texts = register_texts(model.name) if by_register and model is not None and model.arch is not Arch.AIE1 else None
    known = dict[bytes, str]()
    characters = 0
    for operations in _pieces(stream):
        # four of five operations of production streams were there before, to the last bit
        new = [*dict.fromkeys(filterfalse(known.__contains__, operations))]
        words = np.frombuffer(bytes(HEADER_WORDS * WORD_BYTES) + b"".join(new), dtype=np.uint32)
        lines = [*_new_lines(read_operations(words, header, len(new)), model, explained, texts)]
        known.update(zip(new, lines, strict=True))
        yield from map(known.__getitem__, operations)
        characters += sum(map(len, lines))
        if characters > KEPT_CHARACTERS:
            known.clear()
            characters = 0


def _header_line(header: Header) -> str:
    pad = f" pad {header.pad}" if header.pad else ""
    return _HEADER.format_map(vars(header)) + pad + (" long_patches" if header.long_patches else "")


def _pieces(stream: Stream) -> Iterator[list[bytes]]:
    """The words of each operation, those of some operations at a time."""
    words = encode(stream)
    starts, end = lay_out(stream)
    firsts = np.flatnonzero(np.diff(starts // PIECE_WORDS, prepend=-1, append=-1))
    starts = np.append(starts, end)
    for first, last in pairwise(firsts.tolist()):
        data = words[starts[first] : starts[last]].tobytes()
        offsets = ((starts[first : last + 1] - starts[first]) * WORD_BYTES).tolist()
        yield [data[start:stop] for start, stop in pairwise(offsets)]


def _new_lines(
    stream: Stream, model: DeviceModel | None, explained: bool, texts: RegisterTexts | None
) -> Iterator[str]:
    """The lines of operations that have none yet, made opcode by opcode, column by column."""
    lines = {opcode: _group_lines(opcode, group, model, explained, texts) for opcode, group in stream.groups.items()}
    return (next(lines[opcode]) for opcode in stream.opcodes.tolist())  # each opcode's are in order already


def _group_lines(
    opcode: int, group: OpcodeGroup, model: DeviceModel | None, explained: bool, texts: RegisterTexts | None
) -> Iterator[str]:
    columns = {name: column.tolist() for name, column in group.fields.items()}
    words: list[int] = group.payload.tolist()
    payloads = [words[start:end] for start, end in pairwise(group.payload_starts.tolist())]
    plain = _phrases(opcode, columns, model)
    brackets = _payload_texts(group.layout, group.payload, group.payload_starts)
    braces = _braces(opcode, columns)
    if texts is not None and opcode in PHRASED:
        return _register_lines(opcode, texts.phrases(opcode, columns, payloads), plain, brackets, braces)
    parts = zip(plain, brackets, braces, strict=False)
    if not explained or model is None or opcode not in EXPLAINED:
        return map("".join, parts)
    comments = register_meanings(model.name).of_operations(opcode, columns, payloads)
    return (
        f"{text}{words}{others}  # {comment}" if comment else f"{text}{words}{others}"
        for (text, words, others), comment in zip(parts, comments, strict=False)
    )


def _register_lines(
    opcode: int, said: Iterator[str | None], plain: Iterator[str], brackets: Iterator[str], braces: Iterator[str]
) -> Iterator[str]:
    """What registers have by name, or the phrase with numbers where nothing is said."""
    says_payload = opcode == Opcode.BLOCKWRITE
    for text, numbers, words, others in zip(said, plain, brackets, braces, strict=False):
        if text is None:
            yield f"{numbers}{words}{others}"
        else:
            yield f"{text}{'' if says_payload else words}{others}"


def _phrases(opcode: int, columns: Mapping[str, list[int]], model: DeviceModel | None) -> Iterator[str]:
    phrase = phrase_of(opcode)
    shown = [
        columns[name] if form.word is None else [*map(form.word(model), columns[name])] for name, form in phrase.fields
    ]
    return map(phrase.template.__mod__, zip(*shown, strict=True)) if shown else repeat(phrase.template)


def _payload_texts(layout: OperationLayout, payload: Words, payload_starts: Indices) -> Iterator[str]:
    """Payloads in brackets. The usual padding is not shown, so that the common case reads as one phrase."""
    default = bytes(WORD_BYTES * layout.default_payload_words)
    data = payload.astype(">u4").tobytes()
    for start, end in pairwise((WORD_BYTES * payload_starts).tolist()):
        words = data[start:end]
        if words == default:
            yield ""
        else:
            yield f" [0x{words.hex(',', WORD_BYTES).replace(',', ', 0x')}]" if words else " []"


def _braces(opcode: int, columns: Mapping[str, list[int]]) -> Iterator[str]:
    """The fields that the phrase leaves out: they have to come back from `asm` as well."""
    spoken = {name for name, _ in phrase_of(opcode).fields}
    left_out = {name: column for name, column in columns.items() if name not in spoken and any(column)}
    if not left_out:
        return repeat("")
    return map(_fields_in_braces(tuple(left_out)).__getitem__, zip(*left_out.values(), strict=True))


@cache
def _fields_in_braces(names: tuple[str, ...]) -> Kept[tuple[int, ...], str]:
    def text(values: tuple[int, ...]) -> str:
        found = [f"{name} = {value:#x}" for name, value in zip(names, values, strict=True) if value]
        return " {" + ", ".join(found) + "}" if found else ""

    return Kept(text, MOST_BRACES)


def operation_text(op: Operation, layout: OperationLayout, model: DeviceModel | None) -> str:
    """One line of text for one operation."""
    columns = {name: [value] for name, value in op.fields.items()}
    (payload,) = _payload_texts(layout, op.payload, np.array([0, len(op.payload)]))
    return f"{next(_phrases(op.opcode, columns, model))}{payload}{next(_braces(op.opcode, columns))}"


def explain(op: Operation, model: DeviceModel | None) -> str:
    """The fields that an operation sets, `name = value`, those of value 0 left out; empty if they are not known.

    A block that covers several descriptors has the fields of each, set apart by `;`.
    """
    if model is None or op.opcode not in EXPLAINED:
        return ""
    columns = {name: [value] for name, value in op.fields.items()}
    return next(register_meanings(model.name).of_operations(op.opcode, columns, [op.payload.tolist()]))


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
    rf"\s*txn\s+(?P<major>{COUNT})\.(?P<minor>{COUNT})\s+generation\s+(?P<device_generation>{COUNT})"
    rf"\s+columns\s+(?P<columns>{COUNT})\s+rows\s+(?P<rows>{COUNT})\s+mem_tile_rows\s+(?P<mem_tile_rows>{COUNT})"
    rf"(\s+pad\s+(?P<pad>{COUNT}))?(\s+(?P<long_patches>long_patches))?\s*"
)


def _read_header(code: str, line: int) -> Header:
    found = _HEADER_PATTERN.fullmatch(code)
    if not found:
        raise TextError(line, 1, _HEADER_WANTED)
    numbers = found.groupdict(default="0")
    numbers["long_patches"] = str(int(numbers["long_patches"] != "0"))
    try:
        header = Header(**{name: int(number) for name, number in numbers.items()})
    except TxnError as error:
        raise TextError(line, 1, error.reason) from None
    # Only here, where a line is known, not in the header's own check.
    if header.version not in LAYOUTS:
        raise TextError(line, 1, "unsupported TXN version {}.{}".format(*header.version))
    return header


_MNEMONICS = {phrase_of(opcode).literals[0].split()[0]: opcode for opcode in PHRASES}
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
    phrase = phrase_of(opcode)
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
        number = read_number(match[group])
    except ValueError as error:
        raise TextError(1, begin + match.start(group) + 1, str(error)) from None
    if number not in WORD:
        raise TextError(1, begin + match.start(group) + 1, f"{match[group]} does not fit into a word of 32 bits")
    return number


def _example(opcode: int) -> Iterator[str]:
    phrase = phrase_of(opcode)
    for index, literal in enumerate(phrase.literals):
        yield literal
        if index < len(phrase.fields):
            yield phrase.fields[index][0].upper()


_WORDS = re.compile(r"\s*\[((?:0x[0-9a-f]{8}, )*0x[0-9a-f]{8})\]")
"""A payload as `disassemble` writes it, which is read at once."""
_PAYLOAD = re.compile(rf"\s*\[((?:\s*(?:{NUMBER})\s*(?:,|(?=\])))*\s*)\]")
_FIELDS = re.compile(rf"\s*\{{((?:\s*\w+\s*=\s*(?:{NUMBER})\s*(?:,|(?=\}})))*\s*)\}}")


@lru_cache(maxsize=MOST_VALUES)
def _fields_only(rest: str) -> dict[str, int] | None:
    """The end of most lines; None where it is another one, or wrong."""
    if not rest:
        return {}
    found = _FIELDS.fullmatch(rest)
    try:
        pairs = re.finditer(rf"(\w+)\s*=\s*({NUMBER})", found[1]) if found else None
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
        payload, at = [_read_word(word, found.start(1)) for word in re.finditer(NUMBER, found[1])], found.end()
    if found := _FIELDS.match(code, at):
        for pair in re.finditer(rf"(\w+)\s*=\s*({NUMBER})", found[1]):
            fields[pair[1]] = _read_word(pair, found.start(1), group=2)
        at = found.end()
    if rest := code[at:].lstrip():
        raise TextError(1, len(code) - len(rest) + 1, f"unexpected {rest!r}")
    return payload, fields
