"""Lifting of streams that our own compiler has made: several sizes in, one sequence out, other sizes predicted."""

from __future__ import annotations

import json
import random
from pathlib import Path

import numpy as np
import pytest
from drawn_streams import streams
from hypothesis import given, settings
from hypothesis import strategies as st

import tilewright as tw
from tilewright import txn
from tilewright.cli.main import main
from tilewright.device import DEVICES
from tilewright.device.bd import ShimBd
from tilewright.device.enums import DeviceName
from tilewright.lift import lift, to_mlir
from tilewright.lift.decisions import roundest
from tilewright.lift.expressions import LargestDivisor, Parameter
from tilewright.lift.lifting import predicted
from tilewright.lift.model import learn
from tilewright.lift.parameters import ParameterError, from_names
from tilewright.lift.parameters import given as given_parameters
from tilewright.txn.codec import without_unread
from tilewright.txn.stream import Header, Operation, Stream

FAMILY = """
aie.device(npu2) {
  aie.runtime_sequence @seq(%M: i32, %K: i32) {
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    %once = arith.constant 1 : i32
    %c64 = arith.constant 64 : i32
    %c100 = arith.constant 100 : i32
    %bd = arith.constant 118784 : i32
    %queue = arith.constant 119316 : i32
    %column = arith.constant 33554432 : i32
    %length = arith.muli %M, %K : i32
    %tiles = arith.ceildivsi %M, %c64 : i32
    %turns = arith.index_cast %tiles : i32 to index
    scf.for %i = %zero to %turns step %one {
      %n = arith.index_cast %i : index to i32
      %away = arith.muli %n, %column : i32
      %register = arith.addi %bd, %away : i32
      %offset = arith.muli %n, %length : i32
      aiex.npu.write_words(%register, %length, %offset, %K, %M) : i32, i32, i32, i32, i32
      aiex.npu.write32(%queue, %n) : i32, i32
    }
    %large = arith.cmpi sgt, %K, %c100 : i32
    scf.if %large {
      aiex.npu.maskwrite32(%queue, %K, %once) : i32, i32, i32
    }
    aiex.npu.sync(%once, %once, %once, %once, %once, %once) : i32, i32, i32, i32, i32, i32
  }
}
"""
SIZES = [(m, k) for m in range(192, 513, 32) for k in (32, 64, 96, 128, 160, 256)]


@pytest.fixture(scope="module")
def family() -> dict[str, np.ndarray]:
    design = tw.compile(FAMILY)
    return {f"op_{m}_{k}.bin": design.txn("seq", M=m, K=k) for m, k in SIZES}


def test_sizes_that_were_not_seen_are_predicted(family: dict[str, np.ndarray]) -> None:
    """Loops turn as often as the shape says, and an operation is there or not."""
    lifted = lift(family, from_names([*family]), hold_out=0.2, seed=3)
    assert not lifted.left_out
    assert lifted.files["op_192_32.bin"] == {"d0": 192, "d1": 32}
    assert lifted.prediction is not None
    assert (lifted.prediction.exact, lifted.prediction.files) == (13, 13)
    again = tw.compile(lifted.text)
    unseen = tw.compile(FAMILY).txn("seq", M=416, K=192)
    assert (again.txn("lifted", d0=416, d1=192) == unseen).all()
    assert "scf.for" in lifted.text and "scf.if" in lifted.text
    assert len(lifted.text) < sum(words.nbytes for words in family.values())


def test_the_report_says_what_was_found(family: dict[str, np.ndarray]) -> None:
    lines = [*lift(family, from_names([*family])).report()]
    assert lines[0] == "66 of 66 files, byte for byte, from lifted(d0, d1)"
    assert any("loop of 2 operations from operation 0 on: ceildiv(d0, 64) turns" in line for line in lines)
    assert any(line.endswith(": d0*d1") for line in lines)


def _stream(*operations: Operation) -> np.ndarray:
    return txn.encode(Stream.of(Header(0, 1, 4, 6, 8, 1), operations))


def test_noise_is_refused_and_named() -> None:
    """Words that do not follow from the shape are no part of the sequence; nothing is approximated."""
    noise = random.Random(7)
    streams = {f"n_{size}.bin": _stream(txn.write(0x1D000, noise.getrandbits(32))) for size in range(1, 40)}
    with pytest.raises(txn.TxnError, match="word 4 of operation 0: 39 values in 39 files"):
        lift(streams, from_names([*streams]))


