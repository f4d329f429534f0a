"""Every limit of the hardware: refused at compile time where the number is known, by what is generated where it is not.

One program serves for both: its number `%v` is a constant, or an argument. What is at the edge of a limit passes.
"""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

import tilewright as tw
from tilewright.codegen.interpreter import Interpreter, Refused
from tilewright.codegen.txn_words import TxnEmitter
from tilewright.ir.diagnostics import file_position

DEVICE = """aie.device(npu1) {{
  %shim = aie.tile(0, 0)
  %mem = aie.tile(0, 1)
  %core = aie.tile(0, 2)
  %lock = aie.lock(%core, 1)
  %near = aie.buffer(%core) {{address = 1024 : i32, sym_name = "near"}} : memref<4096xi32>
  %wide = aie.buffer(%mem) {{address = 0 : i32, sym_name = "wide"}} : memref<131072xi32>
  aie.shim_dma_allocation @in(%shim, MM2S, 0)
  {sequences}
}}"""
SEQUENCE = """aie.runtime_sequence @{name}(%a: memref<?xi32>, %b: memref<?xi8>, %c: memref<?xi16>{argument}) {{
    {constant}
    {body}
  }}"""
FIRST_LINE = 11  # of what a sequence does, in a design that has one sequence


def memcpy(sizes: str, strides: str, offset: str = "0", buffer: str = "%a : memref<?xi32>", extra: str = "") -> str:
    value, _, type = buffer.partition(" : ")
    attributes = f"{{id = 0 : i64, issue_token = true, metadata = @in{extra}}}"
    return f"aiex.npu.dma_memcpy_nd({value}[0, 0, 0, {offset}][{sizes}][{strides}]) {attributes} : {type}"


def task(descriptor: str, tile: str = "%shim, MM2S, 0", repeat: str = "", bd: str = "bd_id = 0 : i32") -> str:
    return f"""%t = aiex.dma_configure_task({tile}) {repeat} {{
      aie.dma_bd({descriptor}) {{{bd}}}
      aie.end
    }} {{issue_token = true}}
    aiex.dma_start_task(%t)
    aiex.dma_await_task(%t)"""


def push(channel: str = "0, 0, MM2S : 0", bd: str = "%zero", repeat: str = "%zero") -> str:
    return f"""%zero = arith.constant 0 : i32
    aiex.npu.push_queue({channel}) bd_id {bd} repeat {repeat} {{issue_token = true}} : i32, i32"""


def sync(*numbers: str) -> str:
    return f"""%zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    aiex.npu.sync({", ".join(numbers)}) : i32, i32, i32, i32, i32, i32"""


@dataclass(frozen=True)
class Limit:
    """A program with a number in it, values that pass, values that do not, and what is then said."""

    name: str
    body: str
    good: tuple[int, ...]
    bad: tuple[int, ...]
    known: str | None
    """A part of what is said where the number is known; none if it is dealt with, or is not a limit then."""
    unknown: str
    type: str = "i64"


STEP, LINEAR = 1 << 20, "0, 0, 0, 1"
I8, I16 = "%b : memref<?xi8>", "%c : memref<?xi16>"
HOST, NEAR, WIDE = "%a : memref<?xi32>", "%near : memref<4096xi32>", "%wide : memref<131072xi32>"
CORE, MEM = "%core, MM2S, 0", "%mem, MM2S, 0"
MORE_THAN_32_BITS = (1 << 32) + 8
SPLIT = None  # where it is known, a transfer that is too large for one descriptor is made into several

