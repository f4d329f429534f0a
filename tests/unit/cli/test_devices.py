"""`tilewright devices`: tables for people, JSON for programs."""

import json

import pytest

from tilewright import device
from tilewright.cli.main import main


def test_every_device_has_a_row(capsys: pytest.CaptureFixture[str]):
    assert main(["devices"]) == 0
    shown = capsys.readouterr().out
    assert [name for name in device.NAMES if name not in shown] == []


def test_a_picture_has_row_0_at_the_bottom(capsys: pytest.CaptureFixture[str]):
    main(["devices", "npu1_1col"])
    rows = [line.split("│")[1:3] for line in capsys.readouterr().out.splitlines() if line.startswith("│")]
    assert [(number.strip(), kind.strip()) for number, kind in rows] == [
        ("5", "core"),
        ("4", "core"),
        ("3", "core"),
        ("2", "core"),
        ("1", "mem"),
        ("0", "shim"),
        ("row / column", "0"),
    ]


def test_a_wide_array_is_drawn_in_letters(capsys: pytest.CaptureFixture[str]):
    main(["devices", "xcve2302"])
    assert "  0 ppNNppNNppNNppppp" in capsys.readouterr().out.splitlines()


def test_json(capsys: pytest.CaptureFixture[str]):
    main(["devices", "npu2", "--json"])
    facts = json.loads(capsys.readouterr().out)
    assert (facts["columns"], facts["rows"], facts["burst_lengths"][-1]) == (8, 6, 512)
    assert facts["tiles"][1] == ["MemTile"] * 8
    assert facts["resources"]["MemTile"]["bds"] == 48


def test_an_unknown_device_is_a_usage_error(capsys: pytest.CaptureFixture[str]):
    assert main(["devices", "npu9"]) == 2
    assert "invalid choice: 'npu9'" in capsys.readouterr().err
