"""Contractions of kernels by matrix instructions give what lanes get each for itself, on chips of both makers."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from emulated import emulator, launch, loaded, run
from gpu_kernels import PTXAS, assembled, compiled
from helpers import lowered
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import UnknownLoc

from tilewright.device.gpu_matrices import instructions_of
from tilewright.device.gpu_targets import GPU_TARGETS
from tilewright.ir.printer import module_text

CHIPS = "sm_80", "sm_90", "gfx90a", "gfx942", "gfx950", "gfx1100"
DTYPES: dict[str, Any] = {"f32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16, "i8": np.int8}
RESULTS: dict[str, Any] = {**DTYPES, "i32": np.int32}
EXAMPLES = int(os.environ.get("TILEWRIGHT_CONTRACTIONS", "25"))
FLOATS = "f16", "bf16", "f32"


@dataclass(frozen=True)
class Case:
    """A kernel whose waves each multiply rows of their own."""

    chip: str
    element: str = "f16"
    shape: tuple[int, int, int] = (16, 16, 16)
    """Of the vectors: rows, columns, and depth."""
    steps: int = 1
    """Rounds of a loop that goes on in depth."""
    waves: int = 1
    orders: tuple[str, str] = ("mk", "kn")
    """Dimensions of A and B in memory."""
    turns: tuple[str, str] = ("map", "map")
    """What turns them: the contraction's `map`, that of the `read`, or a `transpose`."""
    is_turned: bool = False
    """Whether sums have columns for rows."""
    start: str = "zero"
    end: str = ""
    """Operations on each element of the sums."""
    result: str = ""
    space: str = ""
    """Where A and B are."""

    @property
    def is_float(self) -> bool:
        return self.element != "i8"

    @property
    def sum_type(self) -> str:
        return "f32" if self.is_float else "i32"

    @property
    def result_type(self) -> str:
        return self.result or self.sum_type

    @property
    def lanes(self) -> int:
        return GPU_TARGETS[self.chip].wave_size

    @property
    def threads(self) -> int:
        return self.waves * self.lanes

    @property
    def fits(self) -> bool:
        """Whether the chip has an instruction that divides the shape."""
        return any(
            not any(size % by for size, by in zip(self.shape, (row.m, row.n, row.k), strict=True))
            for row in instructions_of(self.chip, self.element)
        )

    def sizes(self, side: int) -> tuple[int, int]:
        """Of A, or of B, in memory."""
        m, n, k = self.shape
        extents = {"m": m * self.waves, "n": n, "k": k * self.steps}
        first, second = self.orders[side]
        return extents[first], extents[second]


DIMENSIONS = {"m": 0, "n": 1, "k": 2}


def map_of(names: str) -> str:
    """An indexing map of a contraction."""
    return f"affine_map<(d0, d1, d2) -> ({', '.join(f'd{DIMENSIONS[name]}' for name in names)})>"


def read(case: Case, side: int, buffer: str) -> tuple[str, str]:
    """The text that makes `%a` or `%b`, and the order of its dimensions."""
    name, order, turn = "ab"[side], case.orders[side], case.turns[side]
    extents = dict(zip("mnk", case.shape, strict=True))
    first, second = ({"m": "%row", "n": "%c0", "k": "%k"}[dimension] for dimension in order)
    memory = f"memref<{'x'.join(map(str, case.sizes(side)))}x{case.element}{case.space}>"
    turned = order[::-1]
    plain, other = (f"vector<{extents[x]}x{extents[y]}x{case.element}>" for x, y in (order, turned))
    bounds = "in_bounds = [true, true]"
    if turn == "read":
        swap = "permutation_map = affine_map<(d0, d1) -> (d1, d0)>"
        text = (
            f"%{name} = vector.transfer_read {buffer}[{first}, {second}], %pad {{{bounds}, {swap}}} : {memory}, {other}"
        )
        return text, turned
    text = f"vector.transfer_read {buffer}[{first}, {second}], %pad {{{bounds}}} : {memory}, {plain}"
    if turn == "map":
        return f"%{name} = {text}", order
    return f"%{name}0 = {text}\n%{name} = vector.transpose %{name}0, [1, 0] : {plain} to {other}", turned


