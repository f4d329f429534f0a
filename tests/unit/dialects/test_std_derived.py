"""Operations that differ from xDSL's are classes of ours; xDSL's stay as they are for others in the process."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from xdsl.dialects import arith as xdsl_arith
from xdsl.dialects import memref as xdsl_memref
from xdsl.dialects import scf as xdsl_scf
from xdsl.dialects.builtin import IndexType, MemRefType, StringAttr, UnitAttr, f32, i32
from xdsl.ir import Block, Operation, Region

import tilewright
from tilewright.dialects import arith, func, memref, scf
from tilewright.dialects.builtin import ModuleOp
from tilewright.ir.context import dialect_table, make_context
from tilewright.ir.parser import parse_source
from tilewright.ir.printer import module_text
from tilewright.ir.verifier import verify

ROOT = Path(tilewright.__file__).parent.parent

UNTOUCHED = '''
import importlib, sys
import xdsl.dialects, xdsl.irdl, xdsl.parser, xdsl.pattern_rewriter, xdsl.printer, xdsl.traits

names = "affine arith builtin cf emitc func gpu linalg llvm math memref scf tensor vector"
for name in names.split():
    importlib.import_module(f"xdsl.dialects.{name}")

def state():
    """Every attribute of every class and every global of what is loaded of xDSL."""
    found = {}
    for module in [module for name, module in sys.modules.items() if name.startswith("xdsl.")]:
        for name, value in vars(module).items():
            found[module.__name__, name] = value
            if isinstance(value, type) and value.__module__.startswith("xdsl."):
                for attribute, inner in vars(value).items():
                    found[value.__module__, value.__qualname__, attribute] = inner
    return found

# Caches that xDSL fills itself, and what the abc module keeps for `isinstance`.
IGNORED = {"_abc_impl", "__warningregistry__", "__annotations__"}
before = state()
from tilewright.ir.context import dialect_table, make_context
from tilewright.cli.main import main
context = make_context()
for dialect in dialect_table():
    context.load_registered_dialect(dialect) if dialect != "builtin" else None
status = main(["opt", "--canonicalize", "--convert-scf-to-cf", sys.argv[1]])
after = state()
changed = [key for key, value in before.items() if key[-1] not in IGNORED and after.get(key) is not value]
classes = {key[:2] for key in before if len(key) == 3}
added = [key for key in after.keys() - before.keys() if len(key) == 3 and key[:2] in classes]
print("status", status, "of", len(before), "changed:", changed, "added:", added)
'''
PROGRAM = """func.func @f(%m: memref<4xi32>, %i: index) -> i32 {
  %a = memref.load %m[%i] : memref<4xi32>
  %one = arith.constant 1 : index
  scf.for %k = %one to %i step %one { memref.store %a, %m[%k] : memref<4xi32> }
  %s = llvm.mlir.undef : !llvm.struct<(ptr, array<2 x i64>)>
  %b = arith.addi %a, %a overflow<nsw, nuw> : i32
  return %b : i32
}
"""


def test_xdsl_stays_as_it_is_for_others_in_the_process(tmp_path: Path):
    (tmp_path / "program.mlir").write_text(PROGRAM)
    shown = subprocess.run(
        [sys.executable, "-c", UNTOUCHED, str(tmp_path / "program.mlir")], capture_output=True, text=True, cwd=ROOT
    )
    assert shown.stdout.splitlines()[-1].startswith("status 0 of"), shown.stderr
    assert shown.stdout.endswith("changed: [] added: []\n"), shown.stdout


@pytest.mark.parametrize(
    "ours, theirs",
    [
        (arith.ConstantOp, xdsl_arith.ConstantOp),
        (memref.LoadOp, xdsl_memref.LoadOp),
        (scf.ForOp, xdsl_scf.ForOp),
    ],
)
def test_ours_derive_from_xdsls(ours: type, theirs: type):
    assert ours is not theirs
    assert issubclass(ours, theirs)


def test_the_reader_makes_operations_of_our_classes_only():
    module = parse_source(make_context(), PROGRAM, "program.mlir")
    derived = {op.name for op in module.walk()} - {"llvm.mlir.undef"}
    assert {op.name for op in module.walk() if type(op).__module__.startswith("tilewright.")} == derived


def test_terminators_that_xdsl_puts_in_are_of_our_classes():
    """`ensure_terminator` makes an operation of the class that a trait names."""
    for dialect, where in dialect_table().items():
        if where.startswith("tilewright."):
            context = make_context()
            for op in context.get_dialect(dialect).operations:
                for trait in op.traits if op.__module__.startswith("tilewright.") else ():
                    if (made := getattr(trait, "op_type", None)) is not None:
                        assert made.__module__.startswith("tilewright."), op.name


def function_of(*ops: Operation) -> ModuleOp:
    block = Block()
    block.add_ops([*ops, func.ReturnOp()])
    return ModuleOp([func.FuncOp("f", ([], []), Region(block))])


def test_inherited_constructors_make_operations_that_print_as_mlir_prints():
    bound = arith.ConstantOp.from_int_and_width(3, i32)
    loop = scf.ForOp(bound, bound, bound, [], Region(Block([scf.YieldOp()], arg_types=[i32])))
    module = function_of(bound, loop)
    properties = {"sym_name": StringAttr("g"), "type": MemRefType(i32, [4]), "initial_value": UnitAttr()}
    module.body.block.add_op(memref.GlobalOp.create(properties=properties | {"sym_visibility": StringAttr("private")}))
    assert not verify(module)
    lines = [line.strip() for line in module_text(module).splitlines()]
    assert "scf.for %arg0 = %c3_i32 to %c3_i32 step %c3_i32  : i32 {" in lines
    assert 'memref.global "private" @g : memref<4xi32> = uninitialized' in lines


def test_inherited_constructors_make_operations_that_verify_as_mlir_verifies():
    index = arith.ConstantOp.from_int_and_width(0, IndexType())
    buffer = memref.AllocOp.get(f32, shape=[4, 4])
    load = memref.LoadOp.build(operands=[buffer.memref, [index.result]], result_types=[f32])
    (error,) = verify(function_of(index, buffer, load))
    assert error.text == "'memref.load' op incorrect number of indices for load, expected 2 but got 1"