LIMITS = [
    Limit("d0 size", memcpy("2, 2, 2, %v", "9, 99, 4096, 1"), (1, 1023), (1024,), "Size 0 exceeds", "in [1:1023]"),
    Limit("d1 size", memcpy("2, 2, %v, 4", "9, 99, 8, 1"), (1, 1023), (1024,), "Size 1 exceeds", "in [1:1023]"),
    Limit("d0 size with room", memcpy("1, 9, 2, %v", "0, 99, 4096, 1"), (1024, 5000), (1031,), "Size 0", "[1:1023]"),
    Limit("d1 size with room", memcpy("1, 64, %v, 4", "0, 99, 8, 1"), (1031, 5000), (0,), "Size 1", "in [1:"),
    Limit("iteration size", memcpy("%v, 2, 2, 4", "64, 99, 8, 1"), (1, 64), (65,), SPLIT, "must be in [1:64]"),
    Limit("d0 size of 0", memcpy("1, 1, 2, %v", "0, 0, 64, 1"), (1,), (0, -1), "Size 0 must be a positive", "in [1:"),
    Limit("d1 size of 0", memcpy("1, 1, %v, 4", "0, 0, 8, 1"), (1,), (0, -1), "Size 1 must be a positive", "in [1:"),
    Limit("d2 size of 0", memcpy("1, %v, 2, 4", "0, 99, 8, 1"), (1, 5000), (0, -1), "Size 2 must be a", "in [1:"),
    Limit("iteration size of 0", memcpy("%v, 1, 2, 4", "9, 0, 8, 1"), (1,), (0, -1), "Size 3 must be a", "in [1:64]"),
    Limit("d0 stride", memcpy("1, 1, 1, 5", "0, 0, 0, %v"), (1, STEP), (STEP + 1,), "[1:1048576]", "[1:1048576]"),
    Limit("d1 stride", memcpy("1, 1, 2, 4", "0, 0, %v, 1"), (1, STEP), (STEP + 1,), "[1:1048576]", "[1:1048576]"),
    Limit("d2 stride", memcpy("1, 2, 2, 5", "0, %v, 8, 1"), (1, STEP), (STEP + 1,), "[1:1048576]", "[1:1048576]"),
    Limit("iteration stride", memcpy("2, 2, 2, 5", "%v, 64, 8, 1"), (0, STEP), (STEP + 1,), "1048576]", "[0:1048576]"),
    Limit("d0 stride of 0", memcpy("1, 1, 1, 5", "0, 0, 0, %v"), (1,), (0, -1), "Stride 0 must be a pos", "in [1:"),
    Limit("d1 stride of 0", memcpy("1, 1, 3, 5", "0, 9, %v, 1"), (1,), (-1,), "Stride 1 must be a positive", "in [1:"),
    Limit("backwards", memcpy("2, 1, 1, 5", "%v, 0, 0, 1"), (0,), (-1,), "Stride 3 must be a non-negative", "in [0:"),
    Limit("size of 64 bits", memcpy("1, 1, 2, %v", "0, 0, 64, 1"), (8,), (MORE_THAN_32_BITS,), "", "in [1:"),
    Limit("stride of 64 bits", memcpy("1, 1, 2, 4", "0, 0, %v, 1"), (8,), (MORE_THAN_32_BITS,), "Stride 1", "in [1:"),
    Limit("offset of 64 bits", memcpy("1, 1, 1, 8", LINEAR, "%v"), (8,), (MORE_THAN_32_BITS,), "offset", "offset"),
    Limit("offset", memcpy("1, 1, 1, 8", LINEAR, "%v"), (0, (1 << 30) - 1), (-1, 1 << 30), "offset in", "in [0:"),
    Limit("offset in a word", memcpy("1, 1, 1, 8", LINEAR, "%v", I8), (0, 4), (2,), "4-byte-aligned", "divisible by 4"),
    Limit("part of a word", memcpy("1, 1, 2, %v", "0, 0, 64, 1", buffer=I8), (4, 4092), (6,), "not div", "by 4"),
    Limit("stride in a word", memcpy("1, 1, 2, 8", "0, 0, %v, 1", buffer=I16), (2, 2 * STEP), (3,), "not div", "by 2"),
    Limit("length", task(f"{HOST} offset = 0 len = %v"), (1, 1 << 20), (0, -1), "", "in [1:", "i32"),
    Limit("length of bytes", task(f"{I8} offset = 0 len = %v"), (4, 8), (6,), "length is 6 but", "by 4", "i32"),
    Limit(
        "length and sizes",
        task(f"{HOST} offset = 0 len = %v sizes = [2, 8] strides = [16, 1]"),
        (16,), (15, 32, -16), "length does not match", "length less the product", "i32",
    ),
    Limit("length of 64 bits", task(f"{HOST}) dyn_len(%v : i64"), (8,),
          (MORE_THAN_32_BITS,), "length is 4294967304", "in [1:4294967295]"),
    Limit("offset of a task", task(f"{HOST} offset = %v len = 8"), (0, 8), (-1,), "offset in bytes", "in [0:", "i32"),
    Limit("repeats", push(repeat="%v"), (0, 255), (256, -1), "Repeat count exceeds", "in [0:255]", "i32"),
    Limit("repeats of a task", task(f"{HOST} len = 8", repeat="repeat %v : i32"), (0, 255), (256, -1), "Repeat count",
          "in [0:255]", "i32"),
    Limit("descriptor", push(bd="%v"), (0, 15), (16, -1), "", "in [0:15]", "i32"),
    Limit("of an even channel", push("0, 1, MM2S : 0", "%v"), (0, 23), (24, 48), "[0:23]", "in [0:23]", "i32"),
    Limit("of an odd channel", push("0, 1, MM2S : 1", "%v"), (24, 47), (23, 48), "[24:47]", "in [24:47]", "i32"),
    Limit("column of a wait", sync("%v", *["%zero"] * 3, "%one", "%one"), (0, 3), (256, -1), "255]", "[0:3]", "i32"),
    Limit("direction", sync("%zero", "%zero", "%v", "%zero", "%one", "%one"), (0, 1), (2,), "[0:1]", "[0:1]", "i32"),
    Limit("register", "aiex.npu.write32(%v, %v) : i32, i32", (0, 4), (2,), "divisible by 4", "divisible by 4", "i32"),
    Limit("register of a tile", "aiex.npu.write32(%v, %v) {column = 0 : i32, row = 2 : i32} : i32, i32",
          (0, 0xFFFFC), (0x100000,), "[0:1048575]", "[0:1048575]", "i32"),
    Limit("patch", "aiex.npu.address_patch(%v : i32) {addr = 118788 : ui32, arg_idx = 0 : i32}",
          (0, 4), (2,), "divisible by 4", "divisible by 4", "i32"),
    Limit("end of a buffer", task(f"{NEAR} offset = %v len = 8", CORE), (0, 4088), (4089, 1 << 20), "end of", "end of",
          "i32"),
    Limit("length in a core tile", task(f"{NEAR} len = %v", CORE), (1, 4096), (0, 4097), "", "must be in", "i32"),
    Limit("core tile wrap", task(f"{NEAR} len = 512 sizes = [2, 2, %v, 1] strides = [1, 9, 2, 1]", CORE), (), (256,),
          "Size 1 exceeds", "in [1:255]"),
    Limit("the only wrap", task(f"{NEAR} len = 256 sizes = [%v, 1] strides = [2, 1]", CORE), (256,), (255,),
          "length does not match", "length less the product"),
    Limit("length in a mem tile", task(f"{WIDE} len = %v", MEM), (1, 131071), (0, 131072), "", "in [1:131071]", "i32"),
    Limit("wrap in a mem tile", task(f"{WIDE} len = 2062 sizes = [2, %v, 1] strides = [9, 2, 1]", MEM), (), (1031,),
          "Size 1 exceeds", "no room to split, is 1031"),
    Limit("parts in a mem tile", task(f"{WIDE} len = 2048 sizes = [2, %v, 1] strides = [9, 2, 1]", MEM), (1024,), (9,),
          "length does not match", "length less the product"),
]  # fmt: skip


