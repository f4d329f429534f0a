"""Operations on numbers mean the same everywhere: at every width, in every system of numbers, and in MLIR."""

from __future__ import annotations

import ctypes
from itertools import product
from pathlib import Path
from random import Random
from typing import Any, cast

import ml_dtypes
import numpy as np
import pytest
from cpp_harness import COMPILERS, Native, call_all, compile_cpp, interpreted, read, run_cpp
from cpp_programs import Program
from emulated import in_kernel, run
from helpers import WIDTHS, first, lowered, mlir_opt, needs_mlir_opt, parsed
from llvmlite import ir
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, IntegerAttr, ModuleOp, bf16, f16, f32, f64
from xdsl.ir import Operation
from xdsl.ir.affine import AffineExpr, AffineMap

from tilewright import Fault
from tilewright.dialects.arith.meaning import DIVISIONS, FLOAT_MEANING, MEANING, PREDICATES, RESIZES
from tilewright.dialects.func import FuncOp, ReturnOp
from tilewright.gpu.emulator.write_numbers import LaneIntegers
from tilewright.native.functions import FunctionLowering, rebuild_all, types_of_parts
from tilewright.native.host import NativeModule
from tilewright.native.lowering import Unit
from tilewright.native.math_functions import provide_library
from tilewright.native.operations import OPERATIONS
from tilewright.native.ranges import Ranges
from tilewright.passes.cpp.convert_aiex_to_emitc.builder import StyleName
from tilewright.passes.sequence.lint_queue_depth.state import KnownValues
from tilewright.rewrite.folding.arith_floats import FLOATS
from tilewright.rewrite.folding.constants import constant_of
from tilewright.rewrite.folding.floats import round_to
from tilewright.rewrite.integers import compute, integers, mask, signed

COMPARISONS = {f"arith.cmpi {name}": number for number, name in enumerate(PREDICATES)}
PAIRS = 100
"""As many as MLIR still prints one by one."""


