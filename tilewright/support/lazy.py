"""Names of a package that are imported when they are first used, so that importing the package costs nothing."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


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
        own = (name for name in vars(module) if name.startswith("__"))
        return sorted({*own, *getattr(module, "__all__", ()), *names})

    return list_names
