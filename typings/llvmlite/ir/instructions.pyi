"""The instructions of llvmlite that tilewright looks at or adds to."""

from llvmlite.ir import Block, Type, Value
from llvmlite.ir import Instruction as Instruction
from llvmlite.ir import PhiInstr as PhiInstr

class Branch(Instruction): ...
class ConditionalBranch(Branch): ...
class SelectInstr(Instruction): ...

class ICMPInstr(Instruction):
    op: str

class AllocaInstr(Instruction):
    align: int | None
    def __init__(self, parent: Block, typ: Type, count: Value | None, name: str) -> None: ...
