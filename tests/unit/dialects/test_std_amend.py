"""Operations made with xDSL's classes are ours: they print, verify and compare as those that our reader makes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from xdsl.dialects import arith, func, memref, scf
from xdsl.dialects.builtin import IndexType, MemRefType, ModuleOp, StringAttr, UnitAttr, f32, i32
from xdsl.ir import Block, Region

import tilewright
from tilewright.dialects import arith as our_arith
from tilewright.dialects import memref as our_memref
from tilewright.dialects import scf as our_scf
from tilewright.ir.printer import module_text
from tilewright.ir.verifier import verify


@pytest.mark.parametrize(
    "ours, theirs",
    [
        (our_arith.ConstantOp, arith.ConstantOp),
        (our_memref.LoadOp, memref.LoadOp),
        (our_scf.ForOp, scf.ForOp),
    ],
)
def test_there_is_one_class(ours: type, theirs: type):
    assert ours is theirs


def function_of(*ops: object) -> ModuleOp:
    block = Block()
    block.add_ops([*ops, func.ReturnOp()])  # type: ignore[list-item]
    return ModuleOp([func.FuncOp("f", ([], []), Region(block))])


def test_constructors_of_xdsl_make_operations_that_print_as_mlir_prints():
    bound = arith.ConstantOp.from_int_and_width(3, i32)
    loop = scf.ForOp(bound, bound, bound, [], Region(Block([scf.YieldOp()], arg_types=[i32])))
    module = function_of(bound, loop)
    module.body.block.add_op(memref.GlobalOp.get(StringAttr("g"), MemRefType(i32, [4]), UnitAttr()))
    assert not verify(module)
    lines = [line.strip() for line in module_text(module).splitlines()]
    assert "scf.for %arg0 = %c3_i32 to %c3_i32 step %c3_i32  : i32 {" in lines
    assert 'memref.global "private" @g : memref<4xi32> = uninitialized' in lines


def test_constructors_of_xdsl_make_operations_that_verify_as_mlir_verifies():
    index = arith.ConstantOp.from_int_and_width(0, IndexType())
    buffer = memref.AllocOp.get(f32, shape=[4, 4])
    load = memref.LoadOp.build(operands=[buffer.memref, [index.result]], result_types=[f32])
    (error,) = verify(function_of(index, buffer, load))
    assert error.text == "'memref.load' op incorrect number of indices for load, expected 2 but got 1"


def test_a_program_that_never_mentions_a_dialect_still_prints_its_operations_right():
    program = (
        "from xdsl.dialects.builtin import ModuleOp, StringAttr, MemRefType, UnitAttr, i32\n"
        "from xdsl.dialects.memref import GlobalOp\n"
        "from tilewright.ir.printer import module_text\n"
        "op = GlobalOp.get(StringAttr('g'), MemRefType(i32, [4]), UnitAttr())\n"
        "print(module_text(ModuleOp([op])))\n"
    )
    root = Path(tilewright.__file__).parent.parent
    shown = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=root)
    assert 'memref.global "private" @g : memref<4xi32> = uninitialized' in shown.stdout
