"""LLVM instructions for GPUs that llvmlite has no classes for, and a builder whose defaults suit GPUs."""

from __future__ import annotations

from collections.abc import Sequence

from llvmlite import ir
from llvmlite.ir.instructions import AllocaInstr, Instruction

from tilewright.native.values import natural_alignment

CONTRACT = ("contract",)
"""A product may be added to something without being rounded first."""


class Written(Instruction):
    """An instruction spelled out: `{0}`, `{1}`, ... stand for the operands with their types."""

    def __init__(self, parent: ir.Block, type: ir.Type, text: str, operands: tuple[ir.Value, ...]):
        super().__init__(parent, type, "", operands)
        self.text = text

    def descr(self, buf: list[str]) -> None:
        operands = [f"{operand.type} {operand.get_reference()}" for operand in self.operands]
        buf.append(self.text.format(*operands) + "\n")


def written(builder: ir.IRBuilder, type: ir.Type, text: str, *operands: ir.Value) -> ir.Value:
    """Append an instruction that is spelled out."""
    instruction = Written(builder.block, type, text, operands)
    builder._insert(instruction)
    return instruction


class SpacedAlloca(AllocaInstr):
    """A stack variable in an address space."""

    def __init__(self, parent: ir.Block, type: ir.Type, space: int):
        super().__init__(parent, type, None, "")
        # llvmlite knows no stack outside of address space 0.
        self.type, self.space = ir.PointerType(addrspace=space), space

    def descr(self, buf: list[str]) -> None:
        super().descr(buf)
        buf.append(f", addrspace({self.space})\n" if self.space else "\n")


class KernelBuilder(ir.IRBuilder):
    """Elements are aligned in the memory of a GPU, and products are fused with sums if the compiler may do so."""

    def __init__(self, block: ir.Block, contract: bool):
        super().__init__(block)
        self._flags = CONTRACT if contract else ()
        self.promised_alignment = 1

    def load(self, ptr: ir.Value, name: str = "", align: int | None = None, typ: ir.Type | None = None) -> Instruction:
        assert typ is not None, "pointers are opaque"
        return super().load(ptr, name, max(align or 1, self.promised_alignment, natural_alignment(typ)), typ)

    def store(self, value: ir.Value, ptr: ir.Value, align: int | None = None) -> ir.Value:
        return super().store(value, ptr, max(align or 1, self.promised_alignment, natural_alignment(value.type)))

    def fadd(self, lhs: ir.Value, rhs: ir.Value, name: str = "", flags: Sequence[str] = ()) -> ir.Value:
        return super().fadd(lhs, rhs, name, flags or self._flags)

    def fsub(self, lhs: ir.Value, rhs: ir.Value, name: str = "", flags: Sequence[str] = ()) -> ir.Value:
        return super().fsub(lhs, rhs, name, flags or self._flags)

    def fmul(self, lhs: ir.Value, rhs: ir.Value, name: str = "", flags: Sequence[str] = ()) -> ir.Value:
        return super().fmul(lhs, rhs, name, flags or self._flags)


class StringAttributes(ir.FunctionAttributes):
    """Attributes of a function, those of a target among them."""

    def __init__(self, known: ir.FunctionAttributes):
        # A kernel has no one to throw to.
        super().__init__(known)
        self.add("nounwind")
        self.texts: dict[str, str] = {}

    def _to_list(self, ret_type: ir.Type) -> list[str]:
        return [*super()._to_list(ret_type), *(f'"{name}"="{text}"' for name, text in self.texts.items())]


class InPlace(ir.ArgumentAttributes):
    """Of a parameter that comes by value and stays where it is: the kernel has its address, and no copy."""

    def __init__(self, type: ir.Type, alignment: int):
        super().__init__()
        self.texts = [f"byval({type})", f"align {alignment}", '"nvvm.grid_constant"']

    def _to_list(self, typ: ir.Type) -> list[str]:
        return [*super()._to_list(typ), *self.texts]


def add_attribute(function: ir.Function, name: str, text: str) -> None:
    """An attribute that only some targets know."""
    if not isinstance(function.attributes, StringAttributes):
        function.attributes = StringAttributes(function.attributes)
    function.attributes.texts[name] = text
