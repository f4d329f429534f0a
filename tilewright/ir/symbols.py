"""Symbols: finding operations by them without reading the whole table every time, and names for new ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache

from xdsl.dialects.builtin import StringAttr, SymbolRefAttr, UnregisteredOp
from xdsl.ir import Block, Operation
from xdsl.traits import OpTrait, SymbolOpInterface, SymbolTable

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
        # Without an index: one made now would be wrong after the next rewrite.
        return next((op for op in _children(table) if symbol_name(op) == name), None)
    index = indexes.get(id(table))
    if index is None:
        index = indexes[id(table)] = _index(table)
    return index.get(name)


def symbol_name(op: Operation) -> str | None:
    """The name under which symbol references find `op`."""
    # Most keep it as a property, `gpu.func` and unregistered operations as an attribute.
    name = op.properties.get("sym_name") or op.attributes.get("sym_name")
    return name.data if isinstance(name, StringAttr) else None


def _children(table: Operation) -> list[Operation]:
    return [op for region in table.regions[:1] for block in region.blocks for op in block.ops]


def _index(table: Operation) -> dict[str, Operation]:
    index = dict[str, Operation]()
    for op in _children(table):
        name = symbol_name(op)
        if name is not None:
            # The first wins; that names differ is for the verifier to check.
            index.setdefault(name, op)
    return index


def lookup_symbol(op: Operation, name: str | StringAttr | SymbolRefAttr) -> Operation | None:
    """What a reference at `op` means, from the closest symbol table around it (or `op` itself) inwards."""
    table: Operation | None = op
    while table is not None and not _has_trait(table, SymbolTable):
        table = table.parent_op()
    if table is None:
        raise ValueError(f"Operation {op.name} has no SymbolTable ancestor")
    path = [name] if isinstance(name, str | StringAttr) else [name.root_reference, *name.nested_references.data]
    for step in path:
        is_table = _has_trait(table, SymbolTable)
        found = symbol_in(table, step if isinstance(step, str) else step.data) if is_table else None
        # An attribute `sym_name` alone makes no symbol.
        if found is None or not _has_trait(found, SymbolOpInterface):
            return None
        table = found
    return table


def _has_trait(op: Operation, trait: type[OpTrait]) -> bool:
    # each that is not registered has a class of its own: remembering them would leak
    return op.has_trait(trait) if isinstance(op, UnregisteredOp) else _kind_has_trait(op.__class__, trait)


@cache
def _kind_has_trait(kind: type[Operation], trait: type[OpTrait]) -> bool:
    return kind.has_trait(trait)


class FreeNames:
    """Gives names that are not in a set, and puts them there."""

    def __init__(self, taken: set[str]):
        self.taken = taken
        self._next = Counter[str]()

    @staticmethod
    def beside(block: Block) -> FreeNames:
        """Names that no operation of a block has."""
        return FreeNames({name for op in block.ops if (name := symbol_name(op)) is not None})

    def like(self, wanted: str) -> str:
        """The name that is wanted or, if it is taken, that name with `_0`, `_1`, ... behind it."""
        if wanted in self.taken:
            return self.numbered(f"{wanted}_")
        self.taken.add(wanted)
        return wanted

    def numbered(self, prefix: str) -> str:
        """A name with the next number behind it, from 0."""
        name = None
        while name is None or name in self.taken:
            name = f"{prefix}{self._next[prefix]}"
            self._next[prefix] += 1
        self.taken.add(name)
        return name
