"""Files of words: the bytes themselves, or their text, hexadecimal or base64, that is written again as it was."""

from __future__ import annotations

import base64
import binascii
import re
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import accumulate
from typing import ClassVar

from tilewright.device.layout import WORD_BYTES
from tilewright.txn.stream import TxnError

_HEX = re.compile(rb"(0[xX])?([0-9a-fA-F]{1,8})")
_ASSEMBLY = re.compile(rb"(?:\s|#[^\n]*\n)*txn\b")
_BASE64 = re.compile(rb"[A-Za-z0-9+/\r\n]+={0,2}\s*")
LEAST_BYTES = 16
"""Of a stream, which has a header: what gives fewer is a word of a text."""
_TOKEN = re.compile(rb"[^\s,]+")


@dataclass
class WordFile:
    """The bytes of words, and how the file has them."""

    data: bytes
    form: ClassVar[str] = "binary"
    locate: Callable[[int], int] = field(default=lambda offset: offset, repr=False, compare=False)
    """Where in the file a byte is."""

    irregular: tuple[bytes, bytes] | None = None
    """A text and its bytes, where numbers or lines are not all written alike: it is kept for these bytes."""

    def write(self) -> bytes:
        if self.irregular is not None and self.irregular[1] == self.data:
            return self.irregular[0]
        return self.text()

    def text(self) -> bytes:
        """The file, written in a regular way."""
        return self.data

    @property
    def layout_bytes(self) -> int:
        """Bytes of the file that are kept as they are: what is not a digit of a text laid out in no regular way."""
        return max(len(self.irregular[0]) - 2 * len(self.irregular[1]), 0) if self.irregular else 0


@dataclass
class HexFile(WordFile):
    """Words as hexadecimal numbers, set apart by white space or commas."""

    form: ClassVar[str] = "hexadecimal"
    prefix: str = ""
    digits: int = 8
    is_upper: bool = True
    between: str = "\n"
    ending: str = "\n"

    def text(self) -> bytes:
        form = f"0{self.digits}{'X' if self.is_upper else 'x'}"
        words = (self.data[at : at + WORD_BYTES] for at in range(0, len(self.data), WORD_BYTES))
        numbers = [f"{self.prefix}{int.from_bytes(word, 'little'):{form}}" for word in words]
        return (self.between.join(numbers) + self.ending).encode()


@dataclass
class Base64File(WordFile):
    """Bytes as base64, in lines of one length or in a single one."""

    form: ClassVar[str] = "base64"
    line: int = 0
    between: str = "\n"
    ending: str = "\n"

    def text(self) -> bytes:
        text = base64.b64encode(self.data).decode()
        step = self.line or len(text) or 1
        return (self.between.join(text[at : at + step] for at in range(0, len(text), step)) + self.ending).encode()


def read_words(data: bytes) -> WordFile:
    """What a file has; `TxnError` with the offset if it is a text of something else."""
    if not is_text(data):
        return WordFile(data)
    tokens = [*_TOKEN.finditer(data)]
    if _HEX.fullmatch(tokens[0][0]) is not None:
        return _from_hex(data, tokens)
    if _BASE64.fullmatch(data) is not None and (found := _from_base64(data)) is not None:
        return found
    raise TxnError(0, "a text, but neither words in hexadecimal nor in base64, nor what `txn dis` writes")


def is_text(data: bytes) -> bool:
    """A raw stream has zero bytes in its header; printable text has none."""
    return bool(data.strip(b" \t\n\r\f,")) and re.fullmatch(rb"[\t\n\r\f -~\x80-\xff]*", data) is not None


def is_assembly(data: bytes) -> bool:
    """Whether a file is the text that `txn dis` writes."""
    return is_text(data) and _ASSEMBLY.match(data) is not None


def _from_hex(data: bytes, tokens: list[re.Match[bytes]]) -> HexFile:
    words = b"".join(_word(token).to_bytes(WORD_BYTES, "little") for token in tokens)
    places = [token.start() for token in tokens]

    def locate(at: int) -> int:
        return places[at // WORD_BYTES] if at // WORD_BYTES < len(places) else len(data)

    first = _HEX.fullmatch(tokens[0][0])
    assert first is not None
    made = HexFile(
        words,
        locate,
        prefix=(first[1] or b"").decode(),
        digits=len(first[2]),
        is_upper=re.search(rb"[a-f]", data.replace(b"0x", b"")) is None,
        between=data[tokens[0].end() : tokens[1].start()].decode("latin-1") if len(tokens) > 1 else "\n",
        ending=data[tokens[-1].end() :].decode("latin-1"),
    )
    if made.write() != data:
        made.irregular = data, words
    return made


def _word(token: re.Match[bytes]) -> int:
    found = _HEX.fullmatch(token[0])
    if found is None:
        shown = token[0][:20].decode("ascii", errors="replace")
        raise TxnError(token.start(), f"{shown!r} is no 32-bit word in hexadecimal")
    return int(found[2], 16)


def _from_base64(data: bytes) -> Base64File | None:
    lines = [*re.finditer(rb"\S+", data)]
    try:
        decoded = base64.b64decode(b"".join(line[0] for line in lines), validate=True)
    except binascii.Error:
        return None
    if len(decoded) < LEAST_BYTES:
        return None
    between = data[lines[0].end() : lines[1].start()].decode("latin-1") if len(lines) > 1 else "\n"
    ends = [*accumulate(len(line[0]) for line in lines)]

    def locate(at: int) -> int:
        sign = at * 4 // 3
        number = min(bisect_right(ends, sign), len(lines) - 1)
        return lines[number].start() + sign - (ends[number - 1] if number else 0)

    made = Base64File(
        decoded, locate, line=len(lines[0][0]), between=between, ending=data[lines[-1].end() :].decode("latin-1")
    )
    if made.write() != data:
        made.irregular = data, decoded
    return made
