"""Modules of kernels, the functions in them, and what they are compiled to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self, cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    DictionaryAttr,
    FunctionType,
    IntegerType,
    NoneAttr,
    StringAttr,
    UnitAttr,
    i32,
)
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region
from xdsl.irdl import IRDLOperation, base, opt_prop_def, prop_def, region_def, traits_def, var_operand_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import IsolatedFromAbove, IsTerminator, NoTerminator, Pure, ReturnLike, SymbolOpInterface, SymbolTable
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects._ods import ParentOp, op_definition
from tilewright.dialects._syntax import TypedOperandsOp, print_attributes, split_attributes
from tilewright.dialects.func import parse_signature
from tilewright.dialects.gpu.attributes import SelectObjectAttr
from tilewright.dialects.gpu.attributions import (
    KEYWORDS,
    WORKGROUP_COUNT,
    count_attr,
    listed,
    parse_attributions,
    print_attributions,
    verify_attributions,
    workgroup_count,
)
from tilewright.ir.constraints import described
from tilewright.ir.shown import quoted

KERNEL = "gpu.kernel"
"""On a function: the host starts it."""
CONTAINER = "gpu.container_module"
"""On a module: it holds modules of kernels."""
CLUSTER_SIZE = "gpu.known_cluster_size"
"""On a function, or on what becomes one: how many neighbours in each dimension of the grid run together."""
_SPELLED = "function_type", "arg_attrs", "res_attrs", "workgroup_attrib_attrs", "private_attrib_attrs"
_HIDDEN = "sym_name", KERNEL, WORKGROUP_COUNT
"""What the syntax of functions says without naming it."""
LEAST_BLOCKS = "nvvm.minctasm"
"""On a function, or on what becomes one: how many blocks NVIDIA's compiler leaves a multiprocessor registers for."""
_THREE = "i32 dense array attribute with 3 elements (if present)"
SIZES = described(DenseArrayBase.constr(i32), _THREE, lambda sizes: len(sizes) == 3)


@op_definition
class GPUModuleOp(IRDLOperation):
    """Code for a device, compiled for each of its targets."""

    name = "gpu.module"

    sym_name = prop_def(StringAttr)
    targets = opt_prop_def(ArrayAttr)
    offloading_handler = opt_prop_def(prop_name="offloadingHandler")
    body = region_def("single_block")

    traits = traits_def(IsolatedFromAbove(), NoTerminator(), SymbolOpInterface(), SymbolTable())

    def __init__(self, name: str, ops: Sequence[Operation] = ()):
        super().__init__(properties={"sym_name": StringAttr(name)}, regions=[Region(Block(ops))])

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        properties: dict[str, Attribute] = {"sym_name": parser.parse_symbol_name()}
        if parser.parse_optional_punctuation("<") is not None:
            properties["offloadingHandler"] = parser.parse_attribute()
            parser.parse_punctuation(">")
        targets = parser.parse_optional_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_attribute)
        if targets is not None:
            properties["targets"] = ArrayAttr(targets)
        written = parser.parse_optional_attr_dict_with_keyword()
        known, attributes = split_attributes(cls, {} if written is None else written.data)
        body = parser.parse_region()
        # A module without kernels has its block all the same.
        if body.first_block is None:
            body.add_block(Block())
        return cls.create(properties=properties | known, attributes=attributes, regions=[body])

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_symbol_name(self.sym_name.data)
        if self.offloading_handler is not None:
            printer.print_string("<")
            printer.print_attribute(self.offloading_handler)
            printer.print_string(">")
        if self.targets is not None:
            printer.print_string(" ")
            printer.print_attribute(self.targets)
        print_attributes(printer, self, ("sym_name", "targets", "offloadingHandler"), keyword=True)
        printer.print_string(" ")
        printer.print_region(self.body, print_empty_block=False)


