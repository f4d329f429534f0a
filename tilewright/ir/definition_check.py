"""Operations against their definitions, quickly: most look like one that was checked already."""

from __future__ import annotations

from xdsl.ir import Attribute, Operation
from xdsl.irdl import OpDef

from tilewright.ir.constraints import verify_definition


class DefinitionCheck:
    """Checks operations against their definitions, each shape of operation once."""

    def __init__(self):
        self.allowed = set[tuple[object, ...]]()
        """Shapes that were found to be right."""
        self.numbers = dict[Attribute, int]()
        self.known = dict[int, int]()
        """Numbers of the attributes met so far, by identity: most of them are met often."""

    def check(self, definition: OpDef, op: Operation) -> None:
        shape = self._shape(op)
        if shape not in self.allowed:
            verify_definition(definition, op)
            self.allowed.add(shape)

    def _shape(self, op: Operation) -> tuple[object, ...]:
        """All that a definition can speak about; operations of one shape are equally right."""
        known, properties, attributes = self.known.get, op.properties, op.attributes
        parts: list[Attribute] = [value._type for value in op._operands]
        parts += [result._type for result in op.results]
        if properties:
            parts += properties.values()
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

    def _canonical(self, attribute: Attribute) -> int:
        """A number that all attributes equal to this one have in common."""
        number = self.numbers.setdefault(attribute, len(self.numbers) + 1)
        self.known[id(attribute)] = number
        return number
