"""Running one sequence in every way there is: interpreted, as native code, as C++ of each style."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

from compilers import sanitizing_compilers
from cpp_programs import Program
from helpers import INCLUDE, WIDTHS, first
from xdsl.dialects.builtin import ModuleOp

from tilewright.codegen.cpp_printer import print_cpp
from tilewright.codegen.cpp_readable import print_readable_cpp
from tilewright.codegen.interpreter import Interpreter, Refused
from tilewright.codegen.txn_words import TxnEmitter
from tilewright.dialects.aie.sequence import RuntimeSequenceOp
from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.ir.context import make_context
from tilewright.ir.diagnostics import DiagnosedError
from tilewright.ir.parser import parse_source
from tilewright.ir.pass_manager import Pipeline, run_pipeline
from tilewright.ir.verifier import verify
from tilewright.passes.cpp.convert_aiex_to_emitc import ConvertAIEXToEmitCPass
from tilewright.passes.cpp.convert_aiex_to_emitc.builder import StyleName
from tilewright.txn.codec import header_words

COMPILERS = sanitizing_compilers()
WARNINGS = ["-std=c++17", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]
SANITIZERS = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-g"]
CPP_WIDTHS = (8, 16, 32, 64)
CPP_TYPES = {
    **{type: f"int{next(held for held in CPP_WIDTHS if held >= width)}_t" for type, width in WIDTHS.items()},
    "i1": "bool",
    "index": "size_t",
}

Words = list[int] | None
"""A stream, or None where the values are refused."""


def read(text: str) -> ModuleOp:
    module = parse_source(make_context(), text, "program.mlir")
    if errors := verify(module):
        raise DiagnosedError(errors)
    return module


def parts(module: ModuleOp) -> tuple[DeviceOp, RuntimeSequenceOp]:
    device = first(DeviceOp, module)
    return device, first(RuntimeSequenceOp, device)


def interpreted(module: ModuleOp, values: Sequence[int]) -> Words:
    device, sequence = parts(module)
    emitter = TxnEmitter(device)
    scalars = sequence.body.block.args[1:]
    run = Interpreter(sequence, emitter, dict(zip(scalars, values, strict=True)))
    words, count = [0] * 4, 0
    try:
        for emitted in run.run():
            words += [word for word in emitted.words if word is not None]
            count += 1
    except Refused:
        return None
    return [*header_words(emitter.header, count, 4 * len(words)), *words[4:]]


class Native:
    """A sequence as machine code."""

    def __init__(self, module: ModuleOp):
        from llvmlite import ir

        from tilewright.codegen.native_generator import build_generator
        from tilewright.native.host import NativeModule

        device, sequence = parts(module)
        llvm = ir.Module("test")
        self.generator = build_generator(llvm, sequence, TxnEmitter(device), "generate")
        self._code = NativeModule(llvm, optimize=0, all_passes=self.generator.is_short)

    def __call__(self, values: Sequence[int]) -> Words:
        import ctypes

        import numpy as np

        capacity = 1 << 16
        words = np.zeros(capacity, dtype=np.uint32)
        failure = ctypes.c_int64()
        signature = [ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p, *(ctypes.c_int64 for _ in values)]
        call = ctypes.CFUNCTYPE(ctypes.c_int64, *signature)(self._code.address("generate"))
        count = call(words.ctypes.data, capacity, ctypes.addressof(failure), *values)
        return None if count < 0 else words[:count].tolist()


def cpp_text(text: str, style: StyleName, function: str) -> str:
    """The C++ code of a program's sequence, in a function of that name."""
    module = read(text)
    convert = ConvertAIEXToEmitCPass(style, function_name=function)
    run_pipeline(make_context(), module, Pipeline(steps=[convert]))
    return print_readable_cpp(module) if style is StyleName.READABLE else print_cpp(module)


def compile_cpp(compiler: str, source: str, folder: Path, options: Sequence[str] = ()) -> Path:
    """Compile a program with all warnings as errors; gives the executable."""
    file, executable = folder / "program.cpp", folder / f"program-{compiler.strip('+')}"
    file.write_text(source)
    command = [compiler, *WARNINGS, *options, f"-I{INCLUDE}", str(file), "-o", str(executable)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr[:6000]
    return executable


def run_cpp(executable: Path) -> list[Words]:
    """What a program printed: a line of words for each call, or `none`."""
    ended = subprocess.run([str(executable)], capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr[:6000]
    return [None if line == "none" else [int(word, 16) for word in line.split()] for line in ended.stdout.splitlines()]


def call_all(programs: Sequence[Program], styles: Sequence[StyleName]) -> str:
    """One C++ file with the functions of all programs in all styles, that calls each with all of its values."""
    functions, calls = list[str](), list[str]()
    for entry in programs:
        for style in styles:
            name = f"{style}_{entry.name}"
            functions.append(cpp_text(entry.text, style, name))
            calls += [f"  show({name}({_arguments(entry, values)}));" for values in entry.calls]
    return "\n".join([*functions, SHOW, "int main() {", *calls, "}", ""])


def _arguments(entry: Program, values: Sequence[int]) -> str:
    texts = (cpp_literal(type, value) for type, value in zip(entry.types, values, strict=True))
    return ", ".join(texts)


def cpp_literal(type: str, value: int) -> str:
    number = f"{value % (1 << 64)}ull"
    return ("true" if value else "false") if type == "i1" else f"static_cast<{CPP_TYPES[type]}>({number})"


SHOW = """
#include <cstdio>

static void show(const std::optional<std::vector<uint32_t>> &words) {
  if (!words)
    std::printf("none");
  else
    for (uint32_t word : *words)
      std::printf("%x ", word);
  std::printf("\\n");
}
"""
