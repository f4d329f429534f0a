"""Results that are kept from one process to the next, under the user's cache folder.

What is kept decides what this process executes. So it is used only if no one but the user can have written it: folders
and files are the user's own, no other user may write to them, and none of them is a link. Each file names the key that
it was kept for and has a digest of its contents; one that is damaged is made again.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
import sys
import threading
import warnings
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from hashlib import sha256
from pathlib import Path, PurePosixPath

import tilewright
from tilewright.errors import CacheWarning, Error
from tilewright.native import has_llvm
from tilewright.support.tracebacks import user_stack_level

PRIVATE_FOLDER, PRIVATE_FILE = 0o700, 0o600
WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH
LARGEST_FILE = 1 << 30
"""Bytes; anything larger was not kept here."""
CHECKS_OWNERS = hasattr(os, "geteuid") and hasattr(os, "O_NOFOLLOW") and os.open in os.supports_dir_fd
"""Whether this system can tell whose a file is; where it cannot, nothing is kept."""


class CacheError(Error):
    """A folder of the cache that is needed cannot be used; says why, and what to do."""


class _NotOurs(Exception):
    """Something in the cache that others may have put there, or may change."""


def cache_folder() -> Path:
    """The folder for everything that is kept; TILEWRIGHT_CACHE names another one."""
    if named := os.environ.get("TILEWRIGHT_CACHE"):
        return Path(named).absolute()
    base = os.environ.get("XDG_CACHE_HOME", "")
    return Path(base if os.path.isabs(base) else os.path.expanduser("~/.cache")) / "tilewright"


def cached_object(key: str, make: Callable[[], bytes]) -> bytes:
    """The machine code that `make` gives, made once for each key: it has to name everything that this depends on.

    What makes machine code, this package and LLVM, need not be named.
    """
    data = OBJECTS.read(key)
    if data is None:
        data = make()
        OBJECTS.keep(key, data)
    return data


def _llvm_version() -> str | None:
    if not has_llvm():
        return None
    import llvmlite

    return llvmlite.__version__


@cache
def package_key(*parts: str) -> str:
    """Changes with every Python file in these folders of this package, and with the programs that it is built on."""
    home, digest = Path(tilewright.__file__).parent, sha256()
    # Sizes as well as contents, so that two files cannot be read as one.
    digest.update(repr((tilewright.__version__, sys.version_info, _llvm_version())).encode())
    for path in (path for part in parts for path in sorted(home.glob(f"{part}/**/*.py" if part else "*.py"))):
        digest.update(f"{path.relative_to(home)}\0{path.stat().st_size}\0".encode() + path.read_bytes())
    return digest.hexdigest()


class CacheFolder:
    """The cache, or a folder in it, with one file for each key."""

    def __init__(self, suffix: str, name: str = ""):
        self.suffix, self.name = suffix, name
        self._names = (name,) if name else ()

    def path(self, key: str) -> Path:
        return cache_folder() / self.name / f"{key}{self.suffix}"

    def read(self, key: str) -> bytes | None:
        """The data that was kept for a key; None if there is none that can be trusted, or that is whole."""
        with _warning_once(), _opened(self._names, make=False) as folder:
            content = None if folder is None else _read_ours(folder, f"{key}{self.suffix}")
            head, _, data = (content or b"").partition(b"\n")
            return data if content is not None and head + b"\n" == _head(key, data) else None
        return None

    def keep(self, key: str, data: bytes) -> bool:
        """Keep data for a key, whole or not at all; a folder that cannot be written to only costs time."""
        with _warning_once(), suppress(OSError), _opened(self._names, make=True) as folder:
            if folder is not None:
                _write_ours(folder, f"{key}{self.suffix}", _head(key, data) + data)
                return True
        return False


OBJECTS = CacheFolder(".o")
SECRETS = CacheFolder(".secret")


def user_secret(name: str) -> bytes | None:
    """Bytes that this user alone has, made when first asked for; None where nothing can be kept."""
    if SECRETS.read(name) is None:
        SECRETS.keep(name, secrets.token_bytes(32))
    # what is there now: another process may have been faster
    return SECRETS.read(name)


def private_folder(*names: str) -> Path:
    """A folder in the cache, each name inside of the one before, made if it is not there.

    Raises:
        CacheError: if it cannot be made, or others than the user could have written to it
    """
    with _private(names):
        return cache_folder().joinpath(*names)


def private_files(folder: str, files: Mapping[str, bytes]) -> Path:
    """A folder in the cache with these files, for programs that take files: what differs from them is written again.

    Args:
        folder: its name, with `/` between folders
        files: contents by names, which may be in folders below

    Raises:
        CacheError: as `private_folder`, and for a file that is a link or another user's
    """
    outer = PurePosixPath(folder).parts
    for name, data in files.items():
        *inner, file = PurePosixPath(name).parts
        with _private((*outer, *inner)) as handle:
            if _read_ours(handle, file) != data:
                _write_ours(handle, file, data)
    return private_folder(*outer)


@contextmanager
def _private(names: Sequence[str]) -> Generator[int]:
    """A folder that has to be there, held open."""
    try:
        with _opened(names, make=True) as handle:
            if handle is None:
                raise _NotOurs("it cannot be made" if CHECKS_OWNERS else "this system does not tell whose files are")
            yield handle
    except (_NotOurs, OSError) as error:
        reason = error if isinstance(error, _NotOurs) else error.strerror
        shown = cache_folder().joinpath(*names)
        raise CacheError(f"{shown} cannot be used: {reason}; TILEWRIGHT_CACHE names another cache") from error


@contextmanager
def _opened(names: Sequence[str], make: bool) -> Generator[int | None]:
    """A folder of the cache, held open so that it stays the one that was looked at; None if there is none."""
    top = cache_folder()
    if not CHECKS_OWNERS or not top.is_absolute():
        yield None
        return
    for parent in reversed(top.parents if make else ()):
        with suppress(OSError):  # if one that is missing cannot be made, the last one cannot either
            parent.mkdir(PRIVATE_FOLDER)
    with ExitStack() as stack:
        handle: int | None = None
        # Folders are opened one inside of the other: none can be exchanged after it was looked at.
        for name in (str(top), *names):
            handle = stack.enter_context(_folder(name, handle, make))
            if handle is None:
                break
        yield handle


def _head(key: str, data: bytes) -> bytes:
    """The first line of a file: a comment to MLIR, with the key, and a digest of everything that the file is about."""
    about = f"{package_key('native')} {key}"
    return f"// tilewright cache 1 {key} {sha256(about.encode() + data).hexdigest()}\n".encode()


@contextmanager
def _folder(name: str, within: int | None, make: bool) -> Generator[int | None]:
    if make:
        with suppress(FileExistsError):
            os.mkdir(name, PRIVATE_FOLDER, dir_fd=within)
    try:
        handle = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=within)
    except OSError as error:
        if error.errno == errno.ENOENT or not _is_there(name, within):
            yield None
            return
        raise _NotOurs(f"{name} is no folder that can be used: {error.strerror}") from error
    try:
        _check_owner(name, os.fstat(handle))
        yield handle
    finally:
        os.close(handle)


def _is_there(name: str, within: int | None) -> bool:
    try:
        os.stat(name, dir_fd=within, follow_symlinks=False)
    except OSError:
        return False
    return True


def _check_owner(name: str, status: os.stat_result) -> None:
    if status.st_uid != os.geteuid():
        raise _NotOurs(f"{name} belongs to another user")
    if status.st_mode & WRITABLE_BY_OTHERS:
        raise _NotOurs(f"{name} can be written to by others: chmod go-w would change that, after a look into it")


def _check_file(name: str, status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode) or status.st_nlink > 1:
        raise _NotOurs(f"{name} is a link, or no file at all")
    _check_owner(name, status)


def _read_ours(folder: int, name: str) -> bytes | None:
    try:
        # A device is not even opened; what takes its place after this look is found out by the next.
        _check_file(name, os.stat(name, dir_fd=folder, follow_symlinks=False))
        handle = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _NotOurs(f"{name} cannot be opened: {error.strerror}") from error
    with open(handle, "rb") as stream:
        status = os.fstat(handle)
        _check_file(name, status)
        try:
            return stream.read() if status.st_size <= LARGEST_FILE else None
        except OSError:
            return None


def _write_ours(folder: int, name: str, content: bytes) -> None:
    """Replace a file by a new one, unless what is there is none that we may have made."""
    with suppress(FileNotFoundError):
        _check_file(name, os.stat(name, dir_fd=folder, follow_symlinks=False))
    # Under another name first: readers see the old file or the new one, never a part.
    made = f".{secrets.token_hex(8)}.new"
    handle = os.open(made, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, PRIVATE_FILE, dir_fd=folder)
    try:
        with open(handle, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(handle)
        os.replace(made, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        with suppress(OSError):
            os.unlink(made, dir_fd=folder)
        raise


_said = threading.Event()


@contextmanager
def _warning_once() -> Generator[None]:
    """Say why the cache is not used, once in a process; what is in the block ends there."""
    try:
        yield
    except _NotOurs as reason:
        if not _said.is_set():
            _said.set()
            text = f"the cache in {cache_folder()} is not used: {reason}"
            warnings.warn(text, CacheWarning, stacklevel=user_stack_level())
