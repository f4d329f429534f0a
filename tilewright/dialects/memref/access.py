"""Operations on the elements of a buffer."""
# pyright: reportIncompatibleVariableOverride=false, reportIncompatibleMethodOverride=false

from __future__ import annotations

from enum import StrEnum
from typing import Self, cast

from xdsl.dialects import memref as xdsl_memref
from xdsl.dialects.builtin import (
    AnyFloat,
    AnyFloatConstr,
    BoolAttr,
    IndexType,
    IntegerAttr,
    MemRefType,
    SignlessIntegerConstraint,
    i32,
    i64,
)
from xdsl.ir import SSAValue
from xdsl.irdl import (
    IRDLOperation,
    operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.irdl.declarative_assembly_format import (
    AttributeVariable,
    ParsingState,
    PrintingState,
    VariadicOperandVariable,
    irdl_custom_directive,
)
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.traits import (
    HasParent,
    IsTerminator,
    MemoryReadEffect,
    MemoryWriteEffect,
    Pure,
)
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects._derived import derived_op_definition
from tilewright.dialects._ods import op_definition
from tilewright.dialects._syntax import (
    INDEX,
    SQUARE,
    parse_enum_word,
    parse_indices,
    parse_operands,
    parse_types,
    print_attributes,
    print_operands,
    print_types,
)
from tilewright.dialects._type_directives import RankedMemRef, TypeOfBuffer
from tilewright.dialects.memref.types import (
    ALIGNMENT,
    FALSE,
    LOCALITY,
    is_ranked,
    memref_type,
)
from tilewright.ir.constraints import described
from tilewright.ir.print_operations import PartDirective
from tilewright.ir.shown import quoted


@derived_op_definition
class LoadOp(xdsl_memref.LoadOp):
    """Read one element of a buffer."""

    memref = operand_def(MemRefType)
    res = result_def()
    nontemporal = opt_prop_def(BoolAttr, default_value=FALSE)
    alignment = opt_prop_def(ALIGNMENT)
    custom_directives = (TypeOfBuffer,)
    assembly_format = "$memref `[` $indices `]` attr-dict `:` custom<TypeOfBuffer>(type($memref), type($res))"

    def verify_(self) -> None:
        type = memref_type(self.memref)
        if self.res.type != type.element_type:
            raise VerifyException("failed to verify that result type matches element type of 'memref'")
        if len(self.indices) != type.get_num_dims():
            raise VerifyException(
                f"incorrect number of indices for load, expected {type.get_num_dims()} but got {len(self.indices)}"
            )


@derived_op_definition
class StoreOp(xdsl_memref.StoreOp):
    """Write one element of a buffer."""

    value = operand_def()
    memref = operand_def(MemRefType)
    nontemporal = opt_prop_def(BoolAttr, default_value=FALSE)
    alignment = opt_prop_def(ALIGNMENT)
    custom_directives = (TypeOfBuffer,)
    assembly_format = (
        "$value `,` $memref `[` $indices `]` attr-dict `:` custom<TypeOfBuffer>(type($memref), type($value))"
    )

    def verify_(self) -> None:
        type = memref_type(self.memref)
        if self.value.type != type.element_type:
            raise VerifyException("failed to verify that type of 'value' matches element type of 'memref'")
        if len(self.indices) != type.get_num_dims():
            raise VerifyException("store index operand count not equal to memref rank")


class AtomicKind(StrEnum):
    """What an atomic update does; the position in the list is the value of its attribute."""

    ADDF = "addf"
    ADDI = "addi"
    ANDI = "andi"
    ASSIGN = "assign"
    MAXIMUMF = "maximumf"
    MAXNUMF = "maxnumf"
    MAXS = "maxs"
    MAXU = "maxu"
    MINIMUMF = "minimumf"
    MINNUMF = "minnumf"
    MINS = "mins"
    MINU = "minu"
    MULF = "mulf"
    MULI = "muli"
    ORI = "ori"
    XORI = "xori"


# The order is that of MLIR's enumeration: positions are what the attribute holds.
ATOMIC_KINDS = tuple(AtomicKind)
# `assign` is for both.
FLOAT_KINDS = {kind for kind in AtomicKind if kind.endswith("f")}


@irdl_custom_directive
class KindWord(PartDirective):
    """A kind of update by its name; its attribute has 64 bits, and the keyword enums of formats have 32."""

    kind: AttributeVariable

    def parse(self, parser: Parser, state: ParsingState) -> None:
        kind = parse_enum_word(parser, ATOMIC_KINDS, "kind")
        self.kind.set(state, IntegerAttr(ATOMIC_KINDS.index(kind), i64))

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        state.print_whitespace(printer)
        printer.print_string(cast(AtomicRMWOp, op).update)


@derived_op_definition
class AtomicRMWOp(xdsl_memref.AtomicRMWOp):
    """Combine a value with one element of a buffer, atomically; gives the element's old value."""

    value = operand_def(described(SignlessIntegerConstraint | AnyFloatConstr, "signless integer or floating-point"))
    memref = operand_def(
        described(
            MemRefType.constr(SignlessIntegerConstraint | AnyFloatConstr),
            "memref of signless integer or floating-point values",
        )
    )
    result = result_def(described(SignlessIntegerConstraint | AnyFloatConstr, "signless integer or floating-point"))
    kind = prop_def(
        described(
            IntegerAttr.constr(i64),
            "allowed 64-bit signless integer cases: " + ", ".join(map(str, range(len(ATOMIC_KINDS)))),
            lambda attribute: 0 <= attribute.value.data < len(ATOMIC_KINDS),
        )
    )

    @property
    def update(self) -> AtomicKind:
        """What the update does."""
        return ATOMIC_KINDS[self.kind.value.data]

    custom_directives = (KindWord, RankedMemRef)
    assembly_format = (
        "custom<KindWord>($kind) $value `,` $memref `[` $indices `]` attr-dict "
        "`:` `(` type($value) `,` custom<RankedMemRef>(type($memref)) `)` `->` type($result)"
    )

    def verify_(self) -> None:
        if self.value.type != self.result.type:
            raise VerifyException("failed to verify that all of {value, result} have same type")
        type = memref_type(self.memref)
        if self.value.type != type.element_type:
            raise VerifyException("failed to verify that value type matches element type of memref")
        if len(self.indices) != type.get_num_dims():
            raise VerifyException("expects the number of subscripts to be equal to memref rank")
        is_float = isinstance(self.value.type, AnyFloat)
        if self.update in FLOAT_KINDS and not is_float:
            raise VerifyException(f"with kind '{self.update}' expects a floating-point type")
        # An exchange does not care what it moves.
        if self.update not in FLOAT_KINDS and self.update is not AtomicKind.ASSIGN and is_float:
            raise VerifyException(f"with kind '{self.update}' expects an integer type")


@irdl_custom_directive
class IndexList(PartDirective):
    """Operands in square brackets; an entry that is none is an error as in operations that MLIR reads by hand."""

    operands: VariadicOperandVariable

    def parse(self, parser: Parser, state: ParsingState) -> None:
        self.operands.set(state, parse_operands(parser, SQUARE))

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        state.print_whitespace(printer)
        print_operands(printer, self.operands.get(op))


@op_definition
class GenericAtomicRMWOp(IRDLOperation):
    """Replace one element of a buffer by what the region makes of it, atomically."""

    name = "memref.generic_atomic_rmw"
    memref = operand_def(
        described(
            MemRefType.constr(SignlessIntegerConstraint | AnyFloatConstr),
            "memref of signless integer or floating-point values",
        )
    )
    indices = var_operand_def(IndexType)
    result = result_def(described(SignlessIntegerConstraint | AnyFloatConstr, "signless integer or floating-point"))
    body = region_def()
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    custom_directives = (IndexList, TypeOfBuffer)
    assembly_format = (
        "$memref `` custom<IndexList>($indices) `:` custom<TypeOfBuffer>(type($memref), type($result)) $body attr-dict"
    )

    def verify_(self) -> None:
        type = memref_type(self.memref)
        if self.result.type != type.element_type:
            raise VerifyException("failed to verify that result type matches element type of memref")
        # Looked at here and not by a single-block region, for which MLIR has other words.
        entry = self.body.first_block
        if entry is not self.body.last_block:
            raise VerifyException("expects region #0 to have 0 or 1 blocks")
        arguments = entry.args if entry is not None else ()
        if len(arguments) != 1:
            raise VerifyException("expected single number of entry block arguments")
        if arguments[0].type != self.result.type:
            raise VerifyException("expected block argument of the same type result type")


@op_definition
class AtomicYieldOp(IRDLOperation):
    """The new value of the element in a `memref.generic_atomic_rmw`."""

    name = "memref.atomic_yield"
    result = operand_def()
    traits = traits_def(HasParent(GenericAtomicRMWOp), IsTerminator(), Pure())
    assembly_format = "$result attr-dict `:` type($result)"

    def verify_(self) -> None:
        parent = self.parent_op()
        if isinstance(parent, GenericAtomicRMWOp) and parent.result.type != self.result.type:
            raise VerifyException(
                f"types mismatch between yield op: {quoted(self.result.type)} "
                f"and its parent: {quoted(parent.result.type)}"
            )


@irdl_custom_directive
class CacheHint(PartDirective):
    """`read, locality<3>, data`, as `memref.prefetch` and `affine.prefetch` have it."""

    is_write: AttributeVariable
    locality: AttributeVariable
    is_data: AttributeVariable

    # Both hints are words in text and booleans in memory.
    def parse(self, parser: Parser, state: ParsingState) -> None:
        self.is_write.set(state, _parse_choice(parser, "read", "write", "rw specifier"))
        parser.parse_punctuation(",")
        parser.parse_keyword("locality")
        with parser.in_angle_brackets():
            self.locality.set(state, IntegerAttr(parser.parse_integer(), i32))
        parser.parse_punctuation(",")
        self.is_data.set(state, _parse_choice(parser, "instr", "data", "cache type"))

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        write, locality, data = (
            cast(IntegerAttr, hint.get(op)).value.data for hint in (self.is_write, self.locality, self.is_data)
        )
        state.print_whitespace(printer)
        printer.print_string(f"{'write' if write else 'read'}, locality<{locality}>, {'data' if data else 'instr'}")


def _parse_choice(parser: Parser, no: str, yes: str, what: str) -> BoolAttr:
    """One of two keywords: whether it is the second."""
    position = parser.pos
    word = parser.parse_identifier()
    if word not in (no, yes):
        # MLIR lists them alphabetically.
        first, second = sorted((no, yes))
        parser.raise_error(f"{what} has to be '{first}' or '{second}'", position)
    return BoolAttr.from_bool(word == yes)


@op_definition
class PrefetchOp(IRDLOperation):
    """A hint that an element will be used soon."""

    name = "memref.prefetch"
    memref = operand_def(MemRefType)
    indices = var_operand_def(IndexType)
    is_write = prop_def(BoolAttr, prop_name="isWrite")
    locality_hint = prop_def(LOCALITY, prop_name="localityHint")
    is_data_cache = prop_def(BoolAttr, prop_name="isDataCache")
    custom_directives = (CacheHint, IndexList, RankedMemRef)
    assembly_format = (
        "$memref `` custom<IndexList>($indices) `,` custom<CacheHint>($isWrite, $localityHint, $isDataCache) attr-dict "
        "`:` custom<RankedMemRef>(type($memref))"
    )

    def verify_(self) -> None:
        if len(self.indices) != memref_type(self.memref).get_num_dims():
            raise VerifyException("too few indices")


def _parse_element(parser: Parser) -> tuple[UnresolvedOperand, list[SSAValue]]:
    """`%memref[indices]`."""
    return parser.parse_unresolved_operand(), parse_indices(parser)


@op_definition
class DmaStartOp(IRDLOperation):
    """Start a copy between memories; the tag tells when it is done."""

    name = "memref.dma_start"
    # One list: how many indices each buffer has is told by its rank, not by segments.
    all_operands = var_operand_def()
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        source, source_indices = _parse_element(parser)
        parser.parse_punctuation(",")
        target, target_indices = _parse_element(parser)
        parser.parse_punctuation(",")
        count = parser.parse_operand(INDEX)
        parser.parse_punctuation(",")
        tag, tag_indices = _parse_element(parser)
        stride: list[SSAValue] = []
        while parser.parse_optional_punctuation(",") is not None:
            stride.append(parser.parse_operand(INDEX))
        if len(stride) not in (0, 2):
            parser.raise_error("expected two stride related operands")
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        position = parser.pos
        # Of the three buffers; the rest are indices.
        types = parse_types(parser)
        if len(types) != 3:
            parser.raise_error("fewer/more types expected", position)
        source, target, tag = parser.resolve_operands((source, target, tag), types, position)
        return cls.create(
            operands=[source, *source_indices, target, *target_indices, count, tag, *tag_indices, *stride],
            attributes=attributes,
        )

    @property
    def parts(self) -> tuple[list[list[SSAValue]], list[SSAValue]]:
        """Source, target, count and tag, each with its indices, and the two operands of a strided copy."""
        rest = list(self.operands)
        parts: list[list[SSAValue]] = []
        for has_indices in (True, True, False, True):
            length = 1
            if has_indices:
                # Generic text may hold anything: the ranks decide where each part ends.
                if not rest or not is_ranked(rest[0].type):
                    raise VerifyException("expected a buffer and its indices for source, destination and tag")
                length += memref_type(rest[0]).get_num_dims()
            parts.append(rest[:length])
            del rest[:length]
        return parts, rest

    def print(self, printer: Printer) -> None:
        parts, stride = self.parts
        (source, *source_indices), (target, *target_indices), (count,), (tag, *tag_indices) = parts
        printer.print_string(" ")
        printer.print_ssa_value(source)
        print_operands(printer, source_indices)
        printer.print_string(", ")
        printer.print_ssa_value(target)
        print_operands(printer, target_indices)
        printer.print_string(", ")
        printer.print_ssa_value(count)
        printer.print_string(", ")
        printer.print_ssa_value(tag)
        print_operands(printer, tag_indices)
        for operand in stride:
            printer.print_string(", ")
            printer.print_ssa_value(operand)
        print_attributes(printer, self)
        printer.print_string(" : ")
        print_types(printer, (source.type, target.type, tag.type))

    def verify_(self) -> None:
        if len(self.operands) < 4:
            raise VerifyException("expected at least 4 operands")
        parts, stride = self.parts
        # A part of one operand is a buffer without indices, or the count.
        for what, part in zip(("source", "destination", "number of elements", "tag"), parts, strict=True):
            if any(not isinstance(index.type, IndexType) for index in (part if len(part) == 1 else part[1:])):
                raise VerifyException(f"expected {what} indices to be of index type")
        if len(stride) not in (0, 2):
            raise VerifyException("incorrect number of operands")


@op_definition
class DmaWaitOp(IRDLOperation):
    """Wait for the copy that a tag stands for."""

    name = "memref.dma_wait"
    tag = operand_def(MemRefType)
    tag_indices = var_operand_def(IndexType)
    num_elements = operand_def(IndexType)
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    assembly_format = "$tag `[` $tag_indices `]` `,` $num_elements attr-dict `:` type($tag)"

    def verify_(self) -> None:
        rank = memref_type(self.tag).get_num_dims()
        if len(self.tag_indices) != rank:
            raise VerifyException(
                "expected tagIndices to have the same number of elements as the tagMemRef rank, "
                f"expected {rank}, but got {len(self.tag_indices)}"
            )
