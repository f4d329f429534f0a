"""Matrix instructions of the GPU that a program is traced for: what lanes pass, and what they get.

Operands are vectors of the elements that a lane has, in the order of the table (`device.gpu_matrices`); how they are
packed into registers is seen to here.
"""

from __future__ import annotations

from typing import Any, cast

from xdsl.dialects.builtin import DenseArrayBase, IntAttr, VectorType, i32, i64

from tilewright.air.dtypes import f32, value_type
from tilewright.air.vectors import Vector, vector
from tilewright.device.gpu_matrices import MatrixInstruction, WarpInstruction
from tilewright.dialects import _nvvm_matrices as nvvm
from tilewright.dialects import llvm
from tilewright.dialects._rocdl_matrices import BY_NAME, MODES, operand_type
from tilewright.dialects.vector import shape
from tilewright.iron.builders.handles import value_of
from tilewright.iron.builders.operations import build
from tilewright.iron.builders.scalars import ScalarValue, constant


def multiply(instruction: MatrixInstruction, a: Vector, b: Vector, sums: Vector) -> Vector:
    """`a b + sums`, of matrices that the lanes of a wave hold together."""
    if isinstance(instruction, WarpInstruction):
        return _mma(instruction, a, b, sums)
    modes = [] if instruction.repeats else [constant(0, i32)] * MODES
    fields: dict[str, Any] = {}
    if instruction.repeats and instruction.element == "i8":
        fields = {"signA": True, "signB": True}
    operands = [_packed(value, instruction.operand) for value in (a, b)]
    op = build(BY_NAME[instruction.name], results=[sums.type], args=[*operands, sums, *modes], **fields)
    return Vector(op.results[0])


def _packed(elements: Vector, type: str) -> Any:
    """Elements as an instruction takes them: some take four or eight bytes in one number."""
    wanted = operand_type(type)
    if elements.type == wanted:
        return elements
    is_vector = isinstance(wanted, VectorType)
    if not is_vector and elements.vector_type.element_type == wanted:
        return elements[0]
    packed_type = cast(Any, wanted) if is_vector else VectorType(cast(Any, wanted), [1])
    packed = Vector(build(shape.BitcastOp, results=[packed_type], source=elements).results[0])
    return packed if is_vector else packed[0]


def _mma(instruction: WarpInstruction, a: Vector, b: Vector, sums: Vector) -> Vector:
    row, column = (nvvm.MMALayoutAttr(it) for it in (nvvm.MMALayout.ROW, nvvm.MMALayout.COL))
    type = nvvm.MMATypeAttr(nvvm.MMAType(instruction.element))
    fields: dict[str, Any] = {
        "shape": nvvm.MMAShapeAttr(*map(IntAttr, (instruction.m, instruction.n, instruction.k))),
        "layoutA": row,
        "layoutB": column,
        "multiplicandAPtxType": type,
        "multiplicandBPtxType": type,
    }
    result = llvm.LLVMStructType.from_type_list([value_type(f32)] * instruction.sums)
    operands = {
        "operandA": _registers(a, instruction),
        "operandB": _registers(b, instruction),
        "operandC": _elements(sums),
    }
    op = build(nvvm.MmaOp, results=[result], **operands, **fields)
    found = list[ScalarValue]()
    for place in range(instruction.sums):
        at = DenseArrayBase.from_list(i64, [place])
        part = build(llvm.ExtractValueOp, results=[value_type(f32)], container=op.results[0], position=at)
        found.append(cast(ScalarValue, value_of(part.res)))
    return vector(found)


def _elements(value: Vector) -> list[ScalarValue]:
    return [value[place] for place in range(len(value))]


def _registers(elements: Vector, instruction: WarpInstruction) -> list[Any]:
    """Of 32 bits, with one or two elements each."""
    pair, numbers = instruction.pair, _elements(elements)
    parts = [vector(numbers[start : start + pair]) for start in range(0, len(numbers), pair)]
    return [_packed(part, instruction.operand) for part in parts]
