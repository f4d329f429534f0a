"""Designs in packages: C++ code that they bring runs only if the user has packaged it, or says that it may."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import tilewright as tw
from tilewright.containers.embedded_design import EmbeddedDesign, KernelCode
from tilewright.driver.packaged_design import TRUST, _object_file, packaged_design, runnable
from tilewright.native.object_cache import CacheError
from tilewright.support.structure import Span

DESIGN = """
module {
  aie.device(npu1_1col) @main {
    %tile = aie.tile(0, 2)
    %buffer = aie.buffer(%tile) : memref<16xi32>
    func.func private @twice(memref<16xi32>)
    %core = aie.core(%tile) {
      func.call @twice(%buffer) : (memref<16xi32>) -> ()
      aie.end
    }
    aie.runtime_sequence @sequence() {}
  }
}
"""
SOURCE = 'extern "C" void twice(int *values) { for (int i = 0; i < 16; ++i) values[i] *= 2; }'


@pytest.fixture(autouse=True)
def of_one_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEWRIGHT_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv(TRUST, raising=False)


def packaged(kernels: dict[str, KernelCode] | None = None, text: str = DESIGN) -> EmbeddedDesign:
    found = packaged_design(tw.compile(text))
    return EmbeddedDesign.read(Span(replace(found, kernels=kernels or {}).write()))


def with_own_seal(text: str) -> EmbeddedDesign:
    return EmbeddedDesign.read(Span(packaged_design(tw.compile(text)).write()))


DECLARED = DESIGN.replace(
    "@twice(memref<16xi32>)\n",
    f'@twice(memref<16xi32> {{tilewright.source = "{SOURCE.replace(chr(34), chr(92) + chr(34))}"}})\n',
)


def test_what_the_user_has_packaged_runs():
    assert runnable(with_own_seal(DECLARED), "own.xclbin").design.sequences == ["sequence"]


def test_a_package_without_code_needs_no_seal():
    assert runnable(replace(packaged(), seal=""), "plain.xclbin").design.sequences == ["sequence"]


@pytest.mark.parametrize("seal", ["", "0" * 64, "no number"])
@pytest.mark.parametrize(
    "embedded",
    [
        pytest.param(lambda: with_own_seal(DECLARED), id="in the design"),
        pytest.param(lambda: packaged({"twice": KernelCode(SOURCE)}), id="beside the design"),
        pytest.param(lambda: packaged({"twice": KernelCode(object=b"\x7fELF")}), id="as an object"),
    ],
)
def test_code_of_others_is_refused_by_name(embedded, seal: str, monkeypatch: pytest.MonkeyPatch):
    found = replace(embedded(), seal=seal)
    with pytest.raises(tw.Error, match=r"other\.xclbin: it brings C\+\+ code \('twice'\).*TILEWRIGHT_TRUST_PACKAGES=1"):
        runnable(found, "other.xclbin")
    monkeypatch.setenv(TRUST, "1")
    assert runnable(found, "other.xclbin").design.sequences == ["sequence"]


def test_a_seal_covers_the_code():
    sealed = with_own_seal(DECLARED)
    with pytest.raises(tw.Error, match="it brings C"):
        runnable(replace(sealed, design=sealed.design.replace("*= 2", "*= 3")), "changed.xclbin")


def test_another_user_has_another_seal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    sealed = with_own_seal(DECLARED)
    monkeypatch.setenv("TILEWRIGHT_CACHE", str(tmp_path / "other"))
    with pytest.raises(tw.Error, match="it brings C"):
        runnable(sealed, "theirs.xclbin")


def test_objects_go_to_a_folder_of_the_user_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TILEWRIGHT_CACHE", str(tmp_path / "cache"))
    path = _object_file(b"\x7fELF")
    path.write_bytes(b"damaged")
    assert _object_file(b"\x7fELF") == path and path.read_bytes() == b"\x7fELF"
    path.parent.rename(tmp_path / "elsewhere")
    path.parent.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(CacheError, match="cannot be used: packages is no folder that can be used"):
        _object_file(b"\x7fELF")
