"""Programs as text, equal to what MLIR prints.

`print_module` and `module_text` print a whole program. `Printer` has the interface of xDSL's printer, on which the
`print` methods of operations and attributes rely. It comes in layers: text, attributes and, here, operations.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from io import StringIO
from typing import IO

from xdsl.dialect_interfaces.op_asm import OpAsmDialectInterface
from xdsl.dialects.builtin import UnregisteredOp
from xdsl.ir import Attribute, Block, BlockArgument, Dialect, Operation, Region, SSAValue
from xdsl.irdl.declarative_assembly_format import PrintingState
from xdsl.traits import IsolatedFromAbove, IsTerminator
from xdsl.utils.exceptions import VerifyException

from tilewright.ir.diagnostics import BROKEN_PROMISES
from tilewright.ir.names import ValueNames, default_dialect_of
from tilewright.ir.print_aliased import AliasingPrinter
from tilewright.ir.print_attributes import dictionary_text, function_type_text, keyword_text, location_text
from tilewright.ir.print_operations import OperationPrinter, operation_printer

UNKNOWN_VALUE = "<<UNKNOWN SSA VALUE>>"
FRAMES_PER_REGION = 24
"""Upper bound of the Python calls that printing one more nested region takes."""


@dataclass(eq=False, repr=False)
class Printer(AliasingPrinter):
    """Prints operations and what they are made of; see `print_module` for whole programs."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._names: ValueNames | None = None
        self._values: dict[int, str] = {}
        self._operation_printers: dict[type[Operation], OperationPrinter | None] = {}
        self._default_dialects: dict[type[Operation], str] = {}
        self._default_dialect = "builtin"
        self.format_state = PrintingState()
        """What the directives of a declared format tell each other about spaces, where that is not known beforehand."""

    def print_ssa_value(self, value: SSAValue) -> str:
        text = self._values.get(id(value)) or self._missing_name(value)
        self._out.append(text)
        return text[1:]

    def print_operand(self, operand: SSAValue) -> None:
        self._out.append(self._values.get(id(operand)) or self._missing_name(operand))

    def value_text(self, value: SSAValue) -> str:
        """`%name` of a value."""
        return self._values.get(id(value)) or self._missing_name(value)

    def _missing_name(self, value: SSAValue) -> str:
        """What a value is called that does not belong to what is being printed; if nothing is, name all around it."""
        owner = value.owner
        op = owner if isinstance(owner, Operation) else owner.parent_op()
        # An attribute or a message is printed, not an operation: name all values around once.
        if self._names is None and op is not None:
            self._values |= ValueNames(_naming_scope(op), generic=self.print_generic_format).values
        return self._values.setdefault(id(value), UNKNOWN_VALUE)

    def print_operands(self, operands: Sequence[SSAValue]) -> None:
        self._out.append(f"({', '.join([self.value_text(operand) for operand in operands])})")

    def print_block_name(self, block: Block) -> str:
        text = self.block_text(block)
        self._out.append(text)
        return text[1:]

    def block_text(self, block: Block) -> str:
        """`^name` of a block."""
        if self._names is not None and (text := self._names.blocks.get(id(block))):
            return text
        region = block.parent
        return f"^bb{region.blocks.index(block)}" if region is not None else "^bb0"

    def print_successors(self, successors: Sequence[Block]) -> None:
        if successors:
            self._out.append(f"[{', '.join([self.block_text(block) for block in successors])}]")

    def print_block_argument(
        self, arg: BlockArgument, print_type: bool = True, *, attributes: Mapping[str, Attribute] | None = None
    ) -> None:
        """`%arg0: i32 {attributes} loc(...)`"""
        self._out.append(self.value_text(arg))
        if print_type:
            self._out.append(f": {self.attribute_text(arg.type)}")
        if attributes:
            self._out.append(f" {self._unvisited_text(attributes)}")
        if self.print_debuginfo:
            self.attribute_text(arg.location)  # its alias is defined, though it is not used here
            self._out.append(f" loc({location_text(self, arg.location)})")

    def print_block(self, block: Block, print_block_args: bool = True, print_block_terminator: bool = True) -> None:
        if print_block_args:
            self._print_label(block)
        last = None
        # xDSL's flag hides whatever is last; only a terminator may be hidden.
        if not print_block_terminator and (end := block._last_op) is not None:
            last = end if end.has_trait(IsTerminator, value_if_unregistered=False) else None
        self._indent += 1
        newline = "\n" + " " * (self._indent * self.indent_num_spaces)
        op = block._first_op
        while op is not last and op is not None:
            self._out.append(newline)
            self._print_operation(op)
            op = op._next_op
        self._indent -= 1

    def _print_label(self, block: Block) -> None:
        self._print_new_line()
        self._out.append(self.block_text(block))
        if block._args:
            self._out.append("(")
            self.print_list(block._args, self.print_block_argument)
            self._out.append(")")
        self._out.append(f":{self._predecessors_comment(block)}")

    def _predecessors_comment(self, block: Block) -> str:
        predecessors = [self.block_text(predecessor) for predecessor in block.predecessors()]
        if len(predecessors) == 1:
            return f"  // pred: {predecessors[0]}"
        if predecessors:
            # MLIR sorts by number; the uses of a block are in the order in which they were made.
            predecessors.sort(key=lambda name: int(name.removeprefix("^bb")))
            return f"  // {len(predecessors)} preds: {', '.join(predecessors)}"
        return "" if block._prev_block is None else "  // no predecessors"

    def print_region(
        self,
        region: Region,
        print_entry_block_args: bool = True,
        print_empty_block: bool = False,
        print_block_terminators: bool = True,
    ) -> None:
        """A region in braces.

        As in MLIR, and unlike xDSL, the label of an empty block is only printed on request, and only the entry block
        can go without its terminator.
        """
        self._out.append("{")
        block = region._first_block
        if block is not None:
            outer = self._default_dialect
            self._default_dialect = self._default_dialect_in(region)
            print_label = (print_empty_block and block._first_op is None) or (
                print_entry_block_args and bool(block._args)
            )
            self.print_block(block, print_label, print_block_terminators)
            while (block := block._next_block) is not None:
                self.print_block(block)
            self._default_dialect = outer
        self._print_new_line()
        self._out.append("}")

    def _default_dialect_in(self, region: Region) -> str:
        op = region.parent
        if op is None:
            return ""
        name = self._default_dialects.get(type(op))
        if name is None:
            name = self._default_dialects[type(op)] = default_dialect_of(op)
        return name

    def print_regions(self, regions: Sequence[Region]) -> None:
        if regions:
            self._out.append(" (")
            self.print_list(regions, lambda region: self.print_region(region, print_empty_block=True))
            self._out.append(")")

    def set_format_state(self, state: PrintingState) -> None:
        self.format_state = state

    def print_op(self, op: Operation) -> None:
        """Print an operation; the outermost call names all values around it and writes the text out."""
        if self._names is not None:
            self._print_operation(op)
            return
        names = ValueNames(_naming_scope(op), generic=self.print_generic_format)
        self._names, self._values = names, names.values
        recursion_limit = sys.getrecursionlimit()
        # Regions print by recursion, and programs may nest deeper than Python's limit.
        sys.setrecursionlimit(recursion_limit + names.max_depth * FRAMES_PER_REGION)
        try:
            with self._captured() as pieces:
                self._print_operation(op)
            self._out.append("".join(pieces))
        finally:
            sys.setrecursionlimit(recursion_limit)
            self._names, self._values = None, {}

    def _print_operation(self, op: Operation) -> None:
        location = self._operation_location(op) if self.print_debuginfo else ""
        if op.results:
            assert self._names is not None
            self._out.append(self._names.results[id(op)])
        if self.print_generic_format:
            self.print_generic_operation(op)
        else:
            cls = type(op)
            try:
                custom = self._operation_printers[cls]
            except KeyError:
                custom = self._operation_printers[cls] = operation_printer(cls)
            if custom is None:
                self.print_generic_operation(op)
            else:
                name, default = op.name, self._default_dialect
                # `emitc.call` prints as `call` in an `emitc.func`; names with two dots keep their dialect.
                if default and name.startswith(default) and name.count(".") == 1 and name[len(default)] == ".":
                    name = name[len(default) + 1 :]
                self._out.append(name)
                custom(op, self)
        if location:
            self._out.append(location)

    def print_generic_operation(self, op: Operation) -> None:
        """`"dialect.op"(%0) <{...}> ({...}) {...} : (i32) -> i32`"""
        name = op.op_name.data if isinstance(op, UnregisteredOp) else op.name
        self._out.append(f'"{name}"')
        self.print_op_with_default_format(op)

    def print_op_with_default_format(self, op: Operation) -> None:
        # the order in which MLIR looks for aliases here is not that of the text: what is inside comes first
        regions = self._regions_pieces(op.regions) if op.regions else []
        types = function_type_text(self, [o.type for o in op._operands], [r.type for r in op.results])
        properties, attributes = op.properties, op.attributes
        unregistered = isinstance(op, UnregisteredOp)
        # xDSL keeps the name of an unknown operation among its attributes.
        if unregistered:
            attributes = {name: value for name, value in attributes.items() if name != "op_name__"}
        elif properties and attributes:
            both = properties | attributes
            # Aliases are numbered in the order of names over both dictionaries.
            for name in sorted(both):
                self.attribute_text(both[name])
        out = self._out
        self.print_operands(op._operands)
        self.print_successors(op._successors)
        if properties:
            text = self._unvisited_text(properties) if unregistered else dictionary_text(self, properties)
            out.append(f" <{text}>")
        for piece in regions:
            out.append(piece)
        if attributes:
            out.append(f" {dictionary_text(self, attributes)}")
        out.append(f" : {types}")

    def _regions_pieces(self, regions: Sequence[Region]) -> list[str]:
        """What the regions print, not joined: nested operations would join their text once per level."""
        with self._captured() as pieces:
            self.print_regions(regions)
        return pieces

    def name_like(self, value: SSAValue, other: SSAValue) -> None:
        """Have a value go by the name of another."""
        self._values[id(value)] = self.value_text(other)

    def print_function_type(self, input_types: Iterable[Attribute], output_types: Iterable[Attribute]) -> None:
        self._out.append(function_type_text(self, tuple(input_types), tuple(output_types)))

    def print_operation_type(self, op: Operation) -> None:
        self._out.append(function_type_text(self, op.operand_types, op.result_types))

    def print_program(self, op: Operation, dialects: Iterable[Dialect] = ()) -> None:
        """The operation with the definitions of its aliases and the resources that it mentions, and a final newline."""
        self.use_aliases = True
        with self._captured() as pieces:
            self.print_op(op)
        front, text, back = self._aliases.resolved("".join(pieces)) if self._aliases else ("", "".join(pieces), "")
        self._out.append(f"{front}{text}\n{back}")
        self.print_metadata(dialects)

    def print_metadata(self, dialects: Iterable[Dialect]) -> None:
        sections: list[str] = []
        for dialect in dialects:
            used = self._used_resources.get(dialect.name)
            if used and (interface := dialect.get_interface(OpAsmDialectInterface)) is not None:
                blobs = interface.build_resources(used)
                entries = ",\n".join([f'      {keyword_text(key)}: "{blobs[key]}"' for key in used if key in blobs])
                sections += [f"    {dialect.name}: {{\n{entries}\n    }}"] if entries else []
        if sections:
            self._out.append("\n{-#\n  dialect_resources: {\n" + ",\n".join(sections) + "\n  }\n#-}\n")


