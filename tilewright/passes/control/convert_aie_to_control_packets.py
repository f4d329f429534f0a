"""Turns the configuration of a device into control packets, in a runtime sequence of its own."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from xdsl.context import Context
from xdsl.ir import Operation

from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.ir.pass_manager import Pass
from tilewright.passes.control.configuration import configuration_of
from tilewright.passes.control.configuration.instructions import insert_control_packets
from tilewright.passes.control.convert_aie_to_transaction import configuration_start


@dataclass(frozen=True)
class ConvertAieToControlPacketsPass(Pass):
    name = "convert-aie-to-control-packets"
    anchor = "aie.device"

    elf_dir: str = field(default="", metadata={"help": "where the ELF files are that cores name"})
    device_name: str = field(default="", metadata={"help": "the device to configure (all if not given)"})

    def apply(self, ctx: Context, op: Operation) -> None:
        assert isinstance(op, DeviceOp)
        if self.device_name in ("", op.sym_name.data):
            writes = configuration_of(op, Path(self.elf_dir)).writes
            insert_control_packets(op, writes, configuration_start(op))
