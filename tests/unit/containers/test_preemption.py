"""Code that saves and restores memory tiles, and the ELF files that bring it."""

from __future__ import annotations

from hashlib import md5

import pytest

from tilewright import txn
from tilewright.containers import ElfFile
from tilewright.containers.control_elf import ConfigKernel, KernelInstance, config_elf, instructions_elf
from tilewright.containers.preemption import WIDTHS, preemption_code
from tilewright.support.structure import ContainerError, Span
from tilewright.txn.codec import as_words
from tilewright.txn.containers import ControlCode, PatchKind, read_container

# aiebu's sums of the files that its own generator writes: test/aie2-ctrlcode/save-restore/checksums.txt
PUBLISHED = {
    (1, True): "e072905bca7f58454c7748631ee887ea",
    (1, False): "9579207d85e86f43867f0ee7cdf7daa0",
    (2, True): "230ff83a727438474facea694328a5fd",
    (2, False): "c218310bbe44861bc6d759bc606022e5",
    (4, True): "aa717a55c900cfdbb7f95b1b93e6cafd",
    (4, False): "b67b9e129e17370d8b073fc00d5c5307",
    (8, True): "c6f8e0a9dc4af52285e1c3481c9f5a06",
    (8, False): "3ae89a0883896c62b7b220b6d872366a",
}
MEM_TILE_BYTES = 512 * 1024


def stream(columns: int) -> bytes:
    header = txn.Header(device_generation=4, columns=columns)
    return txn.encode(txn.Stream.of(header, [txn.Operation(txn.Opcode.PREEMPT, level=1)])).astype("<u4").tobytes()


@pytest.mark.parametrize("columns, saves", PUBLISHED)
def test_code_is_what_aiebu_writes(columns: int, saves: bool) -> None:
    assert md5(preemption_code(columns, saves=saves)).hexdigest() == PUBLISHED[columns, saves]


def check_patches(code: ControlCode, columns: int) -> None:
    """Each half of each memory tile has a place of its own in one buffer, and its descriptor no address yet."""
    size = columns * MEM_TILE_BYTES
    assert {(patch.kind, patch.buffer, patch.size) for patch in code.patches} == {
        (PatchKind.SHIM_DMA_48, "scratch-pad-mem", size)
    }
    assert [patch.addend for patch in code.patches] == [*range(0, size, MEM_TILE_BYTES // 2)]
    words = as_words(code.data)
    assert not any(words[patch.offset // 4 + 1] for patch in code.patches)
    assert len(code.buffers["scratch-pad-mem"].data) == size


@pytest.mark.parametrize("columns", WIDTHS)
def test_a_point_of_preemption_brings_the_code(columns: int) -> None:
    made = instructions_elf(stream(columns)).write()
    assert [it.name for it in ElfFile.read(Span(made)).sections][2:5] == [
        ".ctrltext",
        ".preempt_restore",
        ".preempt_save",
    ]
    found = read_container(made)
    assert found.code().name == ".ctrltext" and not found.code().patches
    for name in (".preempt_save", ".preempt_restore"):
        check_patches(found.codes[name], columns)


def test_each_instance_of_a_full_file_has_its_own() -> None:
    instances = [KernelInstance(name, stream(4)) for name in ("a", "b")]
    found = read_container(config_elf([ConfigKernel("k", ["char *"], {}, instances)]).write())
    for number in range(2):
        for name in (".preempt_save", ".preempt_restore"):
            check_patches(found.codes[f"{name}.{number}"], 4)


@pytest.mark.parametrize("columns", [0, 3, 5, 255])
def test_widths_without_code_are_refused(columns: int) -> None:
    with pytest.raises(
        ContainerError, match=f"in code for {columns} columns; there is code to save 1, 2, 4, 8 columns"
    ):
        instructions_elf(stream(columns))