def _is_invalid(op: Operation) -> bool:
    from tilewright.ir.verifier import verify

    return bool(verify(op))


def _naming_scope(op: Operation) -> Operation:
    """The operation from which values are named when one alone is printed: around it, no value is in sight."""
    while not op.has_trait(IsolatedFromAbove, value_if_unregistered=False) and (parent := op.parent_op()) is not None:
        op = parent
    return op


def print_module(
    op: Operation,
    stream: IO[str] | None = None,
    *,
    generic: bool = False,
    debuginfo: bool = False,
    dialects: Iterable[Dialect] = (),
) -> None:
    """Print a program with the aliases and the resources of `dialects` that it mentions; to stdout by default.

    As in MLIR, an invalid program for which there is no custom form is printed in generic form.
    """
    try:
        Printer(stream, print_generic_format=generic, print_debuginfo=debuginfo).print_program(op, dialects)
    except (VerifyException, *BROKEN_PROMISES):
        # A printer that fails on a valid program is our mistake, and must be seen.
        if generic or not _is_invalid(op):
            raise
        print_module(op, stream, generic=True, debuginfo=debuginfo, dialects=dialects)


def module_text(
    op: Operation, *, generic: bool = False, debuginfo: bool = False, dialects: Iterable[Dialect] = ()
) -> str:
    """What `print_module` prints."""
    out = StringIO()
    print_module(op, out, generic=generic, debuginfo=debuginfo, dialects=dialects)
    return out.getvalue()
