"""Changing the definition of an operation that xDSL ships.

Our operations derive from xDSL's of the same name, so that code which knows only xDSL's class still recognises them.
xDSL's own decorator refuses to derive from a finished operation; `amend` takes its place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
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


def amend(cls: type[OpT]) -> type[OpT]:
    """Finish a class derived from one of xDSL's operations, possibly with mixins before it in the list of bases.

    What the class and its mixins declare replaces the declaration of the same name, or is added; the rest is inherited:
    operands, results, regions, properties, options, traits, syntax. The verifier is not inherited: xDSL words its
    errors differently, so a class without `verify_` is checked against its constraints alone.
    """
    finished = next(c for c in cls.__mro__[1:] if "get_irdl_definition" in vars(c))
    body: dict[str, Any] = {}
    for part in reversed(cls.__mro__[: cls.__mro__.index(finished)]):
        body |= vars(part)
    definition = cast(type[IRDLOperation], finished).get_irdl_definition()
    if fields := {name: value for name, value in body.items() if _is_declaration(name, value)}:
        definition = _amended_definition(cls, definition, fields)
        for name, value in get_accessors_from_op_def(definition, None).items():
            setattr(cls, name, value)
    type.__setattr__(cls, "verify_", _verifier(definition, body.get("verify_")))
    if cls.assembly_format is not None and "parse" not in body:
        _add_syntax(cls, cls.assembly_format)
    return cls


def _is_declaration(name: str, value: object) -> bool:
    return isinstance(value, _FIELDS) or name in ("traits", "irdl_options")


def _amended_definition(cls: type[IRDLOperation], old: OpDef, fields: dict[str, Any]) -> OpDef:
    own = type(cls.__name__, (IRDLOperation,), fields | {"name": cls.name, "__annotations__": {}})
    new = OpDef.from_pyrdl(own)
    return OpDef(
        old.name,
        operands=_merged(old.operands, new.operands),
        results=_merged(old.results, new.results),
        regions=_merged(old.regions, new.regions),
        successors=_merged(old.successors, new.successors),
        properties=old.properties | new.properties,
        attributes={name: value for name, value in old.attributes.items() if name not in new.properties}
        | new.attributes,
        options=new.options if "irdl_options" in fields else old.options,
        traits=new.traits if "traits" in fields else old.traits,
        accessor_names=old.accessor_names | new.accessor_names,
        custom_directives={directive.__name__: directive for directive in cls.custom_directives},
    )


def _verifier(op_def: OpDef, custom_verify: Callable[[Any], None] | None) -> Callable[[Any], None]:
    """As xDSL makes it; our own verifier knows the names of the variables and calls the two parts by themselves."""

    def verify_(self: IRDLOperation) -> None:
        op_def.verify(self)
        if custom_verify is not None:
            custom_verify(self)

    return verify_


def _merged(old: list[tuple[str, _Named]], new: list[tuple[str, _Named]]) -> list[tuple[str, _Named]]:
    replaced = dict(new)
    names = {name for name, _ in old}
    return [(name, replaced.get(name, value)) for name, value in old] + [pair for pair in new if pair[0] not in names]


def amended(dialect: Dialect, ops: Iterable[type[Operation]], attributes: Iterable[type[Attribute]] = ()) -> Dialect:
    """`dialect` with operations and attributes replaced by those of the same name, and the others added."""
    all_ops = {op.name: op for op in dialect.operations} | {op.name: op for op in ops}
    all_attributes = {a.name: a for a in dialect.attributes} | {a.name: a for a in attributes}
    return Dialect(dialect.name, list(all_ops.values()), list(all_attributes.values()), list(dialect._interfaces))
