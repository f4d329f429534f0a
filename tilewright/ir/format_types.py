"""Inference of the types that a declared syntax leaves out from those that it shows.

A format says which types are written; the constraints of the operation say how the others follow. xDSL answers by
verifying and inferring anew for every operation. Here the answer is worked out once for each combination of types.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias, cast

from xdsl.ir import Attribute
from xdsl.irdl import (
    AttrConstraint,
    BaseAttr,
    EqAttrConstraint,
    IRDLOperation,
    OpDef,
    RangeConstraint,
    RangeLengthConstraint,
    RangeOf,
    VarConstraint,
    VerificationContext,
)
from xdsl.irdl.declarative_assembly_format import ParsingState
from xdsl.utils.exceptions import VerifyException

if TYPE_CHECKING:
    from tilewright.ir.parser import Parser

Rule: TypeAlias = "Callable[[Parser, Parts, int | None], Sequence[Attribute]]"
"""Gives the types of an operand or result, of which there are so many if that is known."""


class Parts(ParsingState):
    """What has been read of an operation; the state that xDSL's own directives work on, without its overhead."""

    def __init__(self, counts: tuple[int, int, int, int], op_type: type[IRDLOperation]):
        operands, results, regions, successors = counts
        self.operands = [None] * operands
        self.operand_types = [None] * operands
        self.result_types = [None] * results
        self.regions = [None] * regions
        self.successors = [None] * successors
        self.attributes = {}
        self.properties = {}
        self.op_type = op_type

    @property
    def context(self) -> VerificationContext:  # pyright: ignore[reportIncompatibleVariableOverride]
        return VerificationContext()


_Slot: TypeAlias = tuple[str, int | str]
"""An operand or result by number, or an attribute or property by name."""

_Given: TypeAlias = Sequence[Attribute | None]
"""What stands in a slot."""

_NOT_GIVEN = (None,)


class TypeRules:
    """How the types of operands and results follow from those that are written."""

    def __init__(self, definition: OpDef):
        self.constraints: dict[_Slot, RangeConstraint | AttrConstraint] = {
            **{("operand", i): part.constr for i, (_, part) in enumerate(definition.operands)},
            **{("result", i): part.constr for i, (_, part) in enumerate(definition.results)},
            **{("property", name): part.constr for name, part in definition.properties.items()},
            **{("attribute", name): part.constr for name, part in definition.attributes.items()},
        }
        self.defaults: dict[_Slot, Attribute | None] = {
            **{("property", name): part.default_value for name, part in definition.properties.items()},
            **{("attribute", name): part.default_value for name, part in definition.attributes.items()},
        }
        self.binding = [slot for slot, constraint in self.constraints.items() if _binds(constraint)]
        self.sizes_matter = any(part.constr.variables_from_length() for _, part in definition.operands)

    def rule(self, constraint: RangeConstraint, slot: _Slot) -> Rule:
        each = _element_constraint(constraint)
        if isinstance(each, BaseAttr | EqAttrConstraint) and each.can_infer(set()):
            return _constant_rule(each.infer(VerificationContext()))
        general = self._general_rule(constraint)
        if isinstance(each, VarConstraint):
            same = [
                other
                for other, other_constraint in self.constraints.items()
                if other != slot and other[0] in ("operand", "result")
                if isinstance(found := _single_constraint(other_constraint), VarConstraint) and found.name == each.name
            ]
            if same:
                return _same_rule(same, general)
        return general

    def _general_rule(self, constraint: RangeConstraint) -> Rule:
        """Let xDSL infer from whatever is given, once for each combination of what is given."""

        def infer(parser: Parser, parts: Parts, length: int | None) -> Sequence[Attribute]:
            given = [self._given(parts, slot) for slot in self.binding]
            sizes = [len(operands or ()) for operands in parts.operands] if self.sizes_matter else ()
            key = (rule_id, length, *sizes, *(id(one) for some in given for one in some))
            found = parser.inferred_types.get(key)
            if found is None:
                types = self._infer(constraint, parts, given, length)
                found = parser.inferred_types[key] = types, given
            return found[0]

        rule_id = id(infer)
        return infer

    def _infer(
        self, constraint: RangeConstraint, parts: Parts, given: Sequence[_Given], length: int | None
    ) -> Sequence[Attribute]:
        """What xDSL infers from what is given; what does not satisfy its constraint is a reason only if it fails."""
        context = VerificationContext()
        reasons: list[VerifyException] = []
        for slot, attributes in zip(self.binding, given, strict=True):
            try:
                self._bind(parts, slot, attributes, context)
            except VerifyException as reason:
                reasons.append(reason)
        try:
            return constraint.infer(context, length=length)
        except ValueError as error:
            raise (reasons or [error])[0] from None

    def _given(self, parts: Parts, slot: _Slot) -> _Given:
        """What stands in a slot; `(None,)` if it is not known yet."""
        kind, where = slot
        if kind == "operand":
            return parts.operand_types[cast(int, where)] or _NOT_GIVEN
        if kind == "result":
            return parts.result_types[cast(int, where)] or _NOT_GIVEN
        values = parts.properties if kind == "property" else parts.attributes
        return (values.get(cast(str, where), self.defaults[slot]),)

    def _bind(self, parts: Parts, slot: _Slot, given: Sequence[Attribute | None], context: VerificationContext) -> None:
        """Let what stands in a slot determine variables."""
        constraint = self.constraints[slot]
        if isinstance(constraint, RangeConstraint):
            if slot[0] == "operand":
                constraint.verify_length(len(parts.operands[cast(int, slot[1])] or ()), context)
            if given is not _NOT_GIVEN:
                constraint.verify(cast(Sequence[Attribute], given), context)
        elif given[0] is not None:
            constraint.verify(given[0], context)


def _binds(constraint: RangeConstraint | AttrConstraint) -> bool:
    """Whether something that satisfies the constraint tells the value of a variable."""
    if constraint.variables():
        return True
    return isinstance(constraint, RangeConstraint) and bool(constraint.variables_from_length())


def _element_constraint(constraint: RangeConstraint) -> AttrConstraint | None:
    """The constraint on each type of a range, if that is all there is to it."""
    if isinstance(constraint, RangeLengthConstraint):
        constraint = constraint.constraint
    return constraint.constr if isinstance(constraint, RangeOf) else None


def _single_constraint(constraint: RangeConstraint | AttrConstraint) -> AttrConstraint | None:
    return _element_constraint(constraint) if isinstance(constraint, RangeLengthConstraint) else None


def _constant_rule(type: Attribute) -> Rule:
    def rule(parser: Parser, parts: Parts, length: int | None) -> Sequence[Attribute]:
        return (type,) if length is None or length == 1 else (type,) * length

    return rule


def _same_rule(slots: Sequence[_Slot], otherwise: Rule) -> Rule:
    """The type of the first of these operands and results that has one."""

    def rule(parser: Parser, parts: Parts, length: int | None) -> Sequence[Attribute]:
        for kind, index in slots:
            types = (parts.operand_types if kind == "operand" else parts.result_types)[cast(int, index)]
            if types is not None and len(types) == 1:
                return types if length is None or length == 1 else (types[0],) * length
        return otherwise(parser, parts, length)

    return rule
