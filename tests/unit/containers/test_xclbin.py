"""xclbin files: sections by kind, the partition with its PDIs, and the text at the end that repeats them."""

from __future__ import annotations

import json
from collections.abc import Callable
from copy import deepcopy
from struct import pack
from typing import Any
from uuid import UUID as Uuid

import container_files as files
import pytest

from tilewright.containers.documents import Document, Pairs, Writing, property_text
from tilewright.containers.packaging import xclbin_from_parts
from tilewright.containers.pdi import Pdi
from tilewright.containers.xclbin import Xclbin
from tilewright.support.structure import ContainerError, Span


def made(**changes: Any) -> Xclbin:
    labels = ("main_mem_topology", "main_aie_partition")
    parts = {"partition": files.PARTITION, "kernels": files.KERNELS, "memory": files.MEMORY} | changes
    options: dict[str, Any] = {"uuid": Uuid(bytes=files.UUID), "timestamp": files.TIME, "labels": labels}
    return xclbin_from_parts(**parts, pdi=lambda name: Pdi.read(Span(files.pdi())), **options)


def test_three_json_files_and_a_pdi_become_a_file():
    file = made()
    file.mirror = None
    assert file.write() == files.xclbin()


def test_a_file_is_read_as_it_is_written():
    read = Xclbin.read(Span(files.xclbin()))
    assert read.write() == files.xclbin()
    assert [section.kind for section in read.sections] == [6, 32, 2, 8, 7, 27, 26]
    assert read.partition is not None
    assert read.kernels_of(read.partition.pdis[0]) == ["ADD:one"]
    kept = {part.kind for part in read.opaque()}
    assert kept == {"programs of cores"}


def mirrored(data: bytes) -> Any:
    start, end = data.index(b"XCLBIN_MIRROR_DATA_START") + 24, data.index(b"\nXCLBIN_MIRROR_DATA_END")
    return json.loads(data[start:end], object_pairs_hook=Pairs)


def test_the_text_at_the_end_repeats_header_and_sections():
    data = made().write()
    tree = mirrored(data)
    assert [name for name, _ in tree] == ["schema_version", "header", *["section_header"] * 7]
    header = dict(tree[1][1])
    assert (header["TimeStamp"], header["Version"], header["XclBinUUID"]) == (
        str(files.TIME),
        "\2.\x14.0",
        files.UUID.hex(),
    )
    (_, memory), (_, partition) = tree[2], tree[3]
    banks = [[*bank.items()] for bank in files.MEMORY["mem_topology"]["m_mem_data"]]
    assert memory.get("payload") == [("mem_topology", [("m_count", "2"), ("m_mem_data", banks)])]
    assert [name for name, _ in partition] == ["Kind", "Name", "Offset", "Size"]
    assert dict(partition)["Offset"] == f"{456 + 40 * 7 + 88:#x}"


def test_the_text_follows_what_is_changed():
    read = Xclbin.read(Span(made().write()))
    assert read.mirror is not None and read.mirror.text is None
    assert read.partition is not None
    read.partition.start_columns.append(3)
    read.partition.pdis[0].groups[0].name = "A NAME THAT TAKES MORE ROOM"
    read.header.timestamp = 5
    again = Xclbin.read(Span(read.write()))
    assert again.partition == read.partition and again.mirror == read.mirror
    assert dict(mirrored(again.write())[1][1])["TimeStamp"] == "5"


def test_a_text_of_another_tool_stays_as_it_is():
    data = made().write().replace(b'"Mode":"0"', b'"Mode":"9"')
    read = Xclbin.read(Span(data))
    assert read.write() == data
    assert "mirrored text" in {part.kind for part in read.opaque()}


def test_json_has_what_programs_ask_for():
    about = json.loads(json.dumps(Xclbin.read(Span(files.xclbin())).to_json()))
    assert about["kind"] == "xclbin" and (about["columns"], about["start_columns"]) == (1, [0, 1, 2])
    assert [(it["kind"], it["name"]) for it in about["sections"]][:2] == [(6, "MEM_TOPOLOGY"), (32, "AIE_PARTITION")]
    assert all({"offset", "size"} <= it.keys() for it in about["sections"])
    (pdi,) = about["pdis"]
    assert (pdi["uuid"], pdi["kernels"]) == ("00112233-4455-6677-8899-aabbccddeeff", ["ADD:one"])
    assert pdi["transformed"] is False and len(pdi["commands"]) == 4


