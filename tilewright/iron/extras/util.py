"""Looking through programs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xdsl.dialects.builtin import LocationAttr

from tilewright.iron.builders.handles import OpView
from tilewright.iron.builders.location import user_location
from tilewright.iron.builders.module import Module


def find_ops(op: OpView | Module, pred: Callable[[OpView], Any], single: bool = False) -> Any:
    """The operations in `op`, itself included, for which `pred` holds; with `single` the first one, or None."""
    found = [inner for inner in (op.operation if isinstance(op, Module) else op).walk() if pred(inner)]
    return (found[0] if found else None) if single else found


def get_user_code_loc() -> LocationAttr:
    """The place of the user's line that is being executed."""
    return user_location()
