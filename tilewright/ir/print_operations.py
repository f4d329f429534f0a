"""Printers of operations: their own `print`, except where xDSL's text is not MLIR's or is slow in coming."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FunctionType
from xdsl.ir import Attribute, Operation, Region

from tilewright.ir.print_formats import format_printer

if TYPE_CHECKING:
    from tilewright.ir.printer import Printer

OperationPrinter: TypeAlias = "Callable[[Any, Printer], None]"


def print_signature(
    printer: Printer,
    inputs: Sequence[Attribute],
    outputs: Sequence[Attribute],
    body: Region | None = None,
    argument_attributes: ArrayAttr[DictionaryAttr] | None = None,
    result_attributes: ArrayAttr[DictionaryAttr] | None = None,
) -> None:
    """`(%arg0: i32 {a.b}) -> (i32, f32)`; only types where there is no body, and nothing where there are no results."""
    entry = body._first_block if body is not None else None
    printer.print_string("(")
    for i, type in enumerate(inputs):
        if i:
            printer.print_string(", ")
        attributes: Mapping[str, Attribute] = argument_attributes.data[i].data if argument_attributes else {}
        if entry is None:
            printer.print_attribute(type)
            printer.print_op_attributes(attributes)
        else:
            printer.print_block_argument(entry._args[i], attributes=attributes)
    printer.print_string(")")
    if outputs:
        printer.print_string(" -> ")
        _print_results(printer, outputs, result_attributes)


def _print_results(printer: Printer, types: Sequence[Attribute], attributes: ArrayAttr[DictionaryAttr] | None) -> None:
    one_bare = (
        len(types) == 1 and not isinstance(types[0], FunctionType) and not (attributes and attributes.data[0].data)
    )
    if one_bare:
        printer.print_attribute(types[0])
        return
    printer.print_string("(")
    for i, type in enumerate(types):
        if i:
            printer.print_string(", ")
        printer.print_attribute(type)
        printer.print_op_attributes(attributes.data[i].data if attributes else {})
    printer.print_string(")")


IN_SIGNATURE = frozenset(("sym_name", "sym_visibility", "function_type", "arg_attrs", "res_attrs"))
"""Properties of a function that its signature tells."""


def print_function(op: Any, printer: Printer) -> None:
    """A function, in the syntax that all functions of MLIR share."""
    visibility = f" {op.sym_visibility.data}" if op.sym_visibility else ""
    printer.print_string(f"{visibility} ")
    printer.print_symbol_name(op.sym_name.data)
    type: FunctionType = op.function_type
    print_signature(printer, type.inputs.data, type.outputs.data, op.body, op.arg_attrs, op.res_attrs)
    more = {name: value for name, value in op.properties.items() if name not in IN_SIGNATURE}
    printer.print_op_attributes(op.attributes | more, print_keyword=True)
    if op.body._first_block is not None:
        printer.print_string(" ")
        printer.print_region(op.body, print_entry_block_args=False)


def _print_relabelled(keyword: str) -> OperationPrinter:
    """`linalg.transpose` and `linalg.broadcast`; MLIR puts a space behind the list, whatever follows."""

    def print_operation(op: Any, printer: Printer) -> None:
        for label, value in zip(("ins", "outs"), op._operands, strict=True):
            printer.print_string(f" {label}({printer.value_text(value)} : {printer.attribute_text(value.type)})")
        numbers = ", ".join(map(str, op.properties[keyword].iter_values()))
        printer.print_string(f" {keyword} = [{numbers}] ")
        printer.print_op_attributes(op.attributes)

    return print_operation


def _print_then_space(op: Operation, printer: Printer) -> None:
    """MLIR's format ends with a type that it only prints where it cannot be inferred, which it always can."""
    op.print(printer)
    printer.print_string(" ")


REPLACED: dict[str, OperationPrinter] = {
    "linalg.broadcast": _print_relabelled("dimensions"),
    "linalg.transpose": _print_relabelled("permutation"),
    "llvm.extractvalue": _print_then_space,
    "llvm.insertvalue": _print_then_space,
}
"""Printers for operations that xDSL defines."""


def operation_printer(cls: type[Operation]) -> OperationPrinter | None:
    """What prints everything behind the name, or None where there is only the generic form."""
    if cls.print is Operation.print:
        return None
    if cls.name in REPLACED and cls.print.__module__.startswith("xdsl."):
        return REPLACED[cls.name]
    return format_printer(cls) or cls.print
