"""Locks on files, for processes that share a folder."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from io import TextIOWrapper

POLL_SECONDS = 0.005


@contextmanager
def file_lock(lock_file_path: str | os.PathLike[str], timeout_seconds: float = 60) -> Generator[TextIOWrapper]:
    """Have a file to oneself inside the block; others that ask wait, and get a TimeoutError in the end."""
    folder = os.path.dirname(lock_file_path)
    if folder:
        os.makedirs(folder, exist_ok=True)
    with open(lock_file_path, "a+") as file:
        _acquire(file, os.fspath(lock_file_path), time.monotonic() + timeout_seconds, timeout_seconds)
        try:
            yield file
        finally:
            _unlock(file)


def _acquire(file: TextIOWrapper, path: str, deadline: float, seconds: float) -> None:
    while not _try_lock(file):
        if time.monotonic() > deadline:
            raise TimeoutError(f"Could not acquire lock on {path} within {seconds} seconds")
        time.sleep(POLL_SECONDS)


def _try_lock(file: TextIOWrapper) -> bool:
    try:
        _set_lock(file, True)
    except OSError:
        return False
    return True


def _unlock(file: TextIOWrapper) -> None:
    _set_lock(file, False)


def _set_lock(file: TextIOWrapper, is_locked: bool) -> None:
    # Each system has one of the two modules.
    if sys.platform == "win32":  # pragma: no cover
        import msvcrt

        file.seek(0)
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK if is_locked else msvcrt.LK_UNLCK, 1)
    else:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB if is_locked else fcntl.LOCK_UN)


__all__ = ["file_lock"]
