"""Host programs of AIR on an NPU: copies through a loop in a mem tile leave behind what the order of tokens says."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from helpers import lowered
from hypothesis import given, settings
from hypothesis import strategies as st

import tilewright as tw
from tilewright.cli.main import main
from tilewright.driver.compiled_design import compile_text
from tilewright.ir.printer import module_text
from tilewright.passes.air.air_opt_shim_dma_bds import AirOptShimDmaBdsPass
from tilewright.passes.air.air_opt_shim_dma_bds.tiling import EmptyTile
from tilewright.passes.air.air_to_std import AirToStdPass
from tilewright.passes.air.airrt_to_npu import AirrtToNpuPass
from tilewright.passes.standard.canonicalize import CanonicalizePass
from tilewright.txn.opcodes import Opcode

WORDS, BUFFERS = 96, 4
DEVICE = """
aie.device(npu1_1col) @loop {
  %shim = aie.tile(0, 0)
  %mem = aie.tile(0, 1)
  aie.objectfifo @in0(%shim, {%mem}, 2 : i32) : !aie.objectfifo<memref<16xi32>>
  aie.objectfifo @out0(%mem, {%shim}, 2 : i32) : !aie.objectfifo<memref<16xi32>>
  aie.objectfifo.link [@in0] -> [@out0]([] [])
  aie.objectfifo @in1(%shim, {%mem}, 2 : i32) : !aie.objectfifo<memref<16xi32>>
  aie.objectfifo @out1(%mem, {%shim}, 2 : i32) : !aie.objectfifo<memref<16xi32>>
  aie.objectfifo.link [@in1] -> [@out1]([] [])
}
air.channel @c0 []
air.channel @d0 []
air.channel @c1 []
air.channel @d1 []
"""
TYPE = f"memref<{WORDS}xi32>"
SIGNATURE = ", ".join(f"%b{n}: {TYPE}" for n in range(BUFFERS))
NUMBERS = "".join(f"%n{n} = arith.constant {n} : index\n" for n in (0, 1, 2, 16, 48, WORDS))


def program(body: str) -> str:
    # without one of these, upstream's passes do not know the device
    load = '%load = airrt.segment_load "loop" : i64'
    return f"{DEVICE}\nfunc.func @host({SIGNATURE}) {{\n{load}\n{NUMBERS}\n{body}\nreturn\n}}"


def transfer(verb: str, way: int, buffer: int, where: str, token: str = "", deps: str = "") -> str:
    """A put or a get; with a token it does not block."""
    head = f"%{token} = air.channel.{verb} async" if token else f"air.channel.{verb}"
    channel, fifo = (f"@c{way}", f"@in{way}") if verb == "put" else (f"@d{way}", f"@out{way}")
    return f"{head} {f'[{deps}] ' if deps else ''}{channel}[] (%b{buffer}{where}) {{metadata = {fifo}}} : ({TYPE})"


WHOLE = "[] [] []"
HALF = "[%o{0}] [%n48] [%n1]"


@st.composite
def host_programs(draw: st.DrawFn) -> tuple[str, list[tuple[int, int]]]:
    """Copies from buffer to buffer, each of which waits for the last one: by its token, by others, or as it blocks."""
    lines, copies, last, extra = ["%t0 = air.wait_all async"], list[tuple[int, int]](), "t0", "t0"
    for n in range(1, draw(st.integers(2, 4)) + 1):
        source, target = draw(st.permutations(range(BUFFERS)))[:2]
        way, style = draw(st.integers(0, 1)), draw(st.sampled_from(["blocks", "token", "execute", "loop"]))
        copies.append((source, target))
        if style == "blocks":
            lines += [f"air.wait_all [%{last}]"] if draw(st.booleans()) else []
            deps = f"%{last}"
            lines += [transfer("put", way, source, WHOLE, deps=deps), transfer("get", way, target, WHOLE, deps=deps)]
            lines += [f"%t{n} = air.wait_all async"]
        elif style == "loop":
            head = f"%t{n} = scf.for %i{n} = %n0 to %n2 step %n1 iter_args(%c{n} = %{last}) -> (!air.async.token) {{"
            offset = f"%o{n} = arith.muli %i{n}, %n48 : index"
            where = HALF.format(n)
            lines += [head, offset, transfer("put", way, source, where, f"p{n}", f"%c{n}")]
            lines += [transfer("get", way, target, where, f"g{n}", f"%c{n}")]
            lines += [f"%j{n} = air.wait_all async [%p{n}, %g{n}]", f"scf.yield %j{n} : !air.async.token", "}"]
        else:
            deps = f"%{last}, %{extra}" if draw(st.booleans()) else f"%{last}"
            if style == "execute":
                lines += [f"%e{n} = air.execute [{deps}] {{ %x{n} = arith.addi %n1, %n1 : index }}"]
                deps = f"%e{n}"
            both = [
                transfer("put", way, source, WHOLE, f"p{n}", deps),
                transfer("get", way, target, WHOLE, f"g{n}", deps),
            ]
            lines += both if draw(st.booleans()) else both[::-1]
            lines += [f"%t{n} = air.wait_all async [%p{n}, %g{n}]"]
            extra = f"p{n}"
        last = f"t{n}"
        lines += [f"air.wait_all [%{last}]"] if draw(st.booleans()) else []
    return "\n".join([*lines, f"air.wait_all [%{last}]"] if draw(st.booleans()) else lines), copies


def lowered_with(text: str, empty: EmptyTile, *sizes: int) -> str:
    """The design that upstream's passes make, one after the other."""
    shim = AirOptShimDmaBdsPass("npu1_1col", sizes, empty)
    return module_text(lowered(text, shim, AirToStdPass(), CanonicalizePass(), AirrtToNpuPass()))


