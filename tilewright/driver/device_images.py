"""Images of devices for real NPUs, out of placed and routed designs: CDO files, PDI, xclbin and full ELF."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any
from uuid import UUID

from xdsl.dialects.builtin import ModuleOp

from tilewright.codegen.static_words import static_words
from tilewright.codegen.txn_words import TxnEmitter
from tilewright.containers.cdo import Cdo, cdo_of
from tilewright.containers.control_elf import ConfigKernel, KernelInstance, config_elf
from tilewright.containers.elf import ElfFile
from tilewright.containers.embedded_design import ELF_SECTION, EmbeddedDesign, embedding
from tilewright.containers.packaging import (
    LEAST_BUFFERS,
    MOST_BUFFERS,
    KernelNames,
    content_uuid,
    extended_xclbin,
    kernels_json,
    memory_json,
    packet_buffers,
    partition_json,
    xclbin_from_parts,
)
from tilewright.containers.pdi import Pdi, pdi_from_cdos
from tilewright.containers.xclbin import Xclbin
from tilewright.device import DEVICES, DeviceModel, TileId
from tilewright.dialects.aie.core import CoreOp
from tilewright.dialects.aie.flows import ShimDmaAllocationOp
from tilewright.dialects.aie.sequence import RuntimeSequenceOp
from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.dialects.aiex.blockwrite_data import words_to_bytes
from tilewright.driver.compiled_design import devices_in, sequences_in
from tilewright.ir.diagnostics import fail
from tilewright.passes.control.configuration import Configuration, configuration_of
from tilewright.passes.control.number_pdis import pdi_numbers
from tilewright.rewrite.pass_bases import ops_of
from tilewright.support.output_files import FileNames

PACKETS_PREFIX = "ctrlpkt"
"""What shim allocations begin with that control packets are sent through."""
LEAST_ELF_ARGUMENTS = 3
"""Arguments that a kernel of a full ELF has at least."""


def cdo_files(
    device: DeviceOp, configuration: Configuration, *, unified: bool = False, start_cores: bool = True
) -> dict[str, Cdo]:
    """The files that configure a device, by name, in the order in which a PDI has them."""
    prefix = FileNames().stem(f"{device.sym_name.data}_aie_cdo", "_enable.bin")
    start = configuration.start if start_cores else []
    parts = {"_elfs": configuration.programs, "_init": configuration.settings}
    if start_cores:
        parts["_enable"] = start
    if unified:
        parts = {"": [*configuration.programs, *configuration.settings, *start]}
    return {f"{prefix}{part}.bin": cdo_of(write.operation for write in writes) for part, writes in parts.items()}


@dataclass(frozen=True)
class DeviceImage:
    """A device with the programs of its cores, as far as there are any."""

    device: DeviceOp
    programs: Mapping[TileId, bytes] = field(default_factory=dict[TileId, bytes])
    """ELF files by the places of their cores."""

    @cached_property
    def cdos(self) -> dict[str, Cdo]:
        return cdo_files(self.device, configuration_of(self.device, programs=self.programs))

    @cached_property
    def pdi(self) -> Pdi:
        return pdi_from_cdos([*self.cdos.values()])

    @cached_property
    def uuid(self) -> UUID:
        # images of cores without machine code may be alike, and are for different designs all the same
        programs = [str(core).encode("utf-8", "surrogateescape") for core in self.cores_without_code]
        return content_uuid([self.pdi.write(), *programs])

    @property
    def cores(self) -> list[CoreOp]:
        return ops_of(self.device.body.ops, CoreOp)

    @property
    def cores_without_code(self) -> list[CoreOp]:
        """Those that do something, and would do nothing on an NPU."""
        return [core for core in self.cores if core.place is not None and core.place not in self.programs]

    def xclbin(
        self,
        kernel: KernelNames,
        *,
        sequence: str = "",
        design: EmbeddedDesign | None = None,
        base: Xclbin | None = None,
        timestamp: int = 0,
    ) -> Xclbin:
        """The container for XRT; with a `base`, that one with another kernel. A `design` is what a simulator runs."""
        documents = self.documents(kernel, sequence)
        image = {documents.pdi_file: self.pdi}
        if base is not None:
            made = extended_xclbin(base, documents.partition, documents.kernels, image.__getitem__, timestamp=timestamp)
        else:
            made = xclbin_from_parts(
                documents.partition, documents.kernels, documents.memory, image.__getitem__, timestamp=timestamp
            )
        if design is not None:
            made.sections.append(embedding(design))
        return made

    @property
    def file_stem(self) -> str:
        """What files of the device are called."""
        return FileNames().stem(self.device.sym_name.data)

    def documents(self, kernel: KernelNames, sequence: str = "", folder: Path = Path()) -> XclbinDocuments:
        """What describes the container, for xclbinutil as well; the PDI is in a folder then."""
        model, file = self.device.model, str(folder / f"{self.file_stem}.pdi")
        partition = partition_json(model.columns, array_columns(model), file, self.uuid, kernel)
        return XclbinDocuments(
            file, partition, kernels_json(kernel, host_buffers(self.device, sequence)), memory_json()
        )


@dataclass(frozen=True)
class XclbinDocuments:
    """The three files that xclbinutil takes, and what the PDI is called in them."""

    pdi_file: str
    partition: dict[str, Any]
    kernels: dict[str, Any]
    memory: dict[str, Any]


def array_columns(model: DeviceModel) -> int:
    """Columns of the array that a device is a part of."""
    return max(it.columns for it in DEVICES.values() if it.is_npu and it.arch is model.arch)


def host_buffers(device: DeviceOp, sequence: str = "") -> int:
    """Host buffers that the kernel of a device takes: those of its sequence, or of the one that is for it."""
    found = _arguments(device, sequence)
    if found is None:
        module = device.parent_op()
        others = [it for it in devices_in(module) if it is not device] if isinstance(module, ModuleOp) else []
        counts = [count for other in others if (count := _arguments(other, sequence)) is not None]
        # a device that only routes control packets to another one: these are one more buffer
        packets = any(
            it.sym_name.data.startswith(PACKETS_PREFIX) for it in ops_of(device.body.ops, ShimDmaAllocationOp)
        )
        found = counts[0] + packets if len(counts) == 1 else 0
    if found > MOST_BUFFERS:
        remedy = (device, "put several of them into one buffer")
        fail(device, f"the sequence takes {found} host buffers, a kernel {MOST_BUFFERS} at most", remedy)
    return max(LEAST_BUFFERS, found)


def _arguments(device: DeviceOp, name: str) -> int | None:
    sequences = [it for it in sequences_in(device) if name in ("", it.sym_name.data)]
    return len(sequences[0].body.block.args) if sequences else None


def full_elf(
    images: Sequence[DeviceImage],
    *,
    sequence: str = "",
    numbers: Mapping[str, int] | None = None,
    design: EmbeddedDesign | None = None,
) -> ElfFile:
    """One file with the images of all devices and the control codes of their sequences, for XRT without an xclbin."""
    kernels = _elf_kernels(images, _pdi_numbers(images, numbers), sequence)
    return config_elf(kernels, sections={ELF_SECTION: design.write()} if design is not None else {})


def full_elf_files(images: Sequence[DeviceImage], folder: Path, sequence: str = "") -> dict[str, bytes]:
    """The files that `aiebu-asm -t aie2_config` makes a full ELF file of, in a folder, under mlir-aie's names."""
    numbers, names = _pdi_numbers(images, None), FileNames()
    files = {f"{image.file_stem}.pdi": image.pdi.write() for image in images}
    pdis = [
        {"id": numbers[image.device.sym_name.data], "PDI_file": str(folder / f"{image.file_stem}.pdi")}
        for image in images
    ]
    described = list[dict[str, Any]]()
    for kernel in _elf_kernels(images, numbers, sequence):
        types = [
            {"name": f"arg_{number}", "type": type, "offset": f"0x{8 * number:X}"}
            for number, type in enumerate(kernel.arguments)
        ]
        instances = list[dict[str, str]]()
        for it in kernel.instances:
            key = names.stem(f"{kernel.name}_{it.name}", ".patch_info.json")
            parts = {"TXN_ctrl_code_file": (f"npu_insts_full_elf_{key}.bin", it.code)}
            if it.packets:
                buffers = json.dumps(it.buffers, indent=2, sort_keys=True).encode()
                parts["ctrl_packet_file"] = f"full_elf_{key}.ctrlpkt.bin", it.packets
                parts["patch_info_file"] = f"full_elf_{key}.patch_info.json", buffers
            files |= dict(parts.values())
            instances.append({"id": it.name} | {field: str(folder / name) for field, (name, _) in parts.items()})
        described.append({"name": kernel.name, "arguments": types, "PDIs": pdis, "instance": instances})
    document = json.dumps({"xrt-kernels": described}, indent=2, sort_keys=True).encode()
    return files | {"full_elf_config.json": document}


