"""Accesses to memory of the llvm dialect: plain, volatile and atomic, printed as MLIR prints them."""
# pyright: reportIncompatibleVariableOverride=false, reportIncompatibleMethodOverride=false

from __future__ import annotations

from enum import IntEnum
from typing import Self

from xdsl.dialects import llvm as xdsl_llvm
from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, StringAttr, UnitAttr, i1, i64
from xdsl.dialects.llvm import LLVMPointerType, LLVMStructType
from xdsl.ir import Attribute, Operation
from xdsl.irdl import IRDLOperation, operand_def, opt_prop_def, prop_def, result_def, traits_def
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.traits import EffectInstance, MemoryEffect, MemoryEffectKind

from tilewright.dialects._amend import amend
from tilewright.dialects._ods import i64_attr, op_definition
from tilewright.dialects._syntax import parse_types, print_attributes, print_types, split_attributes
from tilewright.ir.constraints import described

NOT_ATOMIC = IntegerAttr(0, i64)
SCOPE = "syncscope"


class Ordering(IntEnum):
    """How an atomic access is ordered with others, numbered as LLVM numbers them."""

    not_atomic = 0
    unordered = 1
    monotonic = 2
    acquire = 4
    release = 5
    acq_rel = 6
    seq_cst = 7


class AtomicKind(IntEnum):
    """What an atomic update does, numbered as LLVM numbers them."""

    xchg = 0
    add = 1
    sub = 2
    _and = 3
    nand = 4
    _or = 5
    _xor = 6
    max = 7
    min = 8
    umax = 9
    umin = 10
    fadd = 11
    fsub = 12
    fmax = 13
    fmin = 14
    uinc_wrap = 15
    udec_wrap = 16
    usub_cond = 17
    usub_sat = 18


ORDERING = described(
    IntegerAttr.constr(i64),
    "Atomic ordering for LLVM's memory model",
    lambda attribute: attribute.value.data in Ordering._value2member_map_,
)
ATOMIC_KIND = described(
    IntegerAttr.constr(i64),
    "llvm.atomicrmw binary operations",
    lambda attribute: attribute.value.data in AtomicKind._value2member_map_,
)


def _parse_word(parser: Parser, cases: type[IntEnum], what: str) -> Attribute:
    position = parser.pos
    word = parser.parse_identifier()
    found = cases.__members__.get(word)
    if found is None:
        parser.raise_error(f"expected {what}: one of {', '.join(cases.__members__)}", position)
    return IntegerAttr(int(found), i64)


def _parse_scope(parser: Parser) -> dict[str, Attribute]:
    """`syncscope("agent")`, or nothing for the whole system."""
    if parser.parse_optional_keyword(SCOPE) is None:
        return {}
    with parser.in_parens():
        return {SCOPE: StringAttr(parser.parse_str_literal())}


def _parse_atomic(parser: Parser) -> dict[str, Attribute]:
    """`atomic syncscope("agent") acquire`, or nothing."""
    if parser.parse_optional_keyword("atomic") is None:
        return {"ordering": NOT_ATOMIC}
    scope = _parse_scope(parser)
    return {**scope, "ordering": _parse_word(parser, Ordering, "an ordering")}


def _parse_volatile(parser: Parser) -> dict[str, Attribute]:
    return {} if parser.parse_optional_keyword("volatile") is None else {"volatile_": UnitAttr()}


def _print_volatile(printer: Printer, op: IRDLOperation) -> None:
    printer.print_string(" volatile " if "volatile_" in op.properties else " ")


def _print_scope(printer: Printer, op: IRDLOperation) -> None:
    scope = op.properties.get(SCOPE)
    if isinstance(scope, StringAttr):
        printer.print_string(f" {SCOPE}(")
        printer.print_attribute(scope)
        printer.print_string(")")


def _print_ordering(printer: Printer, ordering: Attribute | None) -> None:
    if isinstance(ordering, IntegerAttr):
        printer.print_string(f" {Ordering(ordering.value.data).name}")


def _print_atomic(printer: Printer, op: IRDLOperation) -> None:
    ordering = op.properties.get("ordering")
    if ordering is not None and ordering != NOT_ATOMIC:
        printer.print_string(" atomic")
        _print_scope(printer, op)
        _print_ordering(printer, ordering)


def _parse_operands(parser: Parser, count: int) -> list[UnresolvedOperand]:
    operands = [parser.parse_unresolved_operand()]
    for _ in range(count - 1):
        parser.parse_punctuation(",")
        operands.append(parser.parse_unresolved_operand())
    return operands


class LoadEffects(MemoryEffect):
    """Reads; a volatile load, and one that orders others, is as observable as a store."""

    @classmethod
    def get_effects(cls, op: Operation) -> set[EffectInstance]:
        ordering = op.properties.get("ordering", NOT_ATOMIC)
        orders = isinstance(ordering, IntegerAttr) and ordering.value.data > Ordering.unordered
        kinds = {MemoryEffectKind.READ}
        if orders or "volatile_" in op.properties:
            kinds.add(MemoryEffectKind.WRITE)
        return {EffectInstance(kind) for kind in kinds}


SPELLED = "volatile_", "ordering", SCOPE