def program(limit: Limit, value: int | None) -> str:
    constant = "" if value is None else f"%v = arith.constant {value} : {limit.type}"
    argument = f", %v: {limit.type}" if value is None else ""
    name = limit.name.replace(" ", "_")
    return SEQUENCE.format(name=name, argument=argument, constant=constant, body=limit.body)


@cache
def parametric() -> tw.Design:
    """All of them with their numbers as arguments, in one design."""
    return tw.compile(DEVICE.format(sequences="\n".join(program(limit, None) for limit in LIMITS)))


VALUES = [(limit, value) for limit in LIMITS for value in limit.bad]
IDS = [f"{limit.name}: {value}" for limit, value in VALUES]


@pytest.mark.parametrize("limit, value", VALUES, ids=IDS)
def test_a_known_number_is_refused_where_it_stands(limit: Limit, value: int):
    text = DEVICE.format(sequences=program(limit, value))
    if limit.known is None:
        assert len(tw.txn.decode(tw.compile(text).txn()).operations) > 3
        return
    with pytest.raises(tw.CompileError) as refused:
        tw.compile(text)
    diagnostic = refused.value.diagnostics[0]
    position = file_position(diagnostic.location)
    assert limit.known in diagnostic.text
    assert position and position[1] >= FIRST_LINE


