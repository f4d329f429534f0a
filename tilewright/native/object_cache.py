"""Machine code that is kept from one process to the next, under the user's cache folder."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path


def cache_folder() -> Path:
    """Where it is kept; TILEWRIGHT_CACHE names another place."""
    if named := os.environ.get("TILEWRIGHT_CACHE"):
        return Path(named)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tilewright"


def cached_object(key: str, make: Callable[[], bytes]) -> bytes:
    """What `make` gives, made once for each key: the key has to name everything that it depends on."""
    path = cache_folder() / f"{key}.o"
    try:
        return path.read_bytes()
    except OSError:
        data = make()
    keep_file(path, data)
    return data


def keep_file(path: Path, data: bytes) -> None:
    """Write a file whole or not at all; a folder that cannot be written to only costs time."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
            file.write(data)
        os.replace(file.name, path)
    except OSError:
        return
