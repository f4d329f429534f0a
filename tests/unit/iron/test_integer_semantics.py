"""Integer arithmetic of Python programs: NumPy's results, wrapped, on cores, in sequences, folded and in C++."""

from __future__ import annotations

import operator
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from compilers import links
from helpers import STRESS
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from iron_programs import move_all, vector
from xdsl.ir import SSAValue

import tilewright as tw
from tilewright.codegen.interpreter import Interpreter, Refused
from tilewright.codegen.txn_words import TxnEmitter
from tilewright.iron import ObjectFifo, Program, Runtime, Worker, math
from tilewright.iron.builders import ScalarValue, mlir_mod_ctx
from tilewright.iron.controlflow import range_
from tilewright.iron.device import NPU1Col1
from tilewright.iron.dialects.aie import AIEDevice, device
from tilewright.iron.dialects.aiex import npu_write32, runtime_sequence

TYPES = [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64]
PAIRS, EXPRESSIONS = 32, 12
ADDRESS, HEADER_WORDS = 0x400, 4

Tree = Any
"""'x', 'y', a constant, or a name with operands."""


def properties(examples: int) -> settings:
    """As many examples as there is time for; making one that failed smaller would take minutes."""
    return settings(max_examples=examples * (15 if STRESS else 1), phases=[Phase.explicit, Phase.generate])


BINARY: dict[str, Callable[[Any, Any], Any]] = {
    name: getattr(operator, name) for name in ("add", "sub", "mul", "floordiv", "mod", "and_", "or_", "xor")
}
COMPARISONS = ["eq", "ne", "lt", "le", "gt", "ge"]


def trees(dtype: Any) -> st.SearchStrategy[Tree]:
    """Expressions of x and y; a constant always meets something that is none."""
    limits, bits = np.iinfo(dtype), np.iinfo(dtype).bits
    constants = st.one_of(
        st.integers(int(limits.min), int(limits.max)), st.integers(max(-9, int(limits.min)), 9), st.just(limits.max)
    ).map(int)

    def larger(smaller: st.SearchStrategy[Tree]) -> st.SearchStrategy[Tree]:
        names = st.sampled_from([*BINARY, "maximum", "minimum"])
        return st.one_of(
            st.tuples(names, smaller, smaller),
            st.tuples(names, smaller, constants),
            st.tuples(names, constants, smaller),
            st.tuples(st.sampled_from(["neg", "invert", "abs"]), smaller),
            st.tuples(st.sampled_from(["lshift", "rshift"]), smaller, st.integers(0, bits + 3)),
            st.tuples(st.sampled_from(["lshift", "rshift"]), smaller, st.tuples(st.just("count"), smaller)),
            st.tuples(st.just("where"), st.sampled_from(COMPARISONS), smaller, smaller, smaller, smaller),
            st.tuples(st.just("pow"), smaller, st.integers(0, 5)),
        )

    return st.recursive(st.sampled_from(["x", "y"]), larger, max_leaves=8)


def is_varied(expressions: list[Tree]) -> bool:
    """Whether most are more than x or y, which is what hypothesis begins with."""
    return sum(isinstance(tree, tuple) for tree in expressions) > len(expressions) // 2


def in_program(tree: Tree, x: Any, y: Any, bits: int) -> Any:
    """What a user's line makes of an expression."""
    if not isinstance(tree, tuple):
        return {"x": x, "y": y}.get(tree, tree)
    name, *rest = tree
    if name == "where":
        first, second, yes, no = (in_program(part, x, y, bits) for part in rest[1:])
        return math.where(getattr(operator, rest[0])(first, second), yes, no)
    operands = [in_program(part, x, y, bits) for part in rest]
    match name:
        case "maximum" | "minimum":
            return getattr(math, name)(*operands)
        case "count":
            return operands[0] & (bits - 1)
        case _:
            return getattr(operator, name)(*operands)


def in_numpy(tree: Tree, x: Any, y: Any) -> Any:
    """What NumPy makes of it. A quotient that no number of the type is, is 0."""
    dtype = x.dtype
    if not isinstance(tree, tuple):
        return {"x": x, "y": y}[tree] if isinstance(tree, str) else np.array(tree, dtype)
    name, *rest = tree
    if name == "where":
        first, second, yes, no = (in_numpy(part, x, y) for part in rest[1:])
        return np.where(getattr(operator, rest[0])(first, second), yes, no)
    if name == "pow":
        result = np.ones_like(x)
        for _ in range(rest[1]):
            result = result * in_numpy(rest[0], x, y)
        return result
    operands = [in_numpy(part, x, y) for part in rest]
    match name:
        case "maximum" | "minimum":
            return getattr(np, name)(*operands)
        case "count":
            return operands[0] & dtype.type(np.iinfo(dtype).bits - 1)
        case "floordiv":
            result = np.floor_divide(*operands)
            if dtype.kind == "i":
                overflows = (operands[0] == np.iinfo(dtype).min) & (operands[1] == -1)
                result = np.where(overflows, dtype.type(0), result)
            return result
        case _:
            return getattr(operator, name)(*operands)


