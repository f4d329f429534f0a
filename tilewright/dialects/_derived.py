"""Operations of ours that are defined by how they differ from xDSL's.

Each is a class that derives from xDSL's, and `tilewright.dialects` is its home. xDSL's own class stays as it is, for
others in the process: an operation made of that prints and verifies as xDSL does, so whatever builds operations takes
the class from here.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar, cast

from xdsl.ir import Attribute, Dialect, Operation
from xdsl.irdl import IRDLOperation, OpDef
from xdsl.irdl.operations import (
    _AttributeFieldDef,
    _OperandFieldDef,
    _PropertyFieldDef,
    _RegionFieldDef,
    _ResultFieldDef,
    _SuccessorFieldDef,
    get_accessors_from_op_def,
)

from tilewright.dialects._ods import _add_syntax
from tilewright.ir.create import with_cheap_create

OpT = TypeVar("OpT", bound=IRDLOperation)
_Named = TypeVar("_Named")

_FIELDS = (
    _AttributeFieldDef,
    _OperandFieldDef,
    _PropertyFieldDef,
    _RegionFieldDef,
    _ResultFieldDef,
    _SuccessorFieldDef,
)


def derived_op_definition(cls: type[OpT]) -> type[OpT]:
    """Define an operation of ours by what it says otherwise than the operation of xDSL's that it derives from.

    What the class and the mixins before it declare replaces the declaration of the same name, or is added; the rest
    stays: operands, results, regions, properties, options, traits, syntax, methods. The verifier goes: xDSL words its
    errors differently, so a class without `verify_` is checked against its constraints alone.
    """
    original = cast(type[OpT], next(c for c in cls.__mro__[1:] if "get_irdl_definition" in vars(c)))
    # what stands nearest to the class wins, as in Python
    body: dict[str, Any] = {}
    for part in reversed(cls.__mro__[: cls.__mro__.index(original)]):
        body |= vars(part)
    others = ("traits", "irdl_options")
    fields = {name: value for name, value in body.items() if isinstance(value, _FIELDS) or name in others}
    definition = _derived_definition(cls, original.get_irdl_definition(), fields)
    for name, value in get_accessors_from_op_def(definition, body.get("verify_")).items():
        setattr(cls, name, value)
    # xDSL's own format too, compiled when it is needed
    if cls.assembly_format is not None and "parse" not in body:
        _add_syntax(cls, cls.assembly_format)
    return with_cheap_create(cls)


def _derived_definition(cls: type[IRDLOperation], old: OpDef, fields: dict[str, Any]) -> OpDef:
    frame: dict[str, Any] = {"name": cls.name, "assembly_format": None, "custom_directives": (), "__annotations__": {}}
    new = OpDef.from_pyrdl(cast(Any, type(cls.__name__, (), fields | frame)))
    return OpDef(
        old.name,
        operands=_merged(old.operands, new.operands),
        results=_merged(old.results, new.results),
        regions=_merged(old.regions, new.regions),
        successors=_merged(old.successors, new.successors),
        properties=old.properties | new.properties,
        # an attribute of xDSL's that MLIR has as a property is one here
        attributes={name: value for name, value in old.attributes.items() if name not in new.properties}
        | new.attributes,
        options=new.options if "irdl_options" in fields else old.options,
        traits=new.traits if "traits" in fields else old.traits,
        accessor_names=old.accessor_names | new.accessor_names,
        custom_directives={directive.__name__: directive for directive in cls.custom_directives},
    )


def _merged(old: list[tuple[str, _Named]], new: list[tuple[str, _Named]]) -> list[tuple[str, _Named]]:
    replaced = dict(new)
    names = {name for name, _ in old}
    return [(name, replaced.get(name, value)) for name, value in old] + [pair for pair in new if pair[0] not in names]


def derived_dialect(
    dialect: Dialect, ops: Iterable[type[Operation]], attributes: Iterable[type[Attribute]] = ()
) -> Dialect:
    """`dialect` with operations and attributes replaced by those of the same name, and the others added."""
    all_ops = {op.name: op for op in dialect.operations} | {op.name: op for op in ops}
    all_attributes = {a.name: a for a in dialect.attributes} | {a.name: a for a in attributes}
    return Dialect(dialect.name, list(all_ops.values()), list(all_attributes.values()), list(dialect._interfaces))
