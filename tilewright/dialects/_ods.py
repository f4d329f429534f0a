"""Definitions that MLIR can write and xDSL cannot: confined integers, keyword enums, named parents.

Formats are written in `assembly_format` as upstream writes them. They are compiled when the first operation of a kind
is read or printed: at about a millisecond each, compiling all of a dialect's on import would make it slow to start.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import IntEnum
from functools import cache, cached_property
from typing import Any, TypeVar, cast

from xdsl.dialects.builtin import IntegerAttr, IntegerType, Signedness, i32
from xdsl.ir import Attribute, Block, Operation, Region
from xdsl.irdl import IRDLOperation, OpDef, VerificationContext, irdl_op_definition, result_def, traits_def
from xdsl.irdl.constraints import AttrConstraint
from xdsl.irdl.declarative_assembly_format import FormatDirective, FormatProgram, ParsingState
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import IsTerminator, OpTrait, Pure, SingleBlockImplicitTerminator
from xdsl.utils.exceptions import VerifyException

from tilewright.ir.constraints import NumberConstraint
from tilewright.ir.create import with_cheap_create
from tilewright.ir.interned import wrapped_integer

OpT = TypeVar("OpT", bound=IRDLOperation)
EnumT = TypeVar("EnumT", bound=IntEnum)
SignlessAttr = IntegerAttr[IntegerType]


@cache
def _integer_type(width: int, signedness: Signedness) -> IntegerType:
    return IntegerType(width, signedness)


@dataclass(frozen=True)
class IntConstraint(NumberConstraint[SignlessAttr]):
    """An integer of one width within bounds, signless unless told; fails in MLIR's words."""

    width: int
    minimum: int | None = None
    maximum: int | None = None
    signedness: Signedness = Signedness.SIGNLESS

    @property
    def type(self) -> IntegerType:
        return _integer_type(self.width, self.signedness)

    @property
    def allows_all(self) -> bool:
        return self.minimum is None and self.maximum is None

    def accepts(self, attr: Attribute) -> bool:
        if not isinstance(attr, IntegerAttr) or cast(SignlessAttr, attr).type != self.type:
            return False
        value = attr.value.data
        return (self.minimum is None or value >= self.minimum) and (self.maximum is None or value <= self.maximum)

    @property
    def summary(self) -> str:
        text = f"{self.width}-bit {self.signedness.name.lower()} integer attribute"
        if self.minimum is not None:
            text += f" whose minimum value is {self.minimum}"
        return text if self.maximum is None else f"{text} whose maximum value is {self.maximum}"

    def verify(self, attr: Attribute, constraint_context: VerificationContext) -> None:
        if not self.accepts(attr):
            raise VerifyException(self.summary)

    def get_bases(self) -> set[type[Attribute]]:
        return {IntegerAttr}

    def mapping_type_vars(self, type_var_mapping: Any) -> IntConstraint:
        return self


@dataclass(frozen=True)
class EnumConstraint(IntConstraint):
    """An i32 that the custom form spells as a keyword: `str` of the enum's member."""

    cases: type[IntEnum] = IntEnum
    description: str = ""

    @property
    def allows_all(self) -> bool:
        return False

    def accepts(self, attr: Attribute) -> bool:
        return super().accepts(attr) and any(cast(SignlessAttr, attr).value.data == case for case in self.cases)

    @property
    def summary(self) -> str:
        return self.description


def i8_attr(minimum: int | None = None, maximum: int | None = None) -> AttrConstraint[SignlessAttr]:
    return IntConstraint(8, minimum, maximum)


def i32_attr(minimum: int | None = None, maximum: int | None = None) -> AttrConstraint[SignlessAttr]:
    return IntConstraint(32, minimum, maximum)


def i64_attr(minimum: int | None = None, maximum: int | None = None) -> AttrConstraint[SignlessAttr]:
    return IntConstraint(64, minimum, maximum)


def unsigned_attr(width: int) -> AttrConstraint[SignlessAttr]:
    return IntConstraint(width, signedness=Signedness.UNSIGNED)


def enum_attr(cases: type[IntEnum], description: str) -> AttrConstraint[SignlessAttr]:
    """`description` is what ODS calls the attribute; verification errors quote it."""
    return EnumConstraint(32, cases=cases, description=description)


def enum_value(cases: type[EnumT], attr: SignlessAttr) -> EnumT:
    return cases(attr.value.data)


def enum_to_attr(value: IntEnum) -> SignlessAttr:
    return wrapped_integer(int(value), i32)


