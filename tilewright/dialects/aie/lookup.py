"""Finding things from where an operation stands: its device, its tile, the symbols around it."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import IntegerAttr, ModuleOp, StringAttr, SymbolRefAttr
from xdsl.ir import Attribute, Operation, OpResult, SSAValue
from xdsl.traits import ConstantLike, SymbolTable

from tilewright.device import DeviceModel, DeviceName, model
from tilewright.dialects._parents import ancestors as ancestors
from tilewright.dialects._parents import parent_of_type as parent_of_type
from tilewright.dialects.aie.interfaces import Target, TileElement, TileLike
from tilewright.ir.symbols import symbol_in
from tilewright.ir.symbols import symbol_name as symbol_name


def device_model(op: Operation) -> DeviceModel:
    """The device an operation is for; without an `aie.device` around it, the first AIE device there was."""
    target = op if isinstance(op, Target) else parent_of_type(op, Target)
    return target.model if target is not None else model(DeviceName.xcvc1902)


def parent_tile_element(op: Operation) -> TileElement | None:
    """The core, DMA or task whose body `op` is in."""
    for parent in ancestors(op):
        if isinstance(parent, TileElement):
            return parent
        if is_device_body(parent):  # nothing further out belongs to a tile
            break
    return None


def is_device_body(op: Operation | None) -> bool:
    """Whether operations in `op` stand at the top of a design, not inside a tile."""
    return isinstance(op, Target | ModuleOp)


def tile_of(value: SSAValue) -> TileLike | None:
    """The tile that a value stands for."""
    return value.owner if isinstance(value.owner, TileLike) else None


def lookup_symbol(op: Operation, reference: str | StringAttr | SymbolRefAttr) -> Operation | None:
    """What a flat reference means at `op`: an operation in the closest symbol table around it, or in `op` itself."""
    if isinstance(reference, SymbolRefAttr):
        reference = reference.root_reference
    name = reference.data if isinstance(reference, StringAttr) else reference
    table = op if _has_symbols(op) else next((p for p in ancestors(op) if _has_symbols(p)), None)
    return None if table is None else symbol_in(table, name)


def _has_symbols(op: Operation) -> bool:
    # nearly all tables are of these, and asking for traits takes long
    return isinstance(op, Target | ModuleOp) or op.has_trait(SymbolTable)


def device_symbol(op: Operation, reference: str | SymbolRefAttr) -> Operation | None:
    """The operation that a reference names in the device around `op`."""
    device = parent_of_type(op, Target)
    return lookup_symbol(device, reference) if device is not None else None


def constant_value(value: SSAValue) -> int | None:
    """The integer that a value is known to be."""
    if not isinstance(value, OpResult):
        return None
    constant = arith_constant(value)  # most are: found without asking for traits
    if constant is None and value.op.has_trait(ConstantLike):
        constant = value.op.get_attr_or_prop("value")
    return constant.value.data if isinstance(constant, IntegerAttr) else None


def arith_constant(value: SSAValue) -> Attribute | None:
    """What the `arith.constant` that a value comes from holds, if it comes from one."""
    # by name: the dialect takes long to import
    if isinstance(value, OpResult) and value.op.name == "arith.constant":
        return value.op.properties.get("value")
    return None


def constant_values(values: Sequence[SSAValue | int]) -> list[int | None]:
    """Each integer, and what each value is known to be."""
    return [value if isinstance(value, int) else constant_value(value) for value in values]
