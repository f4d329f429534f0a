"""Instructions of a controller as a design: what a TXN binary does, operation by operation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tilewright.device.devices import DEVICES
from tilewright.device.enums import DeviceName
from tilewright.iron.builders.location import refuse
from tilewright.iron.builders.memrefs import get_global, global_
from tilewright.iron.builders.module import Module, mlir_mod_ctx
from tilewright.iron.builders.types import memref
from tilewright.iron.placed.sequence import (
    npu_address_patch,
    npu_blockwrite,
    npu_load_pdi,
    npu_maskwrite32,
    npu_preempt,
    npu_sync,
    npu_write32,
    runtime_sequence,
)
from tilewright.iron.placed.tiles import device
from tilewright.txn import decode
from tilewright.txn.opcodes import Opcode, opcode_name
from tilewright.txn.stream import Header, Operation

_SEQUENCE = "sequence"


def transaction_binary_to_mlir(context: Any, binary: bytes) -> Module:
    """The design whose sequence does what a TXN binary does; translated again, it gives that binary."""
    stream = decode(binary)
    operations = list(stream.operations)
    with mlir_mod_ctx() as built:

        @device(_device(stream.header))
        def _() -> None:
            blocks = iter(_globals(operations))

            @runtime_sequence(sym_name=_SEQUENCE)
            def _() -> None:
                for operation in operations:
                    _emit(operation, blocks)

    return built.module


def _device(header: Header) -> DeviceName:
    for name, model in DEVICES.items():
        if model.is_npu and (model.txn_generation, model.columns) == (header.device_generation, header.columns):
            return name
    refuse(f"no device has generation {header.device_generation} and {header.columns} columns")


def _globals(operations: list[Operation]) -> list[tuple[str, Any]]:
    """The data of block writes, declared in front of the sequence."""
    found = list[tuple[str, Any]]()
    for operation in operations:
        if operation.opcode == Opcode.BLOCKWRITE:
            data = np.asarray(operation.payload).view(np.int32)
            name, type = f"config_blockwrite_data_{len(found)}", memref([len(data)], np.int32)
            global_(data, sym_name=name, constant=True)
            found.append((name, type))
    return found


def _emit(operation: Operation, blocks: Any) -> None:
    if operation.opcode == Opcode.BLOCKWRITE:
        name, type = next(blocks)
        npu_blockwrite(operation.address, get_global(type, name))
        return
    emit = _EMITTERS.get(operation.opcode)
    if emit is None:
        refuse(
            f"there is no operation for the opcode {opcode_name(operation.opcode)}",
            (None, "`tilewright txn dis` shows it"),
        )
    emit(operation)


_EMITTERS: dict[int, Callable[[Any], Any]] = {
    Opcode.WRITE: lambda op: npu_write32(op.address, op.value),
    Opcode.MASKWRITE: lambda op: npu_maskwrite32(op.address, op.value, op.mask),
    Opcode.TCT: lambda op: npu_sync(op.column, op.row, op.direction, op.channel, op.column_count, op.row_count),
    Opcode.LOADPDI: lambda op: npu_load_pdi(id=op.id, size=op.pdi_bytes, address=op.address | op.address_high << 32),
    Opcode.DDR_PATCH: lambda op: npu_address_patch(op.address, op.argument_index, op.argument_offset),
    Opcode.PREEMPT: lambda op: npu_preempt(op.level),
}
