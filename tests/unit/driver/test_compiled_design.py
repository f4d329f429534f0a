"""A design compiled once gives the TXN words for every size."""

import json
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import numpy as np
import pytest
from programs import FIXED_TRANSFER, WRITES, WRITES_WORDS

import tilewright as tw
from tilewright.cli.main import main
from tilewright.codegen import native_generator
from tilewright.codegen.native_generator import build_generator

TRANSFERS = """
aie.device(npu1) {
  %shim = aie.tile(0, 0)
  %core = aie.tile(0, 2)
  %lock = aie.lock(%core, 3) {init = 1 : i32, sym_name = "ready"}
  %rtp = aie.buffer(%core) {address = 1024 : i32, sym_name = "rtp"} : memref<16xi32>
  aie.shim_dma_allocation @in(%shim, MM2S, 0)
  aie.runtime_sequence @move(%a: memref<65536xi32>, %M: i64, %N: i64, %k: i32) {
    aiex.npu.rtp_write(@rtp, 2, %k) : i32
    aiex.npu.dma_memcpy_nd(%a[0, 0, 0, 0][1, 1, %M, %N][0, 0, 256, 1]) {id = 3 : i64, issue_token = true, metadata = @in} : memref<65536xi32>
    aiex.npu.dma_wait {symbol = @in}
  }
FIXED
}
""".replace("FIXED\n", FIXED_TRANSFER)  # noqa: E501


@pytest.fixture(scope="module")
def transfers() -> tw.Design:
    return tw.compile(TRANSFERS)


@pytest.mark.parametrize("n, words", [*WRITES_WORDS.items(), (2000, 12004)])
def test_one_build_serves_every_length(n: int, words: int):
    stream = tw.txn.decode(tw.compile(WRITES).txn("writes", n=n))
    assert len(stream.operations) == n
    assert tw.txn.encode(stream).size == words
    assert [op.value for op in stream.operations] == list(range(n))
    assert all(op.address == 0x00201000 for op in stream.operations)


def test_sizes_reach_the_descriptor(transfers: tw.Design):
    operations = tw.txn.decode(transfers.txn("move", M=4, N=8, k=77)).operations
    values = {op.address: op.value for op in operations if op.name == "WRITE"}
    for op in operations:
        if op.name == "BLOCKWRITE":
            values |= {op.address + 4 * number: word for number, word in enumerate(op.payload.tolist())}
    assert values[0x00200408] == 77  # buffer at 1024, third word, of tile (0, 2)
    assert values[0x1D060] == 32  # length of descriptor 3 in words
    assert values[0x1D06C] >> 20 == 8
    assert values[0x1D070] & 0xFFFFF == 255  # the step register holds step - 1
    assert values[0x1D214] == 0x80000003


def test_sequences_are_listed_in_order(transfers: tw.Design):
    assert transfers.sequences == ["move", "fixed"]
    assert transfers.scalars("move") == ["M", "N", "k"]
    assert transfers.scalars("fixed") == []


def test_without_a_name_the_first_sequence_is_meant(transfers: tw.Design):
    assert (transfers.txn(M=1, N=4, k=0) == transfers.txn("move", M=1, N=4, k=0)).all()


def test_a_value_that_no_field_holds_is_refused_with_argument_limit_and_line(transfers: tw.Design):
    with pytest.raises(tw.RangeError, match=r"<text>:10:5: error: .*1023.*N = 1031") as error:
        transfers.txn("move", M=65, N=1031, k=0)
    assert error.value.arguments["N"] == 1031


def test_a_value_that_its_type_cannot_hold_is_refused(transfers: tw.Design):
    with pytest.raises(tw.RangeError, match="k = 4294967296 does not fit i32"):
        transfers.txn("move", M=4, N=8, k=1 << 32)


@pytest.mark.parametrize(
    "scalars, complaint",
    [({"M": 1, "N": 4}, "missing value for argument 'k'"), ({"M": 1, "N": 4, "k": 0, "K": 1}, "unknown argument K")],
)
def test_wrong_arguments_are_named(transfers: tw.Design, scalars: dict[str, int], complaint: str):
    with pytest.raises(TypeError, match=complaint):
        transfers.txn("move", **scalars)


