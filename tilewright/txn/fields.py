"""One operation from its fields, each a number or anything that stands for a word that is not known yet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

from tilewright.device.layout import WORD_BITS, WORD_BYTES, WORD_MASK, Field
from tilewright.txn.opcodes import OperationLayout, opcode_number
from tilewright.txn.stream import Header, TxnError, layouts_of

WHOLE_WORD = "word"
"""`word0`, `word1` ...: a word of an operation as a whole, beside the names that its layout has for parts of it."""

ValueT = TypeVar("ValueT")


def _named_layout(header: Header, name: str) -> tuple[int, OperationLayout]:
    try:
        opcode = opcode_number(name)
        return opcode, layouts_of(header)[opcode]
    except (KeyError, ValueError):
        text = "there is no operation {} in version {}.{} of the format".format(name, *header.version)
        raise TxnError(None, text) from None


def operation_words(
    header: Header, name: str, fields: Mapping[str, ValueT | int], payload: Sequence[ValueT | int] = ()
) -> list[ValueT | int]:
    """The words of an operation in streams with this header; what is no number takes the place of a whole word."""
    opcode, layout = _named_layout(header, name)
    words: list[ValueT | int] = [0] * layout.fixed_words
    words[0] = opcode
    if layout.size_word is not None:
        words[layout.size_word] = (layout.fixed_words + len(payload)) * WORD_BYTES
    elif payload:
        raise TxnError(None, f"{name} takes no payload")
    for field_name, value in fields.items():
        field = layout.fields.get(field_name) or _whole_word(field_name, layout)
        if field is None:
            known = ", ".join(layout.fields)
            raise TxnError(None, f"{name} has no field {field_name!r}; it has {known}, and word0 and so on")
        words[field.word] = _placed(f"{name}: {field_name}", value, field, words[field.word])
    return [*words, *(word & WORD_MASK if isinstance(word, int) else word for word in payload)]


def _whole_word(name: str, layout: OperationLayout) -> Field | None:
    number = name.removeprefix(WHOLE_WORD)
    is_word = number != name and number.isdecimal() and len(number) < 3 and int(number) < layout.fixed_words
    return Field(int(number), WORD_BITS - 1, 0) if is_word and int(number) != layout.size_word else None


def _placed(what: str, value: ValueT | int, field: Field, word: ValueT | int) -> ValueT | int:
    """A word with the field in it."""
    if field.width == WORD_BITS:
        return value & WORD_MASK if isinstance(value, int) else value
    if not isinstance(value, int) or not isinstance(word, int):
        raise TxnError(None, f"{what} is a part of word{field.word}: only the whole word can be a value")
    if value not in field.limits:
        raise TxnError(None, f"{what} = {value} does not fit; its range is [0:{field.limits[-1]}]")
    return word | value << field.lo
