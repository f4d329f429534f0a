"""One build of a random runtime sequence, called with many values, does what a build for just those values does.

For each sequence the native generator, the interpreter and the compiled C++ give the same words, or all refuse. Against
builds with the values written into the program as constants the effects are the same: pushes, waits, patches and writes
in the same order, with the same descriptors at each push.

200 sequences by default, more with TILEWRIGHT_SEQUENCES=2000. Each has its own number:
TILEWRIGHT_SEQUENCE=17 runs that one alone and prints its program.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from random import Random
from traceback import format_exception

import numpy as np
import pytest
from compilers import sanitizing_compilers
from helpers import ROOT
from random_sequences import Program, program
from txn_effects import effects
from xdsl.dialects.builtin import FileLineColLoc
from xdsl.ir import SSAValue

from tilewright.codegen.interpreter import Interpreter, Refused
from tilewright.codegen.sequence_scalars import RangeError, Words
from tilewright.codegen.txn_words import TxnEmitter
from tilewright.device import DeviceName
from tilewright.dialects.aie.sequence import scalar_arguments
from tilewright.driver.compiled_design import GUARDED_LOWERING, Design, compile_text
from tilewright.ir.diagnostics import DiagnosedError, collect

SEQUENCES = int(os.environ.get("TILEWRIGHT_SEQUENCES", "200"))
ONLY = os.environ.get("TILEWRIGHT_SEQUENCE")
CALLS = 4
BAKED_CALLS = 2
ONE_DESCRIPTOR_EACH = [flag for flag in GUARDED_LOWERING if not flag.startswith("aie-decompose-large-dma-bd")]
"""What does not fit one descriptor is refused here as it is at run time, instead of being made into several."""
OUT_OF_BOUNDS = "end of the transfer", "moves data up to byte"
"""A transfer that leaves its buffer is refused at run time, but known ones are only warned of."""
UNREAD = re.compile(
    r"size is \d+ but must be in \[1:2147483647\]|iteration stride is \d+ but must be divisible|length less the product"
)
"""A constant pattern that is a plain run is dropped from a descriptor that has a length, whatever else it says."""
CAUTIOUS = re.compile(r"address-gen granule|must be in \[1:2147483647\]")
"""Upstream's check of sizes whose offsets are not known does not see that rows of odd length are one run; and where
constant rows are made one, that is held to the limit of a row."""
FEATURES = {"transfer", "task", "chain", "loop", "branch", "choice", "while", "ping-pong", "%mem", "%core"}


@dataclass
class Call:
    """What became of one call."""

    values: dict[str, int]
    words: Words | None
    refusal: str = ""


@dataclass
class Outcome:
    """What became of one sequence. Failures say what went wrong; there should be none."""

    seed: int
    device: str
    has_runtime_size_in_loop: bool
    features: set[str]
    calls: list[Call] = field(default_factory=list[Call])
    compared: int = 0
    failures: list[str] = field(default_factory=list[str])
    cpp: str = ""
    scalars: list[str] = field(default_factory=list[str])
    is_refused: bool = False

    def fail(self, text: str, call: Call) -> None:
        self.failures.append(f"sequence {self.seed} with {call.values}: {text}")


def examine(seed: int) -> Outcome:
    """Build a sequence, call it, and compare. The program itself may ask for the impossible: then it is not built."""
    source = program(seed)
    outcome = Outcome(seed, source.device, source.loops_with_runtime_sizes > 0, source.features)
    try:
        design = compile_text(source.text(), f"sequence {seed}")
    except DiagnosedError:
        outcome.is_refused = True
        return outcome
    random = Random(seed)
    for number in range(CALLS):
        call = _call(design, source.values(random))
        outcome.calls.append(call)
        lines = _interpret(design, call, outcome)
        if number < BAKED_CALLS:
            _compare_with_constants(source, call, lines, outcome)
    outcome.cpp, outcome.scalars = design.cpp(), design.scalars()
    return outcome


def _call(design: Design, values: dict[str, int]) -> Call:
    try:
        return Call(values, design.txn(**values))
    except RangeError as error:
        return Call(values, None, str(error))


def _interpret(design: Design, call: Call, outcome: Outcome) -> set[int]:
    """Check the words against the interpreter's. Returns the lines of the program that had an effect."""
    sequence = design.operation()
    device = sequence.parent_op()
    assert device is not None
    scalars = zip(scalar_arguments(sequence), design.scalars(), strict=True)
    arguments: dict[SSAValue, int] = {argument: call.values[name] for argument, name in scalars}
    lines, words = set[int](), list[int | None]()
    try:
        for emitted in Interpreter(sequence, TxnEmitter(device), arguments).run():
            words += emitted.words
            lines.add(_line(emitted.op.location))
    except Refused as error:
        if call.words is not None:
            outcome.fail(f"only the interpreter refuses: {error}", call)
        return lines
    if call.words is None:
        outcome.fail(f"only native code refuses: {call.refusal}", call)
    elif call.words[4:].tolist() != words:
        outcome.fail("native code and the interpreter give different words", call)
    return lines


