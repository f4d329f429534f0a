"""Compile-time arguments that functions inside a design read, without handing them through."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from contextvars import ContextVar
from typing import Any

from tilewright.support.lazy import setting

_arguments: ContextVar[Mapping[str, Any] | None] = ContextVar("compile_arguments", default=None)


def compile_context(**kwargs: Any) -> AbstractContextManager[Mapping[str, Any] | None]:
    """Let `get_compile_arg` give these inside the block, besides those of the blocks around it."""
    return setting(_arguments, {**(_arguments.get() or {}), **kwargs})


def get_compile_arg(key: str, default: Any = None) -> Any:
    """The compile-time argument `key` of the design that is being built, `default` if it has none."""
    return (_arguments.get() or {}).get(key, default)
