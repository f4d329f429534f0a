"""Sound inputs that damaged ones are made of: every program in the tests, documents and demos, and their streams."""

from __future__ import annotations

import json
from base64 import b64encode
from functools import cache
from pathlib import Path
from typing import Any
from uuid import UUID

import container_files
import numpy as np
import xrt_packages
from bare_streams import binary, loopback
from damaged_streams import EXAMPLES
from elf_files import Reloc, elf_file
from helpers import ROOT
from xdsl.dialects.builtin import MemRefType

import tilewright as tw
from tilewright import txn
from tilewright.containers.control_elf import ConfigKernel, KernelInstance, config_elf, instructions_elf
from tilewright.containers.embedded_design import ELF_SECTION
from tilewright.driver.packaged_design import packaged_design
from tilewright.ir.split_input import split_input

DESIGNS = ("tests/e2e/designs", "tests/e2e/seeded_bugs", "docs/examples", "tilewright/demos")
STREAMS = ("dma_copy", "bd_chain", "packet_split", "control_write", "mem_tile_neighbour", "padding", "task_queue")
"""Designs without scalar arguments, whose words are small and whose runs are short."""


@cache
def programs() -> list[str]:
    """Every program of the tests and demos, one entry for each part of a split file."""
    paths = [*ROOT.glob("tests/filecheck/**/*.mlir"), *ROOT.glob("tilewright/demos/*.mlir"), *_design_paths()]
    return [part for path in sorted(paths) for _, part in split_input(_text(path)) if part.strip()]


@cache
def designs() -> list[str]:
    """Whole designs for NPUs, which compile and run unless they show a mistake."""
    return [text for path in _design_paths() if "aie.device" in (text := _text(path))]


@cache
def lowered_designs() -> list[str]:
    """Programs that `translate` takes."""
    return [_text(path) for path in sorted(ROOT.glob("tests/filecheck/translate/**/*.mlir"))]


@cache
def air_programs() -> list[str]:
    """Programs with host code that run on emulated GPUs."""
    return [_text(path) for pattern in ("air_*.mlir", "gpu_*.mlir") for path in _examples(pattern)]


@cache
def pass_lines() -> list[tuple[list[str], str]]:
    """Programs with the flags of `opt` that their tests run them with."""
    found = list[tuple[list[str], str]]()
    for path in sorted(ROOT.glob("tests/filecheck/passes/**/*.mlir")):
        text = _text(path)
        run = next((line for line in text.split("\n") if "RUN: tilewright opt" in line), "")
        words = run.partition("tilewright opt")[2].partition("|")[0].replace("'", "").replace('"', "").split()
        flags = [word for word in words if word.startswith("-") and "diagnostics" not in word]
        found += [(flags, part) for _, part in split_input(text) if part.strip()]
    return found


@cache
def design(name: str) -> tw.Design:
    return tw.compile(ROOT / DESIGNS[0] / f"{name}.mlir")


def buffer_sizes(design: tw.Design) -> list[int]:
    """Elements of the buffers that a sequence without scalars takes."""
    types = [argument.type for argument in design.operation().body.block.args]
    return [type.element_count() for type in types if isinstance(type, MemRefType)]


@cache
def binaries() -> list[bytes]:
    """Streams as files have them: those of designs, their configurations, and some that need no design."""
    found = [design(name).txn().astype("<u4").tobytes() for name in STREAMS]
    found += [design(name).configuration().astype("<u4").tobytes() for name in STREAMS[:2]]
    own = [binary(loopback(16)), binary(loopback(64, for_ever=True))]
    return [*found, *own, *EXAMPLES]


@cache
def listings() -> list[str]:
    """The text that `txn dis` writes of the shorter streams, at both levels that `txn asm` takes."""
    from tilewright.txn.text import disassemble

    streams = [txn.decode(data) for data in binaries() if len(data) < 4000]
    return ["\n".join(disassemble(it, by_register=level == 2)) + "\n" for level in (1, 2) for it in streams]


