"""The list of kernels, for people and for programs."""

from __future__ import annotations

import json

import pytest

from tilewright.cli.main import main


def test_text_and_facts_say_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["kernels", "matmul_bf16_f32"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("@matmul_bf16_f32(a_in: memref<?xbf16>, b_in: memref<?xbf16>, c_out: memref<?xf32>)\n")
    assert "-DB_COL_MAJ" in text
    assert main(["kernels", "MATMUL_bf16_f32", "--json"]) == 0
    (fact,) = json.loads(capsys.readouterr().out)
    assert fact["name"] == "matmul_bf16_f32" and "-DB_COL_MAJ" in fact["flags"]
    assert fact["parameters"][2] == {"name": "c_out", "type": "f32", "memory": True, "size": None}


def test_nothing_of_that_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["kernels", "unheard_of"]) == 1
    assert capsys.readouterr().out == ""