@op_definition
class GPUFuncOp(IRDLOperation):
    """A function of a device, with memory of its own for blocks and threads; the host may start kernels."""

    name = "gpu.func"

    function_type = prop_def(described(base(FunctionType), "type attribute of function type"))
    arg_attrs = opt_prop_def(ArrayAttr[DictionaryAttr])
    res_attrs = opt_prop_def(ArrayAttr[DictionaryAttr])
    workgroup_attrib_attrs = opt_prop_def(ArrayAttr[DictionaryAttr])
    private_attrib_attrs = opt_prop_def(ArrayAttr[DictionaryAttr])
    known_block_size = opt_prop_def(SIZES)
    known_grid_size = opt_prop_def(SIZES)
    known_cluster_size = opt_prop_def(SIZES)
    body = region_def()

    traits = traits_def(ParentOp("gpu.module"), IsolatedFromAbove(), SymbolOpInterface())

    @property
    def symbol(self) -> str:
        return cast(StringAttr, self.attributes["sym_name"]).data

    @property
    def is_kernel(self) -> bool:
        return KERNEL in self.attributes

    def known_size(self, of: str) -> tuple[int, int, int] | None:
        """How many there are in each dimension of a "block" or a "cluster", if the program says so."""
        name = f"known_{of}_size"
        # both ways to write it
        found = self.properties.get(name) or self.attributes.get(f"gpu.{name}")
        if not isinstance(found, DenseArrayBase):
            return None
        x, y, z = cast("DenseArrayBase[IntegerType]", found).get_values()
        return x, y, z

    @property
    def workgroup_buffers(self) -> Sequence[BlockArgument]:
        first = len(self.function_type.inputs)
        return self.body.blocks[0].args[first : first + workgroup_count(self)]

    @property
    def private_buffers(self) -> Sequence[BlockArgument]:
        return self.body.blocks[0].args[len(self.function_type.inputs) + workgroup_count(self) :]

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        name = parser.parse_symbol_name()
        signature = parse_signature(parser)
        properties: dict[str, Attribute] = {"function_type": signature.type}
        # Attributes of arguments, results and attributions: four lists, each of them optional.
        lists = {"arg_attrs": signature.argument_attributes, "res_attrs": signature.result_attributes}
        arguments = list(signature.arguments or ())
        counts: list[int] = []
        for keyword in KEYWORDS:
            buffers, dictionaries = parse_attributions(parser, keyword)
            arguments += buffers
            counts.append(len(buffers))
            lists[f"{keyword}_attrib_attrs"] = listed(dictionaries)
        properties |= {key: value for key, value in lists.items() if value is not None}
        # Name, kernel mark and count are attributes in MLIR, not properties of `gpu.func`.
        attributes: dict[str, Attribute] = {"sym_name": name, WORKGROUP_COUNT: count_attr(counts[0])}
        if parser.parse_optional_keyword("kernel") is not None:
            attributes[KERNEL] = UnitAttr()
        written = parser.parse_optional_attr_dict_with_keyword()
        known, others = split_attributes(cls, {} if written is None else written.data)
        body = parser.parse_region(arguments)
        return cls.create(properties=properties | known, attributes=attributes | others, regions=[body])

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_symbol_name(self.symbol)
        self._print_signature(printer)
        print_attributions(printer, "workgroup", self.workgroup_buffers, self.workgroup_attrib_attrs)
        print_attributions(printer, "private", self.private_buffers, self.private_attrib_attrs)
        if self.is_kernel:
            printer.print_string(" kernel")
        # Attributes and the properties that have no place in the syntax, in one dictionary.
        shown = {key: value for key, value in self.attributes.items() if key not in _HIDDEN}
        shown |= {key: value for key, value in self.properties.items() if key not in _SPELLED}
        if shown:
            printer.print_op_attributes(shown, print_keyword=True)
        printer.print_string(" ")
        printer.print_region(self.body, print_entry_block_args=False)

    def _print_signature(self, printer: Printer) -> None:
        # Attributions are arguments of the body too, behind those of the function.
        arguments = self.body.blocks[0].args[: len(self.function_type.inputs)]
        dictionaries = self.arg_attrs.data if self.arg_attrs is not None else [DictionaryAttr({})] * len(arguments)
        printer.print_string("(")
        for number, (argument, dictionary) in enumerate(zip(arguments, dictionaries, strict=True)):
            printer.print_string(", " if number else "")
            printer.print_ssa_value(argument)
            printer.print_string(": ")
            printer.print_attribute(argument.type)
            if dictionary.data:
                printer.print_op_attributes(dictionary.data)
        printer.print_string(")")
        results = self.function_type.outputs.data
        if results:
            printer.print_string(" -> ")
            # One result without attributes stands without parentheses.
            printer.print_string("(" if len(results) > 1 or self.res_attrs is not None else "")
            self._print_results(printer)
            printer.print_string(")" if len(results) > 1 or self.res_attrs is not None else "")

    def _print_results(self, printer: Printer) -> None:
        results = self.function_type.outputs.data
        dictionaries = self.res_attrs.data if self.res_attrs is not None else [DictionaryAttr({})] * len(results)
        for number, (type, dictionary) in enumerate(zip(results, dictionaries, strict=True)):
            printer.print_string(", " if number else "")
            printer.print_attribute(type)
            if dictionary.data:
                printer.print_op_attributes(dictionary.data)

    def verify_(self) -> None:
        # The host could not receive it.
        if self.is_kernel and self.function_type.outputs.data:
            raise VerifyException("expected void return type for kernel function")
        if self.body.first_block is None:
            raise VerifyException("expected body with at least one block")
        inputs = self.function_type.inputs.data
        arguments = self.body.blocks[0].args
        expected = len(inputs) + workgroup_count(self)
        if len(arguments) < expected:
            raise VerifyException(f"expected at least {expected} arguments to body region")
        for number, (argument, type) in enumerate(zip(arguments, inputs, strict=False)):
            if argument.type != type:
                raise VerifyException(
                    f"expected body region argument #{number} to be of type {quoted(type)}, got {quoted(argument.type)}"
                )
        verify_attributions(arguments[len(inputs) :])


