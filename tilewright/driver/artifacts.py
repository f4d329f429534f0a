"""The files of a compiled design: written by `tilewright compile`, opened again by `load`.

The manifest among them has, as data, what a host program needs to know, so that none hard-codes a magic number: where
a runtime parameter lies, which lock id a lock got, which shim channel carries which buffer, and for each operation of a
stream the source line it came from.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, TypeGuard, cast

import numpy as np
from xdsl.dialects.builtin import MemRefType, UnrankedMemRefType
from xdsl.ir import BlockArgument

from tilewright.codegen.location_map import location_json
from tilewright.codegen.static_words import static_words
from tilewright.codegen.txn_words import TxnEmitter
from tilewright.device.layout import WORD_BYTES
from tilewright.dialects import scf
from tilewright.dialects.aie.buffers import BufferOp
from tilewright.dialects.aie.core import CoreOp
from tilewright.dialects.aie.flows import ShimDmaAllocationOp
from tilewright.dialects.aie.locks import LockOp
from tilewright.dialects.aie.lookup import tile_of
from tilewright.dialects.aie.sequence import RuntimeSequenceOp, scalar_arguments
from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.dialects.aiex.firmware import NpuLoadPdiOp
from tilewright.driver.compiled_design import Design, design_from_text, devices_in, public_name, sequences_in
from tilewright.errors import ArgumentError
from tilewright.passes.control.number_pdis import pdi_numbers
from tilewright.support.output_files import FileNames, is_file_name, write_files
from tilewright.support.tracebacks import at_user_line

FORMAT = 1
PROGRAM, MANIFEST = "design.mlir", "design.json"
HEADER, INSTRUCTIONS, CONFIGURATION = ".h", ".insts.bin", ".configuration.bin"
PACKETS = ".ctrlpkt.bin"
SUFFIXES = (HEADER, INSTRUCTIONS, CONFIGURATION, PACKETS, ".so")


class NoDesign(ArgumentError, OSError):
    """A directory without a compiled design that can be read."""


def write_design(
    design: Design, directory: str | PathLike[str], library: str | None = None, *, keep_buffers: bool = False
) -> list[Path]:
    """Write all files of a design, or none. Those of an earlier one that are of no more use are removed.

    With a name for it, a shared library of the generators and its C header are among them. `keep_buffers` is for C++.
    """
    target, files = Path(directory), _files(design, library, keep_buffers)
    target.mkdir(parents=True, exist_ok=True)
    # where upper and lower case are one, a new file may have the name of an old one
    written = {name.casefold() for name in files}
    obsolete = [name for name in _written_before(target) if name.casefold() not in written]
    return sorted(write_files(target, files, obsolete))


def _files(design: Design, library: str | None, keep_buffers: bool) -> dict[str, bytes]:
    from tilewright.ir.printer import module_text

    made = design.library(library) if library is not None else None
    # a sequence may be called like the library
    names = DesignFiles.of(design, *((made.file, made.header_file) if made is not None else ()))
    files = {PROGRAM: module_text(design.module, debuginfo=True).encode()}
    contents = manifest(design, names)
    for device in devices_in(design.module):
        if (file := names.configuration(device)) is not None:
            # words are little-endian in files, whatever this machine is
            files[file] = design.configuration(device.sym_name.data).astype("<u4").tobytes()
    for name in design.sequences:
        files[names.header(name)] = design.cpp(name, keep_buffers=keep_buffers).encode()
        if not design.scalars(name):
            files[names.instructions(name)] = design.txn(name).astype("<u4").tobytes()
        if (packets := design.operation(name).control_packets) is not None:
            files[names.packets(name)] = np.array(packets.words, "<i4").tobytes()
    if made is not None:
        files |= {made.file: made.code, made.header_file: made.header.encode()}
        contents["library"] = {"file": made.file, "header": made.header_file, "functions": made.functions}
    return files | {MANIFEST: (json.dumps(contents, indent=2) + "\n").encode()}


def _written_before(directory: Path) -> set[str]:
    """Files that the manifest in a directory lists and that are there. It may be damaged, or not be ours at all."""
    path = directory / MANIFEST
    try:
        contents: object = json.loads(path.read_bytes()) if _is_plain_file(path) else None
    except (OSError, ValueError, RecursionError):
        return set()
    return {name for name in _listed(contents) if _is_ours(name) and _is_plain_file(directory / name)}


def _listed(contents: object) -> Iterator[object]:
    manifest = _members(contents)
    for device in map(_members, _items(manifest.get("devices"))):
        yield device.get("configuration")
        for sequence in map(_members, _items(device.get("sequences"))):
            yield from (sequence.get("header"), sequence.get("instructions"))
            yield from (argument.get("contents") for argument in map(_members, _items(sequence.get("arguments"))))
    library = _members(manifest.get("library"))
    yield from (library.get("file"), library.get("header"))


def _members(value: object) -> Mapping[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _items(value: object) -> list[object]:
    return cast("list[object]", value) if isinstance(value, list) else []


def _is_ours(name: object) -> TypeGuard[str]:
    """Whether a name is one that a compile may have given to a file in its directory."""
    # the manifest may come from elsewhere, and must not have us remove other files
    return isinstance(name, str) and is_file_name(name) and name.endswith(SUFFIXES)


def _is_plain_file(path: Path) -> bool:
    return path.is_file() and not path.is_symlink()


@at_user_line
def load(directory: str | PathLike[str]) -> Design:
    """The design that `tilewright compile` wrote into a `directory`; `CompileError` if its program is damaged."""
    path = Path(directory) / PROGRAM
    try:
        # bytes that are no UTF-8 are for the reader to complain about, with their place
        text = path.read_text(encoding="utf-8", errors="surrogateescape") if path.is_file() else None
    except OSError as error:
        raise NoDesign(f"{path} cannot be read: {error.strerror}") from error
    if text is None:
        raise NoDesign(f"there is no {path}: `tilewright compile DESIGN -o DIR` writes one")
    return design_from_text(text, str(path))


@dataclass(frozen=True)
class DesignFiles:
    """The files of a compiled design: without their suffixes, by the names of sequences and of devices."""

    sequences: Mapping[str, str]
    devices: Mapping[str, str]

    @staticmethod
    def of(design: Design, *others: str) -> DesignFiles:
        """Files for a design, none of which is called like the program, the manifest or one of the `others`."""
        names = FileNames(PROGRAM, MANIFEST, *others)
        return DesignFiles(
            {name: names.stem(name, HEADER, INSTRUCTIONS, PACKETS) for name in design.sequences},
            {name: names.stem(name, CONFIGURATION) for name in design.devices},
        )

    def header(self, sequence: str) -> str:
        return self.sequences[sequence] + HEADER

    def instructions(self, sequence: str) -> str:
        return self.sequences[sequence] + INSTRUCTIONS

    def packets(self, sequence: str) -> str:
        return self.sequences[sequence] + PACKETS

    def configuration(self, device: DeviceOp) -> str | None:
        """The file with the device's configuration; devices that are no NPUs have none."""
        return self.devices[device.sym_name.data] + CONFIGURATION if device.model.is_npu else None


