"""Makes one operation: Python values become its operands and attributes, the user's line its location."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, TypeVar, cast

from xdsl.dialects.builtin import LocationAttr
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.irdl import AttrSizedOperandSegments, IRDLOperation, OptOperandDef, VarOperandDef
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects import scf
from tilewright.dialects._syntax import segments
from tilewright.ir.create import create_operation
from tilewright.ir.definition_check import DefinitionCheck
from tilewright.ir.diagnostics import from_verify_exception, location_of
from tilewright.iron.builders.attributes import property_attribute
from tilewright.iron.builders.checks import as_list
from tilewright.iron.builders.handles import ssa_of
from tilewright.iron.builders.insertion import InsertionPoint
from tilewright.iron.builders.location import Location, UsageError, given_location, refuse

OpT = TypeVar("OpT", bound=IRDLOperation)

_definitions = DefinitionCheck()


def build(
    op_class: type[OpT],
    *,
    results: Sequence[Attribute] = (),
    regions: Sequence[Region] = (),
    successors: Sequence[Block] = (),
    attributes: Mapping[str, Attribute] | None = None,
    loc: LocationAttr | Location | None = None,
    ip: InsertionPoint | None = None,
    **fields: Any,
) -> OpT:
    """Make an operation, check it against its definition and insert it.

    `fields` are its operands and properties by the names of its definition. Properties may be Python values; one that
    is None is left out.
    """
    place = ip or InsertionPoint.current
    groups = _operands(op_class, fields)
    for group in groups:
        for value in group:
            _check_reach(value, place.block)
    properties = _properties(op_class, fields)
    if _keeps_segments(op_class):
        properties["operandSegmentSizes"] = segments(*map(len, groups))
    op = create_operation(
        op_class,
        [value for group in groups for value in group],
        results,
        properties,
        dict(attributes or {}),
        successors,
        regions,
        given_location(loc),
    )
    _check(op)
    place.insert(op)
    return cast(OpT, op)


def _operands(op_class: type[IRDLOperation], fields: dict[str, Any]) -> list[list[SSAValue]]:
    """The values of each operand of a definition."""
    found = list[list[SSAValue]]()
    for name, definition in op_class.get_irdl_definition().operands:
        given = fields.pop(name, None)
        what = f"'{name}' of '{op_class.name}'"
        if isinstance(definition, VarOperandDef) and not isinstance(definition, OptOperandDef):
            found.append([ssa_of(part, what) for part in as_list(() if given is None else given, what)])
        elif given is None and isinstance(definition, OptOperandDef):
            found.append([])
        else:
            found.append([ssa_of(given, what)])
    return found


def _check_reach(value: SSAValue, block: Block) -> None:
    """Refuse a value that is made inside a loop or a choice and used outside of it."""
    home = value.owner if isinstance(value.owner, Block) else value.owner.parent
    around: Block | None = block
    while around is not None and around is not home:
        around = around.parent_block()
    outer = None if home is None else home.parent_op()
    if around is None and isinstance(outer, scf.ForOp | scf.IfOp | scf.WhileOp):
        _refuse_reach(value, outer)


def _refuse_reach(value: SSAValue, outer: Operation) -> None:
    """Teach how a number leaves a loop."""
    if isinstance(outer, scf.ForOp):
        refuse(
            "this value is made inside a loop of the program, and used outside of it",
            (location_of(value), "it is made here, in each turn anew"),
            (outer, "carry it from turn to turn: `for i, total, result in range_(n, iter_args=[0]):`"),
            (outer, "end the body with `yield_([total + ...])`, and use `result` behind the loop"),
        )
    refuse(
        "this value is made on one side of a choice, and used outside of it",
        (location_of(value), "it is made here"),
        (outer, "write `where(condition, a, b)` of `tilewright.iron.math`, or store it in a buffer"),
    )


@cache
def _keeps_segments(op_class: type[IRDLOperation]) -> bool:
    """Whether an operation says how many values each of its operands has."""
    return any(isinstance(option, AttrSizedOperandSegments) for option in op_class.get_irdl_definition().options)


def _properties(op_class: type[IRDLOperation], fields: dict[str, Any]) -> dict[str, Attribute]:
    known = op_class.get_irdl_definition().properties
    unknown = [name for name in fields if name not in known]
    if unknown:
        raise TypeError(f"'{op_class.name}' has no {', '.join(unknown)}")
    return {name: property_attribute(op_class, name, value) for name, value in fields.items() if value is not None}


def _check(op: Operation) -> None:
    """Refuse now what no later operation can put right; a body that is still to come is checked with the module."""
    if not all(region.blocks for region in op.regions):
        return
    try:
        _definitions.check(cast(IRDLOperation, op).get_irdl_definition(), op)
    except VerifyException as error:
        op.drop_all_references()
        raise UsageError([from_verify_exception(op, error)]) from None
