"""File names for names of programs: ordinary ones as they are, all others harmless, no two the same."""

from __future__ import annotations

import contextlib
import io
import json
import os
from pathlib import Path
from urllib.parse import unquote

import pytest
from helpers import HEALTH_CHECKS, STRESS
from hypothesis import given, settings
from hypothesis import strategies as st

import tilewright as tw
from tilewright.cli.main import main
from tilewright.ir.print_attributes import string_text
from tilewright.support.output_files import FileNames, is_file_name


@pytest.mark.parametrize(
    "name, file",
    [
        pytest.param("seq", "seq.h", id="an identifier"),
        pytest.param("Move_2.rows$1", "Move_2.rows$1.h", id="all that MLIR takes without quotes"),
        pytest.param("../../evil", "%2E.%2F..%2Fevil.h", id="a way out of the folder"),
        pytest.param("/etc/passwd", "%2Fetc%2Fpasswd.h", id="absolute"),
        pytest.param("..", "%2E..h", id="the folder above"),
        pytest.param(".hidden", "%2Ehidden.h", id="hidden"),
        pytest.param("-rf", "%2Drf.h", id="like a flag"),
        pytest.param("a\\b:c", "a%5Cb%3Ac.h", id="separators of Windows"),
        pytest.param("NUL", "%4EUL.h", id="a device of Windows"),
        pytest.param("com1.txt", "%63om1.txt.h", id="a device of Windows with a suffix"),
        pytest.param("console", "console.h", id="no device"),
        pytest.param("a\0\nb", "a%00%0Ab.h", id="control characters"),
        pytest.param("größe", "gr%C3%B6%C3%9Fe.h", id="other alphabets"),
        pytest.param("%2F", "%252F.h", id="like an encoded one"),
        pytest.param("", "%.h", id="nothing at all"),
    ],
)
def test_a_name_as_a_file_name(name: str, file: str) -> None:
    assert FileNames().stem(name, ".h") + ".h" == file
    assert name in ("", unquote(file.removesuffix(".h")))


def test_names_that_are_too_long_are_cut_and_stay_different() -> None:
    names = FileNames()
    stems = [names.stem(name, ".insts.bin") for name in ("x" * 300, "x" * 301, "ü" * 100, "y" * 245)]
    assert [len(stem) for stem in stems] == [245, 245, 245, 245]
    assert "~" not in stems[-1] and all(is_file_name(stem) for stem in stems)


@pytest.mark.parametrize("names", [("Seq", "seq"), ("a", "a"), ("design", "DESIGN"), ("x" * 300, "X" * 300)])
def test_names_that_differ_by_case_alone_get_different_files(names: tuple[str, str]) -> None:
    given = FileNames()
    first, second = (given.stem(name, ".h", ".bin") for name in names)
    assert first.casefold() != second.casefold()


def test_files_that_have_their_names_keep_them() -> None:
    names = FileNames("libscale.h")
    assert names.stem("libscale", ".h").startswith("libscale~") and names.stem("other", ".h") == "other"


names = st.text(st.characters(blacklist_categories=["Cs"]), max_size=80) | st.sampled_from(
    ["../x", "/x", ".", "..", "CON", "design", "libd", "-", "a/b", "\0", "A", "a", "é" * 200, "main", "a_a", "_"]
)


@given(st.lists(st.text(max_size=300), max_size=8))
def test_file_names_are_safe_and_different(given: list[str]) -> None:
    made = FileNames()
    files = [made.stem(name, ".h") + ".h" for name in given]
    assert len({file.casefold() for file in files}) == len(files)
    assert all(is_file_name(file) and os.path.basename(file) == file for file in files)


def design_text(device: str, sequences: list[str]) -> str:
    body = "".join(
        f"""  aie.runtime_sequence @{string_text(name)}(%buffer: memref<64xi32>{", %n: i32" if number % 2 else ""}) {{
    %address = arith.constant 4096 : i32
    aiex.npu.write32(%address, {"%n" if number % 2 else "%address"}) {{column = 0 : i32, row = 2 : i32}} : i32, i32
  }}
"""
        for number, name in enumerate(sequences)
    )
    return f"aie.device(npu2) @{string_text(device)} {{\n{body}}}\n"


def entries(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


@settings(suppress_health_check=HEALTH_CHECKS, max_examples=200 if STRESS else 20)
@given(device=names, sequences=st.lists(names, min_size=1, max_size=3, unique=True), shared=st.booleans())
def test_nothing_is_written_outside_and_all_can_be_read_again(
    tmp_path_factory: pytest.TempPathFactory, device: str, sequences: list[str], shared: bool
) -> None:
    folder = tmp_path_factory.mktemp("compile")
    source, out = folder / "d.mlir", folder / "below" / "out"
    source.write_text(design_text(device, sequences))
    said = io.StringIO()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(said):
        status = main(["compile", str(source), "-o", str(out), *(["--shared"] if shared else [])])
    if status != 0:  # names that are the same outside are refused, in a sentence
        assert status == 1 and "internal error" not in said.getvalue() and entries(folder) == ["d.mlir"]
        return
    manifest = json.loads((out / "design.json").read_text())
    [found] = manifest["devices"]
    library = manifest.get("library", {})
    listed = ["design.mlir", "design.json", found["configuration"], library.get("file"), library.get("header")]
    listed += [sequence[kind] for sequence in found["sequences"] for kind in ("header", "instructions")]
    assert sorted(os.listdir(out)) == sorted(file for file in listed if file is not None)
    assert entries(folder) == [
        "below",
        "below/out",
        *(f"below/out/{file}" for file in sorted(os.listdir(out))),
        "d.mlir",
    ]
    design = tw.load(out)
    assert design.sequences == [sequence["name"] for sequence in found["sequences"]]
    functions = [sequence["function"] for sequence in found["sequences"]] + list(library.get("functions", {}).values())
    assert len(set(functions)) == len(functions) and all(name.isidentifier() and name.isascii() for name in functions)


@pytest.mark.parametrize(
    "devices",
    [
        pytest.param({"a": ["b_c"], "a_b": ["c"]}, id="two devices"),
        pytest.param({"main": ["a_b"], "a": ["b"]}, id="the main device, whose name is left out"),
    ],
)
def test_sequences_with_the_same_name_outside_are_refused(devices: dict[str, list[str]]) -> None:
    text = "".join(design_text(device, sequences) for device, sequences in devices.items())
    with pytest.raises(tw.CompileError, match=r"is called '[ab_c]*' outside, as another sequence is"):
        tw.compile(text)


def test_arrays_of_a_run_stay_in_their_folder(tmp_path: Path) -> None:
    import numpy as np

    from tilewright.support.output_files import array_files, write_files

    names = ["../up", "/tmp/absolute", "a", "A", ""]
    (tmp_path / "out").mkdir()
    written = write_files(tmp_path / "out", array_files({name: np.arange(3) for name in names}))
    assert len(written) == 5 and sorted(written) == sorted((tmp_path / "out").iterdir())
    assert entries(tmp_path)[0] == "out" and all(entry.startswith("out") for entry in entries(tmp_path))