def replaced(at: int, layout: str, *values: int) -> bytes:
    data = bytearray(files.xclbin())
    new = pack(layout, *values)
    data[at : at + len(new)] = new
    return bytes(data)


PARTITION_AT = 456 + 40 * 7 + 88
DAMAGE = {
    "cut in the header": (files.xclbin()[:100], 0, "the header of an xclbin takes 456 bytes"),
    "cut": (files.xclbin()[:-1], 0x130, "the file has"),
    "number of sections": (replaced(0x1C0, "<I", 1 << 30), 0x1C0, "sections"),
    "offset of a section": (replaced(456 + 24, "<Q", 0x300), 480, "section 0 is at 0x300"),
    "size of a section": (replaced(456 + 32, "<Q", 1 << 60), 736, "section MEM_TOPOLOGY takes"),
    "number of memories": (replaced(736, "<I", 3), 736, "mem_topology has 3 entries of 40 bytes"),
    "number of PDIs": (replaced(PARTITION_AT + 0x78, "<I", 1 << 31), PARTITION_AT + 0x78, "a list of"),
    "offset of the columns": (replaced(PARTITION_AT + 0x2C, "<I", 1 << 31), None, "a list of 3 the start columns"),
    "a PDI": (replaced(PARTITION_AT + 0xD0 + 0x28, "<I", 1), PARTITION_AT + 0xD0 + 0x8C, "the checksum of"),
    "behind the sections": (
        replaced(0x130, "<Q", len(files.xclbin()) + 3) + b"abc",
        len(files.xclbin()),
        "no mirrored",
    ),
}


@pytest.mark.parametrize("data, offset, message", DAMAGE.values(), ids=DAMAGE)
def test_damage_is_told_by_its_place(data: bytes, offset: int | None, message: str):
    with pytest.raises(ContainerError, match=message) as error:
        Xclbin.read(Span(data))
    assert offset is None or error.value.offset == offset


def without(path: list[Any]) -> Callable[[dict[str, Any]], dict[str, Any]]:
    def change(source: dict[str, Any]) -> dict[str, Any]:
        source = deepcopy(source)
        at: Any = source
        for step in path[:-1]:
            at = at[step]
        del at[path[-1]]
        return source

    return change


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"memory": {}}, "there is no mem_topology/m_mem_data"),
        ({"memory": {"mem_topology": {"m_mem_data": [{"m_tag": "HOST"}]}}}, "'SRAM'; there is HOST"),
        ({"kernels": without(["ps-kernels", "kernels", 0, "name"])(files.KERNELS)}, "there is no name"),
        ({"partition": without(["aie_partition", "PDIs"])(files.PARTITION)}, "there is no PDIs"),
    ],
)
def test_what_is_missing_in_the_json_is_named(changes: dict[str, Any], message: str):
    with pytest.raises(ContainerError, match=message):
        made(**changes)


TREES = Pairs([("a", "x/y\n"), ("b", [Pairs([("c", "\x0b")]), "d"]), ("a", "again")])


def test_property_trees_are_written_as_boost_does():
    assert property_text(TREES) == r'{"a":"x\/y\n","b":[{"c":"\u000B"},"d"],"a":"again"}'
    assert property_text(TREES, is_indented=True) == r'{"a":"x\/y\n","b":[{"c":"\u000B"},"d"    ],"a":"again"}'


@pytest.mark.parametrize(
    "text, writing",
    [
        (rb'{"a":"x\/y","b":["c"]}' + b"\n", Writing.PROPERTY_TREE),
        (b'{"a":["c"    ]}\n', Writing.INDENTED_PROPERTY_TREE),
        (b'{\n "a": [\n  1,\n  "b"\n ]\n}\n\n', Writing.JSON),
        (files.XML, Writing.XML),
        (b"{'a': 1}", Writing.OTHER),
        (b"[" * 5000, Writing.OTHER),
        (b'<?xml version="1.0" encoding="utf-8"?>\n<a><b></a>', Writing.OTHER),
    ],
)
def test_texts_are_read_as_trees_where_these_write_the_same(text: bytes, writing: Writing):
    document = Document.read(Span(text))
    assert (document.writing, document.write()) == (writing, text)