def ends(case: Case, type: str) -> str:
    """What is done to the sums, and `%end`."""
    steps, last = list[str](), "%sums"
    kind = "f" if case.is_float else "i"
    literal = "2.0" if case.is_float else "2"
    for number, step in enumerate(case.end.split()):
        operation = {"scale": f"arith.mul{kind}", "add": f"arith.add{kind}", "relu": "arith.maximumf"}[step]
        steps.append(f"%q{number} = arith.constant dense<{literal}> : {type}")
        steps.append(f"%r{number} = {operation} {last}, %q{number} : {type}")
        last = f"%r{number}"
    if case.result_type != case.sum_type:
        steps.append(f"%end = arith.truncf {last} : {type} to {type.replace(case.sum_type, case.result_type)}")
    else:
        steps.append(f"%zeros = arith.constant dense<{'0.0' if case.is_float else '0'}> : {type}")
        steps.append(f"%end = arith.add{kind} {last}, %zeros : {type}")
    return "\n".join(steps)


def kernel(case: Case) -> str:
    m, n, k = case.shape
    rows, columns = (n, m) if case.is_turned else (m, n)
    type, out = f"vector<{rows}x{columns}x{case.sum_type}>", f"memref<{case.waves * rows}x{columns}x{case.result_type}>"
    arrays = [f"memref<{'x'.join(map(str, case.sizes(side)))}x{case.element}>" for side in (0, 1)]
    buffers = ("%near_a", "%near_b") if case.space else ("%A", "%B")
    reads, orders = zip(*(read(case, side, buffer) for side, buffer in enumerate(buffers)), strict=True)
    maps = ", ".join(map(map_of, (*orders, "nm" if case.is_turned else "mn")))
    start = f"%start = arith.constant dense<{'0.0' if case.is_float else '0'}> : {type}"
    if case.start == "read":
        start = f"""%start = vector.transfer_read %S[%c0, %c0], %none {{in_bounds = [true, true]}}
          : memref<{rows}x{columns}x{case.sum_type}>, {type}"""
    near = [array.replace(">", f"{case.space}>") for array in arrays]
    rooms = f"workgroup({', '.join(f'{b} : {t}' for b, t in zip(buffers, near, strict=True))})" if case.space else ""
    copies = "".join(copy(case, side) for side in (0, 1)) + "gpu.barrier" if case.space else ""
    return f"""gpu.module @m {{ gpu.func @k(%A: {arrays[0]}, %B: {arrays[1]},
      %S: memref<{rows}x{columns}x{case.sum_type}>, %C: {out}) {rooms} kernel
      attributes {{known_block_size = array<i32: {case.threads}, 1, 1>}} {{
      %c0 = arith.constant 0 : index %c1 = arith.constant 1 : index %end_k = arith.constant {k * case.steps} : index
      %step_k = arith.constant {k} : index %lanes = arith.constant {case.lanes} : index
      %m = arith.constant {m} : index %rows = arith.constant {rows} : index
      %thread = gpu.thread_id x %wave = arith.divui %thread, %lanes : index
      %row = arith.muli %wave, %m : index %to = arith.muli %wave, %rows : index
      %pad = arith.constant {"0.0" if case.is_float else "0"} : {case.element}
      %none = arith.constant {"0.0" if case.is_float else "0"} : {case.sum_type}
      {copies}
      {start}
      %sums = scf.for %k = %c0 to %end_k step %step_k iter_args(%acc = %start) -> ({type}) {{
        {reads[0]}
        {reads[1]}
        %more = vector.contract {{indexing_maps = [{maps}],
          iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>}} %a, %b, %acc
          : {vector_of(reads[0])}, {vector_of(reads[1])} into {type}
        scf.yield %more : {type}
      }}
      {ends(case, type)}
      vector.transfer_write %end, %C[%to, %c0] {{in_bounds = [true, true]}}
        : {type.replace(case.sum_type, case.result_type)}, {out}
      gpu.return }} }}"""


def vector_of(text: str) -> str:
    return text[text.rindex("vector<") :]


def copy(case: Case, side: int) -> str:
    """All threads copy a matrix to memory of the block, the rows one after the other."""
    rows, columns = case.sizes(side)
    name, element = "AB"[side], case.element
    return f"""%n{side} = arith.constant {rows * columns} : index %w{side} = arith.constant {columns} : index
      %t{side} = arith.constant {case.threads} : index
      scf.for %i = %thread to %n{side} step %t{side} {{
        %r = arith.divui %i, %w{side} : index %c = arith.remui %i, %w{side} : index
        %x = memref.load %{name}[%r, %c] : memref<{rows}x{columns}x{element}>
        memref.store %x, %near_{name.lower()}[%r, %c] : memref<{rows}x{columns}x{element}{case.space}>
      }}
      """


