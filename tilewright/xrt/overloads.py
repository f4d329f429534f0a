"""Functions with several forms, told apart by the types of their arguments, as XRT's bindings have them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import index
from typing import Any, SupportsIndex, SupportsInt

from tilewright.errors import CallError

Form = Mapping[str, type | tuple[type, ...]]
"""The arguments of one form by name, with their types; `int` takes all that can be made one."""


ALIASES = {"hwctx": "ctx", "hw_context": "ctx", "module": "mod"}
"""Names that the bindings have for what their stubs call otherwise."""


class Overloads:
    """The forms of one function, in the order in which they are tried."""

    def __init__(self, name: str, *forms: Form):
        self.name, self.forms = name, forms

    def bind(self, args: Sequence[Any], named: Mapping[str, Any]) -> tuple[int, dict[str, Any]]:
        """Which form a call means, and its arguments by name; `TypeError` if none fits."""
        named = {ALIASES.get(name, name): value for name, value in named.items()}
        for number, form in enumerate(self.forms):
            if (found := _bound(form, args, named)) is not None:
                return number, found
        taken = "; ".join(
            f"({', '.join(f'{name}: {_shown(type)}' for name, type in form.items())})" for form in self.forms
        )
        given = [type(it).__name__ for it in args] + [f"{name}: {type(it).__name__}" for name, it in named.items()]
        raise CallError(f"{self.name} takes {taken or 'no arguments'}, not ({', '.join(given)})")


def _bound(form: Form, args: Sequence[Any], named: Mapping[str, Any]) -> dict[str, Any] | None:
    names = list(form)
    given = dict(zip(names, args, strict=False)) | dict(named)
    if len(args) + len(named) != len(names) or set(given) != set(names):
        return None
    return given if all(_fits(given[name], type) for name, type in form.items()) else None


def _fits(value: Any, wanted: type | tuple[type, ...]) -> bool:
    if wanted is int:
        return isinstance(value, SupportsIndex | SupportsInt) and not isinstance(value, str | bytes)
    return isinstance(value, wanted)


def _shown(wanted: type | tuple[type, ...]) -> str:
    return " | ".join(it.__name__ for it in wanted) if isinstance(wanted, tuple) else wanted.__name__


def integer(value: Any) -> int:
    """A number that a program gives, which may be one of NumPy's."""
    return index(value) if isinstance(value, SupportsIndex) else int(value)
