"""C++ text is MLIR's, character by character: compared with `mlir-translate --mlir-to-cpp`."""

from __future__ import annotations

import subprocess
from shutil import which

import pytest
from cpp_harness import cpp_text, read
from cpp_programs import program
from helpers import TESTS

from tilewright.codegen.cpp_printer import print_cpp
from tilewright.ir.context import make_context
from tilewright.ir.diagnostics import DiagnosedError
from tilewright.ir.parser import parse_source
from tilewright.ir.pass_manager import Pipeline, run_pipeline
from tilewright.ir.printer import module_text
from tilewright.passes.cpp.convert_aiex_to_emitc import ConvertAIEXToEmitCPass
from tilewright.passes.cpp.convert_aiex_to_emitc.builder import StyleName

MLIR_OPT, MLIR_TRANSLATE = which("mlir-opt-22"), which("mlir-translate-22")
FILECHECK = TESTS / "filecheck"
EMITC_FILES = [FILECHECK / "dialects" / "emitc.mlir", FILECHECK / "translate" / "mlir_to_cpp.mlir"]

needs_mlir = pytest.mark.skipif(MLIR_OPT is None or MLIR_TRANSLATE is None, reason="MLIR's tools are not installed")

CONSTANTS = """
emitc.func @constants() {
  %0 = "emitc.constant"() <{value = 1.5 : f32}> : () -> f32
  %1 = "emitc.constant"() <{value = 0.1 : f64}> : () -> f64
  %2 = "emitc.constant"() <{value = -0.0 : f32}> : () -> f32
  %3 = "emitc.constant"() <{value = 0x7FC00000 : f32}> : () -> f32
  %4 = "emitc.constant"() <{value = 0xFF800000 : f32}> : () -> f32
  %5 = "emitc.constant"() <{value = 1.5 : bf16}> : () -> bf16
  %6 = "emitc.constant"() <{value = 200 : ui8}> : () -> ui8
  %7 = "emitc.constant"() <{value = false}> : () -> i1
  %8 = "emitc.constant"() <{value = -1 : index}> : () -> !emitc.size_t
  %9 = "emitc.constant"() <{value = dense<[[1, -2], [3, 4]]> : tensor<2x2xi32>}> : () -> tensor<2x2xi32>
  %10 = "emitc.constant"() <{value = #emitc.opaque<"x">}> : () -> tuple<i32, f32>
  %11:2 = call_opaque "two"() : () -> (i32, !emitc.ptr<f32>)
  return
}
module {
  func.func @pair(%a: i32) -> (i32, i32) {
    %0:2 = func.call @pair(%a) : (i32) -> (i32, i32)
    return %0#0, %0#1 : i32, i32
  }
}
"""


def done_by_mlir(tool: str | None, *arguments: str, text: str) -> str:
    assert tool is not None
    ended = subprocess.run([tool, *arguments], input=text, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def converted(text: str, style: StyleName) -> str:
    """The `emitc` operations that a program's sequence becomes."""
    module = read(text)
    run_pipeline(make_context(), module, Pipeline(steps=[ConvertAIEXToEmitCPass(style)]))
    return module_text(module)


@needs_mlir
@pytest.mark.parametrize("text", [pytest.param(f.read_text(), id=f.stem) for f in EMITC_FILES] + [CONSTANTS])
def test_text_is_that_of_mlir(text: str) -> None:
    module = parse_source(make_context(), text, "test.mlir")
    assert print_cpp(module) == done_by_mlir(MLIR_TRANSLATE, "--mlir-to-cpp", text=text)


@needs_mlir
@pytest.mark.parametrize("style", [StyleName.UPSTREAM, StyleName.DRAFT])
@pytest.mark.parametrize("seed", range(6))
def test_mlir_reads_and_prints_what_sequences_become(seed: int, style: StyleName) -> None:
    text = converted(program(seed).text, style)
    assert done_by_mlir(MLIR_OPT, text=text).strip() == text.strip()
    module = parse_source(make_context(), text, "test.mlir")
    assert print_cpp(module) == done_by_mlir(MLIR_TRANSLATE, "--mlir-to-cpp", text=text)


def test_text_does_not_depend_on_printing_in_between() -> None:
    text = program(3).text
    module = parse_source(make_context(), converted(text, StyleName.DRAFT), "test.mlir")
    assert print_cpp(module) == cpp_text(text, StyleName.DRAFT, "generate_txn_s3")


@pytest.mark.parametrize(
    "text, complaint",
    [
        pytest.param("aie.device(npu1) {}", "'aie.device' op unable to find printer for op", id="other dialect"),
        pytest.param(
            "emitc.func @f(%c: i1) { cf.br ^bb1 \n ^bb1: emitc.return }",
            "with multiple blocks needs variables declared at top",
            id="blocks",
        ),
        pytest.param("emitc.func @f(%a: i7) { return }", "cannot emit integer type 'i7'", id="width"),
    ],
)
def test_what_has_no_text(text: str, complaint: str) -> None:
    module = parse_source(make_context(), text, "test.mlir")
    with pytest.raises(DiagnosedError, match=complaint):
        print_cpp(module)
