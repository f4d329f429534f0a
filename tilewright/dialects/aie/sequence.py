"""The program of the controller beside the array, and the descriptor chains it can start."""

from __future__ import annotations

import struct
from collections import deque
from collections.abc import Sequence
from typing import NamedTuple, SupportsFloat, TypeVar, cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    BoolAttr,
    DenseArrayBase,
    IntegerAttr,
    IntegerType,
    MemRefType,
    StringAttr,
    SymbolNameConstraint,
    UnrankedMemRefType,
    i8,
    i32,
    i64,
)
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue
from xdsl.irdl import IRDLOperation, opt_prop_def, prop_def, region_def, traits_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import NoTerminator, SymbolOpInterface
from xdsl.utils.hints import isa

from tilewright.dialects._ods import ParentOp, op_definition
from tilewright.dialects._syntax import print_attributes, split_attributes
from tilewright.dialects.aie.data_layout import element_count
from tilewright.dialects.aie.interfaces import SkipAccessibilityCheck
from tilewright.ir.diagnostics import fail_op

OpT = TypeVar("OpT", bound=IRDLOperation)

DEFAULT_NAME = "sequence"
COMPUTES = "arith."
TAKES_NUMBERS = (COMPUTES, "scf.")
ARGUMENT_NAMES = "tilewright.argument_names"
"""Attribute of a sequence with what the source called its arguments; their names in printed text are others."""

FLOAT_ARGUMENTS = "tilewright.float_arguments"
"""Attribute of a sequence: the numbers of those i32 arguments that are the bits of an f32."""

SIZE_ARGUMENTS = "tilewright.size_arguments"
"""Attribute of a sequence: pairs of numbers, of an argument and of the buffer that it is the number of elements of."""

OPEN_ARGUMENTS = "tilewright.open_arguments"
"""Attribute of a sequence: the numbers of those buffers whose types say how large one problem is, and do not bound what
the host gives."""

TRACE_ARGUMENT = "trace"
"""Name of the argument that the lowering of traces adds at the end: where they are written to."""

CONTROL_PACKETS = "tilewright.control_packets"
"""Attribute of a sequence: the number of the argument that is a buffer of control packets, and the buffer's words."""


class HostBuffer(NamedTuple):
    """A buffer of the host whose contents belong to the program: which argument it is, and its words."""

    argument: int
    words: tuple[int, ...]


def _parse_arguments_and_body(parser: Parser, op_type: type[OpT], name: StringAttr | None) -> OpT:
    """`(%a: type, ...) attributes {...} { ... }`, for an operation of which the name was read before."""

    def parse_argument() -> Parser.Argument:
        argument = parser.parse_argument()
        parser.parse_optional_attr_dict()  # read and forgotten, as upstream does
        return argument

    arguments = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parse_argument)
    written = parser.parse_optional_attr_dict_with_keyword()
    properties, attributes = split_attributes(op_type, written.data if written is not None else {})
    if name is not None:
        properties["sym_name"] = name
    return op_type.create(properties=properties, attributes=attributes, regions=[parser.parse_region(arguments)])


def _print_arguments_and_body(printer: Printer, op: IRDLOperation, print_empty_block: bool = True) -> None:
    (body,) = op.regions
    with printer.in_parens():
        printer.print_list(body.first_block.args if body.first_block is not None else (), printer.print_block_argument)
    print_attributes(printer, op, elided=("sym_name",), keyword=True)
    printer.print_string(" ")
    printer.print_region(body, print_entry_block_args=False, print_empty_block=print_empty_block)


def is_computation(op: Operation) -> bool:
    """Whether an operation is one on numbers that a sequence does as well where it stands beside the sequence."""
    return op.name.startswith(COMPUTES)


