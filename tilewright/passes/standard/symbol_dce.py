"""Removal of symbols that nothing refers to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import StringAttr, SymbolRefAttr, UnregisteredOp
from xdsl.ir import Operation
from xdsl.rewriter import Rewriter
from xdsl.traits import SymbolTable

from tilewright.ir.diagnostics import emit_error, emit_op_error
from tilewright.ir.pass_manager import Pass
from tilewright.ir.symbols import symbol_name
from tilewright.rewrite.effects import children, is_symbol
from tilewright.rewrite.symbols import references_in


@dataclass(frozen=True)
class SymbolDcePass(Pass):
    name = "symbol-dce"
    anchor = None

    def apply(self, ctx: Context, op: Operation) -> None:
        if not is_symbol_table(op):
            emit_op_error(op, " was scheduled to run under SymbolDCE, but does not define a symbol table")
            return
        # symbols of a nested public table can be referred to from other tables
        hidden = op.parent is None or not is_symbol(op) or _is_private(op)
        live = _LiveSymbols()
        if live.visit_table(op, hidden):
            _erase_dead(op, live.symbols)


def is_symbol_table(op: Operation) -> bool:
    return not isinstance(op, UnregisteredOp) and op.has_trait(SymbolTable)


def _visibility(op: Operation) -> str:
    visibility = op.get_attr_or_prop("sym_visibility")
    return visibility.data if isinstance(visibility, StringAttr) else "public"


def _is_private(op: Operation) -> bool:
    return _visibility(op) == "private"


class _LiveSymbols:
    """Symbols that are visible outside, and all that they refer to."""

    def __init__(self) -> None:
        self.symbols: set[Operation] = set()
        self._tables: dict[Operation, dict[str, Operation]] = {}

    def visit_table(self, table: Operation, hidden: bool) -> bool:
        """Mark what is live in a symbol table; `hidden` if nothing outside can refer into it."""
        pending: list[Operation] = []
        for op in children(table):
            if not is_symbol(op):
                pending.append(op)
            elif _visibility(op) == "public" or not (hidden or _is_private(op)):
                self._mark(op, pending)
        while pending:
            op = pending.pop()
            # What nothing outside can name is hidden, and so is all that is nested in it.
            is_hidden = hidden or not is_symbol(op) or _is_private(op)
            if is_symbol_table(op) and not self.visit_table(op, is_hidden):
                return False
            if not self._visit_uses(op, pending):
                return False
        return True

    def _mark(self, op: Operation, pending: list[Operation]) -> None:
        if op not in self.symbols:
            self.symbols.add(op)
            pending.append(op)

    def _visit_uses(self, op: Operation, pending: list[Operation]) -> bool:
        parent = op.parent_op()
        for user in _same_table(op):
            # an operation that is not known may be a symbol table, if it has the form of one
            if isinstance(user, UnregisteredOp) and len(user.regions) == 1:
                emit_error(
                    op,
                    "operation contains potentially unknown symbol table, meaning that we can't reliable compute "
                    "symbol uses",
                )
                return False
            for reference in references_in(user):
                for symbol in self._resolve(parent, reference):
                    self._mark(symbol, pending)
        return True

    def _resolve(self, table: Operation | None, reference: SymbolRefAttr) -> list[Operation]:
        """The symbols along a reference; none if any of them is unknown."""
        found: list[Operation] = []
        for name in (reference.root_reference, *reference.nested_references):
            symbol = self._table(table).get(name.data) if table is not None else None
            if symbol is None:
                return []
            found.append(symbol)
            table = symbol
        return found

    def _table(self, op: Operation) -> dict[str, Operation]:
        if op not in self._tables:
            names = ((symbol_name(child), child) for child in children(op) if is_symbol(child))
            self._tables[op] = {name: child for name, child in names if name is not None}
        return self._tables[op]


def _same_table(op: Operation) -> Iterator[Operation]:
    """`op` and what is nested in it, up to symbol tables."""
    yield op
    if not is_symbol_table(op):
        for child in children(op):
            yield from _same_table(child)


def _erase_dead(table: Operation, live: set[Operation]) -> None:
    """Erase, in a symbol table and in those nested in it, the symbols that are not live."""
    for op in list(children(table)):
        if is_symbol_table(table) and is_symbol(op) and op not in live:
            Rewriter.erase_op(op, safe_erase=False)
        elif op.regions:
            _erase_dead(op, live)
