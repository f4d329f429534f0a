"""Names of mlir-aie for what is around designs: binaries, words of traces, parts by tile, parameters, object files."""

from __future__ import annotations

import json
import re
import sys
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from drawn_streams import WORD, streams
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from ml_dtypes import bfloat16
from peano_stand_in import calls, install, names_in

import tilewright as tw
from tilewright import txn
from tilewright.device.packets import PacketHeader, with_parity
from tilewright.errors import Error
from tilewright.iron import ExternalFunction
from tilewright.iron.builders.module import Module
from tilewright.iron.compiler.txn2mlir import main as txn2mlir
from tilewright.iron.dialects import _aie_enum_gen, aie, arith
from tilewright.iron.extras import types as T
from tilewright.iron.extras.context import mlir_mod_ctx
from tilewright.iron.helpers import util
from tilewright.iron.utils import configure
from tilewright.iron.utils.compile import compile_cxx_core_function, compile_external_kernel
from tilewright.iron.utils.compile.peano import KernelBuildError
from tilewright.iron.utils.hostruntime.xrtruntime.hostruntime import CachedXRTRuntime, XRTHostRuntime
from tilewright.iron.utils.hostruntime.xrtruntime.parameter_scratchpad import ParameterScratchpad
from tilewright.iron.utils.hostruntime.xrtruntime.tensor import XRTTensor
from tilewright.iron.utils.trace import utils as words
from tilewright.iron.utils.trace.events import BasePortEvent, GenericEvent, MemTilePortEvent, PortEvent
from tilewright.txn.opcodes import FOLDED_OFFSET


@settings(max_examples=60, deadline=None)
@given(streams())
def test_a_binary_as_a_design_gives_that_binary(binary: Any) -> None:
    """Whatever is in it: nothing that instructions do not say is lost."""
    module = aie.transaction_binary_to_mlir(None, binary.tobytes())
    assert module.verify()
    assert aie.translate_npu_to_binary(module) == binary.tolist()
    assert aie.translate_npu_to_binary(Module.parse(str(module))) == binary.tolist()


@settings(max_examples=10, deadline=None)
@given(streams())
def test_such_a_design_compiles_to_that_binary(binary: Any) -> None:
    """Or the compiler says which line it refuses."""
    text = str(aie.transaction_binary_to_mlir(None, binary.tobytes()))
    try:
        assert tw.compile(text).txn().tolist() == binary.tolist()
    except tw.CompileError as error:
        assert re.match(r"<text>:\d+:\d+: error: ", str(error))


@settings(max_examples=60, deadline=None)
@given(streams(), st.data())
def test_a_damaged_binary_is_refused_or_kept(binary: Any, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(binary) - 1))
    binary[at] ^= 1 << data.draw(st.integers(0, 31))
    try:
        module = aie.transaction_binary_to_mlir(None, binary.tobytes())
    except Error as error:
        assert "byte" in str(error) or "word" in str(error), error
        return
    assert aie.translate_npu_to_binary(module) == binary.tolist()


def test_such_a_design_reads_as_the_one_of_mlir_aie() -> None:
    """One global for each block, writes as they are; what its instructions do not say is kept field by field."""
    operations = [
        txn.block_write(0x1D000, [0] * 8),
        txn.block_write(0x1D000, [0] * 8),
        txn.write(0x1D214, 5),
        txn.Operation(txn.Opcode.WRITE, address=0x1D204, value=3, op_row=7),
        txn.Operation(txn.Opcode.LOADPDI, id=1, pdi_bytes=64, address=0x10, address_high=2),
        txn.address_patch(0x1D004, 6, FOLDED_OFFSET + 8),
        txn.write(0x1D205, 9),
        txn.Operation(txn.Opcode.TCT, direction=7),
    ]
    binary = txn.encode(txn.Stream.of(txn.Header(), operations))
    text = str(aie.transaction_binary_to_mlir(None, binary.tobytes()))
    assert "aie.runtime_sequence()" in text  # `sequence`, which goes without saying
    assert text.count("memref.global") == 2 and "@config_blockwrite_data_1" in text
    assert "npu.writebd" not in text and "npu.push_queue" not in text
    assert "aiex.npu.operation WRITE(op_row = 7, address = 119300, value = 3)" in text
    assert "aiex.npu.operation WRITE(address = 119301, value = 9)" in text  # no register is there
    assert "aiex.npu.operation TCT(direction = 7)" in text
    assert "aiex.npu.load_pdi {address = 8589934608 : ui64, id = 1 : i32, size = 64 : i32}" in text
    assert tw.compile(text).txn().tolist() == binary.tolist()
    assert "arg_idx = 6 : i32" in text and "arith.constant 8 : i32" in text


