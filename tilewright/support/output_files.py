"""Output files: written whole or not at all, one or several at once, under names that stay in their folder.

Names of letters, digits, `_`, `-`, `.` and `$` are file names as they stand. Other characters become `%` and two
hexadecimal digits for each byte, as in addresses of web pages; a name that is too long ends with `~` and a digest.
"""

from __future__ import annotations

import errno
import io
import os
import re
import shutil
import stat
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

SCRATCH_PREFIX = ".tilewright-"
"""What folders begin with in which files are made; none is left behind."""
READER_SECONDS = 5.0
"""How long a named pipe may be without a reader."""
_OPEN_FILES = "/dev/", "/proc/"
"""Names of files that are open already: these are written to, never replaced."""
LONGEST_FILE_NAME = 255
"""Bytes that the usual file systems take."""
EMPTY_NAME = "%"
_ORDINARY = re.compile(rb"[A-Za-z0-9_.$-]")
_DEVICE = re.compile(r"(con|prn|aux|nul|clock\$|conin\$|conout\$|com[0-9]|lpt[0-9])(\.|$)", re.IGNORECASE)
"""Names that Windows keeps for devices, with any suffix."""
_MADE = re.compile(r"[A-Za-z0-9_$%][A-Za-z0-9_.$%~-]*", re.ASCII)
_DIGEST_DIGITS = 16


def write_file(path: str | os.PathLike[str], data: bytes) -> None:
    """Write all of `data` or nothing. A link stays one, and devices and pipes are written to as they are."""
    given = os.fspath(path)
    try:
        mode = os.stat(given).st_mode
    except FileNotFoundError:
        mode = stat.S_IFREG
    if stat.S_ISDIR(mode):
        raise _failure(errno.EISDIR, given)
    if stat.S_ISREG(mode) and not given.startswith(_OPEN_FILES):
        folder, name = os.path.split(os.path.realpath(given))  # a link stays, what it leads to is replaced
        write_files(folder, {name: data})
        return
    with open(_open_pipe(given) if stat.S_ISFIFO(mode) else os.open(given, os.O_WRONLY), "wb") as stream:
        stream.write(data)


def _open_pipe(path: str) -> int:
    """A named pipe that something reads from; opening one that nothing reads from would wait for ever."""
    end = time.monotonic() + READER_SECONDS
    while True:
        try:
            handle = os.open(path, os.O_WRONLY | os.O_NONBLOCK)
        except OSError as error:
            if error.errno != errno.ENXIO or time.monotonic() > end:
                raise
            time.sleep(0.05)
        else:
            os.set_blocking(handle, True)
            return handle


def write_files(
    directory: str | os.PathLike[str], files: Mapping[str, bytes], obsolete: Iterable[str] = ()
) -> list[Path]:
    """Write all files into a folder that exists, and remove the obsolete ones; or leave everything as it is.

    Names may be in folders below, which are made. A file that is replaced keeps its permissions; a link is replaced
    itself, whatever it leads to.
    """
    target = Path(directory)
    modes = [_replaceable(target, name) for name in files]  # before anything is written
    # in the folder itself, since a rename does not cross file systems
    with tempfile.TemporaryDirectory(prefix=SCRATCH_PREFIX, dir=target, ignore_cleanup_errors=True) as scratch:
        made = [Path(scratch) / str(number) for number in range(len(files))]
        for path, data, mode in zip(made, files.values(), modes, strict=True):
            _write_new(path, data, mode)
        _install(Path(scratch), dict(zip((target / name for name in files), made, strict=True)))
        for name in obsolete:
            with suppress(OSError):
                os.unlink(target / name)
    return [target / name for name in files]


def _replaceable(directory: Path, name: str) -> int | None:
    """The permissions of a file that may be replaced, None if there is none; `OSError` for anything else."""
    path = directory / name
    if os.path.isabs(name) or os.pardir in Path(name).parts:
        raise _failure(errno.EINVAL, name)
    try:
        mode = os.lstat(path).st_mode
    except FileNotFoundError:
        return None
    if stat.S_ISLNK(mode):
        return None
    if not stat.S_ISREG(mode):
        raise _failure(errno.EISDIR if stat.S_ISDIR(mode) else errno.EEXIST, str(path))
    if not os.access(path, os.W_OK):
        raise _failure(errno.EACCES, str(path))
    return stat.S_IMODE(mode)


def _write_new(path: Path, data: bytes, mode: int | None) -> None:
    # with the permissions of the user's mask, which temporary files would not have
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666), "wb") as stream:
        stream.write(data)
    if mode is not None:
        os.chmod(path, mode)


def _install(scratch: Path, made: Mapping[Path, Path]) -> None:
    """Move files to their places; if one of them cannot be, what was there before is put back."""
    undo = list[Callable[[], object]]()
    try:
        for number, (place, path) in enumerate(made.items()):
            place.parent.mkdir(parents=True, exist_ok=True)
            before = scratch / f"before{number}"
            undo.append(partial(os.replace, before, place) if _kept(place, before) else partial(os.unlink, place))
            os.replace(path, place)
    except BaseException:  # an interrupt takes back what is half done, too
        for step in reversed(undo):
            with suppress(OSError):
                step()
        raise


def _kept(place: Path, copy: Path) -> bool:
    """Keep what is at a place, if anything is."""
    try:
        os.link(place, copy, follow_symlinks=False)
    except FileNotFoundError:
        return False
    except OSError:  # a file system without links
        shutil.copy2(place, copy, follow_symlinks=False)
    return True


def _failure(number: int, path: str) -> OSError:
    return OSError(number, os.strerror(number), path)


def array_files(arrays: Mapping[str, Any]) -> dict[str, bytes]:
    """NumPy arrays as files for `write_files`: `NAME.npy` for each name."""
    import numpy as np

    names, files = FileNames(), dict[str, bytes]()
    for name, array in arrays.items():
        data = io.BytesIO()
        np.save(data, array, allow_pickle=False)  # a pickle could run code when it is read
        files[f"{names.stem(name, '.npy')}.npy"] = data.getvalue()
    return files


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
        pieces, tries = _pieces(name), 0
        stem = "".join(pieces)
        if len(stem) + room > LONGEST_FILE_NAME:
            stem = _with_digest(pieces, name, room)
        while any(f"{stem}{suffix}".casefold() in self._taken for suffix in suffixes):
            tries += 1
            stem = _with_digest(pieces, f"{name}\0{tries}", room)
        self._taken.update(f"{stem}{suffix}".casefold() for suffix in suffixes)
        return stem


def _pieces(name: str) -> list[str]:
    """Each byte as a file name has it. What is special only at the beginning is written as a number there."""
    data = name.encode("utf-8", "surrogatepass")
    ordinary = [_ORDINARY.fullmatch(data, at, at + 1) is not None for at in range(len(data))]
    # hidden files, what tools take for options, and devices of Windows
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
