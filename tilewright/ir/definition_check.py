"""Operations against their definitions, quickly: most look like one that was checked already."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, cast

from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, SymbolNameConstraint
from xdsl.ir import Attribute, Operation
from xdsl.irdl import (
    AnyAttr,
    AttrConstraint,
    AttrSizedSegments,
    BaseAttr,
    IRDLOperation,
    OpDef,
    ParamAttrConstraint,
)

from tilewright.ir.constraints import Described, NumberConstraint, verify_definition

MOST_SEEN = 1 << 13


class DefinitionCheck:
    """Checks operations against their definitions, each shape of operation once.

    Args:
        is_lasting: the operations may go away before it does, so that another one comes to lie where one was
    """

    def __init__(self, *, is_lasting: bool = False):
        self.is_lasting = is_lasting
        self.allowed = set[tuple[object, ...]]()
        """Shapes that were found to be right."""
        self.seen = dict[tuple[object, ...], Sequence[Attribute]]()
        """The same by identity of their parts, which tells sooner, where operations have nothing in them.

        With the parts themselves where these would go away otherwise.
        """
        self.of_any_value = dict[type[Operation], frozenset[str]]()
        self.numbers = dict[Attribute | type[Attribute], int]()
        self.known = dict[int, int]()
        """Numbers of the attributes met so far, by identity: most of them are met often."""

    def check(self, definition: OpDef, op: Operation) -> None:
        look = None if op.regions or op.attributes or op._successors else self._look(op)
        if look is not None and look in self.seen:
            return
        shape = self._shape(op)
        if shape not in self.allowed:
            verify_definition(definition, op)
            self.allowed.add(shape)
        if look is not None:
            self.seen[look] = self._parts(op) if self.is_lasting else ()

    def _parts(self, op: Operation) -> Sequence[Attribute]:
        """What must stay for `_look` to mean the same later; of what is met once there must not be too much."""
        if len(self.seen) >= MOST_SEEN:
            self.seen.clear()
        return [*op.operand_types, *op.result_types, *op.properties.values()]

    def _look(self, op: Operation) -> tuple[object, ...]:
        """What `_shape` says, of these very objects: none goes away meanwhile, the program has them all or `seen`."""
        kind, results, properties = op.__class__, op.results, op.properties
        parts: list[object] = [id(value._type) for value in op._operands]
        if results:
            parts += [None, *[id(result._type) for result in results]]
        if properties:
            of_any_value = self.of_any_value.get(kind)
            if of_any_value is None:
                of_any_value = self.of_any_value[kind] = _properties_of_any_value(kind)
            parts += properties
            for name, value in properties.items():
                if name not in of_any_value:
                    parts.append(id(value))
                elif value.__class__ is IntegerAttr:
                    parts.append(id(cast(Any, value).type))
                elif value.__class__ is DenseArrayBase:
                    parts += DenseArrayBase, id(cast(Any, value).elt_type)
                else:
                    parts.append(value.__class__)
        return kind, *parts

    def _shape(self, op: Operation) -> tuple[object, ...]:
        """All that a definition can speak about; operations of one shape are equally right."""
        known, properties, attributes = self.known.get, op.properties, op.attributes
        parts: list[Attribute | type[Attribute]] = [value._type for value in op._operands]
        parts += [result._type for result in op.results]
        if properties:
            of_any_value = _properties_of_any_value(op.__class__)
            for name, value in properties.items():
                if name not in of_any_value:
                    parts.append(value)
                elif isinstance(value, DenseArrayBase):
                    parts += DenseArrayBase, cast(Any, value).elt_type
                else:
                    parts.append(cast(Any, value).type if isinstance(value, IntegerAttr) else value.__class__)
        if attributes:
            parts += attributes.values()
        regions = list[int]()
        for region in op.regions:
            entry = region._first_block
            regions.append(len(entry._args) if entry else -1)
            # Whether there is more than one block: that is all that definitions ask.
            regions.append(entry is region._last_block)
            if entry:
                parts += [argument._type for argument in entry._args]
        return (
            op.__class__,
            len(op._operands),
            len(op.results),
            len(op._successors),
            *properties,
            *attributes,
            *regions,
            # By number: equal types that are different objects have the same one.
            *[known(id(part)) or self._canonical(part) for part in parts],
        )

    def _canonical(self, attribute: Attribute | type[Attribute]) -> int:
        """A number that all attributes equal to this one have in common."""
        number = self.numbers.setdefault(attribute, len(self.numbers) + 1)
        if not self.is_lasting:
            self.known[id(attribute)] = number
        return number


@cache
def _properties_of_any_value(op_class: type[Operation]) -> frozenset[str]:
    """Properties of which a definition asks what kind they are, and not which number, name or text."""
    assert issubclass(op_class, IRDLOperation)
    definition = op_class.get_irdl_definition()
    # these say which operands belong together, so their numbers do matter
    segments = {option.attribute_name for option in definition.options if isinstance(option, AttrSizedSegments)}
    return frozenset(
        name
        for name, declared in definition.properties.items()
        if name not in segments and _allows_any_value(declared.constr)
    )


def _allows_any_value(constraint: AttrConstraint) -> bool:
    if type(constraint) is Described and constraint.holds is None:
        return _allows_any_value(cast(Any, constraint).constraint)
    if isinstance(constraint, NumberConstraint):
        return constraint.allows_all
    if isinstance(constraint, ParamAttrConstraint) and cast(Any, constraint).base_attr is DenseArrayBase:
        return isinstance(constraint.param_constrs[1], AnyAttr)  # of the elements only the type counts
    return isinstance(constraint, AnyAttr | BaseAttr | SymbolNameConstraint)
