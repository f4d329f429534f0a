"""Matrix instructions of AMD's GPUs in the rocdl dialect, one operation for each row of `device.gpu_matrices`."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import BoolAttr, IntegerType, VectorType, bf16, f16, f32, i32
from xdsl.ir import Attribute
from xdsl.irdl import IRDLOperation, opt_prop_def, result_def, var_operand_def
from xdsl.utils.exceptions import VerifyException

from tilewright.device.gpu_matrices import INSTRUCTIONS, MATRIX_INSTRUCTIONS, MatrixInstruction
from tilewright.dialects._ods import op_definition

MODES = 3
"""Operands of `mfma` behind the matrices: `cbsz`, `abid` and `blgp`, constants."""
ELEMENTS: dict[str, Attribute] = {"f32": f32, "f16": f16, "bf16": bf16, "i32": i32, "i16": IntegerType(16)}


def operand_type(text: str) -> Attribute:
    """A type as the table writes it."""
    if text in ELEMENTS:
        return ELEMENTS[text]
    if not text.startswith("vector<"):
        return IntegerType(int(text.removeprefix("i")))
    count, _, element = text.removeprefix("vector<").removesuffix(">").partition("x")
    return VectorType(ELEMENTS[element], [int(count)])


def operand_types(row: MatrixInstruction) -> list[Attribute]:
    """Types of operands; that of the last matrix is also that of the result."""
    sums = VectorType(ELEMENTS[row.sum_type], [row.sums])
    modes: list[Attribute] = [] if row.repeats else [i32] * MODES
    return [operand_type(row.operand), operand_type(row.operand), sums, *modes]


class MatrixOp(IRDLOperation):
    """Lanes of a wave multiply matrices that they hold together, and add another one."""

    args = var_operand_def()
    res = result_def()
    # of integers: whether A and B have signs, and whether sums stop at the ends of their type
    signA = opt_prop_def(BoolAttr)
    signB = opt_prop_def(BoolAttr)
    clamp = opt_prop_def(BoolAttr)
    assembly_format = "$args attr-dict `:` functional-type($args, $res)"

    @property
    def instruction(self) -> MatrixInstruction:
        return MATRIX_INSTRUCTIONS[self.name.removeprefix("rocdl.")]

    def verify_(self) -> None:
        wanted = operand_types(self.instruction)
        found = [value.type for value in self.args]
        if found != wanted or self.res.type != wanted[2]:
            raise VerifyException(f"takes ({', '.join(map(str, wanted))}) and gives {wanted[2]}")


def _operation(instruction: MatrixInstruction) -> type[MatrixOp]:
    name = "".join(part.capitalize() for part in instruction.name.replace(".", "_").split("_")) + "Op"
    fields = {"name": f"rocdl.{instruction.name}", "__doc__": MatrixOp.__doc__, "__module__": __name__}
    return op_definition(type(name, (MatrixOp,), fields))


MATRIX_OPERATIONS: Sequence[type[MatrixOp]] = [_operation(instruction) for instruction in INSTRUCTIONS]
BY_NAME = {op.name.removeprefix("rocdl."): op for op in MATRIX_OPERATIONS}
"""Operations by the names of instructions."""
