"""Addresses are computed exactly: an element whose number or whose byte does not fit into 64 bits is outside, in code
of the host and in kernels. Divisions that have no result stop the program, and so does what cannot be reached."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from emulated import emulator, in_kernel, loaded, run
from helpers import HEALTH_CHECKS, STRESS
from hypothesis import example, given, settings
from hypothesis import strategies as st

import tilewright as tw

FAR = 1 << 62
QUICK = settings(
    max_examples=200 if STRESS else 10,
    deadline=None,
    suppress_health_check=HEALTH_CHECKS,
)
LOWEST = -(1 << 63)


def on_host(body: str, functions: str = "", arguments: tuple[Any, ...] = (), signature: str = "", **options: Any):
    text = f"{functions}\nfunc.func @main({signature}) {{\n{body}\n  return\n}}"
    return tw.air.compile(text).run(*arguments, timeout=60, **options)


BUFFER = "%a = memref.alloc() : memref<4xi32>\n"


@pytest.mark.parametrize("index", [FAR, -1, 4, (1 << 63) - 1, LOWEST, -FAR])
@pytest.mark.parametrize(
    "access",
    [
        "%v = memref.load %a[%i] : memref<4xi32>",
        "memref.store %one, %a[%i] : memref<4xi32>",
        "%v = memref.atomic_rmw addi %one, %a[%i] : (i32, memref<4xi32>) -> i32",
        "%v = vector.load %a[%i] : memref<4xi32>, vector<2xi32>",
        "%v = vector.transfer_read %a[%i], %one {in_bounds = [true]} : memref<4xi32>, vector<2xi32>",
        "%v = affine.load %a[symbol(%i)] : memref<4xi32>",
    ],
    ids=lambda access: access.split()[0] if access.startswith("memref") else access.split()[2],
)
def test_the_host_accesses_nothing_outside_of_a_buffer(access: str, index: int):
    body = f"{BUFFER}%i = arith.constant {index} : index\n%one = arith.constant 1 : i32\n{access}"
    with pytest.raises(tw.Fault, match=r"<text>:\d+:\d+: error: .* accesses"):
        on_host(body)


def test_a_transfer_that_may_leave_its_buffer_pads_however_far_it_is():
    body = f"""{BUFFER}
  %i = arith.constant {FAR} : index
  %pad = arith.constant 7 : i32
  %v = vector.transfer_read %a[%i], %pad : memref<4xi32>, vector<2xi32>
  %sum = vector.reduction <add>, %v : vector<2xi32> into i32
  %wide = arith.extsi %sum : i32 to i64
  func.call @printI64(%wide) : (i64) -> ()"""
    assert on_host(body, "func.func private @printI64(i64)").output == "14\n"


@pytest.mark.parametrize(
    "allocation",
    [
        pytest.param(f"%b = gpu.alloc() : memref<{FAR + 1}xi32>", id="gpu, static"),
        pytest.param(f"%n = arith.constant {FAR + 1} : index\n%b = gpu.alloc(%n) : memref<?xi32>", id="gpu, dynamic"),
        pytest.param(f"%b = memref.alloc() : memref<{FAR + 1}xi32>", id="host"),
        pytest.param("%b = memref.alloc() : memref<4294967296x4294967296xi8>", id="product of sizes"),
        pytest.param("%n = arith.constant -1 : index\n%b = gpu.alloc(%n) : memref<?xi32>", id="negative"),
        pytest.param("%b = gpu.alloc() : memref<1000000000000xi32>", id="more than there is"),
    ],
)
def test_sizes_of_buffers_are_not_taken_modulo_anything(allocation: str):
    with pytest.raises(tw.Fault, match="asks for"):
        on_host(allocation)


def test_a_setting_gives_the_emulated_gpu_more_memory():
    body = "%b = gpu.alloc() : memref<100xi8>"
    assert on_host(body, settings={"memory": "100"}).status == 0
    with pytest.raises(tw.Fault, match=r"asks for 100 bytes of device memory; of 99 that .*--set memory=BYTES"):
        on_host(body, settings={"memory": "99"})


@pytest.mark.parametrize("length", [5, FAR + 1])
def test_a_copy_is_no_longer_than_either_buffer(length: int):
    body = f"""{BUFFER}%g = gpu.alloc() : memref<4xi32>
  %n = arith.constant {length} : index
  %wide = memref.reinterpret_cast %a to offset: [0], sizes: [%n], strides: [1] : memref<4xi32> to memref<?xi32>
  %there = memref.cast %g : memref<4xi32> to memref<?xi32>
  gpu.memcpy %there, %wide : memref<?xi32>, memref<?xi32>"""
    with pytest.raises(tw.Fault, match=r"'gpu.memcpy' op"):
        on_host(body)


NUMBERS = st.one_of(
    st.integers(-9, 9), st.sampled_from([FAR, -FAR, FAR + 1, LOWEST, 1 << 61, (1 << 63) - 1, 1 << 32, -(1 << 32)])
)
PLACE = """
  %view = memref.reinterpret_cast %a to offset: [%o], sizes: [%s, %s], strides: [%p, %q]
      : memref<16xi32> to memref<?x?xi32, strided<[?, ?], offset: ?>>
  %v = memref.load %view[%i, %j] : memref<?x?xi32, strided<[?, ?], offset: ?>>
  memref.store %v, %out[%z] : memref<1xi32>