def _line(location: object) -> int:
    return location.line.data if isinstance(location, FileLineColLoc) else 0


def _compare_with_constants(source: Program, call: Call, lines: set[int], outcome: Outcome) -> None:
    with collect() as warnings:
        try:
            baked = compile_text(source.text(call.values), "constants", ONE_DESCRIPTOR_EACH).txn()
        except (DiagnosedError, RangeError) as error:
            location = error.location if isinstance(error, RangeError) else error.diagnostics[0].location
            # Constants are checked even where they are not reached.
            if call.words is not None and _line(location) in lines and not CAUTIOUS.search(str(error)):
                outcome.fail(f"only constants are refused: {str(error).splitlines()[0]}", call)
            return
    if call.words is None:
        at_run_time, when_compiled = OUT_OF_BOUNDS
        is_warned = at_run_time in call.refusal and any(when_compiled in warning.text for warning in warnings)
        if not is_warned and not UNREAD.search(call.refusal):
            outcome.fail(f"constants are not refused, but {call.refusal}", call)
        return
    outcome.compared += 1
    device = DeviceName[source.device]
    ours, theirs = effects(call.words, device), effects(baked, device)
    for position, (one, other) in enumerate(zip(ours, theirs, strict=False)):
        if one != other:
            outcome.fail(f"effect {position} is\n  {one}\nbut with constants\n  {other}", call)
            return
    if len(ours) != len(theirs):
        outcome.fail(f"{len(ours)} effects, but {len(theirs)} with constants", call)


@pytest.fixture(scope="module")
def outcomes() -> list[Outcome]:
    if ONLY is not None:
        print(program(int(ONLY)).text())
        return [examine(int(ONLY))]
    with ProcessPoolExecutor(os.cpu_count(), get_context("fork")) as pool:
        jobs = [(seed, pool.submit(examine, seed)) for seed in range(SEQUENCES)]
        return [_crashed(seed, error) if (error := job.exception()) else job.result() for seed, job in jobs]


def _crashed(seed: int, error: BaseException) -> Outcome:
    """What to report of a sequence for which the compiler did not even give a diagnostic."""
    text = "".join(format_exception(error))
    return Outcome(seed, program(seed).device, False, set(), failures=[f"sequence {seed}:\n{text}"], is_refused=True)


def test_sequences_are_varied(outcomes: list[Outcome]):
    if ONLY is not None:
        pytest.skip("one sequence")
    built = [outcome for outcome in outcomes if not outcome.is_refused]
    assert len(built) > 0.9 * len(outcomes)
    assert sum(outcome.has_runtime_size_in_loop for outcome in built) >= len(outcomes) / 2
    assert {outcome.device for outcome in built} == {"npu1", "npu2"}
    assert set[str]().union(*(outcome.features for outcome in built)) >= FEATURES
    calls = [call for outcome in built for call in outcome.calls]
    refused = sum(call.words is None for call in calls)
    assert 0.05 * len(calls) < refused < 0.5 * len(calls)


