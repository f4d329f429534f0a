"""Files with TXN streams: what they are is told by their content, and what is wrong with them by its place."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random

import numpy as np
import pytest
from elf_files import Reloc, elf_file

from tilewright import txn
from tilewright.cli.main import main
from tilewright.txn.containers import FIRST_ARGUMENT, PatchKind, patched, read_container, read_stream
from tilewright.txn.text import disassemble

BD = 0x1D020
HEADER = txn.Header(device_generation=4, columns=1)
STREAM = txn.Stream.of(HEADER, [txn.block_write(BD, [16, 0, 0xABCD0000, 0, 0, 0, 0, 0]), txn.write(0x1D214, 1)])
WORDS = txn.encode(STREAM)
RAW = WORDS.astype("<u4").tobytes()
DATA_AT = 4 * (4 + 4)
"""Where the block write's payload begins: after the header of the stream and that of the operation."""


def hex_text(separator: str = "\n", prefix: str = "") -> bytes:
    return separator.join(f"{prefix}{word:08X}" for word in WORDS.tolist()).encode() + b"\n"


FORMS = {
    "raw": RAW,
    "hex text": hex_text(),
    "hex text with 0x and commas": hex_text(", ", "0x"),
    "what dis writes": "\n".join(["# a comment", *disassemble(STREAM)]).encode(),
    "ELF": elf_file({".ctrltext": RAW}),
    "ELF with more in it": elf_file({".ctrldata": b"1234", ".ctrltext": RAW, ".preempt_save": RAW, ".pad": b"\0" * 64}),
}


@pytest.mark.parametrize("data", FORMS.values(), ids=FORMS)
def test_every_form_gives_the_same_stream(data: bytes) -> None:
    assert np.array_equal(txn.encode(read_stream(data)), WORDS)


