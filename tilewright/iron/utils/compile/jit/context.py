"""Compile-time arguments that functions inside a design read, without handing them through."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

_arguments: ContextVar[Mapping[str, Any] | None] = ContextVar("compile_arguments", default=None)


@contextmanager
def compile_context(**kwargs: Any) -> Generator[Mapping[str, Any]]:
    """Let `get_compile_arg` give these inside the block, besides those of the blocks around it."""
    merged = {**(_arguments.get() or {}), **kwargs}
    token = _arguments.set(merged)
    try:
        yield merged
    finally:
        _arguments.reset(token)


def get_compile_arg(key: str, default: Any = None) -> Any:
    """The compile-time argument `key` of the design that is being built, `default` if it has none."""
    return (_arguments.get() or {}).get(key, default)
