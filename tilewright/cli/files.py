"""Reading what a command is given and writing what it makes; `-` is stdin or stdout."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import BinaryIO

from tilewright.cli.errors import InputError
from tilewright.ir.limits import MOST_SOURCE_BYTES
from tilewright.support.output_files import write_file, write_files


def read_bytes(path: str) -> bytes:
    try:
        with nullcontext(_stdin()) if path == "-" else open(path, "rb") as file:
            data = file.read(MOST_SOURCE_BYTES + 1)  # a device may have no end
    except (OSError, ValueError) as error:
        raise InputError(f"cannot open input file '{path}': {_reason(error)}") from error
    if len(data) > MOST_SOURCE_BYTES:
        raise InputError(f"input file '{path}' has more than {MOST_SOURCE_BYTES} bytes")
    return data


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
        write_file(path, data)
    except (OSError, ValueError) as error:
        raise InputError(f"cannot open output file '{path}': {_reason(error)}") from error


def write_folder(directory: Path, files: Mapping[str, bytes]) -> list[Path]:
    """Write all files into a folder, which is made, or none of them."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        return write_files(directory, files)
    except (OSError, ValueError) as error:
        raise cannot_write(directory, error) from error


def cannot_write(directory: str | Path, error: Exception) -> InputError:
    """The error for a folder that files cannot be written to; names the file if it is a single one's fault."""
    return InputError(f"cannot write to '{getattr(error, 'filename', None) or directory}': {_reason(error)}")


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)