def pairs_of(type: str) -> list[tuple[int, int]]:
    """The corners of a type with each other, then numbers at random."""
    width, random = WIDTHS[type], Random(type)
    lowest = -(1 << width - 1)
    corners = sorted({signed(number, width) for number in (0, 1, -1, 3, 7, width - 1, lowest, ~lowest)})
    drawn = (tuple(random.getrandbits(random.choice((width, width // 2 + 1))) for _ in "ab") for _ in range(PAIRS))
    return [*product(corners, corners), *((signed(a, width), signed(b, width)) for a, b in drawn)][:PAIRS]


def expected(name: str, type: str, a: int, b: int) -> int | None:
    """The result with its sign, of Python's integers; None where there is none."""
    width = WIDTHS[type]
    if name in COMPARISONS:
        return int(integers(width).cmpi(COMPARISONS[name], a, b))
    found = compute(name, a, b, width)
    return None if found is None else signed(found, width)


def number_of(name: str, type: str, a: int, b: int) -> int:
    """The result of a pair that has one."""
    found = expected(name, type, a, b)
    assert found is not None
    return found


def defined_pairs(name: str, type: str) -> list[tuple[int, int]]:
    return [pair for pair in pairs_of(type) if expected(name, type, *pair) is not None]


def is_folded(name: str, type: str, a: int, b: int) -> bool:
    """Not where a result is undefined, nor where MLIR's folder would have to negate the smallest integer."""
    lowest = -(1 << WIDTHS[type] - 1)
    negates = name == "arith.ceildivsi" and a != 0 and lowest in (a, b)
    return expected(name, type, a, b) is not None and not negates


def kept_pairs(name: str, type: str) -> list[tuple[int, int]]:
    """Those of which nothing is folded; dividing by one gives the dividend, whatever that is."""
    one = signed(1, WIDTHS[type])
    return [(a, b) for a, b in pairs_of(type) if b != one and not is_folded(name, type, a, b)]


def listed(numbers: list[int], type: str) -> str:
    texts = [str(bool(number)).lower() if type == "i1" else str(number) for number in numbers]
    return f"dense<[{', '.join(texts)}]> : vector<{len(numbers)}x{type}>"


def folding_module() -> str:
    """A function for each operation at each width, on vectors; and one for each pair that must not be folded."""
    functions = list[str]()
    for (number, name), type in product(enumerate((*MEANING, *COMPARISONS)), WIDTHS):
        result, dot = "i1" if name in COMPARISONS else type, "," if name in COMPARISONS else ""
        folded = [pair for pair in pairs_of(type) if is_folded(name, type, *pair)]
        a, b = ([pair[side] for pair in folded] for side in (0, 1))
        vector = f"vector<{len(folded)}x"
        functions.append(
            f"""func.func @{type}_{number}() -> {vector}{result}> {{
              %a = arith.constant {listed(a, type)}
              %b = arith.constant {listed(b, type)}
              %r = {name}{dot} %a, %b : {vector}{type}>
              return %r : {vector}{result}>
            }}"""
        )
        for place, (x, y) in enumerate(kept_pairs(name, type)):
            functions.append(
                f"func.func @stays_{type}_{number}_{place}() -> {type} {{ %a = arith.constant {x} : {type} "
                f"%b = arith.constant {y} : {type} %r = {name} %a, %b : {type} return %r : {type} }}"
            )
    return "\n".join(functions)


def folded_results(module: ModuleOp) -> dict[str, Any]:
    """What functions return, by their names: numbers, or the name of the operation that computes it."""
    found = dict[str, Any]()
    for function in (op for op in module.body.ops if isinstance(op, FuncOp)):
        returned = function.body.block.last_op
        assert returned is not None
        made = returned.operands[0].owner
        assert isinstance(made, Operation)
        value = made.properties.get("value")
        is_list = isinstance(value, DenseIntOrFPElementsAttr)
        found[function.sym_name.data] = [*value.get_values()] if is_list else made.name
    return found


@pytest.fixture(scope="module")
def expected_results() -> dict[str, Any]:
    found = dict[str, Any]()
    for (number, name), type in product(enumerate((*MEANING, *COMPARISONS)), WIDTHS):
        folded = [pair for pair in pairs_of(type) if is_folded(name, type, *pair)]
        width = 1 if name in COMPARISONS else WIDTHS[type]
        numbers = [number_of(name, type, *pair) & mask(width) for pair in folded]
        found[f"{type}_{number}"] = numbers
        for place in range(len(kept_pairs(name, type))):
            found[f"stays_{type}_{number}_{place}"] = name
    return found


def unsigned_results(found: dict[str, Any]) -> dict[str, Any]:
    """Readers differ in the sign of a single bit."""
    widths = {name: WIDTHS[name.partition("_")[0]] for name in found if not name.startswith("stays")}
    compares = len(MEANING)
    for name, width in widths.items():
        width = 1 if int(name.partition("_")[2]) >= compares else width
        found[name] = [number & mask(width) for number in found[name]]
    return found


def test_folding(expected_results: dict[str, Any]) -> None:
    assert unsigned_results(folded_results(lowered(folding_module(), "canonicalize"))) == expected_results


@needs_mlir_opt
def test_mlir(expected_results: dict[str, Any]) -> None:
    module = parsed(mlir_opt(folding_module(), "--canonicalize"))
    assert unsigned_results(folded_results(module)) == expected_results


def sequence(type: str) -> Program:
    """A runtime sequence that computes everything from its two arguments and writes the words of the results."""
    lines = list[str]()
    for number, name in enumerate(MEANING):
        lines.append(f"%v{number} = {name} %a, %b : {type}")
        lines += written(f"v{number}", type)
    for number, name in enumerate(COMPARISONS):
        lines += [f"%c{number} = {name}, %a, %b : {type}", *written(f"c{number}", "i1")]
    body = "\n".join(lines)
    text = f"""aie.device(npu2) {{ aie.runtime_sequence @{type}(%buffer: memref<4xi32>, %a: {type}, %b: {type}) {{
      %register = arith.constant 64 : i32
      %upper = arith.constant 32 : i64
      {body}
    }} }}"""
    calls = [list(pair) for pair in pairs_of(type)]
    return Program(text, type, [type, type], calls)


def written(name: str, type: str) -> list[str]:
    """Writes of a value's words, by way of conversions."""
    if type == "index":
        return [f"%{name}i = arith.index_cast %{name} : index to i64", *written(f"{name}i", "i64")]
    match WIDTHS[type]:
        case 64:
            return [
                f"%{name}w = arith.ori %{name}, %{name} : i64",
                f"%{name}h = arith.shrui %{name}w, %upper : i64",
                *(f"%{name}{part}t = arith.trunci %{name}{part} : i64 to i32" for part in "wh"),
                *(f"aiex.npu.write32(%register, %{name}{part}t) : i32, i32" for part in "wh"),
            ]
        case 32:
            return [f"aiex.npu.write32(%register, %{name}) : i32, i32"]
        case width:
            wide = "i32" if width < 32 else "i64"
            lines = list[str]()
            for sign in "su":
                lines.append(f"%{name}{sign} = arith.ext{sign}i %{name} : {type} to {wide}")
                lines += written(f"{name}{sign}", wide)
            return lines


def words_of(number: int, type: str) -> list[int]:
    match WIDTHS[type]:
        case 64:
            return [number & mask(32), number >> 32 & mask(32)]
        case 32:
            return [number & mask(32)]
        case width:
            wide = "i32" if width < 32 else "i64"
            return [*words_of(signed(number, width), wide), *words_of(number & mask(width), wide)]


def written_values(words: list[int]) -> list[int]:
    """The third of each six words: a write's value."""
    header, write = 4, 6
    return words[header + 4 :: write]


@pytest.fixture(scope="module")
def sequences() -> dict[str, tuple[Program, list[list[int]]]]:
    """Programs, and the words that each call of them writes: 0 for what is undefined, none where it divides by zero."""
    found = dict[str, tuple[Program, list[list[int]]]]()
    for type in WIDTHS:
        rows = list[list[int]]()
        for a, b in pairs_of(type):
            results = [(expected(name, type, a, b) or 0, type) for name in MEANING]
            results += [(expected(name, type, a, b) or 0, "i1") for name in COMPARISONS]
            rows.append([] if b == 0 else [word for result in results for word in words_of(*result)])
        found[type] = sequence(type), rows
    return found


@pytest.mark.parametrize("type", WIDTHS)
def test_interpreter_and_native_code(type: str, sequences: dict[str, tuple[Program, list[list[int]]]]) -> None:
    program, rows = sequences[type]
    module = read(program.text)
    native = Native(module)
    assert [interpreted(module, values) is None for values in program.calls] == [not row for row in rows]
    for values, row in zip(program.calls, rows, strict=True):
        assert written_values(interpreted(module, values) or []) == row, values
        assert written_values(native(values) or []) == row, values


@pytest.mark.skipif(not COMPILERS, reason="no C++ compiler here")
def test_cpp(sequences: dict[str, tuple[Program, list[list[int]]]], tmp_path: Path) -> None:
    styles, programs = list(StyleName), [program for program, _ in sequences.values()]
    printed = iter(run_cpp(compile_cpp(COMPILERS[0], call_all(programs, styles), tmp_path)))
    for type, (program, rows) in sequences.items():
        for style, (values, row) in product(styles, zip(program.calls, rows, strict=True)):
            assert written_values(next(printed) or []) == row, (type, style, values)


NUMPY = {"i1": np.bool_, "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64, "index": np.int64}


def pairs_body(names: list[str], type: str) -> str:
    """The results of pairs number `%i`, which lie one after the other for each operation."""
    lines = list[str]()
    for number, name in enumerate(names):
        compares = name in COMPARISONS_OF_ALL
        lines.append(f"""%o{number} = arith.constant {number * PAIRS} : index
          %p{number} = arith.addi %o{number}, %i : index
          %x{number} = memref.load %xs[%p{number}] : memref<?x{type}>
          %y{number} = memref.load %ys[%p{number}] : memref<?x{type}>
          %r{number} = {applied(name, f"%x{number}", f"%y{number}")} : {type}
          memref.store %r{number}, %{"bits" if compares else "out"}[%p{number}] : memref<?x{"i1" if compares else type}>
        """)
    return "\n".join(lines)


def applied(name: str, a: str, b: str) -> str:
    if name == NEGATION:
        return f"{name} {a}"
    return f"{name}{',' if name in COMPARISONS_OF_ALL else ''} {a}, {b}"


ARGUMENTS = "%xs: memref<?x{0}>, %ys: memref<?x{0}>, %out: memref<?x{0}>, %bits: memref<?xi1>"


def looped(body: str) -> str:
    return f"""%c0 = arith.constant 0 : index %c1 = arith.constant 1 : index %n = arith.constant {PAIRS} : index
      scf.for %i = %c0 to %n step %c1 {{ {body} }}"""


def in_many_lanes(body: str, arguments: str, *arrays: Any) -> None:
    """Each number from 0 to PAIRS as `%i` of a lane."""
    run(in_kernel(f"%i = gpu.thread_id x {body}", arguments), *arrays, block=(PAIRS,))


def in_one_lane(body: str, arguments: str, *arrays: Any) -> None:
    """All of them one after the other in one lane."""
    run(in_kernel(looped(body), arguments), *arrays, block=(1,))


def on_host(body: str, arguments: str, *arrays: Any) -> None:
    """The same as a native function of this process."""
    code = native_code(f"func.func @f({arguments}) {{ {looped(body)} return }}")
    parts = [part for array in arrays for part in (array.ctypes.data, array.nbytes, 0, array.size)]
    context = (ctypes.c_int64 * 16)()
    call = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * (1 + len(parts)))(code.address("f"))
    assert call(ctypes.addressof(context), *parts) >= 0


PLACES = [in_many_lanes, in_one_lane, on_host]
PLACE_NAMES = ["each lane its own", "one for all lanes", "native code"]


def native_code(text: str) -> NativeModule:
    """The only function of a program, called by the convention of native functions."""
    function = first(FuncOp, parsed(text))
    inputs, outputs = function.function_type.inputs, function.function_type.outputs
    unit = Unit(ir.Module("f"), OPERATIONS)
    native = FunctionLowering(unit, function, "f", outputs, types_of_parts(inputs))
    native.finish(outputs, native.lower_region(function.body, rebuild_all(inputs, native.arguments)))
    native.function.linkage = "external"
    provide_library()
    return NativeModule(unit.module)


@pytest.mark.parametrize("place", PLACES, ids=PLACE_NAMES)
@pytest.mark.parametrize("type", NUMPY)
def test_lanes_and_native_code(type: str, place: Any) -> None:
    check_pairs([*MEANING, *COMPARISONS], type, place)


@pytest.mark.parametrize("place", PLACES[:2], ids=PLACE_NAMES[:2])
@pytest.mark.parametrize("type", [type for type in NUMPY if type != "i1"])
def test_lanes_without_shorter_ways(type: str, place: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Expressions of lanes can be parts of others: what is made of them agrees with what NumPy has at once."""
    monkeypatch.delattr(LaneIntegers, "divide_rounded")
    monkeypatch.delattr(LaneIntegers, "extreme")
    check_pairs([name for name in MEANING if "max" in name or "min" in name or "div" in name], type, place)


def check_pairs(names: list[str], type: str, place: Any) -> None:
    overflow = -(1 << WIDTHS[type] - 1), -1  # LLVM's remainder of these is undefined too, MLIR's is 0
    table = [
        [pair for pair in defined_pairs(name, type) if name != "arith.remsi" or pair != overflow] * PAIRS
        for name in names
    ]
    table = [pairs[:PAIRS] for pairs in table]
    flat = [pair for pairs in table for pair in pairs]
    xs, ys = (np.array([pair[side] for pair in flat], NUMPY[type]) for side in (0, 1))
    out, bits = np.zeros(len(flat), NUMPY[type]), np.zeros(len(flat), bool)
    place(pairs_body(names, type), ARGUMENTS.format(type), xs, ys, out, bits)
    for number, (name, pairs) in enumerate(zip(names, table, strict=True)):
        results = (bits if name in COMPARISONS else out)[number * PAIRS : (number + 1) * PAIRS].tolist()
        width = 1 if name in COMPARISONS else WIDTHS[type]
        wanted = [number_of(name, type, *pair) & mask(width) for pair in pairs]
        assert [int(result) & mask(width) for result in results] == wanted, name


@pytest.mark.parametrize("shared", [False, True], ids=PLACE_NAMES[:2])
@pytest.mark.parametrize("type", NUMPY)
def test_lanes_with_constants(type: str, shared: bool) -> None:
    """Systems have shorter ways for numbers that are known."""
    cases = list[tuple[str, int, list[int]]]()
    for name in (*MEANING, *COMPARISONS):
        for b in sorted({b for _, b in pairs_of(type)[:64]} | {signed(8, WIDTHS[type])}):
            numbers = [a for a, _ in pairs_of(type) if expected(name, type, a, b) is not None]
            # LLVM's remainder by -1 is undefined for the smallest number, and stopped at
            numbers = [a for a in numbers if name != "arith.remsi" or (a, b) != (-(1 << WIDTHS[type] - 1), -1)]
            cases += [(name, b, (numbers * 16)[:16])] if numbers else []
    lines = ["%t = arith.constant 0 : index" if shared else "%t = gpu.thread_id x"]
    for n, (name, b, _) in enumerate(cases):
        compares = name in COMPARISONS
        lines.append(
            f"""%c{n} = arith.constant {n} : index %x{n} = memref.load %xs[%c{n}, %t] : memref<?x?x{type}>
          %y{n} = arith.constant {b} : {type}
          %r{n} = {name}{"," if compares else ""} %x{n}, %y{n} : {type}
          memref.store %r{n}, %{"bits" if compares else "out"}[%c{n}, %t] : memref<?x?x{"i1" if compares else type}>
        """
        )
    xs = np.array([numbers for *_, numbers in cases], NUMPY[type])
    xs = np.ascontiguousarray(xs[:, :1]) if shared else xs
    out, bits = np.zeros_like(xs), np.zeros(xs.shape, bool)
    arguments = ARGUMENTS.replace("?x", "?x?x").replace("%ys: memref<?x?x{0}>, ", "").format(type)
    run(in_kernel("\n".join(lines), arguments), xs, out, bits, block=(xs.shape[1],))
    for n, (name, b, numbers) in enumerate(cases):
        width, found = (1, bits[n]) if name in COMPARISONS else (WIDTHS[type], out[n])
        wanted = [number_of(name, type, a, b) & mask(width) for a in numbers[: xs.shape[1]]]
        assert [int(number) & mask(width) for number in found.tolist()] == wanted, (name, b)


@pytest.mark.parametrize("divisor", ["%y", "%zero", "%minus"])
@pytest.mark.parametrize("name", sorted(DIVISIONS))
def test_lanes_stop_at_divisions_without_a_result(name: str, divisor: str) -> None:
    lowest = -(1 << 31)
    body = f"""%t = gpu.thread_id x %x = memref.load %xs[%t] : memref<?xi32> %y = memref.load %ys[%t] : memref<?xi32>
      %zero = arith.constant 0 : i32 %minus = arith.constant -1 : i32
      %r = {name} %x, {divisor} : i32
      memref.store %r, %xs[%t] : memref<?xi32>"""
    xs, ys = np.array([7, lowest, 7], np.int32), np.array([2, 3, 0], np.int32)
    if divisor == "%minus" and not name.endswith("si"):
        run(in_kernel(body, "%xs: memref<?xi32>, %ys: memref<?xi32>"), xs, ys, block=(3,))
        return
    text = f"divides {lowest} by -1" if divisor == "%minus" else "divides by zero"
    with pytest.raises(Fault, match=rf"kernel.mlir:3:12: error: .*{text}"):
        run(in_kernel(body, "%xs: memref<?xi32>, %ys: memref<?xi32>"), xs, ys, block=(3,))


@pytest.mark.parametrize("place", PLACES[:2], ids=PLACE_NAMES[:2])
@pytest.mark.parametrize("type", [type for type in NUMPY if type != "i1"])
def test_lanes_shift_out_all_bits(type: str, place: Any) -> None:
    names = ["arith.shli", "arith.shrui", "arith.shrsi"]
    xs, ys = (np.full(PAIRS * len(names), number, NUMPY[type]) for number in (-5, WIDTHS[type]))
    out, bits = np.ones_like(xs), np.zeros(len(xs), bool)
    place(pairs_body(names, type), ARGUMENTS.format(type), xs, ys, out, bits)
    assert out[::PAIRS].tolist() == [0, 0, -1]


def resized() -> list[tuple[str, str, str]]:
    """Conversions with the types that they convert between."""
    fits = {
        "arith.trunci": lambda a, b: "index" not in (a, b) and WIDTHS[a] > WIDTHS[b],
        "arith.extui": lambda a, b: "index" not in (a, b) and WIDTHS[a] < WIDTHS[b],
        "arith.extsi": lambda a, b: "index" not in (a, b) and WIDTHS[a] < WIDTHS[b],
        "arith.index_cast": lambda a, b: (a == "index") != (b == "index"),
        "arith.index_castui": lambda a, b: (a == "index") != (b == "index"),
    }
    return [(name, *types) for name in RESIZES for types in product(WIDTHS, WIDTHS) if fits[name](*types)]


def resized_numbers(name: str, source: str, target: str) -> tuple[list[int], list[int]]:
    """Numbers of a type, and their residues in another."""
    numbers = [a for a, _ in pairs_of(source)]
    read = [number if RESIZES[name] else number & mask(WIDTHS[source]) for number in numbers]
    return numbers, [number & mask(WIDTHS[target]) for number in read]


def resizing_module() -> str:
    functions = list[str]()
    for n, (name, source, target) in enumerate(resized()):
        numbers, _ = resized_numbers(name, source, target)
        functions.append(f"""func.func @f{n}() -> vector<{PAIRS}x{target}> {{
          %a = arith.constant {listed(numbers, source)}
          %r = {name} %a : vector<{PAIRS}x{source}> to vector<{PAIRS}x{target}>
          return %r : vector<{PAIRS}x{target}>
        }}""")
    return "\n".join(functions)


def check_resized(module: ModuleOp) -> None:
    found = folded_results(module)
    for n, (name, source, target) in enumerate(resized()):
        residues = [number & mask(WIDTHS[target]) for number in found[f"f{n}"]]
        assert residues == resized_numbers(name, source, target)[1], (name, source, target)


def test_folded_conversions() -> None:
    check_resized(lowered(resizing_module(), "canonicalize"))


@needs_mlir_opt
def test_conversions_in_mlir() -> None:
    check_resized(parsed(mlir_opt(resizing_module(), "--canonicalize")))


@pytest.mark.parametrize("place", PLACES, ids=PLACE_NAMES)
@pytest.mark.parametrize("source", NUMPY)
def test_conversions_in_lanes_and_native_code(source: str, place: Any) -> None:
    for name, _, target in (row for row in resized() if row[1] == source and row[2] in NUMPY):
        numbers, wanted = resized_numbers(name, source, target)
        body = f"""%x = memref.load %xs[%i] : memref<?x{source}> %r = {name} %x : {source} to {target}
          memref.store %r, %out[%i] : memref<?x{target}>"""
        out = np.zeros(PAIRS, NUMPY[target])
        place(body, f"%xs: memref<?x{source}>, %out: memref<?x{target}>", np.array(numbers, NUMPY[source]), out)
        assert [int(number) & mask(WIDTHS[target]) for number in out.tolist()] == wanted, (name, target)


FLOAT_TYPES = {
    "bf16": (bf16, ml_dtypes.bfloat16, np.uint16),
    "f16": (f16, np.float16, np.uint16),
    "f32": (f32, np.float32, np.uint32),
    "f64": (f64, np.float64, np.uint64),
}
FLOAT_PREDICATES = (
    *("false", "oeq", "ogt", "oge", "olt", "ole", "one", "ord"),
    *("ueq", "ugt", "uge", "ult", "ule", "une", "uno", "true"),
)
FLOAT_COMPARISONS = {f"arith.cmpf {name}": number for number, name in enumerate(FLOAT_PREDICATES)}
COMPARISONS_OF_ALL = {*COMPARISONS, *FLOAT_COMPARISONS}
NEGATION = "arith.negf"
FLOAT_OPERATIONS = [*FLOAT_MEANING, NEGATION]
FLOAT_NAMES = [*FLOAT_OPERATIONS, *FLOAT_COMPARISONS]


def float_pairs(type: str) -> tuple[Any, Any]:
    """The corners of a type with each other, then bits at random."""
    _, dtype, integer = FLOAT_TYPES[type]
    width, random = 8 * np.dtype(integer).itemsize, Random(type)
    smallest, largest = np.array([1], integer).view(dtype)[0], ml_dtypes.finfo(dtype).max
    corners = np.array([0.0, -0.0, 1.0, -3.5, np.inf, -np.inf, np.nan, smallest, largest], dtype)
    a, b = np.repeat(corners, len(corners)), np.tile(corners, len(corners))
    drawn = np.array([random.getrandbits(width) for _ in range(2 * (PAIRS - len(a)))], integer).view(dtype)
    return np.concatenate([a, drawn[::2]]), np.concatenate([b, drawn[1::2]])


def expected_floats(name: str, type: str) -> list[float]:
    """What Python's floats give, rounded to the type; conditions are 0 and 1."""
    xs, ys = (side.astype(np.float64).tolist() for side in float_pairs(type))
    if name in FLOAT_COMPARISONS:
        return [float(FLOATS.cmpf(FLOAT_COMPARISONS[name], *pair)) for pair in zip(xs, ys, strict=True)]
    if name == NEGATION:
        return [FLOATS.negate(x) for x in xs]
    return [round_to(FLOAT_MEANING[name](FLOATS, *pair), FLOAT_TYPES[type][0]) for pair in zip(xs, ys, strict=True)]


def alike(name: str, found: list[float], wanted: list[float]) -> bool:
    """All NaNs are one; which of two zeros `maxnumf` and `minnumf` give is open."""
    unsigned = "num" in name
    told = [
        ["nan" if x != x else str(abs(x) if unsigned and x == 0 else float(x)) for x in numbers]
        for numbers in (found, wanted)
    ]
    return told[0] == told[1]


@pytest.mark.parametrize("place", PLACES, ids=PLACE_NAMES)
@pytest.mark.parametrize("type", FLOAT_TYPES)
def test_floats(type: str, place: Any) -> None:
    xs, ys = (np.tile(side, len(FLOAT_NAMES)) for side in float_pairs(type))
    out, bits = np.zeros_like(xs), np.zeros(len(xs), bool)
    with np.errstate(all="ignore"):
        place(pairs_body(FLOAT_NAMES, type), ARGUMENTS.format(type), xs, ys, out, bits)
    for number, name in enumerate(FLOAT_NAMES):
        found = (bits if name in FLOAT_COMPARISONS else out)[number * PAIRS : (number + 1) * PAIRS]
        assert alike(name, found.astype(np.float64).tolist(), expected_floats(name, type)), name


def float_module() -> str:
    functions = list[str]()
    for (number, name), type in product(enumerate(FLOAT_OPERATIONS), FLOAT_TYPES):
        vector, integer = f"vector<{PAIRS}x{type}>", FLOAT_TYPES[type][2]
        a, b = (", ".join(map(hex, side.view(integer).tolist())) for side in float_pairs(type))
        functions.append(
            f"""func.func @{type}_{number}() -> {vector} {{
              %a = arith.constant dense<[{a}]> : {vector}
              %b = arith.constant dense<[{b}]> : {vector}
              %r = {applied(name, "%a", "%b")} : {vector}
              return %r : {vector}
            }}"""
        )
    return "\n".join([*functions, *map(compared_floats, FLOAT_TYPES)])


COMPARED = range(0, PAIRS, 4)
"""Pairs of floats that are compared by folding, one by one: all corners are among them, on either side."""


def compared_floats(type: str) -> str:
    """All comparisons of a type as one function: only those of single numbers are folded."""
    bits = [side.view(FLOAT_TYPES[type][2]).tolist() for side in float_pairs(type)]
    constants = [
        f"%{name}{n} = arith.constant {bits[side][n]:#x} : {type}" for side, name in enumerate("ab") for n in COMPARED
    ]
    compared = [f"{applied(name, f'%a{n}', f'%b{n}')} : {type}" for name in FLOAT_COMPARISONS for n in COMPARED]
    lines = "\n".join([*constants, *(f"%r{n} = {line}" for n, line in enumerate(compared))])
    types, results = ", ".join("i1" for _ in compared), ", ".join(f"%r{n}" for n in range(len(compared)))
    return f"func.func @{type}() -> ({types}) {{ {lines} return {results} : {types} }}"


def check_folded_floats(module: ModuleOp) -> None:
    found = folded_results(module)
    for (number, name), type in product(enumerate(FLOAT_OPERATIONS), FLOAT_TYPES):
        assert alike(name, found[f"{type}_{number}"], expected_floats(name, type)), (name, type)
    for function in (op for op in module.body.ops if isinstance(op, FuncOp) and op.sym_name.data in FLOAT_TYPES):
        found_here = [bool(number) for number in returned_integers(function)]
        answers_of = [expected_floats(name, function.sym_name.data) for name in FLOAT_COMPARISONS]
        wanted = [answers[n] for answers in answers_of for n in COMPARED]
        assert found_here == wanted


def test_folded_floats() -> None:
    check_folded_floats(lowered(float_module(), "canonicalize"))


@needs_mlir_opt
def test_floats_in_mlir() -> None:
    check_folded_floats(parsed(mlir_opt(float_module(), "--canonicalize")))


def drawn_expression(random: Random, depth: int) -> AffineExpr:
    """An expression of two dimensions and a symbol; what divides is a constant above 0."""
    kind = random.choice("dscc" if depth == 0 else "+*/^%+*")
    if kind in "dsc":
        number = random.randrange(2)
        leaves = {"d": AffineExpr.dimension(number), "s": AffineExpr.symbol(0)}
        return leaves.get(kind, AffineExpr.constant(random.randrange(-9, 9)))
    inner = drawn_expression(random, depth - 1)
    if kind == "+":
        return inner + drawn_expression(random, depth - 1)
    factor = AffineExpr.constant(random.randrange(1, 9))
    return {"*": inner * -factor, "/": inner // factor, "^": inner.ceil_div(factor), "%": inner % factor}[kind]


Indices = tuple[int, ...]


class OfIndices:
    """Operations that make indices of others, and the points that they are computed at."""

    def __init__(self, body: str, inputs: str, results: list[str], points: list[Indices]):
        self.body, self.inputs, self.results, self.points = body, inputs, results, points
        self.types = ", ".join("index" for _ in results)
        self.returned = f"return {', '.join(results)} : {self.types}"

    def with_constants(self, point: Indices) -> str:
        given = [f"%{name} = arith.constant {number} : index" for name, number in zip(self.inputs, point, strict=True)]
        return f"func.func @f() -> ({self.types}) {{ {' '.join(given)} {self.body} {self.returned} }}"

    def folded(self, *passes: str) -> list[list[int]]:
        return [returned_integers(lowered(self.with_constants(point), *passes)) for point in self.points]

    def in_mlir(self, *flags: str) -> list[list[int]]:
        return [returned_integers(parsed(mlir_opt(self.with_constants(point), *flags))) for point in self.points]

    def native(self) -> list[list[int]]:
        arguments = ", ".join(f"%{name}: index" for name in self.inputs)
        code = native_code(f"func.func @f({arguments}) -> ({self.types}) {{ {self.body} {self.returned} }}")
        count = len(self.results)
        call = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * (1 + count + len(self.inputs)))(code.address("f"))
        found = list[list[int]]()
        for point in self.points:
            rooms, context = (ctypes.c_int64 * count)(), (ctypes.c_int64 * 16)()
            places = [ctypes.addressof(rooms) + 8 * number for number in range(count)]
            assert call(ctypes.addressof(context), *places, *point) >= 0
            found.append(list(rooms))
        return found

    def lanes(self) -> list[list[int]]:
        """Each point in a lane of its own."""
        return self._emulated(np.array(self.points), "%lane = gpu.thread_id x")

    def shared_lanes(self) -> list[list[int]]:
        """Points one after the other, in numbers that all lanes share."""
        one = "%lane = arith.constant 0 : index"
        return [self._emulated(np.array([point]), one)[0] for point in self.points]

    def _emulated(self, points: Any, lane: str) -> list[list[int]]:
        columns, rows = range(len(self.results)), len(points)
        places = [f"%k{n} = arith.constant {n} : index" for n in range(max(len(self.inputs), len(columns)))]
        loads = [f"%{name} = memref.load %in[%lane, %k{n}] : memref<?x?xindex>" for n, name in enumerate(self.inputs)]
        stores = [f"memref.store {self.results[n]}, %out[%lane, %k{n}] : memref<?x?xindex>" for n in columns]
        body, found = "\n".join([lane, *places, *loads, self.body, *stores]), np.zeros((rows, len(columns)), np.int64)
        run(in_kernel(body, "%in: memref<?x?xindex>, %out: memref<?x?xindex>"), points, found, block=(rows,))
        return found.tolist()


def returned_integers(function: Operation) -> list[int]:
    returned = first(ReturnOp, function).operands
    return [cast("IntegerAttr", constant_of(value)).value.data for value in returned]


def drawn_maps() -> tuple[list[AffineMap], OfIndices]:
    random = Random("affine")
    maps = [AffineMap(2, 1, (drawn_expression(random, 3),)) for _ in range(60)]
    points = [(0, 0, 0), (-1, 1, -7), (5, -8, 3), *(tuple(random.randrange(-99, 99) for _ in "dds") for _ in range(5))]
    body = " ".join(f"%r{n} = affine.apply affine_map<{map}>(%d, %e)[%s]" for n, map in enumerate(maps))
    return maps, OfIndices(body, "des", [f"%r{n}" for n in range(len(maps))], points)


def test_affine_expressions() -> None:
    """In xDSL, folded, as operations of `arith`, in native code, in lanes, and as ranges."""
    maps, applied = drawn_maps()
    wanted = [[map.eval(point[:2], point[2:])[0] for map in maps] for point in applied.points]
    assert applied.folded("canonicalize") == wanted
    assert applied.folded("lower-affine", "canonicalize") == wanted
    assert applied.native() == wanted
    assert applied.lanes() == wanted
    assert applied.shared_lanes() == wanted
    for point, numbers in zip(applied.points, wanted, strict=True):
        module, ranges = parsed(applied.with_constants(point)), Ranges()
        results = [op.results[0] for op in module.walk() if op.name == "affine.apply"]
        for number, value in zip(numbers, results, strict=True):
            assert (found := ranges.of(value)) is None or found.low <= number <= found.high


@needs_mlir_opt
def test_affine_expressions_in_mlir() -> None:
    maps, applied = drawn_maps()
    wanted = [[map.eval(point[:2], point[2:])[0] for map in maps] for point in applied.points]
    assert applied.in_mlir("--canonicalize") == wanted


DIGITS = OfIndices(
    """%a:3 = affine.delinearize_index %n into (%s, 3) : index, index, index
       %b:3 = affine.delinearize_index %n into (2, %s, 4) : index, index, index
       %c = affine.delinearize_index %n into (7) : index
       %l = affine.linearize_index [%n, %d, %e] by (%s, 3) : index
       %m = affine.linearize_index disjoint [%n, %d, %e] by (9, 5, %s) : index
       %o = affine.linearize_index [%d] by () : index""",
    "sden",
    [*(f"%{name}#{place}" for name in "ab" for place in range(3)), "%c", "%l", "%m", "%o"],
    [(1, 0, 0, 0), (5, 2, 1, 59), (5, -3, 7, -17), (8, 4, -9, 1 << 40), (1 << 20, 1, 1, -(1 << 50))],
)
"""Numbers in mixed-radix systems of which the outermost size is given or not, and some sizes are values."""


def wanted_digits(s: int, d: int, e: int, n: int) -> list[int]:
    a = [n // 3 // s, n // 3 % s, n % 3]
    b = [n // 4 // s, n // 4 % s, n % 4]
    return [signed(number, 64) for number in (*a, *b, n, (n * s + d) * 3 + e, (n * 5 + d) * s + e, d)]


def test_digits() -> None:
    wanted = [wanted_digits(*point) for point in DIGITS.points]
    assert DIGITS.native() == wanted
    assert DIGITS.lanes() == wanted
    assert DIGITS.shared_lanes() == wanted


@needs_mlir_opt
def test_digits_in_mlir() -> None:
    expanded = DIGITS.in_mlir("--affine-expand-index-ops", "--lower-affine", "--canonicalize")
    assert expanded == [wanted_digits(*point) for point in DIGITS.points]


@pytest.mark.parametrize("type", NUMPY)
def test_ranges_and_known_bits(type: str) -> None:
    """Less is known than the number itself; whatever is known holds of it."""
    cases = [(name, *pair) for name in MEANING for pair in defined_pairs(name, type)[:64]]
    lines = [
        f"%a{n} = arith.constant {a} : {type} %b{n} = arith.constant {b} : {type} %r{n} = {name} %a{n}, %b{n} : {type}"
        for n, (name, a, b) in enumerate(cases)
    ]
    module = parsed("\n".join(lines))
    results = [op.results[0] for op in module.body.ops if op.name in MEANING]
    ranges, values = Ranges(), KnownValues()
    for case, result in zip(cases, results, strict=True):
        number = number_of(case[0], type, *case[1:])
        found, bits = ranges.of(result), values.bits(result)
        assert found is None or found.low <= number <= found.high, case
        assert (number ^ bits.value) & bits.known == 0, case


def test_a_shift_by_an_unknown_number_leaves_bits_unknown() -> None:
    text = """func.func @f(%x: i32, %y: i32) {
      %mask = arith.constant 12 : i32 %three = arith.constant 3 : i32
      %number = arith.andi %x, %mask : i32
      %count = arith.andi %y, %three : i32
      %shifted = arith.shli %number, %count : i32
      %fixed = arith.shli %number, %three : i32
      %far = arith.shli %x, %mask : i32
      return
    }"""
    module = parsed(text)
    shifted, fixed, far = (op.results[0] for op in module.walk() if op.name == "arith.shli")
    values = KnownValues()
    assert values.bits(shifted).known == 0
    assert values.bits(fixed) == (0, mask(32) ^ 12 << 3)
    assert values.bits(far) == (0, mask(12))
