"""Reading what a command is given and writing what it makes; `-` is stdin or stdout."""

from __future__ import annotations

import os
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from tilewright.cli.errors import InputError


def read_bytes(path: str) -> bytes:
    try:
        return _stdin().read() if path == "-" else Path(path).read_bytes()
    except (OSError, ValueError) as error:
        raise InputError(f"cannot open input file '{path}': {_reason(error)}") from error


def _stdin() -> BinaryIO:
    if sys.stdin is None:
        raise ValueError("standard input is closed")
    return sys.stdin.buffer


def read_text(path: str) -> str:
    """The text of a file. Bytes that are no UTF-8 become surrogates, for whoever reads the text to complain about."""
    return read_bytes(path).removeprefix(b"\xef\xbb\xbf").decode(errors="surrogateescape")


def write_text(path: str, text: str) -> None:
    data = text.encode(errors="surrogateescape")
    if path != "-":
        write_atomically(Path(path), data)
    elif hasattr(sys.stdout, "buffer"):
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
    else:
        sys.stdout.write(text)


def write_atomically(path: Path, data: bytes) -> None:
    """Write all of `data` or nothing: a file appears, or is replaced, only when it is complete."""
    try:
        if path.exists() and not path.is_file():
            path.write_bytes(data)  # a device or a pipe
        else:
            _replace(path.resolve(), data)
    except (OSError, ValueError) as error:
        raise InputError(f"cannot open output file '{path}': {_reason(error)}") from error


def _replace(target: Path, data: bytes) -> None:
    mode = target.stat().st_mode & 0o7777 if target.exists() else 0o666 & ~_umask()
    handle, temporary = tempfile.mkstemp(prefix=f".{target.name[:64]}.", dir=target.parent)
    try:
        with open(handle, "wb") as stream:
            stream.write(data)
        os.chmod(temporary, mode)
        os.replace(temporary, target)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)