@op_definition
class ReturnOp(TypedOperandsOp):
    """The results of a function of a device."""

    name = "gpu.return"

    values = var_operand_def()

    traits = traits_def(ParentOp("gpu.func"), IsTerminator(), ReturnLike(), Pure())

    def verify_(self) -> None:
        function = self.parent_op()
        assert isinstance(function, GPUFuncOp)
        results = function.function_type.outputs.data
        if len(results) != len(self.operands):
            raise VerifyException(f"expected {len(results)} result operands")
        for number, (expected, value) in enumerate(zip(results, self.operands, strict=True)):
            if expected != value.type:
                raise VerifyException(f"unexpected type `{value.type}' for operand #{number}")


@op_definition
class BinaryOp(IRDLOperation):
    """A module of kernels, compiled."""

    name = "gpu.binary"

    sym_name = prop_def(StringAttr)
    objects = prop_def(ArrayAttr)
    offloading_handler = opt_prop_def(prop_name="offloadingHandler")

    traits = traits_def(SymbolOpInterface())

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        properties: dict[str, Attribute] = {"sym_name": parser.parse_symbol_name()}
        # MLIR sets the default when it reads, and does not print it.
        handler: Attribute = SelectObjectAttr(NoneAttr())
        if parser.parse_optional_punctuation("<") is not None:
            handler = parser.parse_attribute()
            parser.parse_punctuation(">")
        known, attributes = split_attributes(cls, parser.parse_optional_attr_dict())
        objects = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_attribute)
        properties |= {"objects": ArrayAttr(objects), "offloadingHandler": handler}
        return cls.create(properties=properties | known, attributes=attributes)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_symbol_name(self.sym_name.data)
        printer.print_string(" ")
        handler = self.offloading_handler
        if handler is not None and handler != SelectObjectAttr(NoneAttr()):
            printer.print_string("<")
            printer.print_attribute(handler)
            printer.print_string(">")
        print_attributes(printer, self, ("sym_name", "objects", "offloadingHandler"))
        printer.print_string(" ")
        printer.print_attribute(self.objects)


OPS: Sequence[type[IRDLOperation]] = [GPUModuleOp, GPUFuncOp, ReturnOp, BinaryOp]