@pytest.mark.parametrize("limit, value", VALUES, ids=IDS)
def test_an_unknown_number_is_refused_by_generated_code(limit: Limit, value: int):
    with pytest.raises(tw.RangeError) as refused:
        parametric().txn(limit.name.replace(" ", "_"), v=value)
    assert limit.unknown in str(refused.value)
    assert f"(with v = {value})" in str(refused.value)
    assert str(refused.value).startswith("<text>:")


@pytest.mark.parametrize("limit, value", VALUES, ids=IDS)
def test_an_unknown_number_is_refused_by_the_interpreter(limit: Limit, value: int):
    sequence = parametric().operation(limit.name.replace(" ", "_"))
    device, argument = sequence.parent_op(), sequence.body.block.args[-1]
    assert device is not None
    with pytest.raises(Refused):
        list(Interpreter(sequence, TxnEmitter(device), {argument: value}).run())


@pytest.mark.skipif(not shutil.which("g++"), reason="needs g++")
def test_the_same_numbers_are_refused_and_pass_in_cpp(tmp_path: Path):
    calls = [(limit, value, value in limit.good) for limit in LIMITS for value in (*limit.good, *limit.bad)]
    headers = [parametric().cpp(limit.name.replace(" ", "_")) for limit in LIMITS]
    lines = [f'  std::printf("%d", {call_cpp(limit, value)}.has_value());' for limit, value, _ in calls]
    source = tmp_path / "limits.cpp"
    source.write_text("\n".join(["#include <cstdio>", *headers, "int main() {", *lines, "}"]))
    include = Path(tw.__file__).parent / "include"
    subprocess.run(["g++", "-std=c++17", "-O0", f"-I{include}", source, "-o", tmp_path / "limits"], check=True)
    said = subprocess.run([tmp_path / "limits"], capture_output=True, text=True, check=True).stdout
    wrong = [(c[0].name, c[1]) for c, passed in zip(calls, said, strict=True) if c[2] != (passed == "1")]
    assert wrong == []


def call_cpp(limit: Limit, value: int) -> str:
    type = {"i32": "int32_t", "i64": "int64_t"}[limit.type]
    return f"generate_txn_main_{limit.name.replace(' ', '_')}(static_cast<{type}>({value}ll))"


@pytest.mark.parametrize("limit", LIMITS, ids=lambda limit: limit.name)
def test_what_is_at_the_edge_passes(limit: Limit):
    for value in limit.good:
        generated = parametric().txn(limit.name.replace(" ", "_"), v=value)
        assert len(tw.txn.decode(generated).operations) > 0
    for value in limit.good[-1:]:
        tw.compile(DEVICE.format(sequences=program(limit, value)))


POOL = """%c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    scf.for %i = %c0 to %v step %c1 {
      %t = aiex.dma_configure_task(%shim, MM2S, 0) {
        aie.dma_bd(%a : memref<?xi32> offset = 0 len = 8)
        aie.end
      }
      aiex.dma_start_task(%t)
    }"""


def test_a_pool_without_a_free_descriptor_is_an_error():
    design = tw.compile(DEVICE.format(sequences=program(Limit("pool", POOL, (), (), "", "", "index"), None)))
    assert len(tw.txn.decode(design.txn(v=16)).operations) > 16
    with pytest.raises(tw.RangeError, match=r"needs a buffer descriptor of tile \(0, 0\), and none is free.*v = 17"):
        design.txn(v=17)


def locks(acquire: str, acquired: int, released: int = 1) -> str:
    return f"""%t = aiex.dma_configure_task(%core, MM2S, 0) {{
      %acquired = arith.constant {acquired} : i32
      %released = arith.constant {released} : i32
      aie.use_lock(%lock, {acquire}, %acquired)
      aie.dma_bd(%near : memref<4096xi32> offset = 0 len = 8) {{bd_id = 0 : i32}}
      aie.use_lock(%lock, Release, %released)
      aie.end
    }}
    aiex.dma_start_task(%t)"""