def arrays_of(case: Case, seed: int = 0) -> list[np.ndarray]:
    """Whole numbers whose sums are exact."""
    chance, (m, n, _) = np.random.default_rng(seed), case.shape
    rows, columns = (n, m) if case.is_turned else (m, n)
    sides = [chance.integers(-4, 5, case.sizes(side)).astype(DTYPES[case.element]) for side in (0, 1)]
    start = chance.integers(-9, 10, (rows, columns)).astype(RESULTS[case.sum_type])
    return [*sides, start, np.zeros((case.waves * rows, columns), RESULTS[case.result_type])]


def lowered_kernel(case: Case) -> str:
    return module_text(lowered(kernel(case), f"air-gpu-contract-to-mma{{chip={case.chip} wave-size={case.lanes}}}"))


def outcome(case: Case, text: str, arrays: list[np.ndarray]) -> np.ndarray:
    given = [array.copy() for array in arrays]
    run(text, *given, block=(case.threads,), device=emulator(case.chip, wave_size=case.lanes, check=True))
    return given[-1]


def agrees(case: Case) -> bool:
    """Whether a kernel gives the same before and after the pass; whether that has done something is said."""
    text, arrays = lowered_kernel(case), arrays_of(case)
    assert (outcome(case, kernel(case), arrays) == outcome(case, text, arrays)).all()
    return "vector.contract" not in text


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("element", DTYPES)
def test_all_kinds_of_elements(chip: str, element: str) -> None:
    case = Case(chip, element, (32, 32, 64), end="scale")
    assert agrees(case) == bool(instructions_of(chip, element))


SIDES = [(order, turn) for order in ("straight", "turned") for turn in ("map", "read", "transpose")]


@pytest.mark.parametrize("chip", ["sm_90", "gfx942", "gfx1100"])
@pytest.mark.parametrize("a, b, is_turned", [*product(SIDES, SIDES, [False]), (SIDES[0], SIDES[0], True)])
def test_matrices_lie_in_any_order(chip: str, a: tuple[str, str], b: tuple[str, str], is_turned: bool) -> None:
    orders = {"straight": ("mk", "kn"), "turned": ("km", "nk")}
    case = Case(chip, orders=(orders[a[0]][0], orders[b[0]][1]), turns=(a[1], b[1]), is_turned=is_turned)
    assert agrees(case)


@settings(
    max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much]
)
@given(st.data())
def test_kernels_stay_the_same(data: st.DataObject) -> None:
    draw = data.draw
    chip, element = draw(st.sampled_from(CHIPS)), draw(st.sampled_from([*DTYPES]))
    turns = st.sampled_from(["map", "read", "transpose"])
    case = Case(
        chip,
        element,
        draw(st.tuples(*[st.sampled_from(sizes) for sizes in ((16, 32, 24), (8, 16, 32), (4, 16, 32, 40))])),
        steps=draw(st.integers(1, 3)),
        waves=draw(st.integers(1, 3)),
        orders=(draw(st.sampled_from(["mk", "km"])), draw(st.sampled_from(["kn", "nk"]))),
        turns=(draw(turns), draw(turns)),
        is_turned=draw(st.booleans()),
        start=draw(st.sampled_from(["zero", "read"])),
        end=draw(st.sampled_from(["", "scale", "add scale"] + ["relu", "relu scale"] * (element != "i8"))),
        result=draw(st.sampled_from(["", *FLOATS[:2]])) if element != "i8" else "",
        space=draw(st.sampled_from(["", ", #gpu.address_space<workgroup>", ", 3"])),
    )
    assume(case.space != ", 3" or chip.startswith("gfx"))
    assume(case.fits or case.steps * case.waves == 1)
    plain = replace(case, is_turned=False)
    assert agrees(case) == (case if not case.is_turned else turned(plain)).fits


def turned(case: Case) -> Case:
    """Of sums with columns for rows, rows of an instruction are columns."""
    m, n, k = case.shape
    return replace(case, shape=(n, m, k))


