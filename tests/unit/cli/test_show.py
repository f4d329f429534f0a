"""`tilewright show`: what a design puts on which tile."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers import EXAMPLES

from tilewright.cli.main import main
from tilewright.cli.programs import load_program
from tilewright.cli.show import SHIPPED
from tilewright.device import TileId
from tilewright.report.floor_plan import floor_plans


def test_shipped_design(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show"]) == 0
    out = capsys.readouterr().out
    for text in (
        "@vector_scale on npu1_1col",
        "program of",
        "buffer factor3",
        "reads  in out0",
        "@scale(%a: memref<4096xi32>",
    ):
        assert text in out


def test_floor_plan_of_the_shipped_design() -> None:
    (plan,) = floor_plans(load_program(str(SHIPPED)))
    core = plan.tiles[TileId(0, 2)]
    assert (core.buffers, core.reads, core.writes, len(core.programs)) == ([("factor0", 4)], ["in0"], ["out0"], 1)
    assert plan.tiles[TileId(0, 1)].writes == ["in0", "in1", "in2", "in3", "out"]
    incoming = plan.fifos[0]
    assert (incoming.name, incoming.source, incoming.targets) == ("in", TileId(0, 0), [TileId(0, 1)])
    assert (incoming.depths, incoming.element, incoming.element_bytes) == ([2], "memref<1024xi32>", 4096)


def test_design_of_a_user(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "mine.mlir"
    path.write_text("""
aie.device(npu2) @wide {
  %a = aie.tile(7, 2)
  %b = aie.logical_tile<MemTile>(?, ?)
  %lock = aie.lock(%a, 3)
  aie.objectfifo @"odd [name]"(%a, {%b}, [2, 4]) : !aie.objectfifo<memref<8x4xbf16>>
}
aie.device(xcvc1902) @far_too_wide_to_draw {
}
""")
    assert main(["show", str(path)]) == 0
    out = capsys.readouterr().out
    for text in ("@wide on npu2: 8 x 6 tiles", "1 lock", "odd [name]", "(7, 1)", "2/4", "on xcvc1902: 50 x 9 tiles"):
        assert text in out


def test_wrong_design(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "wrong.mlir"
    path.write_text("aie.device(npu1) {\n  %a = aie.tile(9, 2)\n}\n")
    assert main(["show", str(path)]) == 1
    err = capsys.readouterr().err
    assert f"{path}:2:8: error: 'aie.tile' op column index (9)" in err
    assert "  %a = aie.tile(9, 2)\n       ^" in err


@pytest.mark.parametrize("script", ["first.py", "gemv.py", "placed.py"])
def test_python_designs_are_shown_where_their_workers_are_placed(
    capsys: pytest.CaptureFixture[str], script: str
) -> None:
    assert main(["show", str(EXAMPLES / script)]) == 0
    out = capsys.readouterr().out
    assert f"{script}: " in out and "program of" in out and "compiled in" in out


def test_a_python_file_with_several_programs_needs_a_name(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "two.py"
    path.write_text((EXAMPLES / "first.py").read_text() + "\n\ndef other():\n    return program\n\n\nagain = program\n")
    assert main(["show", str(path)]) == 1
    assert "--entry NAME" in capsys.readouterr().err
    assert main(["show", str(path), "--entry", "other"]) == 0


def test_names_that_look_like_markup_are_shown_as_they_are(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "[red].mlir"
    path.write_text('aie.device(npu1_1col) @"[/bold]" { aie.runtime_sequence @"[/]"(%a: memref<4xi32>) {} }')
    assert main(["show", str(path)]) == 0
    out = capsys.readouterr().out
    assert "[red].mlir" in out and "@[/bold]" in out and "@[/](" in out
