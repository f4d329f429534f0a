"""Comparisons whose outcome a compiler can tell: generated headers compile without warnings all the same."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from cpp_harness import COMPILERS, Words, call_all, compile_cpp, interpreted, read, run_cpp
from cpp_programs import CORNERS, PREDICATES, Program, wrapped
from helpers import WIDTHS

from tilewright.passes.cpp.convert_aiex_to_emitc.builder import StyleName

pytestmark = pytest.mark.skipif(not COMPILERS, reason="no C++ compiler")

COMPARISONS = 60
INTEGERS = tuple(type for type in WIDTHS if type != "i1")


def casts(source: str, target: str) -> list[str]:
    if "index" in (source, target):
        return ["index_cast", "index_castui"]
    return ["extsi", "extui"] if WIDTHS[source] < WIDTHS[target] else ["trunci"]


def comparison(random: Random) -> str:
    """Statements that compare a number computed from %a with a constant, and write the answer."""
    type, lines, value = random.choice(INTEGERS), list[str](), "%a"
    first = type
    for count in range(random.randrange(4)):
        if random.random() < 0.5:
            target = random.choice([other for other in INTEGERS if other != type])
            op = random.choice(casts(type, target))
            lines.append(f"%v{count} = arith.{op} {value} : {type} to {target}")
            type = target
        else:
            op, number = random.choice(["andi", "ori", "xori"]), random.choice(CORNERS)
            lines.append(f"%k{count} = arith.constant {wrapped(number, type)} : {type}")
            lines.append(f"%v{count} = arith.{op} {value}, %k{count} : {type}")
        value = f"%v{count}"
    number = random.choice([*CORNERS, -9])
    operands = [value, "%limit"] if random.random() < 0.5 else ["%limit", value]
    lines += [
        f"%limit = arith.constant {wrapped(number, type)} : {type}",
        f"%holds = arith.cmpi {random.choice(PREDICATES)}, {', '.join(operands)} : {type}",
        "%word = arith.extui %holds : i1 to i32",
        "%register = arith.constant 4096 : i32",
        "aiex.npu.write32(%register, %word) : i32, i32",
    ]
    if random.random() < 0.5:
        lines.append(f"%quotient = arith.divui %limit, {value} : {type}")
    sequence = f"aie.runtime_sequence @NAME(%b: memref<8xi32>, %a: {first})"
    return "\n".join([first, "aie.device(npu2) {", f"  {sequence} {{", *(f"    {line}" for line in lines), "  }", "}"])


# The two that were warned of, and as many others as one file takes.
WARNED = [
    """i32
aie.device(npu2) {
  aie.runtime_sequence @NAME(%b: memref<8xi32>, %a: i32) {
    %wide = arith.extui %a : i32 to i64
    %limit = arith.constant -9 : i64
    %holds = arith.cmpi eq, %wide, %limit : i64
    %word = arith.extui %holds : i1 to i32
    aiex.npu.write32(%word, %a) : i32, i32
  }
}""",
    """index
aie.device(npu2) {
  aie.runtime_sequence @NAME(%b: memref<8xi32>, %a: index) {
    %limit = arith.constant -9 : index
    %holds = arith.cmpi ult, %a, %limit : index
    %other = arith.cmpi slt, %limit, %a : index
    %both = arith.andi %holds, %other : i1
    %word = arith.extui %both : i1 to i32
    aiex.npu.write32(%word, %word) : i32, i32
  }
}""",
]


def test_no_comparison_is_warned_of(tmp_path: Path) -> None:
    programs = list[Program]()
    random = Random(1)
    for number, text in enumerate([*WARNED, *(comparison(random) for _ in range(COMPARISONS))]):
        type, _, module = text.partition("\n")
        values = [[wrapped(corner, type)] for corner in CORNERS]
        programs.append(Program(module.replace("NAME", f"s{number}"), f"s{number}", [type], values))
    source = call_all(programs, [StyleName.READABLE])
    executables = [compile_cpp(each, source, tmp_path, ["-Wconversion", "-Wno-sign-conversion"]) for each in COMPILERS]
    printed = iter(run_cpp(executables[0]))
    for entry in programs:
        module = read(entry.text)
        wanted: list[Words] = [interpreted(module, values) for values in entry.calls]
        assert [next(printed) for _ in wanted] == wanted, entry.text