ARGUMENTS = "%A: memref<16x16xf16>, %B: memref<16x16xf16>, %C: memref<16x16xf32>"
SIZES = "%c0 = arith.constant 0 : index %pad = arith.constant 0.0 : f16 %none = arith.constant 0.0 : f32"
READ_A = (
    "%a = vector.transfer_read %A[%c0, %c0], %pad {in_bounds = [true, true]} : memref<16x16xf16>, vector<16x16xf16>"
)
READ_B = (
    "%b = vector.transfer_read %B[%c0, %c0], %pad {in_bounds = [true, true]} : memref<16x16xf16>, vector<16x16xf16>"
)
ZERO = "%z = arith.constant dense<0.0> : vector<16x16xf32>"
MAPS = """{indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>,
  affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"],
  kind = #vector.kind<add>}"""
PRODUCT = f"%s = vector.contract {MAPS} %a, %b, %z : vector<16x16xf16>, vector<16x16xf16> into vector<16x16xf32>"
WRITE = "vector.transfer_write %s, %C[%c0, %c0] {in_bounds = [true, true]} : vector<16x16xf32>, memref<16x16xf32>"


def small(*body: str, threads: int = 64, arguments: str = ARGUMENTS, rooms: str = "") -> str:
    block = f"attributes {{known_block_size = array<i32: {threads}, 1, 1>}}" if threads else ""
    return f"gpu.module @m {{ gpu.func @k({arguments}) {rooms} kernel {block} {{ {' '.join(body)} gpu.return }} }}"


def is_divided(text: str, chip: str = "gfx942", wave_size: int = 64) -> bool:
    found = module_text(lowered(text, f"air-gpu-contract-to-mma{{chip={chip} wave-size={wave_size}}}"))
    assert ("mfma" in found or "mma.sync" in found) == ("vector.contract" not in found)
    return "vector.contract" not in found


PLAIN = SIZES, READ_A, READ_B, ZERO, PRODUCT, WRITE


def test_a_small_kernel_is_divided() -> None:
    assert is_divided(small(*PLAIN))
    assert is_divided(small(*PLAIN), "sm_90", 64), "a wave is two warps that do the same"
    assert is_divided(small(*PLAIN, threads=1024), "sm_90", 32)
    assert not is_divided(small(*PLAIN, threads=1024), "sm_90", 64), "a block has barriers for 15 such waves"


def test_operations_keep_their_lines() -> None:
    module = lowered(small(*("\n" + part for part in PLAIN)), "air-gpu-contract-to-mma{chip=gfx942}")
    assert not [op.name for op in module.walk() if isinstance(op.location, UnknownLoc)]
    (product,) = [op for op in module.walk() if "mfma" in op.name]
    assert ":6:" in str(product.location), "the line of the contraction"


LANE = "%lane = gpu.lane_id %few = arith.cmpi ult, %lane, %c0 : index"


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(small(*PLAIN, threads=0), id="a block of any size"),
        pytest.param(small(*PLAIN, threads=96), id="a wave that is not full"),
        pytest.param(small(*PLAIN).replace("kernel attributes", "attributes"), id="no kernel"),
        pytest.param(small(SIZES, LANE, READ_A.replace("%A[%c0", "%A[%lane"), *PLAIN[2:]), id="lanes read their own"),
        pytest.param(
            small(*PLAIN[:-1], LANE, f"scf.if %few {{ {WRITE} }}"), id="one lane writes what the others leave alone"
        ),
        pytest.param(
            small(
                *PLAIN[:2],
                READ_B.replace("[true, true]", "[true, false]").replace("%B[%c0, %c0]", "%B[%c0, %at]"),
                *PLAIN[3:],
                arguments=f"{ARGUMENTS}, %at: index",
            ),
            id="a read that may end beyond the buffer",
        ),
        pytest.param(
            small(
                *PLAIN,
                "%x = vector.extract %s[3, 3] : f32 from vector<16x16xf32>"
                " memref.store %x, %C[%c0, %c0] : memref<16x16xf32>",
            ),
            id="one of the sums is wanted by all",
        ),
        pytest.param(
            small(
                SIZES,
                "%a = vector.transfer_read %near[%c0, %c0], %pad {in_bounds = [true, true]}"
                " : memref<16x16xf16, 5>, vector<16x16xf16>",
                *PLAIN[2:],
                rooms="private(%near : memref<16x16xf16, 5>)",
            ),
            id="each lane has a matrix of its own",
        ),
        pytest.param(
            small(SIZES, READ_A, "%b = arith.constant dense<1.0> : vector<16x16xf16>", *PLAIN[3:]),
            id="a factor that is not read",
        ),
        pytest.param(small(*PLAIN).replace("kind<add>", "kind<maxnumf>"), id="no sums"),
    ],
)
def test_what_may_differ_between_lanes_stays(text: str) -> None:
    assert not is_divided(text)