def test_unknown_sequences_are_named(transfers: tw.Design):
    with pytest.raises(KeyError, match="no runtime sequence 'mov'; there is move, fixed"):
        transfers.txn("mov")


def test_arrays_never_share_memory(transfers: tw.Design):
    first = transfers.txn("fixed")
    kept = first.copy()
    second = transfers.txn("fixed")
    assert not np.shares_memory(first, second)
    second[:] = 0
    assert (first == kept).all()


def test_threads_do_not_disturb_each_other():
    design = tw.compile(WRITES)
    wanted = {n: design.txn("writes", n=n) for n in (1, 50, 900, 3000)}
    with ThreadPoolExecutor(8) as pool:
        jobs = [(n, pool.submit(design.txn, "writes", n=n)) for n in list(wanted) * 25]
        assert all((job.result() == wanted[n]).all() for n, job in jobs)


def test_threads_that_ask_first_at_the_same_time_share_the_native_code(monkeypatch: pytest.MonkeyPatch):
    design, start, made = tw.compile(WRITES), Barrier(4), list[str]()

    def build(*arguments: Any) -> Any:
        made.append(arguments[-1])
        return build_generator(*arguments)

    monkeypatch.setattr(native_generator, "build_generator", build)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda n: (start.wait(), design.txn("writes", n=n))[1], [1, 2, 3, 4]))
    assert made == ["generate"] and len({len(words) for words in found}) == 4


def test_errors_in_a_design_are_located():
    with pytest.raises(tw.CompileError, match=r"<text>:8:27: error: use of value '%i' expects different type"):
        tw.compile(WRITES.replace("%value = arith.index_cast %i : index to i32", "%value = arith.addi %i, %n : i32"))


def test_compile_writes_what_load_opens(tmp_path, transfers: tw.Design, capsys: pytest.CaptureFixture[str]):
    source, out = tmp_path / "move.mlir", tmp_path / "out"
    source.write_text(TRANSFERS)
    assert main(["compile", str(source), "-o", str(out)]) == 0
    assert sorted(path.name for path in out.iterdir()) == [
        "design.json", "design.mlir", "fixed.h", "fixed.insts.bin", "main.configuration.bin", "move.h"
    ]  # fmt: skip
    again = tw.load(out)
    assert again.sequences == transfers.sequences
    assert (again.txn("move", M=3, N=16, k=5) == transfers.txn("move", M=3, N=16, k=5)).all()
    assert (out / "fixed.insts.bin").read_bytes() == transfers.txn("fixed").tobytes()
    assert "generate_txn_main_move(" in (out / "move.h").read_text()


def test_the_manifest_names_what_hosts_need(tmp_path):
    source = tmp_path / "move.mlir"
    source.write_text(TRANSFERS)
    assert main(["compile", str(source), "-o", str(tmp_path / "out")]) == 0
    (device,) = json.loads((tmp_path / "out" / "design.json").read_text())["devices"]
    assert device["device"] == "npu1"
    assert device["buffers"][0]["register"] == 0x00200400
    assert device["locks"][0]["register"] == 0x0021F030
    assert device["shim_allocations"][0] == {
        "name": "in", "column": 0, "row": 0, "direction": "MM2S", "channel": 0
    }  # fmt: skip
    move, fixed = device["sequences"]
    assert [(a["name"], a["kind"]) for a in move["arguments"]][1:] == [
        ("M", "scalar"),
        ("N", "scalar"),
        ("k", "scalar"),
    ]
    assert move["instructions"] is None and fixed["instructions"] == "fixed.insts.bin"
    # The descriptor, its address, the channel's controller id, the push and the wait.
    assert [op["word"] for op in fixed["operations"]] == [4, 16, 28, 35, 41]
    assert device["configuration"] == "main.configuration.bin"
    assert all(op["location"]["line"] in (14, 15) for op in fixed["operations"])


def test_a_design_that_fails_leaves_no_files(tmp_path, capsys: pytest.CaptureFixture[str]):
    source, out = tmp_path / "bad.mlir", tmp_path / "out"
    source.write_text(TRANSFERS.replace("@in}", "@nowhere}"))
    assert main(["compile", str(source), "-o", str(out)]) == 1
    assert f"{source}:" in capsys.readouterr().err
    assert not out.exists()