def test_one_build_does_what_builds_for_each_value_do(outcomes: list[Outcome]):
    failures = [failure for outcome in outcomes for failure in outcome.failures]
    assert not failures, "\n".join([f"{len(failures)} differences", *failures[:20]])
    assert sum(outcome.compared for outcome in outcomes) >= min(1, len(outcomes) - 1)


COMPILERS = sanitizing_compilers()
FLAGS = ["-std=c++17", "-O0", "-Wall", "-Wextra", "-Wpedantic", "-Werror", f"-I{ROOT / 'tilewright' / 'include'}"]
SANITIZERS = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
SEQUENCES_PER_FILE = 50
SANITIZED_FILES = 2
"""Files that are checked while they run, each with another compiler; that takes three times as long to compile."""
DRIVER = """
template <typename Generate> void call(Generate generate) {
  auto words = generate();
  int64_t count = words ? static_cast<int64_t>(words->size()) : -1;
  std::fwrite(&count, sizeof count, 1, stdout);
  if (words) std::fwrite(words->data(), sizeof(uint32_t), words->size(), stdout);
}
"""


@pytest.mark.skipif(not COMPILERS, reason="no C++ compiler")
def test_cpp_gives_the_same_words(outcomes: list[Outcome], tmp_path: Path):
    built = [outcome for outcome in outcomes if outcome.cpp]
    for number, start in enumerate(range(0, len(built), SEQUENCES_PER_FILE)):
        options = SANITIZERS if number < SANITIZED_FILES else []
        compare_cpp(built[start : start + SEQUENCES_PER_FILE], COMPILERS[number % len(COMPILERS)], options, tmp_path)


def compare_cpp(built: list[Outcome], compiler: str, options: list[str], folder: Path) -> None:
    source, binary = folder / "sequences.cpp", folder / "sequences"
    source.write_text(cpp_program(built), encoding="utf-8")
    subprocess.run([compiler, *FLAGS, *options, str(source), "-o", str(binary)], check=True)
    results = read_results(subprocess.run([binary], check=True, stdout=subprocess.PIPE).stdout)
    for outcome in built:
        for call in outcome.calls:
            words = next(results)
            where = f"sequence {outcome.seed} with {call.values}"
            assert (words is None) == (call.words is None), f"{where}: {call.refusal or 'only C++ refuses'}"
            if words is not None and call.words is not None:
                assert np.array_equal(words, call.words), f"{where}: other words"


def cpp_program(outcomes: list[Outcome]) -> str:
    """All functions in one file, each in a namespace of its own, and a program that prints what they give."""
    lines = [line for outcome in outcomes for line in outcome.cpp.splitlines()]
    includes = sorted({line for line in lines if line.startswith("#include")})
    parts, calls = list[str](), list[str]()
    for outcome in outcomes:
        body = [line for line in outcome.cpp.splitlines() if not line.startswith("#")]
        parts.append(f"namespace s{outcome.seed} {{\n" + "\n".join(body) + "\n}")
        name = f"s{outcome.seed}::generate_txn_main_run"
        for call in outcome.calls:
            arguments = ", ".join(cpp_number(call.values[scalar]) for scalar in outcome.scalars)
            calls.append(f"  call([] {{ return {name}({arguments}); }});")
    main = "int main() {\n" + "\n".join(calls) + "\n}\n"
    return "\n".join([*includes, "#include <cstdio>", *parts, DRIVER, main])


def cpp_number(value: int) -> str:
    return f"static_cast<int64_t>({value}ll)" if value != -(1 << 63) else "INT64_MIN"


def read_results(output: bytes) -> Iterator[Words | None]:
    position = 0
    while position < len(output):
        (count,) = np.frombuffer(output, np.int64, 1, position)
        position += 8
        yield None if count < 0 else np.frombuffer(output, np.uint32, count, position)
        position += 4 * max(0, int(count))
