"""Things that are imported or made when they are first used, one thread at a time; values that hold for a while."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from importlib import import_module
from typing import Any, TypeVar
from weakref import WeakValueDictionary

T = TypeVar("T")


def lazy_names(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """The `__getattr__` of a package: a name is the attribute of `module:attribute`, or the module itself."""

    def get(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module, _, attribute = homes[name].partition(":")
        found = import_module(module)
        return getattr(found, attribute) if attribute else found

    return get


def listed_names(package: str, *names: str) -> Callable[[], list[str]]:
    """The `__dir__` of a package: its public names and these, for those who press Tab; not what it needs itself."""

    def list_names() -> list[str]:
        module = sys.modules[package]
        own = (name for name in vars(module) if name.startswith("__"))  # what `dir` of any module has
        return sorted({*own, *getattr(module, "__all__", ()), *names})

    return list_names


def once(make: Callable[[], T]) -> Callable[[], T]:
    """Call `make` the first time only; threads that ask meanwhile wait. `functools.cache` would let each call it."""
    lock, made = threading.RLock(), list[T]()

    @wraps(make)
    def get() -> T:
        if not made:
            with lock:
                if not made:
                    made.append(make())
        return made[0]

    return get


class KeyedLocks:
    """A lock for each key, there for as long as some thread holds it or waits for it."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._locks = WeakValueDictionary[str, threading.Lock]()

    @contextmanager
    def holding(self, key: str) -> Generator[None]:
        """Let one thread at a time into blocks of this key."""
        # two threads that come first at once would otherwise have a lock each
        with self._guard:
            lock = self._locks.get(key)
            if lock is None:
                lock = self._locks[key] = threading.Lock()
        with lock:
            yield

    def __len__(self) -> int:
        return len(self._locks)


@contextmanager
def setting(variable: ContextVar[T], value: T) -> Generator[T]:
    """Let a variable have a value inside the block; other threads and tasks do not see it."""
    token = variable.set(value)
    try:
        yield value
    finally:
        variable.reset(token)