def check(text: str, copies: list[tuple[int, int]]) -> int:
    random = np.random.default_rng(1)
    buffers = [random.integers(0, 1000, WORDS).astype(np.int32) for _ in range(BUFFERS)]
    expected = [buffer.copy() for buffer in buffers]
    for source, target in copies:
        expected[target][:] = expected[source]
    cycles = compile_text(text, "host.mlir").run(*buffers).cycles
    for found, wanted in zip(buffers, expected, strict=True):
        np.testing.assert_array_equal(found, wanted)
    return cycles


@settings(max_examples=3)
@given(host_programs(), st.sampled_from([EmptyTile.SKIP, EmptyTile.ONE]))
def test_copies_see_what_earlier_ones_have_left(written: tuple[str, list[tuple[int, int]]], empty: EmptyTile):
    body, copies = written
    text = program(body)
    # as `tilewright compile` does it, and by passes with tiles that are given
    check(text, copies)
    check(lowered_with(text, empty), copies)


BLOCKING = program(
    "\n".join(
        transfer(verb, 0, buffer, WHOLE)
        for verb, buffer in (("put", 0), ("get", 1), ("put", 1), ("get", 2), ("put", 2), ("get", 3))
    )
)


@pytest.mark.parametrize("empty", [EmptyTile.SKIP, EmptyTile.ONE, EmptyTile.AUTO])
def test_transfers_that_block_have_ended_with_the_sequence(empty: EmptyTile):
    """Nothing names a token, and still each copy reads what the one before has written, and the last one is there."""
    check(lowered_with(BLOCKING, empty), [(0, 1), (1, 2), (2, 3)])


def test_loops_of_transfers_that_block_are_waited_for_tile_by_tile():
    loop = "\n".join(
        [
            "scf.for %i = %n0 to %n2 step %n1 {",
            "%o0 = arith.muli %i, %n48 : index",
            transfer("put", 0, 0, HALF.format(0)),
            transfer("get", 0, 1, HALF.format(0)),
            transfer("put", 0, 1, HALF.format(0)),
            transfer("get", 0, 2, HALF.format(0)),
            "}",
        ]
    )
    for empty in (EmptyTile.SKIP, EmptyTile.ONE, EmptyTile.AUTO):
        check(lowered_with(program(loop), empty), [(0, 1), (1, 2)])
    check(lowered_with(program(loop), EmptyTile.SKIP, 2), [(0, 1), (1, 2)])


def test_a_wait_waits_for_what_it_names():
    """What is received in one transfer is sent in two, the second of which starts when the first is done."""
    body = "\n".join(
        [
            "%o1 = arith.constant 48 : index",
            transfer("get", 0, 1, WHOLE, "all"),
            transfer("put", 0, 0, "[%n0] [%n48] [%n1]", "first"),
            "air.wait_all [%first]",
            transfer("put", 0, 0, "[%o1] [%n48] [%n1]", "second"),
            "air.wait_all [%second, %all]",
        ]
    )
    check(program(body), [(0, 1)])


def test_a_loop_runs_while_other_channels_are_busy():
    """Its trips are known at run time, so that it stays a loop; what is received ends after it."""
    body = "\n".join(
        [
            transfer("get", 0, 1, WHOLE, "all"),
            "%end = scf.for %i = %n0 to %trips step %n1 iter_args(%t = %start) -> (!air.async.token) {",
            "%o0 = arith.muli %i, %n48 : index",
            transfer("put", 0, 0, HALF.format(0), "part", "%t"),
            "scf.yield %part : !air.async.token",
            "}",
            "air.wait_all [%all, %end]",
        ]
    )
    text = program(f"%start = air.wait_all async\n{body}").replace("@host(", "@host(%trips: index, ")
    buffers = [np.arange(WORDS, dtype=np.int32) + n for n in range(BUFFERS)]
    compile_text(text, "loop.mlir").run(2, *buffers)
    np.testing.assert_array_equal(buffers[1], buffers[0])


