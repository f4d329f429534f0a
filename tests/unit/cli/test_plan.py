"""`tilewright plan`: a table for people, JSON for programs."""

from __future__ import annotations

import json

import pytest

from tilewright.cli.main import main
from tilewright.designs import Gemm


def test_the_fastest_is_first(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "512", "256", "128", "--types", "i8_i16", "--device", "npu1", "--b-col-maj"]) == 0
    title, headings, *rows, last = capsys.readouterr().out.splitlines()
    assert title.startswith("512 x 256 x 128 of i8_i16 on 4 columns of npu1, ")
    best = Gemm.plan(512, 256, 128, "i8_i16", "npu1", b_col_maj=True).best
    assert headings.split()[:2] == ["tile", "k_mt"] and rows[0].split() == " ".join(best.cells()).split()
    assert last.startswith("the first is ") and last.endswith(f"over its bound, which is that of {best.bound}")


def test_numbers_for_machines(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "64", "64", "64", "--types", "bf16", "--columns", "2", "--block-floats", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [each["cycles"] for each in found] == sorted(each["cycles"] for each in found)
    for each in found:
        assert each["bound_cycles"] == max(each[f"{kind}_cycles"] for kind in ("compute", "read", "mixed"))
        assert each["columns"] == 2 and each["cycles"] > each["bound_cycles"] and len(each["tile"]) == 3


@pytest.mark.parametrize(
    "arguments, complaint",
    [
        (["64", "0", "64"], "there is no product of 64 x 0 and 0 x 64 elements"),
        (["64", "64", "64", "--types", "f64"], "no product of 'f64'; there is i8, i16, bf16"),
        (["64", "64", "64", "--columns", "9"], "npu2 has 8 columns"),
        (["64", "64", "64", "--device", "npu3"], "did you mean 'npu"),
        (["64", "64"], "the following arguments are required: N"),
    ],
)
def test_wrong_use(arguments: list[str], complaint: str, capsys: pytest.CaptureFixture[str]) -> None:
    try:
        status = main(["plan", *arguments])
    except SystemExit as stop:  # argparse's own complaints
        status = stop.code
    assert status == 2
    assert complaint in capsys.readouterr().err
