"""What a host program needs to know of a compiled design, as data: names, types, addresses, files.

With it no host hard-codes a magic number: where a runtime parameter lies, which lock id a lock got, which shim channel
carries which buffer, and for each operation of a stream the source line it came from.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from xdsl.dialects.builtin import MemRefType, UnrankedMemRefType
from xdsl.ir import Attribute, BlockArgument

from tilewright.codegen.emission import Emitter
from tilewright.codegen.location_map import location_json
from tilewright.codegen.native_generator import scalar_arguments
from tilewright.codegen.static_words import static_words
from tilewright.design import Design, devices_in, public_name, sequences_in
from tilewright.dialects import scf
from tilewright.dialects.aie.buffers import BufferOp
from tilewright.dialects.aie.core import CoreOp
from tilewright.dialects.aie.flows import ShimDmaAllocationOp
from tilewright.dialects.aie.locks import LockOp
from tilewright.dialects.aie.lookup import tile_of
from tilewright.dialects.aie.sequence import RuntimeSequenceOp
from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.file_names import FileNames
from tilewright.passes.control.number_pdis import pdi_numbers
from tilewright.txn.opcodes import WORD_BYTES

FORMAT = 1
PROGRAM, MANIFEST = "design.mlir", "design.json"
HEADER, INSTRUCTIONS, CONFIGURATION = ".h", ".insts.bin", ".configuration.bin"


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
            {name: names.stem(name, HEADER, INSTRUCTIONS) for name in design.sequences},
            {name: names.stem(name, CONFIGURATION) for name in design.devices},
        )

    def header(self, sequence: str) -> str:
        return self.sequences[sequence] + HEADER

    def instructions(self, sequence: str) -> str:
        return self.sequences[sequence] + INSTRUCTIONS

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
    }


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
    register = None if offset is None or op.place is None else device.model.tile_address(*op.place, offset)
    return {
        "name": op.sym_name.data if op.sym_name is not None else None,
        **_place(op.place),
        "id": number,
        "register": register,
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
    names = sequence.argument_names
    return {
        "name": name,
        "function": design.cpp_function(name),
        "header": files.header(name),
        "instructions": None if scalars else files.instructions(name),
        "arguments": [_argument(argument, names[argument.index]) for argument in sequence.body.block.args],
        "operations": list(_operations(sequence, device)),
    }


def _argument(argument: BlockArgument, name: str) -> dict[str, Any]:
    type: Attribute = argument.type
    is_buffer = isinstance(type, MemRefType | UnrankedMemRefType)
    return {"name": name, "type": str(type), "kind": "buffer" if is_buffer else "scalar"}


def _operations(sequence: RuntimeSequenceOp, device: DeviceOp) -> Iterator[dict[str, Any]]:
    """Each operation that becomes words, with its source; where in the stream is said of sequences without loops only,
    and known only without run-time values."""
    emitter = Emitter(device)
    if not scalar_arguments(sequence) and not any(isinstance(op, scf.ForOp | scf.WhileOp) for op in sequence.walk()):
        for place in static_words(sequence, emitter).places:
            words = {"word": place.start, "words": place.count, "byte": place.start * WORD_BYTES}
            yield {**words, "operation": place.op.name, "location": location_json(place.op.location)}
        return
    for op in sequence.walk():
        words = emitter.words(op)
        if words is not None:
            yield {"words": len(words), "operation": op.name, "location": location_json(op.location)}