@op_definition
class RuntimeSequenceOp(IRDLOperation):
    """What the controller does when the host calls it; the arguments are the host's buffers and numbers."""

    name = "aie.runtime_sequence"

    sym_name = prop_def(SymbolNameConstraint(), default_value=StringAttr(DEFAULT_NAME))
    emit_parameter_sync_preamble = opt_prop_def(BoolAttr)
    body = region_def()

    traits = traits_def(SymbolOpInterface(), NoTerminator(), ParentOp("aie.device"))

    def __init__(self, argument_types: Sequence[Attribute] = (), name: str = DEFAULT_NAME):
        super().__init__(properties={"sym_name": StringAttr(name)}, regions=[Region(Block(arg_types=argument_types))])

    @property
    def argument_names(self) -> list[str]:
        """The names of the arguments in the source, each another one."""
        match self.attributes.get(ARGUMENT_NAMES):
            case ArrayAttr() as kept:
                names = list(dict.fromkeys(name.data for name in kept if isinstance(name, StringAttr)))
            case _:
                names = []
        arguments = self.body.block.args
        if len(names) != len(arguments):  # the attribute is discardable, and may be anything
            return [argument.name_hint or f"arg{argument.index}" for argument in arguments]
        return names

    @property
    def outer_computations(self) -> list[Operation]:
        """Computations beside the sequence that it uses, in their order; it does them as if they stood at its start.

        Programs write such constants for all of their sequences, and CSE makes equal ones inside into those. Numbers
        from elsewhere are refused.
        """
        device, users, found = self.parent, deque[Operation](self.walk()), set[Operation]()
        while users:
            user = users.popleft()
            for operand in user.operands:
                owner = operand.owner
                # a sequence stands in a device, which sees nothing from outside
                if not isinstance(owner, Operation) or owner.parent is not device or owner in found:
                    continue
                if is_computation(owner):
                    found.add(owner)
                    users.append(owner)
                # an index may be a tile or a lock, which operations that are not lowered yet take
                elif isinstance(operand.type, IntegerType) or user.name.startswith(TAKES_NUMBERS):
                    text = "stands beside a sequence that uses its result, and is no arithmetic (arith) on constants"
                    fail_op(owner, text, (user, "the result is used here"))
        return [op for op in device.ops if op in found] if device is not None and found else []

    def takes_float(self, number: int) -> bool:
        """Whether an argument is an f32 to hosts."""
        floats = self.attributes.get(FLOAT_ARGUMENTS)
        return isinstance(floats, DenseArrayBase) and number in floats.get_values()

    def as_taken(self, number: int, value: object) -> object:
        """A host's value as an argument takes it: the bits of a number where it is an f32, else the value itself."""
        if not self.takes_float(number) or isinstance(value, bool) or not isinstance(value, SupportsFloat):
            return value
        # signed, as all numbers are that hosts pass for an i32
        return int.from_bytes(struct.pack("<f", float(value)), "little", signed=True)

    @property
    def _size_arguments(self) -> list[int]:
        pairs = self.attributes.get(SIZE_ARGUMENTS)
        return list[int](pairs.get_values()) if isinstance(pairs, DenseArrayBase) else []

    def buffer_counted_by(self, number: int) -> int | None:
        """The buffer whose size an argument is; a run knows it from the host's array."""
        numbers = self._size_arguments
        return dict(zip(numbers[::2], numbers[1::2], strict=True)).get(number)

    def add_size(self, buffer: BlockArgument) -> BlockArgument:
        """A last argument that is the number of elements of a buffer."""
        name = buffer.name_hint or f"arg{buffer.index}"
        self.add_argument(IntegerType(32), f"{name}_size")
        added = self.body.block.args[-1]
        numbers = [*self._size_arguments, added.index, buffer.index]
        self.attributes[SIZE_ARGUMENTS] = DenseArrayBase.from_list(i64, numbers)
        return added

    @property
    def trace_argument(self) -> int | None:
        """The buffer that the lowering of traces added, bytes at the end; nothing else marks it in lowered text."""
        match self.body.block.args:
            case (*_, BlockArgument(type=MemRefType(element_type=element), index=number)) if element == i8:
                return number if self.argument_names[-1].startswith(TRACE_ARGUMENT) else None
            case _:
                return None

    @property
    def control_packets(self) -> HostBuffer | None:
        """The control packets that the sequence sends, where it has them from an argument."""
        match self.attributes.get(CONTROL_PACKETS):
            case ArrayAttr(data=(IntegerAttr() as number, words)) if isa(words, DenseArrayBase[IntegerType]):
                argument = number.value.data
                is_one = argument in range(len(self.body.block.args))  # the attribute may be anything
                return HostBuffer(argument, tuple(words.get_values())) if is_one else None
            case _:
                return None

    def keep_control_packets(self, words: Sequence[int]) -> None:
        """Note what the last argument, a buffer of control packets, has in it."""
        number = IntegerAttr(len(self.body.block.args) - 1, i32)
        signed = [word - (1 << 32 if word >> 31 else 0) for word in words]
        self.attributes[CONTROL_PACKETS] = ArrayAttr([number, DenseArrayBase.from_list(i32, signed)])

    @property
    def open_arguments(self) -> list[int]:
        """The numbers of the buffers of which the host may give more than their types say."""
        numbers = self.attributes.get(OPEN_ARGUMENTS)
        return list[int](numbers.get_values()) if isinstance(numbers, DenseArrayBase) else []

    def make_open(self, buffer: BlockArgument) -> None:
        """Let the host give more of a buffer than its type says."""
        numbers = sorted({*self.open_arguments, buffer.index})
        self.attributes[OPEN_ARGUMENTS] = DenseArrayBase.from_list(i64, numbers)

    def add_argument(self, type: Attribute, name: str) -> None:
        """Add a last argument; it gets this name, with a number behind it if another one has it."""
        names = self.argument_names
        name = next(free for free in (name, *(f"{name}{n}" for n in range(1, len(names) + 1))) if free not in names)
        block = self.body.block
        block.insert_arg(type, len(block.args)).name_hint = name
        if ARGUMENT_NAMES in self.attributes:
            self.attributes[ARGUMENT_NAMES] = ArrayAttr(map(StringAttr, (*names, name)))

    @classmethod
    def parse(cls, parser: Parser) -> RuntimeSequenceOp:
        return parse_runtime_sequence(parser)

    def print(self, printer: Printer) -> None:
        if self.sym_name.data != DEFAULT_NAME:
            printer.print_string(" ")
            printer.print_symbol_name(self.sym_name.data)
        _print_arguments_and_body(printer, self, print_empty_block=False)


