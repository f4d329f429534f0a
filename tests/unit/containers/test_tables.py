"""Structures as tables: reader, writer and documents follow from their fields."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass

import pytest
from helpers import ROOT

from tilewright.support.structure import ContainerError, Record, Span, reserved, text, u8, u32


@dataclass
class Sample(Record):
    size: int = u32(7, note="in bytes")
    name: str = text(4)
    reserved_8: bytes = reserved(3)
    kind: int = u8()


def test_a_structure_is_read_and_written():
    data = b"\1\0\0\0ab\0\0\0\0\0\2"
    read = Sample.read(Span(data), 0, "a sample")
    assert (read.size, read.name, read.kind) == (1, "ab", 2)
    assert read.write() == data and read.to_json() == {"size": 1, "name": "ab", "kind": 2}
    assert [row[:3] for row in Sample.table()] == [
        (0, "u32", "size"),
        (4, "char[4]", "name"),
        (8, "3 bytes", "reserved_8"),
        (11, "u8", "kind"),
    ]


def test_what_is_reserved_is_kept_and_told():
    data = b"\1\0\0\0abcd\0\5\0\2"
    read = Sample.read(Span(data), 0, "a sample")
    assert read.write() == data and read.to_json()["reserved_8"] == "000500"
    assert [*read.opaque()] == [("reserved bytes", 3)]


@pytest.mark.parametrize("sample", [Sample(size=1 << 32), Sample(kind=-1), Sample(name="\u20ac")])
def test_values_that_do_not_fit_are_refused(sample: Sample):
    with pytest.raises(ContainerError, match="Sample: "):
        sample.write()


def test_a_structure_that_is_cut_off():
    with pytest.raises(
        ContainerError, match="a sample takes 12 bytes, the end of its room is at 0x10a, at offset 0x102"
    ):
        Sample.read(Span(bytes(10), 0x100), 2, "a sample")


def test_the_page_has_the_tables_of_the_code():
    page = [sys.executable, str(ROOT / "docs/containers.py"), "--check"]
    assert subprocess.run(page, cwd=ROOT).returncode == 0
