"""`compile_mlir_module`: files of a module, by way of the driver."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from tilewright.containers import Xclbin, read
from tilewright.iron.utils.compile import CompilerDriverError, compile_mlir_module

MODULE = """
aie.device(npu2) {
  aie.runtime_sequence @sequence(%n: i32) {
    %address = arith.constant 64 : i32
    aiex.npu.write32(%address, VALUE) {column = 0 : i32, row = 2 : i32} : i32, i32
  }
}
"""


def test_words(tmp_path: Path) -> None:
    compile_mlir_module(MODULE.replace("VALUE", "%address"), insts_path=tmp_path / "insts.bin", work_dir=tmp_path)
    assert struct.unpack("<10I", (tmp_path / "insts.bin").read_bytes())[8] == 64


def test_a_package_and_what_else_is_asked_for(tmp_path: Path) -> None:
    header, package = tmp_path / "generated_txn.h", tmp_path / "x.xclbin"
    options = ["--aie-generate-txn-cpp", f"--txn-cpp-name={header}"]
    compile_mlir_module(MODULE.replace("VALUE", "%n"), xclbin_path=package, options=options)
    assert "generate_txn_sequence(" in header.read_text()
    assert isinstance(read(package.read_bytes()), Xclbin)


def test_what_cannot_be_made_is_said_after_the_rest_is_written(tmp_path: Path) -> None:
    header = tmp_path / "generated_txn.h"
    options = ["--aie-generate-txn-cpp", f"--txn-cpp-name={header}", "--get-npu-insts"]
    with pytest.raises(CompilerDriverError, match=r"aie\.mlir:\d+:\d+: error: "):
        compile_mlir_module(MODULE.replace("VALUE", "%n"), insts_path=tmp_path / "no" / "insts.bin", options=options)
    assert "generate_txn_sequence(" in header.read_text()