LAUNCHES = """
  %first = air.launch async () in () args(%x=%b0, %y=%b1) : memref<96xi32>, memref<96xi32> {
    %p = air.channel.put async @c0[] (%x[] [] []) {metadata = @in0} : (memref<96xi32>)
    %s = air.segment @loop async [%p] {
      %one = arith.constant 1 : index
      %h = air.herd async tile (%tx, %ty) in (%nx=%one, %ny=%one) { }
    }
    %g = air.channel.get async @d0[] (%y[] [] []) {metadata = @out0} : (memref<96xi32>)
  }
  %second = air.launch async [%first] () in () args(%x=%b1, %y=%b2) : memref<96xi32>, memref<96xi32> {
    %p = air.channel.put async @c1[] (%x[] [] []) {metadata = @in1} : (memref<96xi32>)
    %g = air.channel.get async @d1[] (%y[] [] []) {metadata = @out1} : (memref<96xi32>)
  }
"""


def test_launches_segments_and_herds_have_tokens_too():
    after = [transfer("put", 0, 2, WHOLE, deps="%second"), transfer("get", 0, 3, WHOLE)]
    check(program("\n".join([LAUNCHES, *after])), [(0, 1), (1, 2), (2, 3)])


@pytest.mark.parametrize(
    "flags, tiles",
    [
        pytest.param([], 1, id="our choice"),
        pytest.param(["--air-runtime-loop-tiling-sizes=1"], 6, id="each iteration"),
        pytest.param(["--air-runtime-loop-tiling-sizes", "2", "--air-runtime-loop-tiling-sizes=1"], 3, id="repeated"),
        pytest.param(["--air-runtime-loop-tiling-sizes=3,1"], 2, id="in a list"),
        pytest.param(["--air-runtime-loop-tiling-sizes=0"], 1, id="none"),
    ],
)
def test_tile_sizes_by_the_flag_of_mlir_airs_driver(flags: list[str], tiles: int, tmp_path: Path):
    """Each tile is waited for, so that each has a transfer of its own."""
    body = "\n".join(
        [
            "%start = air.wait_all async",
            "%c6 = arith.constant 6 : index",
            "%end = scf.for %i = %n0 to %c6 step %n1 iter_args(%t = %start) -> (!air.async.token) {",
            "%o = arith.muli %i, %n16 : index",
            transfer("put", 0, 0, "[%o] [%n16] [%n1]", "p", "%t"),
            transfer("get", 0, 1, "[%o] [%n16] [%n1]", "g", "%t"),
            "%both = air.wait_all async [%p, %g]",
            "scf.yield %both : !air.async.token",
            "}",
        ]
    )
    (tmp_path / "host.mlir").write_text(program(body))
    assert main(["compile", str(tmp_path / "host.mlir"), "-o", str(tmp_path / "out"), *flags]) == 0
    design = tw.load(tmp_path / "out")
    buffers = [np.arange(WORDS, dtype=np.int32) + n for n in range(BUFFERS)]
    design.run(*buffers)
    np.testing.assert_array_equal(buffers[1], buffers[0])
    (words,) = (tmp_path / "out").glob("*.insts.bin")
    patches = [op for op in tw.txn.decode(words.read_bytes()).operations if op.opcode == Opcode.DDR_PATCH]
    assert len(patches) == 2 * tiles


@pytest.mark.parametrize("sizes", ["x", "2,", "-1", "0,2"])
def test_tile_sizes_that_are_none(sizes: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    (tmp_path / "host.mlir").write_text(BLOCKING)
    flags = [f"--air-runtime-loop-tiling-sizes={sizes}", "-o", str(tmp_path / "out")]
    assert main(["compile", str(tmp_path / "host.mlir"), *flags]) == 2
    assert "--air-runtime-loop-tiling-sizes takes numbers of iterations" in capsys.readouterr().err


def test_traces_start_before_the_transfers(tmp_path: Path):
    """The flags of the driver reach the pass; the results are as without."""
    flow = "aie.packet_flow(1) { aie.packet_source<%mem, Trace : 0> aie.packet_dest<%shim, DMA : 1> }\n"
    text = program(transfer("put", 1, 0, WHOLE) + "\n" + transfer("get", 1, 1, WHOLE))
    # the way of the first loop is for the trace here
    dropped = ("@in0(", "@out0(", "[@in0]")
    lines = [line for line in text.splitlines() if not any(word in line for word in dropped)]
    (tmp_path / "host.mlir").write_text("\n".join(lines).replace("}\nair.channel @c0", flow + "}\nair.channel @c0", 1))
    out = tmp_path / "out"
    # behind the third argument's own words
    np.save(tmp_path / "traced.npy", np.zeros(WORDS + 4096, np.int32))
    arguments = ["--arg", "b0=arange", "--arg", f"b2={tmp_path / 'traced.npy'}", "--out", str(out)]
    assert main(["run", str(tmp_path / "host.mlir"), "--trace-size=4096", "--trace-offset=384", *arguments]) == 0
    np.testing.assert_array_equal(np.load(out / "b1.npy"), np.arange(WORDS))
