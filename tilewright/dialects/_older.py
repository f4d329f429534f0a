"""Reading older programs: numbers that are operands now were attributes then."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import IntegerAttr, i32
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import IRDLOperation
from xdsl.parser import Parser

from tilewright.dialects._syntax import split_attributes


def constant_before(parser: Parser, value: int) -> SSAValue:
    """A number that an older program wrote as an attribute, as a constant before the operation that is being read."""
    pending: list[Operation] | None = getattr(parser, "pending_ops", None)
    if pending is None:  # only our own reader has a place for operations that reading another one brings about
        parser.raise_error("this parser cannot read values written as attributes")
    from tilewright.dialects.arith import ConstantOp  # which takes long to import

    constant = ConstantOp(IntegerAttr(value, i32, truncate_bits=True))
    pending.append(constant)
    return constant.result


@dataclass
class OlderAttributes:
    """An attribute dictionary in which older programs write numbers that are operands now."""

    parser: Parser
    position: int
    entries: dict[str, Attribute]

    @classmethod
    def parse(cls, parser: Parser) -> OlderAttributes:
        return cls(parser, parser.pos, dict(parser.parse_optional_attr_dict()))

    def take_operand(self, name: str) -> SSAValue:
        """The number `name` as a constant before the instruction."""
        attr = self.entries.pop(name, None)
        if not isinstance(attr, IntegerAttr):
            self.parser.raise_error(f"requires attribute '{name}'", self.position)
        return constant_before(self.parser, attr.value.data)

    def drop(self, *names: str) -> None:
        """Forget placeholders: one generation had the operands, and zeros next to them."""
        for name in names:
            self.entries.pop(name, None)

    def split(self, op: type[IRDLOperation]) -> tuple[dict[str, Attribute], dict[str, Attribute]]:
        """The properties of an operation, and the other attributes."""
        return split_attributes(op, self.entries)