def manifest(design: Design, files: DesignFiles) -> dict[str, Any]:
    """The manifest of a design, ready for JSON."""
    numbers = pdi_numbers(design.module)
    devices = devices_in(design.module)
    return {
        "format": FORMAT,
        "devices": [{**_device(design, device, files), "pdi": numbers[device.sym_name.data]} for device in devices],
        **_images(design),
    }


def _images(design: Design) -> dict[str, Any]:
    """Images that are loaded and are not those of one device: where the programs of cores come from another one."""
    loads = [op for op in design.module.walk() if isinstance(op, NpuLoadPdiOp) and op.programs is not None]
    found = {
        load.id.value.data: {"configuration": load.device_ref.root_reference.data, "programs": load.programs}
        for load in loads
        if load.device_ref is not None
    }
    return {"images": [{"pdi": number, **image} for number, image in found.items()]} if found else {}


def _device(design: Design, device: DeviceOp, files: DesignFiles) -> dict[str, Any]:
    ops = list(device.body.ops)
    return {
        "name": device.sym_name.data,
        "device": str(device.model),
        "columns": device.model.columns,
        "rows": device.model.rows,
        "configuration": files.configuration(device),
        "buffers": [_buffer(device, op) for op in ops if isinstance(op, BufferOp)],
        "locks": [_lock(device, op) for op in ops if isinstance(op, LockOp)],
        "shim_allocations": [_allocation(op) for op in ops if isinstance(op, ShimDmaAllocationOp)],
        "cores": [_core(op) for op in ops if isinstance(op, CoreOp)],
        "sequences": [_sequence(design, op, device, files) for op in sequences_in(device)],
    }