@amend
class LoadOp(xdsl_llvm.LoadOp):
    """Read a value."""

    ordering = prop_def(ORDERING, NOT_ATOMIC)
    volatile_ = opt_prop_def(UnitAttr)
    nontemporal = opt_prop_def(UnitAttr)
    invariant = opt_prop_def(UnitAttr)
    syncscope = opt_prop_def(StringAttr)
    traits = traits_def(LoadEffects())

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        properties = _parse_volatile(parser)
        (pointer,) = _parse_operands(parser, 1)
        properties |= _parse_atomic(parser)
        known, attributes = split_attributes(cls, parser.parse_optional_attr_dict())
        parser.parse_punctuation(":")
        operand = parser.resolve_operand(pointer, parser.parse_type())
        parser.parse_punctuation("->")
        return cls.create(
            operands=[operand],
            result_types=[parser.parse_type()],
            properties=properties | known,
            attributes=attributes,
        )

    def print(self, printer: Printer) -> None:
        _print_volatile(printer, self)
        printer.print_ssa_value(self.ptr)
        _print_atomic(printer, self)
        print_attributes(printer, self, SPELLED)
        printer.print_string(" : ")
        printer.print_attribute(self.ptr.type)
        printer.print_string(" -> ")
        printer.print_attribute(self.dereferenced_value.type)


@amend
class StoreOp(xdsl_llvm.StoreOp):
    """Write a value."""

    ordering = prop_def(ORDERING, NOT_ATOMIC)
    syncscope = opt_prop_def(StringAttr)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        properties = _parse_volatile(parser)
        operands = _parse_operands(parser, 2)
        properties |= _parse_atomic(parser)
        known, attributes = split_attributes(cls, parser.parse_optional_attr_dict())
        parser.parse_punctuation(":")
        values = parser.resolve_operands(operands, parse_types(parser), parser.pos)
        return cls.create(operands=values, properties=properties | known, attributes=attributes)

    def print(self, printer: Printer) -> None:
        _print_volatile(printer, self)
        printer.print_list(self.operands, printer.print_ssa_value)
        _print_atomic(printer, self)
        print_attributes(printer, self, SPELLED)
        printer.print_string(" : ")
        print_types(printer, self.operand_types)


@op_definition
class AtomicRMWOp(IRDLOperation):
    """Read, change and write a value as one step; gives what it was before."""

    name = "llvm.atomicrmw"

    ptr = operand_def(LLVMPointerType)
    val = operand_def()
    bin_op = prop_def(ATOMIC_KIND)
    ordering = prop_def(ORDERING)
    syncscope = opt_prop_def(StringAttr)
    alignment = opt_prop_def(i64_attr())
    volatile_ = opt_prop_def(UnitAttr)
    res = result_def()

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        properties = _parse_volatile(parser)
        properties["bin_op"] = _parse_word(parser, AtomicKind, "an update")
        operands = _parse_operands(parser, 2)
        properties |= _parse_scope(parser)
        properties["ordering"] = _parse_word(parser, Ordering, "an ordering")
        known, attributes = split_attributes(cls, parser.parse_optional_attr_dict())
        parser.parse_punctuation(":")
        values = parser.resolve_operands(operands, parse_types(parser), parser.pos)
        return cls.create(
            operands=values, result_types=[values[1].type], properties=properties | known, attributes=attributes
        )

    def print(self, printer: Printer) -> None:
        _print_volatile(printer, self)
        printer.print_string(f"{AtomicKind(self.bin_op.value.data).name} ")
        printer.print_list(self.operands, printer.print_ssa_value)
        _print_scope(printer, self)
        _print_ordering(printer, self.ordering)
        print_attributes(printer, self, (*SPELLED, "bin_op"))
        printer.print_string(" : ")
        print_types(printer, self.operand_types)


@op_definition
class AtomicCmpXchgOp(IRDLOperation):
    """Write `val` if memory holds `cmp`; gives what it held, and whether that was it."""

    name = "llvm.cmpxchg"

    ptr = operand_def(LLVMPointerType)
    cmp = operand_def()
    val = operand_def()
    success_ordering = prop_def(ORDERING)
    failure_ordering = prop_def(ORDERING)
    syncscope = opt_prop_def(StringAttr)
    alignment = opt_prop_def(i64_attr())
    weak = opt_prop_def(UnitAttr)
    volatile_ = opt_prop_def(UnitAttr)
    res = result_def()

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        properties: dict[str, Attribute] = {}
        if parser.parse_optional_keyword("weak") is not None:
            properties["weak"] = UnitAttr()
        properties |= _parse_volatile(parser)
        operands = _parse_operands(parser, 3)
        properties |= _parse_scope(parser)
        for outcome in ("success", "failure"):
            properties[f"{outcome}_ordering"] = _parse_word(parser, Ordering, "an ordering")
        known, attributes = split_attributes(cls, parser.parse_optional_attr_dict())
        parser.parse_punctuation(":")
        pointer, value = parse_types(parser)
        return cls.create(
            operands=parser.resolve_operands(operands, [pointer, value, value], parser.pos),
            result_types=[LLVMStructType(StringAttr(""), ArrayAttr([value, i1]))],
            properties=properties | known,
            attributes=attributes,
        )

    def print(self, printer: Printer) -> None:
        printer.print_string("" if self.weak is None else " weak")
        _print_volatile(printer, self)
        printer.print_list(self.operands, printer.print_ssa_value)
        _print_scope(printer, self)
        _print_ordering(printer, self.success_ordering)
        _print_ordering(printer, self.failure_ordering)
        print_attributes(printer, self, (*SPELLED, "weak", "success_ordering", "failure_ordering"))
        printer.print_string(" : ")
        print_types(printer, [self.ptr.type, self.val.type])


@op_definition
class FenceOp(IRDLOperation):
    """Order the accesses before and after it."""

    name = "llvm.fence"

    ordering = prop_def(ORDERING)
    syncscope = opt_prop_def(StringAttr)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        properties = _parse_scope(parser)
        properties["ordering"] = _parse_word(parser, Ordering, "an ordering")
        return cls.create(properties=properties, attributes=parser.parse_optional_attr_dict())

    def print(self, printer: Printer) -> None:
        _print_scope(printer, self)
        _print_ordering(printer, self.ordering)
        print_attributes(printer, self, SPELLED)
