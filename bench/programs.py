"""The programs that the benchmarks of reading, printing and the whole command share.

`standard` is made of func, scf, arith and memref operations, which every tool knows. `npu` is made of the programs in
tests/filecheck/dialects/aiex, which use every aiex operation; tools that know none of these get it in generic form.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp

from tilewright.dialects.aiex.configure import OlderRuntimeSequenceOp
from tilewright.ir.context import make_context
from tilewright.ir.diagnostics import DiagnosedError
from tilewright.ir.parser import parse_source
from tilewright.ir.printer import module_text
from tilewright.ir.split_input import split_input
from tilewright.ir.verifier import verify

SIZES = 10, 1_000, 10_000, 100_000
MLIR_OPT = "mlir-opt-22"
ROOT = Path(__file__).parents[1]
LOOP = """  scf.for %i = %c0 to %c64 step %c1 {{
    %k = arith.constant {0} : i32
    %x = memref.load %m[%i, %c0] : memref<64x64xi32>
    %y = arith.addi %x, %k : i32
    %z = arith.muli %y, %a : i32
    %t = arith.cmpi slt, %y, %a : i32
    scf.if %t {{
      memref.store %z, %m[%i, %c1] : memref<64x64xi32>
    }}
  }}
"""


@dataclass(frozen=True)
class Program:
    """A program in custom form, and in a form that `mlir-opt` reads if it lets unknown operations pass."""

    custom: str
    generic: str
    foreign: str


def read(text: str) -> ModuleOp:
    return parse_source(make_context(), text, "bench.mlir")


def standard_program(operations: int) -> Program:
    """A function of about that many operations."""
    loops = "".join(LOOP.format(i) for i in range(max(0, operations - 6) // 10))
    text = f"""func.func @f(%m: memref<64x64xi32>, %a: i32) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
{loops}  return
}}
"""
    generic = module_text(read(text), generic=True)
    return Program(text, generic, generic)


def npu_program(operations: int) -> Program:
    """About that many operations: the tests' programs, over and over, the small ones first."""
    custom, generic, total = list[str](), list[str](), 0
    while total < operations:
        for own, plain, size in _npu_texts():
            if total < operations:
                custom.append(own)
                generic.append(plain)
                total += size
    text = "\n".join(generic)
    # References to globals are made unknown too: the device around them is no symbol table for other tools.
    return Program("\n".join(custom), text, text.replace('"memref.get_global"', '"foreign.get_global"'))


@cache
def _npu_texts() -> list[tuple[str, str, int]]:
    """Custom form, generic form and size of each part."""
    parts = [(module_text(m), module_text(m, generic=True), sum(1 for _ in m.walk())) for m in _npu_parts()]
    return sorted(parts, key=lambda part: part[2])


def _npu_parts() -> Iterator[ModuleOp]:
    """The valid programs among the tests of aiex; without memrefs of types that MLIR does not know."""
    for path in sorted(ROOT.glob("tests/filecheck/dialects/aiex/*.mlir")):
        for _, text in split_input(path.read_text(encoding="utf-8")):
            try:
                module = parse_source(make_context(), text, path.name)
            except DiagnosedError:
                continue
            if not verify(module) and "x!" not in text:
                yield module


def aiex_coverage() -> str:
    """How many of the aiex operations `npu` uses, and which are missing."""
    used = {op.name for module in _npu_parts() for op in module.walk() if op.name.startswith("aiex.")}
    known = {op.name for op in make_context().get_dialect("aiex").operations} - {OlderRuntimeSequenceOp.name}
    missing = "".join(f"\n  without {name}" for name in sorted(known - used))
    return f"npu: {len(used)} of {len(known)} aiex operations{missing}"


PROGRAMS = {"standard": standard_program, "npu": npu_program}
