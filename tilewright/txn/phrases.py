"""The phrase of each operation in the text form, and how the values in it are written and read."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from itertools import zip_longest

from tilewright.device import DEVICES, DeviceModel, DeviceName, DmaDirection
from tilewright.device.register_names import find_address, name_address
from tilewright.txn.opcodes import Opcode, opcode_name
from tilewright.txn.register_text import MOST_ADDRESSES, Kept

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
NUMBER = r"0[xX][0-9a-fA-F]+|[0-9]+"
COUNT = r"[0-9]{1,9}"
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


def read_number(text: str) -> int:
    """A number as C writes it, but not in octal; ValueError says what is wrong with another."""
    if len(text) > MOST_DIGITS:
        raise ValueError(f"{text[:MOST_DIGITS]}... does not fit into a word of 32 bits")
    if digits := re.fullmatch("0+([0-9]+)", text):  # C would read octal
        raise ValueError(f"{text} may be meant in decimal or in hexadecimal: write {digits[1]} or 0x{digits[1]}")
    return int(text, 0)


def _read_register(text: str, model: DeviceModel | None) -> int:
    if re.fullmatch(NUMBER, text):
        return read_number(text)
    if model is None:
        raise ValueError(f"the device of this stream is not known: give {text!r} as a number")
    return _register_addresses(model.name)[text]


def _direction_word(_: DeviceModel | None) -> Callable[[int], str]:
    return lambda value: DmaDirection(value).name if value in tuple(DmaDirection) else str(value)


def _read_direction(text: str, _: DeviceModel | None) -> int:
    return read_number(text) if text.isdigit() else DmaDirection[text]


FORMS = {
    "hex": Form(NUMBER, "0x%08x", lambda text, _: read_number(text)),
    "int": Form(NUMBER, "%d", lambda text, _: read_number(text)),
    "register": Form(rf"{NUMBER}|\w+\({COUNT},{COUNT}\) [\w.+]+", "%s", _read_register, _register_word),
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
def phrase_of(opcode: int) -> Phrase:
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
