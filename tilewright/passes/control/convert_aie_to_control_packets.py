"""Turns the configuration of a device into control packets, in a runtime sequence of its own."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.passes.control.configuration import configuration_of
from tilewright.passes.control.configuration.instructions import insert_control_packets
from tilewright.passes.control.convert_aie_to_transaction import configuration_start
from tilewright.rewrite.pass_bases import DevicePass


@dataclass(frozen=True)
class ConvertAieToControlPacketsPass(DevicePass):
    name = "convert-aie-to-control-packets"

    elf_dir: str = field(default="", metadata={"help": "where the ELF files are that cores name"})
    device_name: str = field(default="", metadata={"help": "the device to configure (all if not given)"})

    def apply_to(self, device: DeviceOp) -> None:
        if self.device_name in ("", device.sym_name.data):
            writes = configuration_of(device, Path(self.elf_dir)).writes
            insert_control_packets(device, writes, configuration_start(device))