@cache
def containers() -> list[bytes]:
    """ELF files, streams as hex text and as base64, and DPU words."""
    stream = binary(loopback(16))
    sections = {".ctrltext": stream, ".ctrldata": bytes(64), ".preempt_save": stream}
    relocations = [Reloc(".ctrltext", 64, "3"), Reloc(".ctrltext", 96, "5", 3, 4, 255), Reloc(".ctrldata", 0, "4", 4)]
    elves = [elf_file(sections, relocations), elf_file({".ctrltext.0": stream}, abi_version=1)]
    words = [stream[at : at + 4][::-1].hex() for at in range(0, len(stream), 4)]
    texts = ["\n".join(words).encode(), ", ".join(f"0x{word}" for word in words).encode(), b64encode(stream)]
    dpu = np.array(container_files.DPU_WORDS, "<u4").tobytes()
    return [*elves, *texts, dpu, container_files.hex_lines(container_files.DPU_WORDS), *binaries()[-2:]]


@cache
def packages() -> list[bytes]:
    """What `inspect` reads: xclbin with and without its text, PDIs of both forms, CDO, ELF and instruction files."""
    from tilewright.containers.packaging import xclbin_from_parts
    from tilewright.containers.pdi import Pdi
    from tilewright.support.structure import Span

    parts = container_files.PARTITION, container_files.KERNELS, container_files.MEMORY
    pdi = Pdi.read(Span(container_files.pdi()))
    # the same in every process: cases are made again from their seeds
    mirrored = xclbin_from_parts(*parts, lambda name: pdi, uuid=UUID(int=5)).write()
    forms = [mirrored, container_files.xclbin(), container_files.pdi(), container_files.transformed_pdi()]
    forms += [container_files.ELFS_CDO, container_files.core_elf()]
    config = elf_file({".pdi.1": container_files.pdi(), ".ctrltext.0": binary(loopback(16))}, abi_version=0x10)
    return [*forms, config, *containers()]


@cache
def host_packages() -> list[tuple[bytes, bytes]]:
    """What host programs load, each an xclbin or an ELF file and instructions: with designs of ours, and without."""
    found = list[tuple[bytes, bytes]]()
    for name in STREAMS[:3]:
        made = design(name)
        code = made.txn().astype("<u4").tobytes()
        found += [(xrt_packages.xclbin_of(made, is_ours=is_ours).write(), code) for is_ours in (True, False)]
        kernel = ConfigKernel("main", ["char *"] * 3, {}, [KernelInstance("run", code)])
        embedded = {ELF_SECTION: packaged_design(made).write()}
        found += [(config_elf([kernel], sections=embedded).write(), instructions_elf(code).write())]
    return found


@cache
def package_documents() -> dict[str, Any]:
    """The JSON files that `package` reads, by name."""
    partition = json.loads(json.dumps(container_files.PARTITION))
    for pdi in partition["aie_partition"]["PDIs"]:
        pdi["file_name"] = "a.pdi"
    run = {
        "id": "run",
        "TXN_ctrl_code_file": "code.bin",
        "ctrl_packet_file": "a.pdi",
        "patch_info_file": "buffers.json",
    }
    kernel = {"name": "k", "arguments": [{"name": "a", "type": "char *", "offset": "0x0"}],
              "PDIs": [{"id": 1, "PDI_file": "a.pdi"}], "instance": [run]}  # fmt: skip
    patches = [{"offset": 16, "size": 6, "operation": "read_add_write"}]
    buffer = {"xrt_id": 1, "size_in_bytes": 64, "ctrl_pkt_buffer": 1, "control_packet_patch_locations": patches}
    return {
        "partition": partition,
        "kernels": container_files.KERNELS,
        "memory": container_files.MEMORY,
        "config": {"xrt-kernels": [kernel]},
        "buffers": {"external_buffers": {"b": buffer}},
    }


def _design_paths() -> list[Path]:
    return sorted(path for folder in DESIGNS for path in (ROOT / folder).glob("*.mlir"))


def _examples(pattern: str) -> list[Path]:
    return sorted((ROOT / "docs/examples").glob(pattern))


@cache
def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")
