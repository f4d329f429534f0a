"""Matrix instructions of GPUs as operations: what lanes pass, and what they get.

Operands are vectors of the elements that a lane has, in the order of the table (`device.gpu_matrices`); how they are
packed into registers is seen to here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import BoolAttr, DenseArrayBase, IntAttr, IntegerAttr, VectorType, f32, i1, i32, i64
from xdsl.ir import Attribute, SSAValue

from tilewright.device.gpu_matrices import MatrixInstruction, WarpInstruction
from tilewright.dialects import _nvvm_matrices as nvvm
from tilewright.dialects import llvm, vector
from tilewright.dialects._rocdl_matrices import BY_NAME, MODES, operand_type
from tilewright.dialects._syntax import segments
from tilewright.dialects.vector.types import vector_type
from tilewright.rewrite.emitter import Emitter


def multiply(emitter: Emitter, instruction: MatrixInstruction, a: SSAValue, b: SSAValue, sums: SSAValue) -> SSAValue:
    """`a b + sums`, of matrices that the lanes of a wave hold together."""
    if isinstance(instruction, WarpInstruction):
        return _mma(emitter, instruction, a, b, sums)
    modes = [] if instruction.repeats else [emitter.constant(0, i32)] * MODES
    is_signed = instruction.repeats and instruction.element == "i8"
    fields: dict[str, Attribute] = dict.fromkeys(("signA", "signB"), cast(BoolAttr, IntegerAttr(-1, i1)))
    operands = [packed(emitter, value, operand_type(instruction.operand)) for value in (a, b)]
    return emitter.value(
        BY_NAME[instruction.name].create(
            operands=[*operands, sums, *modes],
            result_types=[sums.type],
            properties=fields if is_signed else {},
        )
    )


def packed(emitter: Emitter, elements: SSAValue, wanted: Attribute) -> SSAValue:
    """Elements as an instruction takes them: some take four or eight bytes in one number."""
    if elements.type == wanted:
        return elements
    if vector_type(elements).element_type == wanted:
        return element(emitter, elements, 0)
    is_vector = isinstance(wanted, VectorType)
    types: list[Attribute] = [wanted if is_vector else VectorType(wanted, [1])]
    found = emitter.value(vector.BitcastOp.create(operands=[elements], result_types=types))
    return found if is_vector else element(emitter, found, 0)


def element(emitter: Emitter, elements: SSAValue, place: int) -> SSAValue:
    """One element of a vector."""
    at = {"static_position": DenseArrayBase.from_list(i64, [place])}
    type = vector_type(elements).element_type
    return emitter.value(vector.ExtractOp.create(operands=[elements], result_types=[type], properties=at))


def gathered(emitter: Emitter, numbers: Sequence[SSAValue]) -> SSAValue:
    """A vector of numbers."""
    type = VectorType(numbers[0].type, [len(numbers)])
    return emitter.value(vector.FromElementsOp.create(operands=numbers, result_types=[type]))


def _mma(emitter: Emitter, instruction: WarpInstruction, a: SSAValue, b: SSAValue, sums: SSAValue) -> SSAValue:
    operands = [_registers(emitter, side, instruction) for side in (a, b)]
    operands.append([element(emitter, sums, place) for place in range(instruction.sums)])
    type = nvvm.MMATypeAttr(nvvm.MMAType(instruction.element))
    fields: dict[str, Attribute] = {
        "shape": nvvm.MMAShapeAttr(*map(IntAttr, (instruction.m, instruction.n, instruction.k))),
        "layoutA": nvvm.MMALayoutAttr(nvvm.MMALayout.ROW),
        "layoutB": nvvm.MMALayoutAttr(nvvm.MMALayout.COL),
        "multiplicandAPtxType": type,
        "multiplicandBPtxType": type,
        "operandSegmentSizes": segments(*map(len, operands)),
    }
    result = llvm.LLVMStructType.from_type_list([f32] * instruction.sums)
    values = [value for side in operands for value in side]
    found = emitter.value(nvvm.MmaOp.create(operands=values, result_types=[result], properties=fields))
    return gathered(emitter, [_field(emitter, found, place) for place in range(instruction.sums)])


def _field(emitter: Emitter, container: SSAValue, place: int) -> SSAValue:
    at = {"position": DenseArrayBase.from_list(i64, [place])}
    return emitter.value(llvm.ExtractValueOp.create(operands=[container], result_types=[f32], properties=at))


def _registers(emitter: Emitter, elements: SSAValue, instruction: WarpInstruction) -> list[SSAValue]:
    """Of 32 bits, with one or two elements each."""
    pair, wanted = instruction.pair, operand_type(instruction.operand)
    numbers = [element(emitter, elements, place) for place in range(*vector_type(elements).get_shape())]
    parts = [gathered(emitter, numbers[start : start + pair]) for start in range(0, len(numbers), pair)]
    return [packed(emitter, part, wanted) for part in parts]