def test_the_command_that_prints_such_a_design(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    binary = tmp_path / "a.bin"
    monkeypatch.setattr(sys, "argv", ["txn2mlir", "-f", str(binary)])
    assert txn2mlir.main() == 1 and "No such file" in capsys.readouterr().err
    binary.write_bytes(b"no transaction at all")
    assert txn2mlir.main() == 1 and "error" in capsys.readouterr().err
    operation = txn.Operation(txn.Opcode.WRITE, address=0x1D204, value=3)
    binary.write_bytes(txn.encode(txn.Stream.of(txn.Header(columns=1), [operation])).tobytes())
    assert txn2mlir.main() == 0
    text = capsys.readouterr().out
    assert "aie.device(npu1_1col)" in text and "aiex.npu.write32" in text


def header(column: int, row: int, kind: int) -> str:
    (word,) = PacketHeader.pack(source_column=column, source_row=row, type=kind, id=1)
    return f"{with_parity(word):08x}"


PACKETS = st.lists(
    st.tuples(st.integers(0, 7), st.integers(0, 5), st.integers(0, 3), st.lists(WORD, min_size=7, max_size=7))
)


@given(PACKETS)
def test_packets_of_a_trace_are_taken_apart_by_tile(packets: list[tuple[int, int, int, list[int]]]) -> None:
    wanted: list[dict[str, list[int]]] = [{} for _ in range(4)]
    stream = list[str]()
    for column, row, kind, payload in packets:
        stream += [header(column, row, kind), *(f"{word:08x}" for word in payload)]
        written = (word for word in payload if word != 0xA5A5A5A5)
        wanted[kind].setdefault(f"{row},{column}", []).extend(b"".join(word.to_bytes(4, "big") for word in written))
    assert words.convert_to_byte_stream(words.trace_pkts_de_interleave([*stream, "", "ignored"])) == wanted


def test_words_that_are_no_headers() -> None:
    good = int(header(2, 3, 1), 16)
    assert words.parse_pkt_hdr_in_stream(good) == {"valid": True, "col": 2, "row": 3, "type": 1, "id": 1}
    for bit in (0, 6, 19, 29):
        assert words.parse_pkt_hdr_in_stream(good ^ 1 << bit) == {"valid": False}
    assert words.check_odd_word_parity(0b111) and not words.check_odd_word_parity(0b11)


def test_a_trace_ends_with_filler() -> None:
    nothing = "00000000"
    assert words.trim_trace_pkts(["1", "fefefefe", "2", "FEFEFEFE", nothing, nothing, "3"]) == [
        "1",
        "fefefefe",
        "2",
        "FEFEFEFE",
    ]
    assert words.trim_trace_pkts(["fefefefe", nothing]) == ["fefefefe", nothing]


def test_the_part_of_a_kernel_that_is_vector_code(tmp_path: Path) -> None:
    events = [("INSTR_EVENT_0", "B", 100), ("INSTR_EVENT_1", "B", 200)]
    events += [("INSTR_VECTOR", "B", 90), ("INSTR_VECTOR", "B", 110), ("INSTR_VECTOR", "E", 135)]
    trace = tmp_path / "trace.json"
    trace.write_text(json.dumps([{"name": name, "ph": phase, "ts": time} for name, phase, time in events]))
    assert words.get_vector_time(trace) == 0.25
    trace.write_text("[]")
    assert words.get_vector_time(trace) == 0


def test_events_by_the_names_of_each_generation() -> None:
    assert _aie_enum_gen.CoreEventAIE2.INSTR_EVENT_0 == 33 and _aie_enum_gen.MemEventAIE.__name__ == "MemEventAIE"
    assert not hasattr(_aie_enum_gen, "MemTileEventAIE"), "the first generation has no memory tiles"
    event = MemTilePortEvent(_aie_enum_gen.MemTileEventAIE2P.PORT_RUNNING_3, aie.WireBundle.DMA, 1, False)
    assert isinstance(event, BasePortEvent) and not isinstance(event, PortEvent)
    assert event.slot == 3 and event.direction == aie.DMAChannelDir.MM2S
    assert GenericEvent(event).get_register_writes() == {}


def test_parts_of_a_design_by_tile() -> None:
    with mlir_mod_ctx():

        @aie.device(aie.AIEDevice.npu1)
        def _() -> None:
            shim, first, second = aie.tile(0, 0), aie.tile(0, 2), aie.tile(0, 3)
            late, early = aie.lock(first, sym_name="z"), aie.lock(first, sym_name="a")
            other = aie.lock(second, sym_name="a2")
            memory = aie.buffer(second, np.ndarray[(4,), np.dtype[np.int32]], name="memory")
            there = aie.flow(shim, aie.WireBundle.DMA, 0, first, aie.WireBundle.DMA, 0)
            back = aie.flow(first, aie.WireBundle.DMA, 0, shim, aie.WireBundle.DMA, 0)
            assert first.locks() == [early, late] and first.locks("z") == [late]
            assert aie.find_matching_locks([first, second]) == [early, late, other]
            assert aie.find_matching_buffers([second], "memory") == [memory] and not aie.find_matching_buffers([first])
            assert shim.flows() == [there, back] and second.flows() == []
            assert shim.flows(filter_source=True) == [there] and shim.flows(filter_dest=True) == [back]
            with pytest.raises(ValueError, match="source XOR dest"):
                shim.flows(filter_source=True, filter_dest=True)


@pytest.mark.parametrize(
    "value, wanted",
    [
        (True, "i1"),
        (-1, "i32"),
        (2**31, "ui32"),
        (2**32, "i64"),
        (2**63, "ui64"),
        (1.5, "f32"),
        (float("inf"), "f32"),
        (1e300, "f64"),
        (np.int8(3), "i8"),
        (bfloat16(1), "bf16"),
        (np.zeros((2, 3), np.int16), "tensor<2x3xi16>"),
    ],
)
def test_the_type_of_a_value(value: Any, wanted: str) -> None:
    assert str(util.infer_mlir_type(value)) == wanted


def test_types_of_arrays_and_of_what_is_in_them() -> None:
    array = np.zeros((4,), np.uint8)
    assert str(util.infer_mlir_type(array, memref=True)) == "memref<4xui8>"
    assert str(util.infer_mlir_type(array, vector=True)) == "vector<4xui8>"
    assert util.memref_type_to_np_dtype(T.memref(4, element_type=T.bf16())) is bfloat16
    assert str(util.v8bfp16ebs8.get()) == '!aiex.bfp<"v8bfp16ebs8">'
    for value in (2**64, "text"):
        with pytest.raises(ValueError, match=r"fit into 64 bits|no type of the IR"):
            util.infer_mlir_type(value)


def test_numbers_behind_operands() -> None:
    with mlir_mod_ctx():
        known = arith.constant(T.i32(), 7)
        computed = arith.remsi(known, known)
        assert util.fold_constant_operand(known) == 7 and util.fold_constant_operand(computed) is None
        assert util.get_arg_types([known, 1, 2.0]) == [T.i32(), int, float]
        assert util.get_arg_types(["text"]) is None


class _Buffer:
    def __init__(self, size: int):
        self.memory, self.synced = bytearray(b"\xff" * size), 0

    def map(self) -> memoryview:
        return memoryview(self.memory)

    def sync(self, direction: Any) -> None:
        self.synced += 1


def test_parameters_of_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(
        sys.modules, "pyxrt", SimpleNamespace(xclBOSyncDirection=SimpleNamespace(XCL_BO_SYNC_BO_TO_DEVICE=0))
    )
    file, buffer = tmp_path / "params.txt", _Buffer(8)
    file.write_text("2\nscale 1 bf16 core\nstart 0 i32 addr\n")
    run = SimpleNamespace(get_ctrl_scratchpad_bo=lambda: buffer)
    parameters = ParameterScratchpad(run, file)
    assert bytes(buffer.memory) == bytes(8)
    parameters.write("scale", bfloat16(3.0))
    parameters.write("start", -4)
    parameters.sync()
    assert parameters.read("scale") == 0x4040 << 2 and parameters.read("start") == 2**32 - 4 and buffer.synced == 1
    for name, value in (("scale", 2**40), ("scale", "3"), ("scale", np.float64(1)), ("other", 1)):
        with pytest.raises(ValueError, match=r"32 bits|no parameter 'other'"):
            parameters.write(name, value)


@pytest.mark.parametrize(
    "text", ["", "1\n", "1\na 0 i32 core\nb 1 i32 core\n", "1\na zero i32 core\n", "1\na 9 i32 core\n"]
)
def test_a_file_of_parameters_that_is_none(tmp_path: Path, text: str) -> None:
    file = tmp_path / "params.txt"
    file.write_text(text)
    with pytest.raises(ValueError, match=r"params\.txt"):
        ParameterScratchpad(SimpleNamespace(get_ctrl_scratchpad_bo=lambda: _Buffer(8)), file)


@pytest.fixture
def peano(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = install(tmp_path / "peano")
    monkeypatch.setenv("TILEWRIGHT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(configure, "peano_install_dir", str(folder))
    monkeypatch.chdir(tmp_path)
    return folder


def test_object_files_by_peano(peano: Path, tmp_path: Path) -> None:
    source, target = tmp_path / "k.cc", tmp_path / "k.o"
    source.write_text("void k() {\nsyntax error here\n}")
    with pytest.raises(RuntimeError, match=r"\[Peano\] compilation failed:\nk\.cc:2:1: error: expected expression"):
        compile_cxx_core_function(source, "aie2", target)
    assert not target.exists()
    source.write_text("void k() {}")
    compile_cxx_core_function(source, "aie2p", target, ["headers"], ["-DX"])
    assert names_in(target.read_bytes())["defined"] == ["k"]
    assert {"--target=aie2p-none-unknown-elf", f"-I{tmp_path / 'headers'}", "-DX", "-c"} <= set(calls(peano)[-1])
    with pytest.raises(RuntimeError, match="Chess builds are not made here"):
        compile_cxx_core_function(source, "aie2", target, use_chess=True)
    with pytest.raises(RuntimeError, match="'aie9' is no architecture of cores: aie, aie2, aie2p are"):
        compile_cxx_core_function(source, "aie9", target)
    with pytest.raises(RuntimeError, match=r"none\.cc: error: it cannot be read: No such file"):
        compile_cxx_core_function(tmp_path / "none.cc", "aie2", target)


def test_paths_of_an_object_file_begin_in_the_folder_that_is_named(peano: Path, tmp_path: Path) -> None:
    place = tmp_path / "elsewhere"
    (place / "more").mkdir(parents=True)
    (place / "k.cc").write_text('#include "beside.h"\n#include "n.h"\nvoid k() {}')
    (place / "beside.h").touch()
    (place / "more" / "n.h").touch()
    compile_cxx_core_function("k.cc", "aie2", "k.o", ["headers"], ["-Imore", "-I", "gone"], cwd=place)
    assert names_in((place / "k.o").read_bytes())["defined"] == ["k"]
    told = " ".join(calls(peano)[-1])
    assert f"-I{place / 'headers'} -I {place / 'more'} -I gone" in told


def test_object_files_of_kernels(peano: Path, tmp_path: Path) -> None:
    text = "void add() {}"
    function = ExternalFunction("add", source_string=text, symbol_prefix="fast", compile_flags=["-DN=4"])
    compile_external_kernel(function, tmp_path, "aie2")
    made = tmp_path / "fast_add.o"
    assert names_in(made.read_bytes())["defined"] == ["fast_add"] and (tmp_path / "add.cc").read_text() == text
    assert any("-DN=4" in call for call in calls(peano))
    made.write_text("kept")
    compile_external_kernel(function, tmp_path, "aie2")
    assert made.read_text() == "kept"
    with pytest.raises(FileNotFoundError, match=r"source file not found: .*none\.cc"):
        compile_external_kernel(ExternalFunction("other", source_file=str(tmp_path / "none.cc")), tmp_path, "aie2")


def test_the_source_of_a_kernel_may_be_where_its_object_goes(peano: Path, tmp_path: Path) -> None:
    (tmp_path / "add.cc").write_text("void add() {}")
    compile_external_kernel(ExternalFunction("add", source_file="add.cc"), tmp_path, "aie2")
    assert names_in((tmp_path / "add.o").read_bytes())["defined"] == ["add"]


PARTS = st.sampled_from(["..", "/", "\\", "a", "victim", ".", "\0", "\n", "-", " "])


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(PARTS, min_size=1, max_size=6).map("".join), st.booleans())
def test_names_of_kernels_do_not_lead_out_of_the_folder(
    peano: Path, tmp_path: Path, name: str, is_object: bool
) -> None:
    """The name of an object is taken or refused, that of a source is spelled so that it is one."""
    text = "void k() {}"
    with TemporaryDirectory(dir=tmp_path) as outer:
        folder = Path(outer, "in", "here")
        folder.mkdir(parents=True)
        function = ExternalFunction("k" if is_object else name, name if is_object else "k.o", source_string=text)
        with suppress(KernelBuildError):
            compile_external_kernel(function, folder, "aie2")
        found = [path for path in Path(outer).rglob("*") if path.is_file()]
        assert all(path.parent == folder for path in found)
        assert len(found) == 2 or (is_object and not found)


def test_object_files_without_peano(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(configure, "peano_install_dir", "")
    (tmp_path / "k.cc").touch()
    with pytest.raises(RuntimeError, match="Invalid Peano install directory"):
        compile_cxx_core_function(tmp_path / "k.cc", "aie2", tmp_path / "k.o")


def test_the_runtime_by_the_name_of_xrt() -> None:
    runtime = XRTHostRuntime()
    assert isinstance(runtime, CachedXRTRuntime) and runtime.npu_str in ("npu1", "npu2")
    assert XRTTensor((2, 2), dtype=np.int8).shape == (2, 2)
