"""File names for what programs name: whatever a name contains, its file lies in the folder that it is meant for.

Names of letters, digits, `_`, `-`, `.` and `$` are file names as they stand. Other characters become `%` and two
hexadecimal digits for each byte, as in addresses of web pages; a name that is too long ends with `~` and a digest.
"""

from __future__ import annotations

import re
from hashlib import sha256

LONGEST_FILE_NAME = 255
"""Bytes that the usual file systems take."""
EMPTY_NAME = "%"
_ORDINARY = re.compile(rb"[A-Za-z0-9_.$-]")
_DEVICE = re.compile(r"(con|prn|aux|nul|clock\$|conin\$|conout\$|com[0-9]|lpt[0-9])(\.|$)", re.IGNORECASE)
"""Names that Windows keeps for devices, with any suffix."""
_MADE = re.compile(r"[A-Za-z0-9_$%][A-Za-z0-9_.$%~-]*", re.ASCII)
_DIGEST_DIGITS = 16


def is_file_name(text: str) -> bool:
    """Whether a text is a file name that was made here."""
    return _MADE.fullmatch(text) is not None and len(text) <= LONGEST_FILE_NAME


class FileNames:
    """The files of one folder: each name gets one that no other has, not even where upper and lower case are one."""

    def __init__(self, *taken: str):
        self._taken = {name.casefold() for name in taken}

    def stem(self, name: str, *suffixes: str) -> str:
        """The part before each of the suffixes, of the files for a name."""
        room = max(map(len, suffixes), default=0)
        stem, tries = _shortened(name, room), 0
        while any(f"{stem}{suffix}".casefold() in self._taken for suffix in suffixes):
            tries += 1
            stem = _with_digest(_pieces(name), f"{name}\0{tries}", room)
        self._taken.update(f"{stem}{suffix}".casefold() for suffix in suffixes)
        return stem


def _shortened(name: str, room: int) -> str:
    pieces = _pieces(name)
    whole = "".join(pieces)
    return whole if len(whole) + room <= LONGEST_FILE_NAME else _with_digest(pieces, name, room)


def _pieces(name: str) -> list[str]:
    """Each byte as a file name has it. What is special only at the beginning is written as a number there."""
    data = name.encode("utf-8", "surrogatepass")
    ordinary = [_ORDINARY.fullmatch(data, at, at + 1) is not None for at in range(len(data))]
    if data and (data[0] in b".-" or _DEVICE.match(name)):
        ordinary[0] = False
    return [chr(byte) if plain else f"%{byte:02X}" for byte, plain in zip(data, ordinary, strict=True)] or [EMPTY_NAME]


def _with_digest(pieces: list[str], text: str, room: int) -> str:
    ending = f"~{sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()[:_DIGEST_DIGITS]}"
    most = LONGEST_FILE_NAME - room - len(ending)
    kept = ""
    for piece in pieces:
        if len(kept) + len(piece) > most:
            break
        kept += piece
    return kept + ending
