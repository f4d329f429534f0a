"""What the addresses in a function of a core are sure to be multiples of."""

from __future__ import annotations

from itertools import chain
from typing import Any

from llvmlite import ir
from llvmlite.ir import instructions as llvm

from tilewright.native.values import I8, natural_alignment, number_of

UNKNOWN_YET = 16
"""Lower bits that are 0, as far as nothing says otherwise: more than any alignment here."""
_KEEPING = frozenset({"zext", "sext", "trunc", "ptrtoint", "inttoptr", "bitcast"})


class Alignments:
    """For the integers and pointers of a function, how many of their lower bits are 0.

    Found by assuming the best of every value and taking back what does not hold, until all of it does.
    """

    def __init__(self, function: ir.Function):
        self._zeros: dict[Any, int] = {}
        instructions = list(chain.from_iterable(block.instructions for block in function.blocks))
        while self._take_back(instructions):
            pass

    def of(self, pointer: ir.Value) -> int:
        """Bytes."""
        return 1 << self._of(pointer)

    def _take_back(self, instructions: list[Any]) -> bool:
        changed = False
        for op in instructions:
            found = self._computed(op)
            if found < self._zeros.get(op, UNKNOWN_YET):
                self._zeros[op] = found
                changed = True
        return changed

    def _of(self, value: Any) -> int:
        number = number_of(value)
        if number is not None:
            return _zeros(number)
        if isinstance(value, ir.GlobalVariable):
            return _zeros(value.align or 1)
        # Of an argument nothing is known; an instruction that was not looked at yet may be anything.
        return self._zeros.get(value, UNKNOWN_YET) if isinstance(value, llvm.Instruction) else 0

    def _computed(self, op: Any) -> int:
        match op:
            case llvm.PhiInstr():
                return min((self._of(value) for value, _ in op.incomings), default=UNKNOWN_YET)
            case llvm.SelectInstr():
                return min(self._of(op.lhs), self._of(op.rhs))
            case llvm.AllocaInstr():
                return _zeros(op.align or natural_alignment(op.allocated_type))
            case llvm.GEPInstr():
                return min(map(self._of, op.operands)) if op.source_etype == I8 else 0
            case llvm.CastInstr():
                return self._of(op.operands[0]) if op.opname in _KEEPING else 0
            case llvm.Instruction(opname="add" | "sub" | "or" | "xor"):
                return min(map(self._of, op.operands))
            case llvm.Instruction(opname="and"):
                return max(map(self._of, op.operands))
            case llvm.Instruction(opname="mul"):
                return min(sum(map(self._of, op.operands)), UNKNOWN_YET)
            case llvm.Instruction(opname="shl"):
                return min(self._of(op.operands[0]) + (number_of(op.operands[1]) or 0), UNKNOWN_YET)
            case _:
                return 0


def _zeros(number: int) -> int:
    return UNKNOWN_YET if number == 0 else min((number & -number).bit_length() - 1, UNKNOWN_YET)