def test_lanes_see_what_others_have_stored() -> None:
    """Each stored everything before; now what a lane reads behind is another one's."""
    near = WRITE.replace("%C", "%near").replace("memref<16x16xf32>", "memref<16x16xf32, 3>")
    read = """%lane = gpu.lane_id %c16 = arith.constant 16 : index %c1 = arith.constant 1 : index
      %c = arith.remui %lane, %c16 : index
      scf.for %r = %c0 to %c16 step %c1 {
        %x = memref.load %near[%c, %r] : memref<16x16xf32, 3>
        memref.store %x, %C[%c, %r] : memref<16x16xf32>
      }"""
    text = small(*PLAIN[:-1], near, read, rooms="workgroup(%near : memref<16x16xf32, 3>)")
    divided = module_text(lowered(text, "air-gpu-contract-to-mma{chip=gfx942}"))
    assert divided.count("llvm.fence") == 2
    a, b = np.random.default_rng(0).integers(-4, 5, (2, 16, 16)).astype(np.float16)
    out = np.zeros((16, 16), np.float32)
    run(divided, a, b, out, device=emulator("gfx942", check=True, reorder=True))
    assert (out == a.astype(np.float32) @ b.astype(np.float32)).all()


def test_in_a_loop_sums_lie_in_memory() -> None:
    """Each round reads what the one before it has written."""
    read = WRITE.replace("vector.transfer_write %s, %C", "%z = vector.transfer_read %C").split(" {")[0]
    body = f"""{SIZES} %c3 = arith.constant 3 : index %c1 = arith.constant 1 : index
      scf.for %i = %c0 to %c3 step %c1 {{
        {read}, %none {{in_bounds = [true, true]}} : memref<16x16xf32>, vector<16x16xf32>
        {READ_A} {READ_B} {PRODUCT} {WRITE}
      }}"""
    for chip, lanes in (("gfx942", 64), ("sm_90", 32), ("sm_90", 64)):
        divided = module_text(lowered(small(body), f"air-gpu-contract-to-mma{{chip={chip} wave-size={lanes}}}"))
        assert "vector.contract" not in divided and divided.count("llvm.fence") == 2
        a, b = np.random.default_rng(0).integers(-4, 5, (2, 16, 16)).astype(np.float16)
        out = np.zeros((16, 16), np.float32)
        run(divided, a, b, out, block=(lanes,), device=emulator(chip, wave_size=lanes, check=True, reorder=True))
        assert (out == 3 * (a.astype(np.float32) @ b.astype(np.float32))).all()


NESTED = """%c0 = arith.constant 0 : index %c1 = arith.constant 1 : index %c2 = arith.constant 2 : index
  %pad = arith.constant 0.0 : f16 %z = arith.constant dense<0.0> : vector<16x16xf32>
  %one = arith.constant dense<1.0> : vector<16x16xf32>
  %s:3 = scf.for %i = %c0 to %c2 step %c1 iter_args(%p = %z, %n = %c0, %q = %one)
      -> (vector<16x16xf32>, index, vector<16x16xf32>) {
    %a = vector.transfer_read %A[%c0, %c0], %pad {in_bounds = [true, true]} : memref<16x16xf16>, vector<16x16xf16>
    %inner = scf.for %j = %c0 to %n step %c1 iter_args(%r = %p) -> vector<16x16xf32> {
      %b = vector.transfer_read %B[%c0, %c0], %pad {in_bounds = [true, true]} : memref<16x16xf16>, vector<16x16xf16>
      PRODUCT %a, %b, %r : vector<16x16xf16>, vector<16x16xf16> into vector<16x16xf32>
      scf.yield %x : vector<16x16xf32>
    }
    %less = arith.cmpf olt, %inner, %q : vector<16x16xf32>
    %most = arith.select %less, %q, %inner : vector<16x16xi1>, vector<16x16xf32>
    %more = arith.addi %n, %c2 : index
    scf.yield %most, %more, %inner : vector<16x16xf32>, index, vector<16x16xf32>
  }
  %few = arith.cmpi ult, %s#1, %c2 : index
  %sum = arith.addf %s#0, %s#2 : vector<16x16xf32>
  scf.if %few { } else {
    vector.transfer_write %sum, %C[%c0, %c0] {in_bounds = [true, true]} : vector<16x16xf32>, memref<16x16xf32>
  }"""


