"""Accesses to memory of the llvm dialect: plain, volatile and atomic, printed as MLIR prints them."""
# pyright: reportIncompatibleVariableOverride=false, reportIncompatibleMethodOverride=false

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any, ClassVar

from xdsl.dialects import llvm as xdsl_llvm
from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, StringAttr, UnitAttr, i1, i64
from xdsl.dialects.llvm import LLVMPointerType, LLVMStructType
from xdsl.ir import Attribute, Operation
from xdsl.irdl import (
    AnyAttr,
    IRDLOperation,
    VarConstraint,
    VerificationContext,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.irdl.constraints import AttrConstraint, InferenceContext
from xdsl.traits import EffectInstance, MemoryEffect, MemoryEffectKind
from xdsl.utils.exceptions import VerifyException

from tilewright.device import Keyword
from tilewright.dialects._derived import derived_op_definition
from tilewright.dialects._ods import EnumConstraint, i64_attr, op_definition

NOT_ATOMIC = IntegerAttr(0, i64)


class Ordering(Keyword):
    """How an atomic access is ordered with others, numbered as LLVM numbers them."""

    not_atomic = 0
    unordered = 1
    monotonic = 2
    # 3 is reserved in LLVM for the consume ordering of C++
    acquire = 4
    release = 5
    acq_rel = 6
    seq_cst = 7


class AtomicBinOp(Keyword):
    """What an atomic update does, numbered as LLVM numbers them."""

    xchg = 0
    add = 1
    sub = 2
    # MLIR spells these three with an underscore: the plain words are operators of C++
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


ORDERING = EnumConstraint(64, cases=Ordering, description="Atomic ordering for LLVM's memory model")
ATOMIC_BIN_OP = EnumConstraint(64, cases=AtomicBinOp, description="llvm.atomicrmw binary operations")
ATOMIC = "(`atomic` (`syncscope` `(` $syncscope^ `)`)? $ordering^)?"
"""The part of a load or store that makes it atomic; no scope stands for the whole system."""


class LoadEffects(MemoryEffect):
    """Reads; a volatile load, and one that orders others, is as observable as a store."""

    @classmethod
    def get_effects(cls, op: Operation) -> set[EffectInstance]:
        ordering = op.properties.get("ordering", NOT_ATOMIC)
        # an unordered load is atomic, but may be moved and removed like a plain one
        orders = isinstance(ordering, IntegerAttr) and ordering.value.data > Ordering.unordered
        kinds = {MemoryEffectKind.READ}
        if orders or "volatile_" in op.properties:
            kinds.add(MemoryEffectKind.WRITE)
        return {EffectInstance(kind) for kind in kinds}


@derived_op_definition
class LoadOp(xdsl_llvm.LoadOp):
    """Read a value."""

    ordering = prop_def(ORDERING, NOT_ATOMIC)
    volatile_ = opt_prop_def(UnitAttr)
    nontemporal = opt_prop_def(UnitAttr)
    invariant = opt_prop_def(UnitAttr)
    syncscope = opt_prop_def(StringAttr)
    traits = traits_def(LoadEffects())
    assembly_format = f"(`volatile` $volatile_^)? $ptr {ATOMIC} attr-dict `:` type($ptr) `->` type($dereferenced_value)"


@derived_op_definition
class StoreOp(xdsl_llvm.StoreOp):
    """Write a value."""

    ordering = prop_def(ORDERING, NOT_ATOMIC)
    syncscope = opt_prop_def(StringAttr)
    assembly_format = f"(`volatile` $volatile_^)? $value `,` $ptr {ATOMIC} attr-dict `:` type($value) `,` type($ptr)"


@op_definition
class AtomicRMWOp(IRDLOperation):
    """Read, change and write a value as one step; gives what it was before."""

    name = "llvm.atomicrmw"

    T: ClassVar = VarConstraint("T", AnyAttr())
    ptr = operand_def(LLVMPointerType)
    val = operand_def(T)
    bin_op = prop_def(ATOMIC_BIN_OP)
    ordering = prop_def(ORDERING)
    syncscope = opt_prop_def(StringAttr)
    alignment = opt_prop_def(i64_attr())
    volatile_ = opt_prop_def(UnitAttr)
    res = result_def(T)
    assembly_format = (
        "(`volatile` $volatile_^)? $bin_op $ptr `,` $val (`syncscope` `(` $syncscope^ `)`)? $ordering attr-dict "
        "`:` type($ptr) `,` type($val)"
    )


@dataclass(frozen=True)
class ValueAndSuccess(AttrConstraint[LLVMStructType]):
    """A value together with whether it was exchanged."""

    value: VarConstraint[Attribute]

    def verify(self, attr: Attribute, constraint_context: VerificationContext) -> None:
        if attr != (expected := self.infer(constraint_context)):
            raise VerifyException(f"expected {expected}, but got {attr}")

    def variables(self) -> set[str]:
        return self.value.variables()

    def can_infer(self, var_constraint_names: AbstractSet[str]) -> bool:
        return self.value.can_infer(var_constraint_names)

    def infer(self, context: InferenceContext) -> LLVMStructType:
        # a struct without a name is one by its fields alone, as MLIR's literal structs are
        return LLVMStructType(StringAttr(""), ArrayAttr([self.value.infer(context), i1]))

    def mapping_type_vars(self, type_var_mapping: Any) -> ValueAndSuccess:
        return self


@op_definition
class AtomicCmpXchgOp(IRDLOperation):
    """Write `val` if memory holds `cmp`; gives what it held, and whether that was it."""

    name = "llvm.cmpxchg"

    T: ClassVar = VarConstraint("T", AnyAttr())
    ptr = operand_def(LLVMPointerType)
    cmp = operand_def(T)
    val = operand_def(T)
    success_ordering = prop_def(ORDERING)
    failure_ordering = prop_def(ORDERING)
    syncscope = opt_prop_def(StringAttr)
    alignment = opt_prop_def(i64_attr())
    weak = opt_prop_def(UnitAttr)
    volatile_ = opt_prop_def(UnitAttr)
    res = result_def(ValueAndSuccess(T))
    assembly_format = (
        "(`weak` $weak^)? (`volatile` $volatile_^)? $ptr `,` $cmp `,` $val (`syncscope` `(` $syncscope^ `)`)? "
        "$success_ordering $failure_ordering attr-dict `:` type($ptr) `,` type($val)"
    )


@op_definition
class FenceOp(IRDLOperation):
    """Order the accesses before and after it."""

    name = "llvm.fence"

    ordering = prop_def(ORDERING)
    syncscope = opt_prop_def(StringAttr)
    assembly_format = "(`syncscope` `(` $syncscope^ `)`)? $ordering attr-dict"
