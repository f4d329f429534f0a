"""What a program prints with C's `printf`, and what the runtime prints between that."""

from __future__ import annotations

import ctypes
import sys

STDOUT = "__stdoutp" if sys.platform == "darwin" else "stdout"
"""C's variable of that name."""
LINE_BUFFERED, BUFFER_BYTES = 1, 1 << 16
_buffer = ctypes.create_string_buffer(BUFFER_BYTES)  # C's library keeps using it until the process ends


def _library() -> ctypes.CDLL:
    return ctypes.CDLL(None)


def print_lines_at_once() -> None:
    """Let lines of `printf` out as they end, not when the process does: that may be by a signal."""
    library = _library()
    stdout = ctypes.c_void_p.in_dll(library, STDOUT)
    library.setvbuf(stdout, _buffer, LINE_BUFFERED, ctypes.c_size_t(BUFFER_BYTES))


def print_text(text: str) -> None:
    """Print in order with the program's own output."""
    _library().printf(b"%s", text.encode())


def flush_all() -> None:
    _library().fflush(None)