"""
NAMES = "o", "p", "q", "i", "j"


@QUICK
@given(st.tuples(*[NUMBERS] * len(NAMES)))
@example((0, 4, 1, FAR, 0))
@example((0, 4, 4, FAR, -FAR))
@example((LOWEST, 1 << 62, 1, 2, 0))
def test_the_host_finds_the_element_that_exact_arithmetic_finds(numbers: tuple[int, ...]):
    offset, p, q, i, j = numbers
    found = np.zeros(1, np.int32)
    signature = "%a: memref<16xi32>, %out: memref<1xi32>, " + ", ".join(f"%{name}: index" for name in NAMES)
    body = "%z = arith.constant 0 : index\n%s = arith.constant 16 : index\n" + PLACE
    arguments = (np.arange(16, dtype=np.int32), found, *numbers)
    place = offset + i * p + j * q
    if 0 <= place < 16 and all(abs(number) < FAR for number in (offset, i * p, j * q)):
        on_host(body, arguments=arguments, signature=signature)
        assert found[0] == place
    elif not 0 <= place < 16:
        with pytest.raises(tw.Fault):
            on_host(body, arguments=arguments, signature=signature)


@QUICK
@given(st.tuples(*[NUMBERS] * len(NAMES)), st.booleans(), st.booleans())
@example((0, 4, 1, FAR, 0), False, False)
@example((0, 4, 1, FAR, 0), True, True)
@example((LOWEST, 1 << 62, 1, 2, 0), False, True)
def test_kernels_find_the_element_that_exact_arithmetic_finds(numbers: tuple[int, ...], by_lane: bool, careful: bool):
    offset, p, q, i, j = numbers
    spread = "%t = gpu.thread_id x\n%i = arith.muli %k, %t : index" if by_lane else "%i = arith.addi %k, %z : index"
    body = f"%z = arith.constant 0 : index\n%s = arith.constant 16 : index\n{spread}\n{PLACE}"
    arguments = "%a: memref<16xi32>, %out: memref<1xi32>, %o: index, %p: index, %q: index, %k: index, %j: index"
    a, out = np.arange(16, dtype=np.int32), np.zeros(1, np.int32)
    device = emulator(reorder=careful)
    lanes = 2 if by_lane else 1
    steps = range(lanes) if by_lane else [1]
    places = [offset + _wrapped(i * step) * p + j * q for step in steps]
    is_small = all(abs(number) < FAR for number in (offset, i * p, j * q))
    if all(0 <= place < 16 for place in places) and is_small:
        run(in_kernel(body, arguments), a, out, *numbers, device=device, block=(lanes,))
        assert out[0] in places
    elif not all(0 <= place < 16 for place in places):
        with pytest.raises(tw.Fault):
            run(in_kernel(body, arguments), a, out, *numbers, device=device, block=(lanes,))


def _wrapped(number: int) -> int:
    return (number + (1 << 63)) % (1 << 64) - (1 << 63)


@pytest.mark.parametrize("careful", [False, True])
@pytest.mark.parametrize(
    "access",
    [
        "memref.store %x, %s[%i] : memref<4xi32, 3>",
        "%v = memref.atomic_rmw addi %x, %s[%i] : (i32, memref<4xi32, 3>) -> i32",
        "%v = memref.atomic_rmw addi %x, %a[%i] : (i32, memref<4xi32>) -> i32",
        "%v = memref.load %own[%i] : memref<4xi32, 5>",
        "%v = vector.load %a[%i] : memref<4xi32>, vector<2xi32>",
    ],
)
@pytest.mark.parametrize("index", [FAR, -FAR, 4, (1 << 63) - 1])
def test_kernels_access_nothing_outside_of_a_buffer(access: str, index: int, careful: bool):
    body = f"%i = arith.constant {index} : index\n%x = arith.constant 1 : i32\n{access}"
    text = in_kernel(body, "%a: memref<4xi32>", "workgroup(%s: memref<4xi32, 3>) private(%own: memref<4xi32, 5>)")
    with pytest.raises(tw.Fault, match=r"element|address"):
        run(text, np.zeros(4, np.int32), device=emulator(reorder=careful), block=(1,))


BY_THREAD_AND_TURN = """%t = gpu.thread_id x
  %one = arith.constant 1 : index
  %four = arith.constant 4 : index
  %five = arith.constant 5 : index
  %x = arith.constant 1 : i32
  scf.for %i = %four to %five step %one {{
    %j = arith.addi %i, %t : index
    memref.store %x, %a[%t, %j] : {0}
  }}"""


def test_kernels_are_exact_where_ids_and_loops_bound_the_indices():
    type = f"memref<1x5xi32, strided<[5, {1 << 62}]>>"  # 4 << 62 would be 0 in 64 bits
    text = in_kernel(BY_THREAD_AND_TURN.format(type), f"%a: {type}")
    with pytest.raises(tw.Fault, match="element"):
        run(text, np.zeros((1, 5), np.int32), block=(1,))


def test_indices_that_ids_and_loops_bound_are_not_looked_at_while_a_kernel_runs():
    type = "memref<256x256xi32>"
    text = in_kernel(BY_THREAD_AND_TURN.format(type), f"%a: {type}")
    assert "place(" not in loaded(emulator(), text).plan(careful=False).source
    assert "place(" in loaded(emulator(), text.replace("256x256", "256x?")).plan(careful=False).source


DIVISIONS = "divsi", "divui", "remsi", "remui", "floordivsi", "ceildivsi", "ceildivui"


def quotient(name: str, a: int, b: int, bits: int) -> int | None:
    """What MLIR defines, None if it does not."""
    if name.endswith("ui"):
        a, b = a % (1 << bits), b % (1 << bits)
    if b == 0 or (name.endswith("si") and (a, b) == (-(1 << bits - 1), -1)):
        return None
    truncated = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
    found = {
        "div": truncated,
        "rem": a - b * truncated,
        "floordiv": a // b,
        "ceildiv": -(-a // b),
    }[name[:-2]]
    return (found + (1 << bits - 1)) % (1 << bits) - (1 << bits - 1)


@QUICK
@given(st.sampled_from(DIVISIONS), st.sampled_from([8, 32, 64]), st.integers(-9, 9), st.integers(-2, 2), st.booleans())
@example("divsi", 32, 5, 0, False)
@example("remui", 64, 5, 0, True)
@example("floordivsi", 64, -9, -1, True)
def test_a_division_gives_what_is_defined_or_stops_the_program(name: str, bits: int, a: int, b: int, in_kernels: bool):
    a = -(1 << bits - 1) if a == -9 else a
    expected = quotient(name, a, b, bits)
    type, dtype = f"i{bits}", np.dtype(f"i{bits // 8}")
    out, left, right = np.zeros(1, dtype), np.array([a], dtype), np.array([b], dtype)
    body = f"""%z = arith.constant 0 : index
  %x = memref.load %a[%z] : memref<1x{type}>
  %y = memref.load %b[%z] : memref<1x{type}>
  %q = arith.{name} %x, %y : {type}
  memref.store %q, %out[%z] : memref<1x{type}>
