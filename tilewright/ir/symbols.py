"""Looking up operations by their symbol, without reading the whole table every time."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar

from xdsl.dialects.builtin import StringAttr, SymbolRefAttr
from xdsl.ir import Operation
from xdsl.traits import SymbolOpInterface, SymbolTable

_indexes: ContextVar[dict[int, dict[str, Operation]] | None] = ContextVar("symbols", default=None)


@contextmanager
def unchanging_symbols() -> Generator[None]:
    """Inside the block nothing changes the program, so each symbol table is read once."""
    token = _indexes.set({})
    try:
        yield
    finally:
        _indexes.reset(token)


def symbol_in(table: Operation, name: str) -> Operation | None:
    """The first operation directly inside `table` that has a `sym_name` of that text."""
    indexes = _indexes.get()
    if indexes is None:
        return next((op for op in _children(table) if symbol_name(op) == name), None)
    index = indexes.get(id(table))
    if index is None:
        index = indexes[id(table)] = _index(table)
    return index.get(name)


def symbol_name(op: Operation) -> str | None:
    """The name under which symbol references find `op`."""
    name = op.properties.get("sym_name") or op.attributes.get("sym_name")
    return name.data if isinstance(name, StringAttr) else None


def _children(table: Operation) -> list[Operation]:
    return [op for region in table.regions[:1] for block in region.blocks for op in block.ops]


def _index(table: Operation) -> dict[str, Operation]:
    index = dict[str, Operation]()
    for op in _children(table):
        name = symbol_name(op)
        if name is not None:
            index.setdefault(name, op)
    return index


def lookup_symbol(op: Operation, name: str | StringAttr | SymbolRefAttr) -> Operation | None:
    """What a reference at `op` means, from the closest symbol table around it (or `op` itself) inwards."""
    table: Operation | None = op
    while table is not None and not table.has_trait(SymbolTable):
        table = table.parent_op()
    if table is None:
        raise ValueError(f"Operation {op.name} has no SymbolTable ancestor")
    path = [name] if isinstance(name, str | StringAttr) else [name.root_reference, *name.nested_references.data]
    for step in path:
        found = symbol_in(table, step if isinstance(step, str) else step.data) if table.has_trait(SymbolTable) else None
        if found is None or not found.has_trait(SymbolOpInterface):
            return None
        table = found
    return table
