"""Constant contents of buffers, written without their type because something beside them says it."""

from __future__ import annotations

from typing import Any, cast

from xdsl.dialect_interfaces.op_asm import OpAsmDialectInterface
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, DenseResourceAttr, TensorType
from xdsl.ir import Attribute
from xdsl.parser import Parser
from xdsl.printer import Printer


def parse_typed_elements(parser: Parser, type: TensorType) -> Attribute:
    """An elements attribute of a known type."""
    if parser.parse_optional_keyword("dense") is not None:
        return parser.parse_dense_int_or_fp_elements_attr(cast(Any, type))
    if parser.parse_optional_keyword("dense_resource") is not None:
        resources = parser.ctx.get_dialect("builtin").get_interface(OpAsmDialectInterface)
        if resources is None:
            parser.raise_error("the builtin dialect has no resources")
        with parser.in_angle_brackets():
            handle = parser._parse_dialect_resource_handle("builtin", resources)
        return DenseResourceAttr.from_params(handle, type)
    return parser.parse_attribute()


def print_typed_elements(printer: Printer, elements: Attribute) -> None:
    """The inverse of `parse_typed_elements`."""
    if isinstance(elements, DenseIntOrFPElementsAttr | DenseResourceAttr):
        elements.print_without_type(printer)
    else:
        printer.print_attribute(elements)