@dataclass(frozen=True)
class ParentOp(OpTrait):
    """The operation stands directly in one of the operations named."""

    names: tuple[str, ...]  # not classes: those may be of a dialect that imports this one's

    def __init__(self, *names: str):
        object.__setattr__(self, "names", names)

    def verify(self, op: Operation) -> None:
        parent = op.parent_op()
        # one that is in no program yet may be checked on its own
        if parent is None or parent.name in self.names:
            return
        one_of = "" if len(self.names) == 1 else "to be one of "
        raise VerifyException(f"expects parent op {one_of}'{', '.join(self.names)}'")


class ImplicitTerminator(SingleBlockImplicitTerminator):
    """Regions of one block, whose terminator the custom form leaves out and memory always holds."""

    def verify(self, op: Operation) -> None:
        for index, region in enumerate(op.regions):
            if len(region.blocks) > 1:
                raise VerifyException(f"expects region #{index} to have 0 or 1 blocks")
            for block in region.blocks:
                last = block.last_op
                if last is None:
                    raise VerifyException("expects a non-empty block")
                if last.name != self.op_type.name:
                    raise VerifyException(f"expects regions to end with '{self.op_type.name}', found '{last.name}'")

    def ensure(self, op: Operation) -> None:
        """Terminate the blocks of a new operation; a copy gets its blocks, and their ends, after it exists."""
        for region in op.regions:
            for block in region.blocks:
                last = block.last_op
                # an operation that is not known may be a terminator, but here only one kind is right
                if last is None or not last.has_trait(IsTerminator, value_if_unregistered=False):
                    block.add_op(self.op_type.create())


class BlockOp(IRDLOperation):
    """An operation whose blocks are terminated as soon as it exists."""

    def __post_init__(self) -> None:
        super().__post_init__()  # fills in defaults
        for trait in self.get_traits_of_type(ImplicitTerminator):
            trait.ensure(self)


def parse_body(parser: Parser) -> Region:
    """A region that has its block even if there is nothing in it."""
    region = parser.parse_region()
    if region.first_block is None:  # `{}` reads as no block
        region.add_block(Block())
    return region


def print_body(printer: Printer, region: Region) -> None:
    """A region without its terminator, unless that says something."""
    last = region.last_block.last_op if region.last_block else None
    is_bare = last is not None and not (last.attributes or last.properties or last.operands or last.results)
    printer.print_region(region, print_block_terminators=not is_bare)


def op_definition(cls: type[OpT]) -> type[OpT]:
    """`irdl_op_definition`, for operations with the constraints and formats of this module."""
    source = cls.assembly_format
    cls.assembly_format = None  # else xDSL would compile it now
    cls = irdl_op_definition(cls)
    if source is not None:
        _add_syntax(cls, source)
    return with_cheap_create(cls)


class OdsFormatProgram(FormatProgram):
    """A format that is compiled when the first operation of its kind is read or printed.

    It reads operations whose types break their definition: to say so is for the verifier.
    """

    def __init__(self, source: str, op_class: type[IRDLOperation]):
        vars(self).update(source=source, op_class=op_class)  # xDSL's class is frozen

    @cached_property
    def stmts(self) -> Sequence[FormatDirective]:  # pyright: ignore[reportIncompatibleVariableOverride]
        from tilewright.dialects._formats import compile_format

        return compile_format(vars(self)["source"], vars(self)["op_class"].get_irdl_definition())

    def resolve_constraint_variables(self, state: ParsingState, op_def: OpDef) -> None:
        with suppress(VerifyException):
            super().resolve_constraint_variables(state, op_def)


def _add_syntax(cls: type[IRDLOperation], source: str) -> None:
    program = OdsFormatProgram(source, cls)

    # reader and printer of ours find the program in these closures, as in those of operations that xDSL defines
    def parse(cls: type[IRDLOperation], parser: Parser) -> IRDLOperation:
        return program.parse(parser, cls)

    def print_(self: IRDLOperation, printer: Printer) -> None:
        program.print(printer, self)

    syntax: dict[str, Callable[..., Any] | Any] = {"parse": classmethod(parse), "print": print_}
    for name, method in syntax.items():
        setattr(cls, name, method)


def register_read(name: str) -> type[IRDLOperation]:
    """The operation `name`, which reads a special register of 32 bits."""
    words = name.replace("_", ".").split(".")[1:]
    fields = {
        "name": name,
        "res": result_def(i32),
        "traits": traits_def(Pure()),
        "assembly_format": "attr-dict `:` type($res)",
        "__doc__": f"Read {' '.join(words)}.",
        "__module__": __name__,
    }
    return op_definition(type("".join(word.capitalize() for word in words) + "Op", (IRDLOperation,), fields))
