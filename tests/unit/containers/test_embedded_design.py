"""Designs inside of containers: what is put in comes out, and what is damaged is refused with the place."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewright.containers import ContainerError, Xclbin, read
from tilewright.containers.embedded_design import EmbeddedDesign, KernelCode, embed, embedding, read_embedded
from tilewright.containers.xclbin import AxlfHeader, SectionKind, XclbinSection
from tilewright.containers.xclbin_sections import VenderMetadata
from tilewright.support.structure import Span

UUIDS = [UUID(int=number) for number in (1, 2)]
DESIGN = EmbeddedDesign(
    "module {}",
    "main",
    {"scale": KernelCode("void scale() {}", ("-DN=4",), "scale_i32"), "add": KernelCode(object=b"\x7fELF")},
    [(0, 2), (0, 3)],
    [(0, 3)],
    UUIDS[0],
)


def package(*designs: EmbeddedDesign) -> bytes:
    return Xclbin(AxlfHeader(), [embedding(design) for design in designs]).write()


def opened(data: bytes) -> Xclbin:
    found = read(data)
    assert isinstance(found, Xclbin)
    return found


def test_a_package_gives_the_design_back() -> None:
    found = read_embedded(opened(package(DESIGN)))
    assert found is not None and found == DESIGN
    assert found.cores_without_code == [(0, 2)] and found.is_for_simulator_alone


def test_each_image_has_its_design() -> None:
    file = opened(package(DESIGN, replace(DESIGN, design="other", pdi=UUIDS[1])))
    found = [read_embedded(file, uuid) for uuid in UUIDS]
    assert [it and it.design for it in found] == ["module {}", "other"]


def test_packages_of_others_have_none() -> None:
    other = XclbinSection(SectionKind.VENDER_METADATA, "other", VenderMetadata("other", b"1234"))
    assert read_embedded(Xclbin(AxlfHeader(), [other])) is None


@given(text=st.text(), kernels=st.dictionaries(st.text(), st.text(), max_size=3))
def test_any_text_is_kept(text: str, kernels: dict[str, str]) -> None:
    found = EmbeddedDesign.read(Span(embed(text, kernels)))
    assert found.design == text and {name: it.text for name, it in found.kernels.items()} == kernels


@given(data=st.data())
def test_damage_anywhere_is_refused_with_its_place(data: st.DataObject) -> None:
    whole = bytearray(DESIGN.write())
    at = data.draw(st.integers(0, len(whole) - 1))
    whole[at] ^= data.draw(st.integers(1, 255))
    with pytest.raises(ContainerError) as error:
        EmbeddedDesign.read(Span(bytes(whole), 0x100))
    assert error.value.offset is not None and error.value.offset >= 0x100


@given(size=st.integers(0, 200))
def test_a_cut_one_is_refused(size: int) -> None:
    whole = DESIGN.write()
    with pytest.raises(ContainerError):
        EmbeddedDesign.read(Span(whole[: min(size, len(whole) - 1)]))


def test_the_place_of_damage_counts_from_the_start_of_the_file() -> None:
    data = bytearray(package(DESIGN))
    at = data.index(b"TWDESIGN") + 24
    data[at] ^= 1
    with pytest.raises(ContainerError, match="digest") as error:
        read_embedded(opened(bytes(data)))
    assert error.value.offset == at