"""
    signature = f"%a: memref<1x{type}>, %b: memref<1x{type}>, %out: memref<1x{type}>"

    def divide() -> None:
        if in_kernels:
            run(in_kernel(body, signature), left, right, out, block=(2,))
        else:
            on_host(body, arguments=(left, right, out), signature=signature)

    if expected is None:
        with pytest.raises(tw.Fault, match=r"divides (by zero|.* by -1, which does not fit)"):
            divide()
    else:
        divide()
        assert out[0] == expected


def test_lanes_that_are_not_active_may_divide_by_zero():
    body = """%t = gpu.thread_id x
  %z = arith.constant 0 : index
  %some = arith.cmpi ne, %t, %z : index
  scf.if %some {
    %hundred = arith.constant 100 : index
    %q = arith.divui %hundred, %t : index
    memref.store %q, %out[%t] : memref<4xindex>
  }"""
    out = np.zeros(4, np.int64)
    run(in_kernel(body, "%out: memref<4xindex>"), out, block=(4,))
    assert out.tolist() == [0, 100, 50, 33]


@pytest.mark.parametrize(
    "body, message",
    [
        pytest.param(
            '%no = arith.constant false\ncf.assert %no, "that\'s all"', "stops the program: that's", id="assert"
        ),
        pytest.param("cf.br ^bad\n^bad:\n  llvm.unreachable\n^never:", "llvm.unreachable", id="llvm.unreachable"),
        pytest.param("cf.br ^bad\n^bad:\n  ub.unreachable\n^never:", "ub.unreachable", id="ub.unreachable"),
    ],
)
@pytest.mark.parametrize("where", ["host", "kernel"])
def test_what_a_program_says_cannot_be_stops_it(where: str, body: str, message: str):
    with pytest.raises(tw.Fault, match=message):
        if where == "host":
            on_host(body, arguments=(np.zeros(4, np.int64),), signature="%a: memref<4xindex>")
        else:
            run(in_kernel(body, "%a: memref<4xindex>"), np.zeros(4, np.int64), block=(1,))


def test_a_loop_of_a_kernel_gets_somewhere():
    body = """%z = arith.constant 0 : index
  %n = memref.load %a[%z] : memref<4xindex>
  scf.for %i = %z to %n step %z { memref.store %n, %a[%i] : memref<4xindex> }"""
    with pytest.raises(tw.Fault, match="never ends this loop: its step is not positive"):
        run(in_kernel(body, "%a: memref<4xindex>"), np.ones(4, np.int64), block=(1,))
