"""One sequence, four ways to its words: interpreted, native code, C++ as upstream writes it, C++ for people."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from cpp_harness import (
    COMPILERS,
    CPP_WIDTHS,
    SANITIZERS,
    Native,
    Words,
    call_all,
    compile_cpp,
    interpreted,
    parts,
    read,
    run_cpp,
)
from cpp_programs import Program, program
from helpers import WIDTHS
from programs import LINES, LINES_WORDS, WRITES, WRITES_WORDS

import tilewright as tw
from tilewright.codegen.native_body import MOST_GUARDS
from tilewright.codegen.static_words import static_words
from tilewright.codegen.txn_words import TxnEmitter
from tilewright.dialects.arith.meaning import DIVISIONS
from tilewright.ir.diagnostics import DiagnosedError
from tilewright.passes.cpp.convert_aiex_to_emitc.builder import StyleName

PROGRAMS = int(os.environ.get("TILEWRIGHT_CPP_PROGRAMS", "16"))
STYLES = list(StyleName)

CONTROL_FLOW = ["scf.for", "scf.if", "scf.while", "scf.index_switch"]
CHECKS = ["dma_bd_pool_pop", "dma_bd_pool_push", "assert_range", "assert_bd_field", "assert_bd_divisible"]
REGISTERS = ["write32", "maskwrite32", "maskpoll", "blockwrite", "address_patch", "sync"]
FIRMWARE = ["load_pdi", "preempt", "create_scratchpad", "update_from_scratchpad"]


@pytest.fixture(scope="module")
def programs() -> list[Program]:
    return [program(seed) for seed in range(PROGRAMS)]


@pytest.fixture(scope="module")
def expected(programs: list[Program]) -> list[list[Words]]:
    return [[interpreted(read(entry.text), values) for values in entry.calls] for entry in programs]


def test_programs_have_everything_that_a_sequence_can_have(programs: list[Program]) -> None:
    text = "\n".join(entry.text for entry in programs)
    names = [*CONTROL_FLOW, *CHECKS, *REGISTERS, *FIRMWARE]
    assert [name for name in names if not re.search(rf"\b{name}\b", text)] == []
    assert re.search("arg_idx = [567] ", text), "addresses of later host buffers are encoded differently"


def test_native_code_is_what_the_interpreter_does(programs: list[Program], expected: list[list[Words]]) -> None:
    for entry, words in zip(programs, expected, strict=True):
        native = Native(read(entry.text))
        assert [native(values) for values in entry.calls] == words, entry.text


def test_long_code_is_what_the_interpreter_does() -> None:
    """More checks than LLVM can be asked to think about, and more words than are written in one go."""
    steps = "\n".join(
        f"""
        %v{number + 1} = arith.addi %v{number}, %one : i32
        aiex.npu.assert_range(%v{number + 1}) {{min = 0 : i64, max = 1000 : i64}} : i32
        aiex.npu.write32(%register, %v{number + 1}) : i32, i32"""
        for number in range(MOST_GUARDS + 1)
    )
    program = f"""
    aie.device(npu2) {{
      aie.runtime_sequence @long(%buffer: memref<64xi32>, %v0: i32) {{
        %one = arith.constant 1 : i32
        %register = arith.constant 4096 : i32
        {steps}
      }}
    }}"""
    native = Native(read(program))
    assert not native.generator.is_short
    for value in (0, 7, 1000 - MOST_GUARDS - 1, 1000 - MOST_GUARDS, -2):
        assert native([value]) == interpreted(read(program), [value])


@pytest.mark.parametrize("compiler", COMPILERS or [pytest.param("", marks=pytest.mark.skip("no C++ compiler"))])
def test_cpp_is_what_the_interpreter_does(
    compiler: str, programs: list[Program], expected: list[list[Words]], tmp_path: Path
) -> None:
    executable = compile_cpp(compiler, call_all(programs, STYLES), tmp_path, SANITIZERS)
    printed = iter(run_cpp(executable))
    for entry, words in zip(programs, expected, strict=True):
        for style in STYLES:
            assert [next(printed) for _ in words] == words, f"{style}\n{entry.text}"


loops = pytest.mark.parametrize(
    "text, name, type, counts",
    [
        pytest.param(WRITES, "writes", "index", {**WRITES_WORDS, -1: 4}, id="a write each time"),
        pytest.param(LINES, "lines", "i32", LINES_WORDS, id="patch, push and wait for each line"),
    ],
)


@loops
def test_length_of_a_loop_in_native_code(text: str, name: str, type: str, counts: dict[int, int]) -> None:
    native = Native(read(text))
    assert [len(native([n]) or ()) for n in counts] == list(counts.values())


@loops
@pytest.mark.skipif(not COMPILERS, reason="no C++ compiler")
def test_length_of_a_loop_in_cpp(text: str, name: str, type: str, counts: dict[int, int], tmp_path: Path) -> None:
    entry = Program(text, name, [type], [[n] for n in counts])
    executable = compile_cpp(COMPILERS[0], call_all([entry], [StyleName.READABLE]), tmp_path)
    assert [len(words or ()) for words in run_cpp(executable)] == list(counts.values())


def test_static_words_are_those_of_a_call() -> None:
    baked = LINES.replace("%lines: i32) {", ") {\n    %lines = arith.constant 8 : i32").replace(", )", ")")
    device, sequence = parts(read(baked))
    assert static_words(sequence, TxnEmitter(device)).words == interpreted(read(LINES), [8])


DIVISION = """
aie.device(npu2) {
  aie.runtime_sequence @s(%buffer: memref<64xi32>, %rows: i32, %parts: i32) {
    %each = arith.NAME %rows, %parts : i32
    %register = arith.constant 4096 : i32
    aiex.npu.write32(%register, %each) : i32, i32
  }
}"""


@pytest.mark.parametrize("name", sorted(name.removeprefix("arith.") for name in DIVISIONS))
def test_a_divisor_that_is_zero_is_refused(name: str) -> None:
    text = DIVISION.replace("NAME", name)
    with pytest.raises(tw.RangeError, match=r":4:.*division by zero.*parts = 0"):
        tw.compile(text).txn("s", rows=7, parts=0)
    assert interpreted(read(text), [7, 0]) is None
    assert (
        interpreted(read(text), [7, 2]) == Native(read(text))([7, 2]) == tw.compile(text).txn(rows=7, parts=2).tolist()
    )
    baked = text.replace(
        ", %rows: i32, %parts: i32) {", ") {\n%rows = arith.constant 7 : i32\n%parts = arith.constant 0 : i32"
    )
    device, sequence = parts(read(baked))
    with pytest.raises(DiagnosedError, match="division by zero"):
        static_words(sequence, TxnEmitter(device))


@pytest.mark.skipif(not COMPILERS, reason="no C++ compiler")
def test_cpp_has_no_stream_where_a_divisor_is_zero(tmp_path: Path) -> None:
    names = sorted(name.removeprefix("arith.") for name in DIVISIONS)
    texts = [DIVISION.replace("NAME", name).replace("@s", f"@{name}") for name in names]
    values = [[7, 0], [-(2**31), 0], [7, 2], [-(2**31), -1]]
    programs = [Program(text, name, ["i32", "i32"], values) for text, name in zip(texts, names, strict=True)]
    printed = run_cpp(compile_cpp(COMPILERS[0], call_all(programs, STYLES), tmp_path, SANITIZERS))
    wanted = [interpreted(read(text), row) for text in texts for _ in STYLES for row in values]
    assert printed == wanted
    assert [words is None for words in wanted] == [row[1] == 0 for _ in names for _ in STYLES for row in values]


ODD = """
aie.device(npu2) {
  aie.runtime_sequence @NAME(%buffer: memref<64xi32>, %number: TYPE) {
    %register = arith.constant 4096 : i32
    aiex.npu.write32(%register, %number) : i32, TYPE
  }
}"""
ODD_TYPES = [type for type, width in WIDTHS.items() if type != "index" and width not in (1, *CPP_WIDTHS)]


@pytest.mark.skipif(not COMPILERS, reason="no C++ compiler")
def test_arguments_have_no_more_bits_than_their_types(tmp_path: Path) -> None:
    """C has no types of these widths: the next wider one is taken, and what does not fit is refused."""
    programs = list[Program]()
    for type in ODD_TYPES:
        half = 1 << WIDTHS[type] - 1
        text = ODD.replace("NAME", type).replace("TYPE", type)
        programs.append(Program(text, type, [type], [[n] for n in (0, -half, 2 * half - 1, -half - 1, 2 * half)]))
        if type in ("i31", "i63"):
            programs[-1].calls.pop()  # is no number of the C type
    printed = iter(run_cpp(compile_cpp(COMPILERS[0], call_all(programs, STYLES), tmp_path, SANITIZERS)))
    for entry in programs:
        native = Native(read(entry.text))
        wanted = [interpreted(read(entry.text), values) for values in entry.calls[:3]]
        wanted += [None for _ in entry.calls[3:]]
        assert [native(values) for values in entry.calls] == wanted, entry.text
        for _ in STYLES:
            assert [next(printed) for _ in entry.calls] == wanted, entry.text
        with pytest.raises(tw.RangeError, match="does not fit"):
            tw.compile(entry.text).txn(number=entry.calls[3][0])