def _pdi_numbers(images: Sequence[DeviceImage], given: Mapping[str, int] | None) -> Mapping[str, int]:
    module = images[0].device.parent_op()
    assert isinstance(module, ModuleOp)
    return given or pdi_numbers(module)


def _elf_kernels(images: Sequence[DeviceImage], numbers: Mapping[str, int], sequence: str) -> list[ConfigKernel]:
    pdis = {numbers[image.device.sym_name.data]: image.pdi.write() for image in images}
    kernels = [kernel for image in images for kernel in _kernels_of(image.device, pdis, sequence)]
    if not kernels:
        where = images[0].device
        fail(where, "there is no runtime sequence that control code could be made of", (where, "add one to the device"))
    return kernels


def _kernels_of(device: DeviceOp, pdis: Mapping[int, bytes], sequence: str) -> Iterator[ConfigKernel]:
    every = sequences_in(device)
    chosen = [it for it in every if sequence in ("", it.sym_name.data)]
    if not chosen:
        return
    arguments = max(LEAST_ELF_ARGUMENTS, *(len(it.body.block.args) for it in every))
    instances = [_instance(device, it) for it in chosen]
    yield ConfigKernel(_name(device.sym_name.data), ["char *"] * arguments, pdis, instances)


def _instance(device: DeviceOp, sequence: RuntimeSequenceOp) -> KernelInstance:
    name, packets = _name(sequence.sym_name.data), sequence.control_packets
    if packets is None:
        return KernelInstance(name, elf_words(device, sequence))
    data = words_to_bytes([word & 0xFFFFFFFF for word in packets.words])
    return KernelInstance(name, elf_words(device, sequence), data, packet_buffers(packets.argument, len(data)))