def expected(tree: Tree, x: Any, y: Any) -> Any:
    with np.errstate(all="ignore"):
        return np.broadcast_to(np.asarray(in_numpy(tree, x, y), x.dtype), x.shape)


def divides_by_zero(tree: Tree, x: Any, y: Any) -> bool:
    try:
        with np.errstate(all="ignore", divide="raise"):
            in_numpy(tree, x, y)
    except FloatingPointError:
        return True
    return False


def numbers(dtype: Any, count: int, seed: int) -> Any:
    """Random numbers, the edges of the type and small ones among them."""
    random, limits = np.random.default_rng(seed), np.iinfo(dtype)
    anywhere = random.integers(limits.min, limits.max, count, dtype=dtype, endpoint=True)
    edges = np.array([limits.min, limits.max, limits.max - 1, 0, 1, 2, 3, 7], dtype)
    picked = random.integers(0, 3, count)
    small = random.integers(max(limits.min, -8), 9, count).astype(dtype)
    return np.select([picked == 0, picked == 1], [anywhere, edges[random.integers(0, len(edges), count)]], small)


def core_program(dtype: Any, expressions: list[Tree]) -> Program:
    """A core that computes each expression for pairs of numbers."""
    bits = np.iinfo(dtype).bits
    of_in = ObjectFifo(vector(2 * PAIRS, dtype), name="in", depth=1)
    of_out = ObjectFifo(vector(PAIRS * len(expressions), dtype), name="out", depth=1)

    def core(source: Any, target: Any) -> None:
        given, results = source.acquire(1), target.acquire(1)
        for i in range_(PAIRS):
            for number, tree in enumerate(expressions):
                results[i + number * PAIRS] = in_program(tree, given[i], given[i + PAIRS], bits)
        source.release(1)
        target.release(1)

    types = [vector(2 * PAIRS, dtype), vector(PAIRS * len(expressions), dtype)]
    runtime = Runtime(move_all, [*types, of_in.prod(), of_out.cons()])
    return Program(NPU1Col1(), runtime, [Worker(core, [of_in.cons(), of_out.prod()])])


@pytest.mark.parametrize("dtype", TYPES)
@properties(examples=4)
@given(data=st.data(), seed=st.integers(0, 1 << 30))
def test_a_core_computes_what_numpy_does(dtype: Any, data: st.DataObject, seed: int):
    expressions = data.draw(st.lists(trees(dtype), min_size=EXPRESSIONS, max_size=EXPRESSIONS).filter(is_varied))
    x, y = numbers(dtype, PAIRS, seed), numbers(dtype, PAIRS, seed + 1)
    results = np.zeros(PAIRS * len(expressions), dtype)
    tw.compile(core_program(dtype, expressions)).run(np.concatenate([x, y]), results)
    for number, tree in enumerate(expressions):
        assert np.array_equal(results[number * PAIRS : (number + 1) * PAIRS], expected(tree, x, y)), tree


def write(value: Any) -> None:
    """Both halves of a number as words of a sequence."""
    wide = value.astype(np.int64)
    npu_write32(ADDRESS, wide.astype(np.int32), column=0, row=2)
    npu_write32(ADDRESS, (wide >> 32).astype(np.int32), column=0, row=2)


def sequence_design(dtype: Any, expressions: list[Tree], known: tuple[int, int] | None = None) -> tw.Design:
    """A sequence that writes each expression of its arguments, or of numbers that are known now."""
    bits = np.iinfo(dtype).bits

    def body(*arguments: Any) -> None:
        x, y = arguments or (ScalarValue(number, dtype=dtype) for number in known or ())
        for tree in expressions:
            write(in_program(tree, x, y, bits))

    with mlir_mod_ctx() as ctx:

        @device(AIEDevice.npu1)
        def _() -> None:
            runtime_sequence(*([dtype, dtype] if known is None else []), sym_name="sequence")(body)

    return tw.compile(ctx)


def halves(values: Any) -> list[int]:
    """What `write` makes of numbers, as the words of a stream."""
    wide = [int(value) & (1 << 64) - 1 for value in values]
    return [word for value in wide for word in (value & (1 << 32) - 1, value >> 32)]


def written(words: Any) -> list[int]:
    return [operation.value for operation in tw.txn.decode(words).operations]


