"""The instructions of llvmlite that tilewright looks at or adds to."""

from collections.abc import Sequence
from typing import Any

from llvmlite.ir import Block, Type, Value, VectorType
from llvmlite.ir import Instruction as Instruction
from llvmlite.ir import PhiInstr as PhiInstr

class Terminator(Instruction): ...
class Branch(Terminator): ...
class ConditionalBranch(Branch): ...

class SwitchInstr(Terminator):
    default: Block
    cases: list[tuple[Value, Block]]

class SelectInstr(Instruction):
    cond: Value
    lhs: Value
    rhs: Value

class CompareInstr(Instruction):
    op: str
    flags: list[str]
    def __init__(
        self, parent: Block, op: str, lhs: Value, rhs: Value, name: str = "", flags: Sequence[str] = ()
    ) -> None: ...

class ICMPInstr(CompareInstr): ...
class FCMPInstr(CompareInstr): ...

class CastInstr(Instruction):
    def __init__(self, parent: Block, op: str, val: Value, typ: Type, name: str = "") -> None: ...

class LoadInstr(Instruction):
    align: int | None

class StoreInstr(Instruction):
    align: int | None

class GEPInstr(Instruction):
    source_etype: Type
    pointer: Value
    indices: Sequence[Value]

class CallInstr(Instruction):
    callee: Any
    args: Sequence[Value]

class ExtractElement(Instruction): ...
class InsertElement(Instruction): ...

class ShuffleVector(Instruction):
    type: VectorType

class AllocaInstr(Instruction):
    align: int | None
    allocated_type: Type
    def __init__(self, parent: Block, typ: Type, count: Value | None, name: str) -> None: ...