def _place(place: tuple[int, int] | None) -> dict[str, int | None]:
    column, row = place or (None, None)
    return {"column": column, "row": row}


def _buffer(device: DeviceOp, op: BufferOp) -> dict[str, Any]:
    """`address` counts bytes in the tile's memory; `register` is where the controller writes runtime parameters."""
    address = op.address.value.data if op.address is not None else None
    register = None if address is None or op.place is None else device.model.tile_address(*op.place, address)
    name = op.sym_name.data if op.sym_name is not None else None
    return {"name": name, **_place(op.place), "address": address, "register": register, "type": str(op.buffer.type)}


def _lock(device: DeviceOp, op: LockOp) -> dict[str, Any]:
    number = op.lock_id.value.data if op.lock_id is not None else None
    offset = None if number is None or op.place is None else device.model.lock_address(*op.place, number)
    return {
        "name": op.sym_name.data if op.sym_name is not None else None,
        **_place(op.place),
        "id": number,
        "register": None if offset is None or op.place is None else device.model.tile_address(*op.place, offset),
        "init": op.init.value.data if op.init is not None else None,
    }


def _allocation(op: ShimDmaAllocationOp) -> dict[str, Any]:
    tile = tile_of(op.tile)
    place = tile.place if tile is not None else None
    return {"name": op.sym_name.data, **_place(place), "direction": str(op.direction), "channel": op.channel}


def _core(op: CoreOp) -> dict[str, Any]:
    """A core's program is its body in design.mlir, or the file that is loaded instead."""
    elf = op.elf_file.data if op.elf_file is not None else None
    link = [op.link_with.data] if op.link_with is not None else []
    return {**_place(op.place), "elf_file": elf, "link_files": link, "stack_bytes": op.stack_bytes}


def _sequence(design: Design, sequence: RuntimeSequenceOp, device: DeviceOp, files: DesignFiles) -> dict[str, Any]:
    name, scalars = public_name(sequence), scalar_arguments(sequence)
    names, packets = sequence.argument_names, sequence.control_packets
    return {
        "name": name,
        "function": design.cpp_function(name),
        "header": files.header(name),
        "instructions": None if scalars else files.instructions(name),
        "arguments": [
            {
                **_argument(argument, names[argument.index]),
                **({"contents": files.packets(name)} if packets and packets.argument == argument.index else {}),
            }
            for argument in sequence.body.block.args
        ],
        "operations": list(_operations(sequence, device)),
    }


def _argument(argument: BlockArgument, name: str) -> dict[str, Any]:
    is_buffer = isinstance(argument.type, MemRefType | UnrankedMemRefType)
    return {"name": name, "type": str(argument.type), "kind": "buffer" if is_buffer else "scalar"}


def _operations(sequence: RuntimeSequenceOp, device: DeviceOp) -> Iterator[dict[str, Any]]:
    """Each operation that becomes words, with its source; where in the stream is said of sequences without loops only,
    and known only without run-time values."""
    emitter = TxnEmitter(device)
    if not scalar_arguments(sequence) and not any(isinstance(op, scf.ForOp | scf.WhileOp) for op in sequence.walk()):
        for entry in static_words(sequence, emitter).entries:
            words = {"word": entry.start, "words": entry.count, "byte": entry.start * WORD_BYTES}
            yield {**words, "operation": entry.op.name, "location": location_json(entry.op.location)}
        return
    for op in sequence.walk():
        if (words := emitter.words(op)) is not None:
            yield {"words": len(words), "operation": op.name, "location": location_json(op.location)}