@pytest.mark.parametrize("data", FORMS.values(), ids=FORMS)
def test_every_tool_reads_every_form(data: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given, raw = tmp_path / "given", tmp_path / "raw"
    given.write_bytes(data)
    assert main(["txn", "asm", str(given), "-o", str(raw)]) == 0
    assert raw.read_bytes() == RAW
    assert main(["txn", "diff", str(given), str(raw)]) == 0
    for tool in ("dis", "stat", "lint"):
        assert main(["txn", tool, str(given), "--json"]) in (0, 1) and capsys.readouterr().out


def test_a_host_puts_addresses_into_a_descriptor() -> None:
    """The high half of the address shares a word with other fields, which stay; addends are added."""
    relocation = Reloc(".ctrltext", DATA_AT, "5", PatchKind.SHIM_DMA_48, addend=0x40)
    code = read_container(elf_file({".ctrltext": RAW}, [relocation])).code()
    assert [patch.argument for patch in code.patches] == [5 - FIRST_ARGUMENT]
    block = code.decode({"5": 0x12_8000_0000}).operations[0]
    assert block.payload.tolist()[:3] == [16, 0x8000_0040, 0xABCD_0012]


@pytest.mark.parametrize(
    "kind, size, before, address, after",
    [
        pytest.param(PatchKind.SHIM_DMA_48, 0, [7, 8, 0xFFFF0001], 0x2_0000_0010, [7, 0x18, 0xFFFF0003], id="shim BD"),
        pytest.param(PatchKind.CONTROL_PACKET_48, 0, [7, 7, 8, 1], 0x2_0000_0010, [7, 7, 0x18, 3], id="control packet"),
        pytest.param(PatchKind.SCALAR_32, 0xFFFF, [0x12345678], 0xABCD, [0x1234ABCD], id="bits of a word"),
        pytest.param(PatchKind.ADDRESS_64, 0, [4, 1], 0xFFFF_FFFF_FFFC, [0, 0x1_0001], id="64 bits: carries over"),
    ],
)
def test_kinds_of_patches(kind: PatchKind, size: int, before: list[int], address: int, after: list[int]) -> None:
    data = np.array(before, dtype="<u4").tobytes()
    file = elf_file({".ctrltext": data}, [Reloc(".ctrltext", 0, "3", kind, size=size)])
    code = read_container(file).code()
    assert np.frombuffer(patched(data, code.patches, {"3": address}), dtype="<u4").tolist() == after


def test_files_of_an_older_kind_have_the_type_in_the_addend() -> None:
    relocation = Reloc(".ctrltext", DATA_AT, "3", type=0, addend=0x20 << 4 | PatchKind.SHIM_DMA_48)
    (patch,) = read_container(elf_file({".ctrltext": RAW}, [relocation], abi_version=1)).code().patches
    assert (patch.kind, patch.addend) == (PatchKind.SHIM_DMA_48, 0x20)


def test_buffers_that_come_with_a_control_code() -> None:
    """Each control code has the control packets of its own section; a scratchpad is as large as its symbol says."""
    sections = {
        ".ctrltext.0": RAW,
        ".ctrldata.0": b"zero",
        ".ctrltext.1": RAW,
        ".ctrldata.1": b"ones",
        ".ctrlpkt.pm.2": b"pm",
    }
    relocations = [Reloc(".ctrltext.1", DATA_AT, "scratch-pad-mem", size=96)]
    container = read_container(elf_file(sections, relocations))
    first, second = container.code(".ctrltext.0"), container.code(".ctrltext.1")
    assert first.buffers["control-packet"].data == b"zero" and second.buffers["control-packet"].data == b"ones"
    assert first.buffers["ctrlpkt-pm-2"].data == b"pm"
    assert "scratch-pad-mem" not in first.buffers and len(second.buffers["scratch-pad-mem"].data) == 96


def test_of_several_control_codes_one_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "two.elf"
    file.write_bytes(elf_file({".ctrltext.0": RAW, ".ctrltext.1": RAW[:-4]}))
    assert main(["txn", "dis", str(file)]) == 1
    assert "several control codes, name one of them: .ctrltext.0, .ctrltext.1" in capsys.readouterr().err
    assert main(["txn", "dis", str(file), "--section", ".ctrltext.0"]) == 0
    assert main(["txn", "dis", str(file), "--section", ".ctrltext.2"]) == 1
    assert "no section '.ctrltext.2' with control code; there is .ctrltext.0, .ctrltext.1" in capsys.readouterr().err


def test_preemption_code_is_not_what_is_meant_but_can_be_named() -> None:
    other = txn.encode(txn.Stream.of(HEADER, [txn.write(0, 5)])).astype("<u4").tobytes()
    file = elf_file({".preempt_save": other, ".ctrltext": RAW})
    assert len(read_stream(file).operations) == 2
    assert len(read_stream(file, ".preempt_save").operations) == 1


FIRST_SECTION = 52
CUT_FILE = elf_file({".ctrltext": RAW})[:-1]
CUT_STREAM = elf_file({".ctrltext": RAW[:-4]})
OTHER_CODE = elf_file({".text": RAW})
PAGES = elf_file({".ctrltext.0.0": RAW}, os_abi=0x40)
BEYOND_THE_END = elf_file({".ctrltext": RAW}, [Reloc(".ctrltext", len(RAW) - 8, "3")])
OTHER_DEVICE = elf_file({".ctrltext": RAW}, [Reloc(".ctrltext", 0, "3", type=2)])


@pytest.mark.parametrize(
    "data, offset, message",
    [
        pytest.param(b"", 0, "too few for the 16-byte TXN header", id="nothing"),
        pytest.param(b"0x12 hello", 5, "'hello' is no 32-bit word in hexadecimal", id="hex text with a word in it"),
        pytest.param(b"123456789\n", 0, "neither words in hexadecimal nor", id="a number that is too long"),
        pytest.param(hex_text()[:-10], 3 * 9, "the header's size word says", id="hex text that lacks a word"),
        pytest.param(b"\x7fELF", 0, "the ELF header takes 52 bytes", id="nothing but the magic number"),
        pytest.param(b"\x7fELF\x02" + RAW * 4, 4, "a 64-bit ELF file", id="64 bits"),
        pytest.param(CUT_FILE, None, "a section header (5 of 6) takes 40 bytes", id="cut"),
        pytest.param(OTHER_CODE, 0, "without control code (.ctrltext); its sections: .text", id="other code"),
        pytest.param(PAGES, 7, "is not made of TXN operations", id="pages"),
        pytest.param(CUT_STREAM, FIRST_SECTION + 12, "the header's size word says", id="a stream cut short"),
        pytest.param(BEYOND_THE_END, None, "at byte 80 of .ctrltext, which has 88", id="a relocation beyond the end"),
        pytest.param(OTHER_DEVICE, None, "a relocation of type 2", id="a relocation for another device"),
    ],
)
def test_what_is_wrong_is_told_by_its_place(data: bytes, offset: int | None, message: str) -> None:
    with pytest.raises(txn.TxnError, match=message.replace("(", r"\(").replace(")", r"\)")) as error:
        read_stream(data)
    assert offset is None or error.value.offset == offset
    assert error.value.offset is None or 0 <= error.value.offset <= len(data)


def flip(data: bytearray, random: Random) -> None:
    data[random.randrange(len(data))] ^= 1 << random.randrange(8)


def overwrite(data: bytearray, random: Random) -> None:
    at = random.randrange(len(data) - 4)
    data[at : at + 4] = random.choice((0, 1, 0xFFFFFFFF, 0x7FFFFFFF, len(data))).to_bytes(4, "little")


def truncate(data: bytearray, random: Random) -> None:
    del data[random.randrange(1, len(data)) :]


@pytest.mark.parametrize("damage", [flip, overwrite, truncate])
def test_damaged_files_are_refused_or_read(damage: Callable[[bytearray, Random], None]) -> None:
    random = Random(5)
    whole = elf_file(
        {".ctrltext": RAW, ".ctrldata": b"abcd"}, [Reloc(".ctrltext", DATA_AT, "3"), Reloc(".ctrltext", 36, "4")]
    )
    for _ in range(400):
        data = bytearray(whole)
        for _ in range(random.randint(1, 3)):
            if len(data) > 8:
                damage(data, random)
        try:
            code = read_container(bytes(data)).code()
            code.decode({patch.buffer: 1 << 32 for patch in code.patches})
        except txn.TxnError as error:
            assert error.reason and (error.offset is None or 0 <= error.offset <= len(data) + 52)