def interpreted(design: tw.Design, x: int, y: int) -> list[int | None]:
    """The words of a stream without its header, from the interpreter that generators are held to."""
    sequence = design.operation("sequence")
    device = sequence.parent_op()
    assert device is not None
    arguments: dict[SSAValue, int] = dict(zip(sequence.body.block.args, (x, y), strict=True))
    run = Interpreter(sequence, TxnEmitter(device), arguments).run()
    return [word for emitted in run for word in emitted.words]


def stream(design: tw.Design, x: Any, y: Any, expressions: list[Tree]) -> Any:
    """The words for two numbers; None where the sequence refuses them, which it does where NumPy divides by zero.

    Not everywhere there: what is not needed is not computed.
    """
    try:
        return design.txn("sequence", arg0=int(x), arg1=int(y))
    except tw.RangeError as error:
        assert "division by zero" in str(error)
        assert any(divides_by_zero(tree, x[None], y[None]) for tree in expressions)
        return None


@pytest.mark.parametrize("dtype", TYPES)
@properties(examples=3)
@given(data=st.data(), seed=st.integers(0, 1 << 30))
def test_a_sequence_computes_what_numpy_does(dtype: Any, data: st.DataObject, seed: int):
    expressions = data.draw(st.lists(trees(dtype), min_size=4, max_size=8).filter(is_varied))
    design = sequence_design(dtype, expressions)
    for x, y in zip(numbers(dtype, 6, seed), numbers(dtype, 6, seed + 1), strict=True):
        wanted = halves(expected(tree, x[None], y[None])[0] for tree in expressions)
        words = stream(design, x, y, expressions)
        if words is None:
            with pytest.raises(Refused, match="division by zero"):
                interpreted(design, int(x), int(y))
            continue
        assert written(words) == wanted
        assert interpreted(design, int(x), int(y)) == words[HEADER_WORDS:].tolist()


@pytest.mark.parametrize("dtype", TYPES)
@properties(examples=3)
@given(data=st.data(), seed=st.integers(0, 1 << 30))
def test_folding_computes_what_numpy_does(dtype: Any, data: st.DataObject, seed: int):
    expressions = data.draw(st.lists(trees(dtype), min_size=4, max_size=8).filter(is_varied))
    x, y = numbers(dtype, 1, seed), numbers(dtype, 1, seed + 1)
    design = sequence_design(dtype, expressions, (int(x[0]), int(y[0])))
    if any(divides_by_zero(tree, x, y) for tree in expressions):
        return  # a sequence has no words then, unless what divides is not needed
    assert written(design.txn("sequence")) == halves(expected(tree, x, y)[0] for tree in expressions)


MAIN = """
int main() {
  long long x, y;
  while (std::scanf("%lld %lld", &x, &y) == 2) {
    auto words = generate_txn_main_sequence(static_cast<ARGUMENT>(x), static_cast<ARGUMENT>(y));
    if (words) for (uint32_t word : *words) std::printf("%u ", word);
    std::printf("\\n");
  }
}
"""


@pytest.mark.skipif(not links("g++"), reason="needs g++")
@pytest.mark.parametrize("dtype", TYPES if STRESS else [np.int32, np.uint8, np.uint64])
@settings(max_examples=1, phases=[Phase.generate], derandomize=True)
@given(data=st.data())
def test_generated_cpp_computes_what_the_native_generator_does(tmp_path_factory: Any, dtype: Any, data: st.DataObject):
    expressions = data.draw(st.lists(trees(dtype), min_size=30, max_size=30).filter(is_varied))
    design = sequence_design(dtype, expressions)
    folder: Path = tmp_path_factory.mktemp("cpp")
    main = MAIN.replace("ARGUMENT", f"{np.dtype(dtype).name}_t")
    (folder / "main.cpp").write_text("\n".join(["#include <cstdio>", design.cpp("sequence"), main]))
    include = Path(tw.__file__).parent / "include"
    subprocess.run(["g++", "-std=c++17", "-O0", f"-I{include}", "main.cpp", "-o", "main"], cwd=folder, check=True)
    pairs = list(zip(numbers(dtype, 40, 1), numbers(dtype, 40, 2), strict=True))
    given = "".join(f"{int(x.astype(np.int64))} {int(y.astype(np.int64))}\n" for x, y in pairs)
    said = subprocess.run([folder / "main"], input=given, capture_output=True, text=True, check=True).stdout
    for line, (x, y) in zip(said.splitlines(), pairs, strict=True):
        words = stream(design, x, y, expressions)
        assert (words is None) == (not line.split())
        if words is not None:
            wanted = halves(expected(tree, x[None], y[None])[0] for tree in expressions)
            assert written(np.array(line.split(), np.uint32)) == wanted == written(words)
