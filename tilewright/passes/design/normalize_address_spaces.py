"""Takes memory spaces out of the types in a device: a core has just one."""

from __future__ import annotations

from typing import Any, cast

from xdsl.dialects.builtin import FunctionType, MemRefType, NoneAttr
from xdsl.ir import Attribute
from xdsl.rewriter import Rewriter

from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.dialects.func import FuncOp
from tilewright.dialects.memref import GlobalOp
from tilewright.ir.shown import quoted
from tilewright.rewrite.pass_bases import DevicePass

KEPT = "#ptr.generic_space"
"""The memory space that pointer arithmetic is done in."""


class NormalizeAddressSpacesPass(DevicePass):
    name = "aie-normalize-address-spaces"

    def apply_to(self, device: DeviceOp) -> None:
        for nested in list(device.walk()):
            if isinstance(nested, GlobalOp):
                nested.properties["type"] = _normalized(nested.type)
            elif isinstance(nested, FuncOp):
                given = nested.function_type
                inputs, outputs = ([_normalized(type) for type in types] for types in (given.inputs, given.outputs))
                nested.function_type = FunctionType.from_lists(inputs, outputs)
            blocks = [block for region in nested.regions for block in region.blocks]
            # A list: the value with the new type takes the place of the old one in what is gone through.
            for value in [*nested.results, *(argument for block in blocks for argument in block.args)]:
                type = _normalized(value.type)
                if type is not value.type:
                    Rewriter.replace_value_with_new_type(value, type)


def _normalized(type: Attribute) -> Attribute:
    if not isinstance(type, MemRefType):
        return type
    memref = cast("MemRefType[Any]", type)
    if isinstance(memref.memory_space, NoneAttr) or KEPT in quoted(memref.memory_space):
        return memref
    return MemRefType(memref.element_type, memref.shape, memref.layout)