def padded(count: int) -> str:
    pad = f"[<const_pad_before = 0, const_pad_after = 0>, <const_pad_before = {count}, const_pad_after = 0>]"
    return task(f"{WIDE} len = 16 sizes = [2, 8] strides = [16, 1] pad {pad}", MEM)


# What is always known: numbers that are attributes, or must be constants.
CONSTANTS = {
    "number of a transfer": (lambda n: memcpy("1, 1, 1, 8", LINEAR).replace("id = 0", f"id = {n}"), [0, 15], [16, -1]),
    "packet id": (lambda n: task(f"{HOST} len = 8", f"%shim, MM2S, 0, <pkt_type = 7, pkt_id = {n}>"), [31], [32]),
    "packet type": (lambda n: task(f"{HOST} len = 8", f"%shim, MM2S, 0, <pkt_type = {n}, pkt_id = 1>"), [7], [8]),
    "burst length": (lambda n: memcpy("1, 1, 1, 8", LINEAR, extra=f", burst_length = {n} : i64"), [64, 256], [100]),
    "burst of a task": (
        lambda n: task(f"{HOST} len = 8", bd=f"bd_id = 0 : i32, burst_length = {n} : i32"), [64], [100]),
    "number of a descriptor": (lambda n: task(f"{HOST} len = 8", bd=f"bd_id = {n} : i32"), [0, 15], [16, -1]),
    "number of the next descriptor": (
        lambda n: task(f"{HOST} len = 8", bd=f"bd_id = 0 : i32, next_bd_id = {n} : i32"), [15], [16]),
    "next one of another channel": (
        lambda n: task(f"{WIDE} len = 8", MEM, bd=f"bd_id = 0 : i32, next_bd_id = {n} : i32"), [23], [24]),
    "channel": (lambda n: task(f"{HOST} len = 8", f"%shim, MM2S, {n}"), [1], [2]),
    "channel of a push": (lambda n: push(f"0, 1, S2MM : {n}", bd="%n").replace("%zero =", "%n = arith.constant "
        f"{24 * (n % 2)} : i32\n    %zero ="), [5], [6]),
    "channel of a wait": (
        lambda n: sync("%zero", "%zero", "%zero", "%n", "%one", "%one").replace(
            "%one =", f"%n = arith.constant {n} : i32\n    %one =", 1
        ),
        [1],
        [2],
    ),
    "column of a push": (lambda n: push(f"{n}, 0, MM2S : 0"), [3], [4]),
    "row of a push": (lambda n: push(f"0, {n}, MM2S : 0"), [5], [6]),
    "lock value waited for": (lambda n: locks("AcquireGreaterEqual", n), [1, 63], [64, -1]),
    "lock value that must be": (lambda n: locks("Acquire", n), [0, 63], [64, -1]),
    "lock value added": (lambda n: locks("Acquire", 0, n), [63, -64], [64, -65]),
    "lock value set": (lambda n: f"aiex.set_lock(%lock, {n})", [0, 63], [64, -1]),
    "padding": (padded, [63], [64]),
    "runtime parameter": (lambda n: f"%z = arith.constant 0 : i32\n    aiex.npu.rtp_write(@near, {n}, %z) : i32",
        [4095], [4096]),
}  # fmt: skip


@pytest.mark.parametrize("name", CONSTANTS)
def test_a_number_that_must_be_known_is_refused_where_it_stands(name: str):
    make, good, bad = CONSTANTS[name]
    for value in good:
        tw.compile(DEVICE.format(sequences=SEQUENCE.format(name="s", argument="", constant="", body=make(value))))
    for value in bad:
        text = DEVICE.format(sequences=SEQUENCE.format(name="s", argument="", constant="", body=make(value)))
        with pytest.raises(tw.CompileError) as refused:
            tw.compile(text)
        position = file_position(refused.value.diagnostics[0].location)
        assert position and position[1] >= FIRST_LINE - 1, str(refused.value)
