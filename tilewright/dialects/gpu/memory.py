"""Device memory, as the host deals with it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Self

from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType, UnitAttr, UnrankedMemRefType, i32
from xdsl.ir import Attribute, Operation
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    base,
    operand_def,
    opt_prop_def,
    opt_result_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import EffectInstance, MemoryEffect, MemoryEffectKind
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects._ods import op_definition
from tilewright.dialects._syntax import (
    INDEX,
    PAREN,
    SQUARE,
    parse_operands,
    parse_optional_operands,
    parse_types,
    print_attributes,
    print_operands,
    print_types,
    resolve_all,
    segments,
    split_attributes,
)
from tilewright.dialects.gpu.attributes import ANY_TOKEN, TOKEN, parse_dependencies, print_dependencies
from tilewright.dialects.memref.types import ANY_MEMREF
from tilewright.ir.constraints import described

RANKED = described(base(MemRefType), "memref of any type values")
UNRANKED = described(base(UnrankedMemRefType), "unranked memref of any type values")


@op_definition
class WaitOp(IRDLOperation):
    """Wait for tokens, or make one that stands for all of them."""

    name = "gpu.wait"

    async_dependencies = var_operand_def(ANY_TOKEN)
    async_token = opt_result_def(ANY_TOKEN)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        is_async, tokens = parse_dependencies(parser)
        attributes = parser.parse_optional_attr_dict()
        return cls.create(operands=tokens, result_types=[TOKEN] if is_async else [], attributes=attributes)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        print_dependencies(printer, bool(self.results), self.operands)
        print_attributes(printer, self)


class AllocEffects(MemoryEffect):
    """Makes the buffer that it gives."""

    @classmethod
    def get_effects(cls, op: Operation) -> set[EffectInstance]:
        # On the value: an allocation without uses has no other effect, and can go.
        return {EffectInstance(MemoryEffectKind.ALLOC, op.results[0])}


@op_definition
class AllocOp(IRDLOperation):
    """A buffer in device memory, or one that host and device share."""

    name = "gpu.alloc"

    async_dependencies = var_operand_def(ANY_TOKEN)
    dynamic_sizes = var_operand_def(INDEX)
    symbol_operands = var_operand_def(INDEX)
    host_shared = opt_prop_def(UnitAttr, prop_name="hostShared")
    memref = result_def(RANKED)
    async_token = opt_result_def(ANY_TOKEN)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(AllocEffects())

    def result_names(self) -> Sequence[str | None]:
        # ODS names: several results are named after their declarations.
        return "memref", "asyncToken"

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        is_async, tokens = parse_dependencies(parser)
        is_shared = parser.parse_optional_keyword("host_shared") is not None
        sizes = resolve_all(parser, parse_operands(parser, PAREN), INDEX)
        symbols = resolve_all(parser, parse_optional_operands(parser, SQUARE), INDEX)
        properties, attributes = split_attributes(cls, parser.parse_optional_attr_dict())
        parser.parse_punctuation(":")
        types: list[Attribute] = [parser.parse_type()]
        properties["operandSegmentSizes"] = segments(len(tokens), len(sizes), len(symbols))
        properties |= {"hostShared": UnitAttr()} if is_shared else {}
        return cls.create(
            operands=[*tokens, *sizes, *symbols],
            result_types=types + [TOKEN] * is_async,
            properties=properties,
            attributes=attributes,
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        print_dependencies(printer, self.async_token is not None, self.async_dependencies)
        # The space is printed in any case, as in MLIR.
        printer.print_string(" host_shared " if self.host_shared is not None else " ")
        print_operands(printer, self.dynamic_sizes, "()")
        if self.symbol_operands:
            print_operands(printer, self.symbol_operands)
        print_attributes(printer, self, ("hostShared",))
        printer.print_string(" : ")
        printer.print_attribute(self.memref.type)

    def verify_(self) -> None:
        dynamic = self.memref.type.get_shape().count(DYNAMIC_INDEX)
        if dynamic != len(self.dynamic_sizes):
            raise VerifyException("dimension operand count does not equal memref dynamic dimension count")


class DeviceMemoryOp(IRDLOperation):
    """Does something to buffers: `%buffers : types`, after what it waits for."""

    COUNT: ClassVar[int]

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        is_async, tokens = parse_dependencies(parser)
        written = [parser.parse_unresolved_operand()]
        for _ in range(cls.COUNT - 1):
            parser.parse_punctuation(",")
            written.append(parser.parse_unresolved_operand())
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        values = parser.resolve_operands(written, parse_types(parser), parser.pos)
        return cls.create(operands=[*tokens, *values], result_types=[TOKEN] if is_async else [], attributes=attributes)

    def print(self, printer: Printer) -> None:
        # Tokens come first and vary in number, so buffers are counted from the end.
        values = self.operands[-self.COUNT :]
        tokens = self.operands[: -self.COUNT]
        printer.print_string(" ")
        print_dependencies(printer, bool(self.results), tokens)
        printer.print_string(" ")
        printer.print_list(values, printer.print_ssa_value)
        print_attributes(printer, self)
        printer.print_string(" : ")
        print_types(printer, [value.type for value in values])


class MemcpyEffects(MemoryEffect):
    """Reads the source and writes the destination."""

    @classmethod
    def get_effects(cls, op: Operation) -> set[EffectInstance]:
        destination, source = op.operands[-2:]
        return {
            EffectInstance(MemoryEffectKind.WRITE, destination),
            EffectInstance(MemoryEffectKind.READ, source),
        }


@op_definition
class MemcpyOp(DeviceMemoryOp):
    """Copy between host and device, in the direction that the buffers give."""

    name = "gpu.memcpy"
    COUNT: ClassVar[int] = 2

    async_dependencies = var_operand_def(ANY_TOKEN)
    dst = operand_def(ANY_MEMREF)
    src = operand_def(ANY_MEMREF)
    async_token = opt_result_def(ANY_TOKEN)

    traits = traits_def(MemcpyEffects())


class FirstOperandEffects(MemoryEffect):
    """Writes a buffer."""

    @classmethod
    def get_effects(cls, op: Operation) -> set[EffectInstance]:
        # The buffer; the last operand is the value.
        return {EffectInstance(MemoryEffectKind.WRITE, op.operands[-2])}


@op_definition
class MemsetOp(DeviceMemoryOp):
    """Set all elements of a buffer to a value."""

    name = "gpu.memset"
    COUNT: ClassVar[int] = 2

    async_dependencies = var_operand_def(ANY_TOKEN)
    dst = operand_def(ANY_MEMREF)
    value = operand_def()
    async_token = opt_result_def(ANY_TOKEN)

    traits = traits_def(FirstOperandEffects())


class FreeEffects(MemoryEffect):
    """Frees a buffer."""

    @classmethod
    def get_effects(cls, op: Operation) -> set[EffectInstance]:
        return {EffectInstance(MemoryEffectKind.FREE, op.operands[-1])}


@op_definition
class DeallocOp(DeviceMemoryOp):
    """Give device memory back."""

    name = "gpu.dealloc"
    COUNT: ClassVar[int] = 1

    async_dependencies = var_operand_def(ANY_TOKEN)
    memref = operand_def(ANY_MEMREF)
    async_token = opt_result_def(ANY_TOKEN)

    traits = traits_def(FreeEffects())


@op_definition
class HostRegisterOp(IRDLOperation):
    """Let kernels use a buffer of the host."""

    name = "gpu.host_register"
    value = operand_def(UNRANKED)
    assembly_format = "$value attr-dict `:` type($value)"


@op_definition
class HostUnregisterOp(IRDLOperation):
    """End what `gpu.host_register` began."""

    name = "gpu.host_unregister"
    value = operand_def(UNRANKED)
    assembly_format = "$value attr-dict `:` type($value)"


@op_definition
class SetDefaultDeviceOp(IRDLOperation):
    """Choose the device that this thread of the host uses from now on."""

    name = "gpu.set_default_device"
    device = operand_def(i32)
    assembly_format = "attr-dict $device"


OPS: Sequence[type[IRDLOperation]] = [
    WaitOp,
    AllocOp,
    MemcpyOp,
    MemsetOp,
    DeallocOp,
    HostRegisterOp,
    HostUnregisterOp,
    SetDefaultDeviceOp,
]
