"""Takes memory spaces out of the types in a device: a core has just one."""

from __future__ import annotations

from typing import Any, cast

from xdsl.dialects.builtin import FunctionType, MemRefType, NoneAttr
from xdsl.ir import Attribute, SSAValue
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
                nested.function_type = _normalized_function(nested.function_type)
            for value in list(nested.results):
                _retype(value)
            for block in (block for region in nested.regions for block in region.blocks):
                for value in list(block.args):
                    _retype(value)


def _normalized(type: Attribute) -> Attribute:
    if not isinstance(type, MemRefType):
        return type
    memref = cast("MemRefType[Any]", type)
    if isinstance(memref.memory_space, NoneAttr) or KEPT in quoted(memref.memory_space):
        return memref
    return MemRefType(memref.element_type, memref.shape, memref.layout)


def _normalized_function(type: FunctionType) -> FunctionType:
    return FunctionType.from_lists([*map(_normalized, type.inputs)], [*map(_normalized, type.outputs)])


def _retype(value: SSAValue) -> None:
    type = _normalized(value.type)
    if type is not value.type:
        Rewriter.replace_value_with_new_type(value, type)
