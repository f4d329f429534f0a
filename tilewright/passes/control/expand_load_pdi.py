"""Turns loads of a device image into a reset of the array and what configures it: register writes or control packets.

The firmware skips a load of the image that it loaded last, so what resets the array alternates between two images.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.rewriter import InsertPoint, Rewriter

from tilewright.dialects._ods import enum_to_attr, enum_value
from tilewright.dialects.aie.core import CoreOp, EndOp
from tilewright.dialects.aie.lookup import parent_of_type
from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.dialects.aiex.attributes import ExpandMode
from tilewright.dialects.aiex.firmware import PROGRAMS, NpuLoadPdiOp
from tilewright.ir.diagnostics import CompileError, DiagnosedError, Severity, diagnose, fail
from tilewright.ir.symbols import symbol_in
from tilewright.ir.traversal import all_operations
from tilewright.passes.control.configuration import configuration_of
from tilewright.passes.control.configuration.instructions import insert_control_packets, insert_transaction
from tilewright.passes.control.configuration.writes import Write
from tilewright.rewrite.emitter import Emitter
from tilewright.rewrite.pass_bases import ModulePass, ops_of

EMPTY_NAMES = ("empty_0", "empty_1")
OVERLAY, OVERLAY_COPY = "ctrl_pkt_overlay", "ctrl_pkt_overlay_copy"
DATA_PREFIX = "loadpdi_"


@dataclass(frozen=True)
class ExpandLoadPdiPass(ModulePass):
    name = "aie-expand-load-pdi"

    ctrl_pkt: bool = field(default=False, metadata={"help": "configure by control packets, after loading an overlay"})
    keep_programs: bool = field(
        default=False,
        metadata={"help": "have programs of cores that name no ELF file loaded as well: nothing else brings them"},
    )

    def apply_to(self, module: ModuleOp) -> None:
        default = ExpandMode.ctrlpkt if self.ctrl_pkt else ExpandMode.write32
        expanded = 0
        for turn, load in enumerate(ops_of(all_operations(module), NpuLoadPdiOp)):
            mode = default if load.expand_mode is None else enum_value(ExpandMode, load.expand_mode)
            if load.device_ref is None or mode is ExpandMode.none:
                continue
            expand = _to_control_packets if mode is ExpandMode.ctrlpkt else _to_writes
            before = expand(module, load, turn, f"{DATA_PREFIX}{expanded}")
            if self.keep_programs and any(
                isinstance(op, CoreOp) and op.elf_file is None for op in _loaded_device(module, load).body.ops
            ):
                before.attributes[PROGRAMS] = load.device_ref
            Rewriter.erase_op(load)
            expanded += 1  # names of data count these only, turns count all loads


def _to_writes(module: ModuleOp, load: NpuLoadPdiOp, turn: int, data_prefix: str) -> NpuLoadPdiOp:
    device = _loaded_device(module, load)
    before = _load_before(load, _empty_device(module, device, EMPTY_NAMES[turn % 2]), same_image=True)
    insert_transaction(_own_device(load), _writes_of(device, load), InsertPoint.before(load), data_prefix)
    return before


def _to_control_packets(module: ModuleOp, load: NpuLoadPdiOp, turn: int, data_prefix: str) -> NpuLoadPdiOp:
    device = _loaded_device(module, load)
    before = _load_before(load, _overlay_device(module, load, is_copy=turn % 2 == 1), same_image=False)
    # Without the overlay's connections: the packets travel through them while they configure the rest.
    insert_control_packets(_own_device(load), _writes_of(device, load, overlay=False), InsertPoint.before(load))
    return before


def _loaded_device(module: ModuleOp, load: NpuLoadPdiOp) -> DeviceOp:
    assert load.device_ref is not None
    name = load.device_ref.root_reference.data
    device = symbol_in(module, name)
    if not isinstance(device, DeviceOp):
        fail(load, f"Referenced symbol '{name}' is not a device", (load, "name an aie.device of this module"))
    return device


def _own_device(load: NpuLoadPdiOp) -> DeviceOp:
    device = parent_of_type(load, DeviceOp)
    if device is None:
        fail(load, "expected insertion point to be nested under an aie.device op")
    return device


def _writes_of(device: DeviceOp, load: NpuLoadPdiOp, overlay: bool = True) -> list[Write]:
    with _explaining(load):
        # ELF files are looked for from where the compiler runs
        return configuration_of(device, Path(), overlay).writes


@contextmanager
def _explaining(load: NpuLoadPdiOp) -> Generator[None]:
    """Errors in the configuration of a device are errors of loading it as well."""
    try:
        yield
    except DiagnosedError as error:
        here = diagnose(Severity.ERROR, load, "Failed to generate configuration operations")
        raise CompileError([*error.diagnostics, here]) from error


def _load_before(load: NpuLoadPdiOp, device: DeviceOp, same_image: bool) -> NpuLoadPdiOp:
    """Load another device first; it takes the place of the image that was meant, where there is one already."""
    before = NpuLoadPdiOp(device.sym_name.data, enum_to_attr(ExpandMode.none))
    if same_image:
        before.id, before.size, before.address = load.id, load.size, load.address
    return Emitter.before(load).insert(before)


def _empty_device(module: ModuleOp, like: DeviceOp, name: str) -> DeviceOp:
    """A device without anything, loading which resets the array; made once."""
    existing = symbol_in(module, name)
    if isinstance(existing, DeviceOp):
        return existing
    empty = DeviceOp(like.model.name, [EndOp()], name)
    Rewriter.insert_op(empty, InsertPoint.at_start(module.body.block))
    return empty


def _overlay_device(module: ModuleOp, load: NpuLoadPdiOp, is_copy: bool) -> DeviceOp:
    """The device that routes control packets, or a copy of it with another address; the copy is made once."""
    overlay, copy = symbol_in(module, OVERLAY), symbol_in(module, OVERLAY_COPY)
    if is_copy and isinstance(copy, DeviceOp):
        return copy
    if not isinstance(overlay, DeviceOp):
        remedy = (load, "--aie-generate-column-control-overlay makes one")
        fail(load, f"ctrl-pkt mode requires a `@{OVERLAY}` device in the module", remedy)
    if not is_copy:
        return overlay
    clone = overlay.clone()
    clone.sym_name = StringAttr(OVERLAY_COPY)
    Rewriter.insert_op(clone, InsertPoint.after(overlay))
    return clone