def _name(symbol: str) -> str:
    """A symbol as files have it: a character for each byte."""
    return symbol.encode("utf-8", "surrogateescape").decode("latin-1")


def elf_words(device: DeviceOp, sequence: RuntimeSequenceOp) -> bytes:
    """The words of a sequence as a full ELF has them: its loader adds to the addresses of all buffers alike."""
    return words_to_bytes(static_words(sequence, TxnEmitter(device, fold_ddr_offsets=False)).words)


def core_files(
    device: DeviceOp, given: Mapping[TileId, Path], folders: Iterable[Path], directory: Path
) -> dict[TileId, Path]:
    """The ELF file of each core that has one: given, in a folder under mlir-aie's name for it, or named by the core."""
    places = {core.place: core for core in ops_of(device.body.ops, CoreOp) if core.place is not None}
    found, name = dict[TileId, Path](), FileNames().stem(device.sym_name.data)
    for place, core in places.items():
        stem = f"core_{place.column}_{place.row}.elf"
        # newer drivers have a folder for each
        inside = f"elfs_{name}_core_{place.column}_{place.row}/elfs_{name}_{stem}"
        names = [f"{name}_{stem}", f"elfs_{name}_{stem}", inside, stem]
        in_folders = [folder / each for folder in folders for each in names if (folder / each).is_file()]
        if place in given:
            found[place] = given[place]
        elif in_folders:
            found[place] = in_folders[0]
        elif core.elf_file is not None:
            found[place] = directory / core.elf_file.data
    return found
