"""Printing `aie.dma_bd`: in today's syntax, and what that cannot express in the one before it.

Today's has no types for offset and length, which are 32 bits wide. Values that a program has in 64 bits are not cut
to fit, but come after the rest with their types: `dyn_offset(%o : i64) dyn_len(%n : i64) dyn_sizes(..)` and so on.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, i32, i64
from xdsl.ir import SSAValue
from xdsl.printer import Printer

from tilewright.dialects._mixed_indices import print_mixed_indices
from tilewright.dialects._syntax import print_attributes, print_types
from tilewright.dialects.aie.dma_bd import DmaBdOp

SPELT_OUT = ("static_offset", "static_len", "static_sizes", "static_strides", "pad_dimensions")
NO_SIZES = DenseArrayBase.from_list(i64, [])


def print_dma_bd(printer: Printer, op: DmaBdOp) -> None:
    typed = _typed_values(op)
    printer.print_string("(")
    printer.print_ssa_value(op.buffer)
    printer.print_string(" : ")
    printer.print_attribute(op.buffer.type)
    for name, value, number in (("offset", op.offset, op.static_offset), ("len", op.len, op.static_len)):
        _print_scalar(printer, name, None if name in typed else value, number)
    for name, values, numbers in (
        ("sizes", op.sizes, op.static_sizes),
        ("strides", op.strides, op.static_strides),
    ):
        if name not in typed and (values or numbers is not None):
            printer.print_string(f" {name} = ")
            print_mixed_indices(printer, values, numbers or NO_SIZES)
    if op.pad_dimensions is not None:
        printer.print_string(" pad ")
        op.pad_dimensions.print_list(printer)
    printer.print_string(")")
    for name, values in typed.items():
        _print_typed(printer, f"dyn_{name}", values)
    print_attributes(printer, op, elided=SPELT_OUT)


def _typed_values(op: DmaBdOp) -> dict[str, Sequence[SSAValue]]:
    """The values that have to be printed with their types, by what they are."""
    scalars = {name: [value] for name, value in (("offset", op.offset), ("len", op.len)) if value is not None}
    if all(value.type == i32 for values in scalars.values() for value in values):
        return {}
    lists = {"sizes": op.sizes, "strides": op.strides}
    only_values = all(isinstance(entry, SSAValue) for entry in (*op.mixed_sizes, *op.mixed_strides))
    return {**scalars, **(lists if op.sizes and only_values else {})}


def _print_scalar(printer: Printer, name: str, value: SSAValue | None, number: IntegerAttr | None) -> None:
    if value is not None:
        printer.print_string(f" {name} = ")
        printer.print_ssa_value(value)
    elif number is not None:
        printer.print_string(f" {name} = {number.value.data}")


def _print_typed(printer: Printer, keyword: str, values: Iterable[SSAValue]) -> None:
    printer.print_string(f" {keyword}(")
    printer.print_list(values, printer.print_ssa_value)
    printer.print_string(" : ")
    print_types(printer, [value.type for value in values])
    printer.print_string(")")
