"""Demands of the traits of an operation, worded as MLIR words it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from xdsl.dialects.builtin import StringAttr, UnregisteredOp
from xdsl.ir import Operation
from xdsl.traits import (
    HasParent,
    IsolatedFromAbove,
    IsTerminator,
    NoTerminator,
    OpTrait,
    SingleBlockImplicitTerminator,
    SymbolOpInterface,
    SymbolTable,
)
from xdsl.utils.exceptions import VerifyException

from tilewright.ir.diagnostics import VerifyError

Check: TypeAlias = Callable[[Operation], None]

REGION_TRAITS = SingleBlockImplicitTerminator, SymbolTable
"""What these demand is looked at after the operations in the regions."""

VISIBILITIES = "public", "private", "nested"


def trait_check(trait: OpTrait) -> Check | None:
    """The rule of one trait; None where the verifier's walk sees to it, or there is none."""
    match trait:
        case IsolatedFromAbove() | NoTerminator():
            return None
        case IsTerminator():
            return _is_last
        case HasParent():
            return lambda op: _has_parent(op, trait)
        case SingleBlockImplicitTerminator():
            return lambda op: _ends_with(op, trait.op_type)
        case SymbolTable():
            return _symbols_are_unique
        case SymbolOpInterface():
            return lambda op: _is_symbol(op, trait)
        case _:
            return None if type(trait).verify is OpTrait.verify else trait.verify


def _is_last(op: Operation) -> None:
    if op.parent is None or op.parent._last_op is not op:
        raise VerifyException("must be the last operation in the parent block")


def _has_parent(op: Operation, trait: HasParent) -> None:
    parent = op.parent_op()
    if parent is None or isinstance(parent, trait.op_types):
        return
    names = ", ".join(parent.name for parent in trait.op_types)
    raise VerifyException(f"expects parent op {'' if len(trait.op_types) == 1 else 'to be one of '}'{names}'")


def _ends_with(op: Operation, terminator: type[Operation]) -> None:
    for number, region in enumerate(op.regions):
        if region._first_block is not region._last_block:
            raise VerifyException(f"expects region #{number} to have 0 or 1 blocks")
        block = region._first_block
        if block is None:
            continue
        last = block.last_op
        if last is None:
            raise VerifyException("expects a non-empty block")
        if not isinstance(last, terminator):
            raise VerifyError(
                f"expects regions to end with '{terminator.name}', found '{last.name}'",
                (last, f"in custom textual format, the absence of terminator implies '{terminator.name}'"),
            )


def _symbols_are_unique(op: Operation) -> None:
    if len(op.regions) != 1:
        raise VerifyException("Operations with a 'SymbolTable' must have exactly one region")
    if len(op.regions[0].blocks) != 1:
        raise VerifyException("Operations with a 'SymbolTable' must have exactly one block")
    owners = dict[str, Operation]()
    for child in op.regions[0].blocks[0].ops:
        symbol = child.properties.get("sym_name") or child.attributes.get("sym_name")
        if isinstance(symbol, StringAttr) and owners.setdefault(symbol.data, child) is not child:
            raise VerifyError(
                f"redefinition of symbol named '{symbol.data}'",
                (owners[symbol.data], "see existing symbol definition here"),
                at=child,
                bare=True,
            )


def _is_symbol(op: Operation, trait: SymbolOpInterface) -> None:
    symbol = op.get_attr_or_prop("sym_name")
    if symbol is None and trait.is_optional_symbol(op):
        return
    if not isinstance(symbol, StringAttr):
        raise VerifyException("requires string attribute 'sym_name'")
    visibility = op.get_attr_or_prop("sym_visibility")
    if isinstance(visibility, StringAttr) and visibility.data not in VISIBILITIES:
        expected = ", ".join(f'"{word}"' for word in VISIBILITIES)
        raise VerifyException(f"visibility expected to be one of [{expected}], but got {visibility}")
    parent = op.parent_op()
    if parent and not isinstance(parent, UnregisteredOp) and not parent.has_trait(SymbolTable):
        raise VerifyException("symbol's parent must have the SymbolTable trait")