def parse_runtime_sequence(parser: Parser) -> RuntimeSequenceOp:
    """What follows `aie.runtime_sequence`, or `aiex.runtime_sequence` as it was once called."""
    sequence = _parse_arguments_and_body(parser, RuntimeSequenceOp, parser.parse_optional_symbol_name())
    if sequence.body.first_block is None:  # written `{}`; one that does nothing still has its block
        sequence.body.add_block(Block())
    return sequence


@op_definition
class BdChainOp(IRDLOperation):
    """A chain of descriptors that takes its buffers and locks as arguments."""

    name = "aie.bd_chain"

    sym_name = prop_def(SymbolNameConstraint())
    body = region_def()

    traits = traits_def(SymbolOpInterface(), SkipAccessibilityCheck())

    @classmethod
    def parse(cls, parser: Parser) -> BdChainOp:
        return _parse_arguments_and_body(parser, cls, parser.parse_symbol_name())

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_symbol_name(self.sym_name.data)
        _print_arguments_and_body(printer, self)


def declared_elements(buffer: SSAValue) -> int | None:
    """How many elements a buffer has by its type; None where that is open, or not all that the host may give."""
    sequence = buffer.block.parent_op() if isinstance(buffer, BlockArgument) else None
    is_open = isinstance(sequence, RuntimeSequenceOp) and cast(BlockArgument, buffer).index in sequence.open_arguments
    return None if is_open else element_count(buffer.type)


def scalar_arguments(sequence: RuntimeSequenceOp) -> list[BlockArgument]:
    """The arguments that a generator takes: all but the host's buffers."""
    block = sequence.body.block
    return [arg for arg in block.args if not isinstance(arg.type, MemRefType | UnrankedMemRefType)]


OPS = [RuntimeSequenceOp, BdChainOp]
