"""Numbers the configurations that sequences load: a device's is its place in the module, counted from one."""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i32

from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.dialects.aiex.firmware import NpuLoadPdiOp
from tilewright.ir.traversal import all_operations
from tilewright.rewrite.pass_bases import ModulePass, ops_of


class NumberPdisPass(ModulePass):
    """Upstream's driver does the same between its passes, so no pass of that name is known there."""

    name = "tilewright-number-pdis"

    def apply_to(self, module: ModuleOp) -> None:
        numbers = pdi_numbers(module)
        with_programs = dict[tuple[str, str], int]()
        for load in ops_of(all_operations(module), NpuLoadPdiOp):
            # Zero is no number yet; one that the program gives stays.
            if load.device_ref is None or load.id.value.data != 0:
                continue
            name, number = load.device_ref.root_reference.data, 0
            if load.programs is None:
                number = numbers.get(name, 0)
            else:
                # An image of its own, behind those of the devices.
                number = with_programs.setdefault((name, load.programs), len(numbers) + len(with_programs) + 1)
            load.id = IntegerAttr(number, i32)


def pdi_numbers(module: ModuleOp) -> dict[str, int]:
    """The number of each device's configuration, by the device's name."""
    return {op.sym_name.data: number for number, op in enumerate(ops_of(module.ops, DeviceOp), start=1)}