def _pieces(size: int, limit: int) -> int:
    """In how many equal pieces a size is cut, so that each is no larger than a limit."""
    return next(count for count in range(1, size + 1) if size % count == 0 and size // count <= limit)


def test_pieces_that_fit_a_buffer_are_predicted() -> None:
    """Sizes are cut into equal pieces below a limit: their length, their number, and which program runs, follow."""

    def stream(rows: int, columns: int) -> np.ndarray:
        length = columns // _pieces(columns, 511)
        block = txn.block_write(0x1D000, [length, 4 * length - 1, columns // length, rows * columns])
        more = [txn.write(0x1D214, 1)] * (1 + (rows * columns // _pieces(rows * columns, 8192) > 4096))
        return _stream(block, *more, txn.sync(0, 0, 0, 0))

    sizes = [(m, n) for m in (4, 8, 12, 16, 24) for n in range(64, 2049, 64)]
    family = {f"op_{m}_{n}.bin": stream(m, n) for m, n in sizes}
    lifted = lift(family, from_names([*family]), hold_out=0.2, seed=1)
    assert not lifted.left_out and lifted.prediction is not None
    assert lifted.prediction.exact == lifted.prediction.files
    assert any(": divisor(d1, 511)" in line for line in lifted.report())
    again = tw.compile(lifted.text)
    for m, n in ((20, 1152), (8, 1408), (4, 2048), (12, 6144)):
        assert (again.txn("lifted", d0=m, d1=n) == stream(m, n)).all()


@given(st.lists(st.integers(-(1 << 20), 1 << 20), min_size=1, max_size=8), st.integers(1, 1 << 17))
def test_a_divisor_is_the_largest_that_fits(sizes: list[int], limit: int) -> None:
    found = LargestDivisor(Parameter("n"), limit).evaluate({"n": np.array(sizes)})
    for size, part in zip(sizes, found.tolist(), strict=True):
        fitting = [size // count for count in range(1, 17) if size % count == 0 and size // count <= limit]
        assert part == (fitting[0] if fitting else size)


@pytest.mark.parametrize(
    "least, end, bound", [(21504, 26624, 24576), (8192, 9216, 8192), (1, 64, 32), (5, 6, 5), (-6, -1, -4), (0, 3, 0)]
)
def test_limits_are_round_numbers(least: int, end: int, bound: int) -> None:
    assert roundest(least, end) == bound


def test_few_files_are_no_evidence() -> None:
    """Thousands of expressions fit three numbers, so none of them is believed."""
    streams = {f"n_{n}.bin": _stream(txn.write(0x1D000, value)) for n, value in ((3, 71), (5, 3), (9, 1234))}
    with pytest.raises(txn.TxnError, match="no file is explained"):
        lift(streams, from_names([*streams]))


def test_bits_that_nothing_reads_are_kept_apart() -> None:
    """Padding of other tools holds what lay in memory: an argument chooses among its contents."""
    noise = random.Random(5)
    streams = {
        f"p{n}.bin": _stream(
            *(txn.write(0x1D000 + (column << 25), 3) for column in range(4)),
            Operation(txn.Opcode.MASKPOLL, [noise.getrandbits(32)], address=0x1D220, value=2 * n, mask=3),
        )
        for n in range(1, 9)
    }
    lifted = lift(streams, from_names([*streams]))
    assert not lifted.left_out and lifted.model.names == ["p", "unused"]
    words = tw.compile(lifted.text).txn("lifted", p=5, unused=lifted.files["p5.bin"]["unused"])
    assert (words == streams["p5.bin"]).all()
    zeroed = lift(streams, from_names([*streams]), zero_unused=True)
    assert len(zeroed.files) == 8 and zeroed.model.names == ["p"] and len(zeroed.text) < len(lifted.text)


@given(st.data())
@settings(max_examples=10, deadline=None)
def test_affine_families(data: st.DataObject) -> None:
    """Any operations whose words are affine in two sizes, or in their product, are learned from some of them."""
    draw = data.draw
    factor = st.integers(-64, 64)
    terms = draw(st.lists(st.tuples(st.integers(0, 1 << 20), factor, factor, factor), min_size=1, max_size=4))
    sizes = [(m, n) for m in range(1, 9) for n in (16, 32, 48, 80, 96)]

    def words(m: int, n: int) -> np.ndarray:
        payload = [(a + b * m + c * n + d * m * n) & 0xFFFFFFFF for a, b, c, d in terms]
        return _stream(txn.block_write(0x1D000, payload), txn.sync(0, 0, 0, 0))

    streams = {f"f_{m}_{n}.bin": words(m, n) for m, n in sizes}
    parameters = from_names([*streams])
    unseen = draw(st.sampled_from(sizes))
    seen = parameters.take([i for i, size in enumerate(sizes) if size != unseen])
    model = learn(streams, seen)
    names = [*seen.columns]
    assert model.groups, model.unexplained
    assert (predicted(model, dict(zip(names, unseen, strict=True))) == words(*unseen)).all()


def test_parameters_of_names() -> None:
    found = from_names(["mm_v1_64_8.bin", "mm_v2_32_8.bin", "mm_v2_32_16.bin", "other.bin"])
    assert {name: column.tolist() for name, column in found.columns.items()} == {
        "v": [1, 2, 2],
        "d1": [64, 32, 32],
        "d2": [8, 8, 16],
    }
    assert found.left_out == {"other.bin": "its name has 0 numbers, and most have 3"}
    texts = from_names(["add_f16_1.bin", "add_i16_2.bin"])
    assert texts.columns["variant"].tolist() == [0, 1] and texts.texts == {"variant": ["add_f", "add_i"]}


def test_parameters_as_given() -> None:
    files = ["a_64x8.bin", "b_32x16.bin"]
    found = given_parameters(files, [r"M=_(\d+)x", "N=7,9"])
    assert {name: column.tolist() for name, column in found.columns.items()} == {"M": [64, 32], "N": [7, 9]}
    for wrong in ("M", "M=(", "1=2", "M=1,2,3"):
        with pytest.raises(ParameterError):
            given_parameters(files, [wrong])


PRODUCTION = """txn 0.1 generation 4 columns 8 rows 6 mem_tile_rows 1
record_timer
maskpoll core(0,2) +0x43bfc == 0x00000001 mask 0x00000001 [0x00000000] {op_column = 0x2, op_row = 0xfc}
blockwrite shim(0,0) DMA.BD1.word0 = [0x00000180, 0x00000000, 0x00000000, 0x00000000, 0xc0000000, 0x02000000, 0x00000000, 0x02005003]
patch shim(0,0) DMA.BD1.word1 = argument 1 + 0x00000600
write shim(0,0) DMA.MM2S1.queue = 0x00030001
write shim(0,0) DMA.MM2S1.queue = 0x80000001
patch shim(0,0) DMA.BD2.word1 = argument 7 + 0x00000002
write core(0,2) +0x43bf0 = 0xffffffff {op_row = 0x30}
write core(0,2) +0x43bf0 = 0xffffffff
write core(0,2) +0x43bf4 = 0x00000001
sync column 0 row 0 S2MM 0 columns 1 rows 1
preempt level 2
record_timer {id = 0x1}
"""  # noqa: E501


def test_one_stream_as_a_sequence(tmp_path: Path) -> None:
    """Descriptors and pushes are recovered; what only other tools write is kept field by field."""
    source, binary, out = tmp_path / "s.txt", tmp_path / "s.bin", tmp_path / "s.mlir"
    source.write_text(PRODUCTION)
    assert main(["txn", "asm", str(source), "-o", str(binary)]) == 0
    assert main(["txn", "to-mlir", str(binary), "-o", str(out)]) == 0
    text = out.read_text()
    assert tw.compile(out).txn().tobytes() == binary.read_bytes()
    assert "aiex.npu.operation RECORD_TIMER(id = 1)" in text
    assert "aiex.npu.push_queue(0, 0, MM2S : 1)" in text
    assert "aiex.npu.writebd" in text and "aiex.npu.address_patch" in text


@pytest.mark.parametrize(
    "header", [Header(1, 0, 4, 6, 8, 1), Header(0, 1, 3, 6, 5, 1), Header(0, 1, 4, 6, 3, 1, 9)], ids=str
)
def test_any_header_is_kept(header: Header) -> None:
    words = txn.encode(Stream.of(header, [txn.write(0x1D000, 7), txn.sync(0, 0, 1, 0)]))
    assert tw.compile(to_mlir(words)).txn().tobytes() == words.tobytes()


@pytest.mark.parametrize("name", [DeviceName.npu1, DeviceName.npu2])
def test_descriptors_with_any_burst_are_recovered(name: DeviceName) -> None:
    """Those that the device has; its longest is what a descriptor has that does not say."""
    model = DEVICES[name]
    for burst in model.burst_lengths:
        steps = {f"d{level}_step": 1 for level in range(3)} | {"iteration_step": 1, "iteration_wrap": 1}
        words = ShimBd.encode(
            buffer_length=16, burst_length=model.burst_encoding(burst), valid_bd=1, ax_cache=2, **steps
        )
        header = Header(0, 1, model.txn_generation or 0, model.rows, model.columns, model.mem_rows)
        text = to_mlir(txn.encode(Stream.of(header, [txn.block_write(0x1D000, words)])))
        assert "aiex.npu.writebd" in text
        assert (f"burst_length = {burst} :" in text) == (burst != model.burst_lengths[-1])


def test_without_unread_bits_production_streams_are_instructions() -> None:
    """The driver leaves something in the header of every operation; without it, tasks are tasks."""
    descriptor = [64, 0, 0, 0, 0, 0x02000000, 0, 0x02000000]
    left = {"op_column": 1, "op_row": 0xA0}
    words = _stream(
        Operation(txn.Opcode.BLOCKWRITE, descriptor, address=0x1D000, **left),
        Operation(txn.Opcode.WRITE, address=0x1D214, value=3, **left),
    )
    kept, zeroed = to_mlir(words), to_mlir(without_unread(words))
    assert kept.count("aiex.npu.operation") == 2
    assert "aiex.npu.writebd" in zeroed and "aiex.npu.push_queue" in zeroed and "npu.operation" not in zeroed


@given(streams())
@settings(max_examples=12, deadline=None)
def test_any_operation_is_kept(words: np.ndarray) -> None:
    """Every opcode of both versions, with anything in its fields."""
    assert tw.compile(to_mlir(words)).txn().tobytes() == words.tobytes()


def test_the_command_writes_both_files(
    family: dict[str, np.ndarray], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Files that are no streams are told of, and are no obstacle."""
    for name, words in [*family.items()][:40]:
        (tmp_path / name).write_bytes(words.tobytes())
    (tmp_path / "op_1_1_ctrl.bin").write_bytes(b"no stream at all, but text")
    paths = [str(path) for path in sorted(tmp_path.glob("*.bin"))]
    assert main(["txn", "lift", *paths, "-o", str(tmp_path / "out"), "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    manifest = json.loads((tmp_path / "out" / "lifted.json").read_text())
    assert manifest["sequence"] == "lifted" and manifest["parameters"] == ["d0", "d1"]
    assert len(manifest["files"]) == 40 == len(report["files"]) and [*report["refused"]] == ["op_1_1_ctrl.bin"]
    design = tw.compile(tmp_path / "out" / "lifted.mlir")
    for name, values in [*manifest["files"].items()][:5]:
        assert design.txn("lifted", **values).tobytes() == (tmp_path / name).read_bytes()


@pytest.mark.parametrize("sound", [0, 1])
def test_files_that_are_no_streams_leave_no_family(
    sound: int, family: dict[str, np.ndarray], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The error says why each is none."""
    for name, words in [*family.items()][:sound]:
        (tmp_path / name).write_bytes(words.tobytes())
    for name in ("other_1.bin", "other_2.bin"):
        (tmp_path / name).write_bytes(b"no stream at all, but text")
    paths = [str(path) for path in sorted(tmp_path.glob("*.bin"))]
    assert main(["txn", "lift", *paths, "-o", str(tmp_path / "out")]) == 1
    said = capsys.readouterr().err
    assert "a family has 2 files at least that are streams" in said
    assert "other_1.bin: at byte 0" in said and "other_2.bin: at byte 0" in said


def test_a_family_without_files_is_refused() -> None:
    with pytest.raises(ParameterError, match="2 files at least"):
        lift({}, from_names([]))


@given(st.data())
@settings(max_examples=5, deadline=None)
def test_damaged_and_mixed_files(family: dict[str, np.ndarray], data: st.DataObject) -> None:
    """Whatever stands in the files: a sequence that gives them back, or an error of ours."""
    streams = dict[str, np.ndarray]()
    for name, words in data.draw(st.permutations([*family.items()]))[:6]:
        damaged = words.copy()
        for _ in range(data.draw(st.integers(0, 2))):
            damaged[data.draw(st.integers(0, len(damaged) - 1))] ^= np.uint32(1 << data.draw(st.integers(0, 31)))
        try:
            txn.decode(damaged)
        except txn.TxnError:
            continue
        streams[name] = damaged
    try:
        lifted = lift(streams, from_names([*streams]))
    except tw.Error:
        return
    design = tw.compile(lifted.text)
    for name, values in lifted.files.items():
        assert (design.txn("lifted", **values) == streams[name]).all()


def test_buffers_that_take_turns_follow_a_count_that_proved_itself() -> None:
    """Which of two buffers comes last depends on how many pieces there are, as in silu of production libraries."""

    def stream(m: int, k: int) -> np.ndarray:
        pieces = -(-m * k // 4096)
        last = 0x20000 if pieces % 4 == 1 else 0x1A0000
        more = [txn.write(0x1008, 5)] if m > 700 else []
        return _stream(txn.write(0x1000, pieces), txn.write(0x1004, last if m > 700 else 0), *more)

    sizes = [(m, k) for m in range(64, 768, 64) for k in (320, 448, 1152, 1376)] + [
        (m, k) for m in (704, 832, 1088, 1600) for k in (96, 352, 1376, 1712)
    ]
    files = {f"op_{m}_{k}.bin": stream(m, k) for m, k in sizes}
    model = learn(files, from_names([*files]))
    assert not model.left_out and not model.unexplained
