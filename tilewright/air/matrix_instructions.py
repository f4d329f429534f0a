"""Matrix instructions of the GPU that a program is traced for, on vectors of its lanes."""

from __future__ import annotations

from xdsl.rewriter import InsertPoint

from tilewright.air.vectors import Vector
from tilewright.device.gpu_matrices import MatrixInstruction
from tilewright.iron.builders.location import user_location
from tilewright.iron.builders.operations import InsertionPoint
from tilewright.rewrite import matrix_instructions
from tilewright.rewrite.emitter import Emitter


def multiply(instruction: MatrixInstruction, a: Vector, b: Vector, sums: Vector) -> Vector:
    """`a b + sums`, of matrices that the lanes of a wave hold together."""
    place = InsertionPoint.current
    emitter = Emitter(InsertPoint(place.block, place.before), user_location())
    return Vector(matrix_instructions.multiply(emitter, instruction, a.ssa, b.ssa, sums.ssa))
