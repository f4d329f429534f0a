"""Types and attributes as they read in messages."""

from __future__ import annotations

from io import StringIO

from xdsl.ir import Attribute


def shown(attribute: Attribute) -> str:
    """An attribute or a type as MLIR prints it, without aliases."""
    from tilewright.ir.printer import Printer

    return Printer(StringIO()).attribute_text(attribute)


def quoted(type: Attribute) -> str:
    """A type inside a sentence: `'i32'`."""
    return f"'{shown(type)}'"