@pytest.mark.parametrize("chip, lanes", [("gfx942", 64), ("gfx1100", 32), ("sm_90", 32), ("sm_90", 64)])
def test_loops_carry_sums_beside_other_values(chip: str, lanes: int) -> None:
    text = small(NESTED.replace("PRODUCT", PRODUCT.partition(" %a")[0].replace("%s", "%x")), threads=lanes)
    divided = module_text(lowered(text, f"air-gpu-contract-to-mma{{chip={chip} wave-size={lanes}}}"))
    assert "vector.contract" not in divided and "16x16xi1" not in divided
    a, b = np.random.default_rng(0).integers(-4, 5, (2, 16, 16)).astype(np.float16)
    found = np.zeros((2, 16, 16), np.float32)
    for out, program in zip(found, (text, divided), strict=True):
        run(program, a, b, out, block=(lanes,), device=emulator(chip, wave_size=lanes, check=True))
    product = a.astype(np.float32) @ b.astype(np.float32)
    after = 1 + 2 * product
    assert (found[0] == found[1]).all() and (found[0] == np.maximum(after, 0) + after).all()


MATMUL = """func.func @f(%A: memref<MxKxf32>, %B: memref<KxNxf32>, %C: memref<MxNxf32>) {
  %c1 = arith.constant 1 : index %lanes = arith.constant 64 : index
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
      threads(%tx, %ty, %tz) in (%nx = %lanes, %ny = %c1, %nz = %c1) {
    linalg.matmul ins(%A, %B : memref<MxKxf32>, memref<KxNxf32>) outs(%C : memref<MxNxf32>)
    gpu.terminator
  }
  return
}"""


@pytest.mark.parametrize(
    "m, n, k, chip, is_divided",
    [(32, 16, 20, "gfx942", True), (12, 16, 4, "gfx942", False), (16, 16, 16, "sm_90", False)],
)
def test_products_of_buffers_are_divided_too(m: int, n: int, k: int, chip: str, is_divided: bool) -> None:
    text = MATMUL.replace("M", str(m)).replace("N", str(n)).replace("K", str(k))
    step = f"air-gpu-contract-to-mma{{chip={chip} wave-size=64}}"
    module = lowered(text, step, "air-gpu-outlining")
    found = module_text(module)
    assert ("mfma" in found) == is_divided and "vector.contract" not in found and "vector.transfer" not in found
    a, b, c = (np.random.default_rng(0).integers(-4, 5, size).astype(np.float32) for size in ((m, k), (k, n), (m, n)))
    out = c.copy()
    device = emulator(chip, wave_size=64, check=True)
    launch(device, loaded(device, module, "f_module"), a, b, out, block=(64,))
    assert (out == a @ b + c).all()


def test_large_buffers_are_not() -> None:
    text = MATMUL.replace("M", "256").replace("N", "256").replace("K", "16")
    assert "linalg.matmul" in module_text(lowered(text, "air-gpu-contract-to-mma{chip=gfx942}"))


MACHINE = {"sm_90": "mma.sync.aligned", "gfx90a": "v_mfma", "gfx942": "v_mfma", "gfx1100": "v_wmma"}


MULTIPLIED = [
    (chip, element) for chip in MACHINE for element in ("f16", "bf16", "i8") if instructions_of(chip, element)
]


@pytest.mark.parametrize("chip, element", MULTIPLIED)
def test_they_are_machine_code(chip: str, element: str, tmp_path: Path) -> None:
    space = ", 3" if chip.startswith("gfx") else ", #gpu.address_space<workgroup>"
    case = Case(chip, element, (32, 32, 32), steps=2, waves=2, start="read", space=space, orders=("mk", "nk"))
    code = compiled(lowered_kernel(case), chip, case.lanes)
    assert MACHINE[chip] in code.assembly
    if chip.startswith("sm_") and PTXAS is not None:
        assembled(code, tmp_path)
