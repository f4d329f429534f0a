"""nvvm: products of matrices by a warp (`mma.sync`) and by four together (`wgmma`), and what orders the latter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Self, TypeVar, cast

from xdsl.dialects.builtin import IntAttr, IntegerAttr, i32, i64
from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import Attribute, ParametrizedAttribute, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_attr_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    var_operand_def,
)
from xdsl.parser import AttrParser, Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.str_enum import StrEnum

from tilewright.dialects._ods import i32_attr, i64_attr, op_definition
from tilewright.dialects._syntax import print_attributes, segments, split_attributes
from tilewright.dialects.llvm import LLVMStructType


class WGMMAType(StrEnum):
    """Elements that `wgmma` multiplies, or adds up in."""

    F16 = "f16"
    TF32 = "tf32"
    U8 = "u8"
    S8 = "s8"
    B1 = "b1"
    BF16 = "bf16"
    E4M3 = "e4m3"
    E5M2 = "e5m2"
    F32 = "f32"
    S32 = "s32"


class WGMMAScaleIn(StrEnum):
    ONE = "one"
    NEG = "neg"


class WGMMAScaleOut(StrEnum):
    """Whether to begin with what there is, or with zero."""

    ZERO = "zero"
    ONE = "one"


class MMALayout(StrEnum):
    ROW = "row"
    COL = "col"


class MMAType(StrEnum):
    """Elements that `mma.sync` multiplies."""

    F16 = "f16"
    F32 = "f32"
    TF32 = "tf32"
    BF16 = "bf16"
    E4M3 = "e4m3"
    E5M2 = "e5m2"


KindT = TypeVar("KindT", bound=StrEnum)


def _parse_word(parser: AttrParser, kind: type[KindT]) -> KindT:
    """Enums here are written `<word>`."""
    with parser.in_angle_brackets():
        return parser.parse_str_enum(kind)


@irdl_attr_definition
class WGMMATypeAttr(EnumAttribute[WGMMAType]):
    name = "nvvm.wgmma_type"

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(f"<{self.data}>")

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> WGMMAType:
        return _parse_word(parser, WGMMAType)


@irdl_attr_definition
class WGMMAScaleInAttr(EnumAttribute[WGMMAScaleIn]):
    name = "nvvm.wgmma_scale_in"

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(f"<{self.data}>")

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> WGMMAScaleIn:
        return _parse_word(parser, WGMMAScaleIn)


@irdl_attr_definition
class WGMMAScaleOutAttr(EnumAttribute[WGMMAScaleOut]):
    name = "nvvm.wgmma_scale_out"

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(f"<{self.data}>")

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> WGMMAScaleOut:
        return _parse_word(parser, WGMMAScaleOut)


@irdl_attr_definition
class MMALayoutAttr(EnumAttribute[MMALayout]):
    name = "nvvm.mma_layout"

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(f"<{self.data}>")

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> MMALayout:
        return _parse_word(parser, MMALayout)


@irdl_attr_definition
class MMATypeAttr(EnumAttribute[MMAType]):
    name = "nvvm.mma_type"

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(f"<{self.data}>")

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> MMAType:
        return _parse_word(parser, MMAType)


@irdl_attr_definition
class MMAShapeAttr(ParametrizedAttribute):
    """Rows, columns and depth of a product."""

    name = "nvvm.shape"
    m: IntAttr
    n: IntAttr
    k: IntAttr

    @property
    def sizes(self) -> tuple[int, int, int]:
        return self.m.data, self.n.data, self.k.data

    def print_parameters(self, printer: Printer) -> None:
        m, n, k = self.sizes
        printer.print_string(f"<m = {m}, n = {n}, k = {k}>")

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> list[IntAttr]:
        found = list[IntAttr]()
        with parser.in_angle_brackets():
            for name in ("m", "n", "k"):
                if found:
                    parser.parse_punctuation(",")
                parser.parse_keyword(name)
                parser.parse_punctuation("=")
                found.append(IntAttr(parser.parse_integer()))
        return found


def _parsed(parser: Parser, cls: type[MMAShapeAttr | EnumAttribute[Any]]) -> Attribute:
    """An attribute whose kind is known: `<...>`, or written out."""
    if parser._current_token.text != "<":
        return parser.parse_attribute()
    if issubclass(cls, MMAShapeAttr):
        return MMAShapeAttr(*cls.parse_parameters(parser))
    return cls(cls.parse_parameter(parser))


def _print_short(printer: Printer, attribute: Attribute) -> None:
    if isinstance(attribute, MMAShapeAttr):
        attribute.print_parameters(printer)
    else:
        cast("EnumAttribute[Any]", attribute).print_parameter(printer)


@op_definition
class WgmmaFenceAlignedOp(IRDLOperation):
    """Let `wgmma` use registers and memory that were written before."""

    name = "nvvm.wgmma.fence.aligned"
    assembly_format = "attr-dict"


@op_definition
class WgmmaGroupSyncAlignedOp(IRDLOperation):
    """Make a group of the products that were begun."""

    name = "nvvm.wgmma.commit.group.sync.aligned"
    assembly_format = "attr-dict"


@op_definition
class WgmmaWaitGroupSyncOp(IRDLOperation):
    """Wait until no more than `group` groups of products are on their way."""

    name = "nvvm.wgmma.wait.group.sync.aligned"

    group = prop_def(i64_attr(0))

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        attributes = parser.parse_optional_attr_dict()
        return cls.create(properties={"group": IntegerAttr(parser.parse_integer(), i64)}, attributes=attributes)

    def print(self, printer: Printer) -> None:
        print_attributes(printer, self, ("group",))
        printer.print_string(f" {self.group.value.data}")


@op_definition
class WgmmaMmaAsyncOp(IRDLOperation):
    """Begin a product of two matrices in memory of the block, which descriptors say where; sums are in registers."""

    name = "nvvm.wgmma.mma_async"

    inouts = operand_def(LLVMStructType)
    descriptorA = operand_def(i64)
    descriptorB = operand_def(i64)
    shape = prop_def(MMAShapeAttr)
    typeA = prop_def(WGMMATypeAttr)
    typeB = prop_def(WGMMATypeAttr)
    typeD = prop_def(WGMMATypeAttr)
    scaleD = prop_def(WGMMAScaleOutAttr)
    scaleA = prop_def(WGMMAScaleInAttr)
    scaleB = prop_def(WGMMAScaleInAttr)
    layoutA = prop_def(MMALayoutAttr)
    layoutB = prop_def(MMALayoutAttr)
    results_ = result_def(LLVMStructType)

    SIDES: ClassVar[dict[str, tuple[tuple[str, type[EnumAttribute[Any]]], ...]]] = {
        "D": (("typeD", WGMMATypeAttr), ("scaleD", WGMMAScaleOutAttr)),
        "A": (("typeA", WGMMATypeAttr), ("scaleA", WGMMAScaleInAttr), ("layoutA", MMALayoutAttr)),
        "B": (("typeB", WGMMATypeAttr), ("scaleB", WGMMAScaleInAttr), ("layoutB", MMALayoutAttr)),
    }

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        names = list[SSAValue]()
        operands = [parser.parse_unresolved_operand()]
        for _ in range(2):
            parser.parse_punctuation(",")
            operands.append(parser.parse_unresolved_operand())
        parser.parse_punctuation(",")
        properties: dict[str, Attribute] = {"shape": _parsed(parser, MMAShapeAttr)}
        for side, fields in cls.SIDES.items():
            parser.parse_punctuation(",")
            parser.parse_keyword(side)
            parser.parse_punctuation("[")
            for number, (name, kind) in enumerate(fields):
                if number:
                    parser.parse_punctuation(",")
                properties[name] = _parsed(parser, kind)
            parser.parse_punctuation("]")
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        type = parser.parse_type()
        parser.parse_punctuation("->")
        result = parser.parse_type()
        a, b, sums = operands
        names = [parser.resolve_operand(*pair) for pair in ((sums, type), (a, i64), (b, i64))]
        return cls.create(operands=names, result_types=[result], properties=properties, attributes=attributes)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_list((self.descriptorA, self.descriptorB, self.inouts), printer.print_ssa_value)
        printer.print_string(", ")
        _print_short(printer, self.shape)
        for side, fields in self.SIDES.items():
            printer.print_string(f", {side}[")
            printer.print_list([self.properties[name] for name, _ in fields], lambda a: _print_short(printer, a))
            printer.print_string("]")
        print_attributes(printer, self, self.properties)
        printer.print_string(" : ")
        printer.print_attribute(self.inouts.type)
        printer.print_string(" -> ")
        printer.print_attribute(self.results_.type)


@op_definition
class MmaOp(IRDLOperation):
    """A product of two small matrices that the lanes of a warp hold together."""

    name = "nvvm.mma.sync"

    operandA = var_operand_def()
    operandB = var_operand_def()
    operandC = var_operand_def()
    shape = prop_def(MMAShapeAttr)
    layoutA = prop_def(MMALayoutAttr)
    layoutB = prop_def(MMALayoutAttr)
    multiplicandAPtxType = opt_prop_def(MMATypeAttr)
    multiplicandBPtxType = opt_prop_def(MMATypeAttr)
    res = result_def(LLVMStructType)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        groups = list[list[UnresolvedOperand]]()
        for side in "ABC":
            parser.parse_keyword(side)
            groups.append(parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_unresolved_operand))
        properties, attributes = split_attributes(cls, parser.parse_optional_attr_dict())
        parser.parse_punctuation(":")
        types = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_type)
        parser.parse_punctuation("->")
        result = parser.parse_type()
        if len(types) != len(groups):
            parser.raise_error("expected the types of A, B and C")
        operands = [
            parser.resolve_operand(value, type) for values, type in zip(groups, types, strict=True) for value in values
        ]
        properties["operandSegmentSizes"] = segments(*map(len, groups))
        return cls.create(operands=operands, result_types=[result], properties=properties, attributes=attributes)

    def print(self, printer: Printer) -> None:
        groups = {"A": self.operandA, "B": self.operandB, "C": self.operandC}
        for side, values in groups.items():
            printer.print_string(f" {side}[")
            printer.print_list(values, printer.print_ssa_value)
            printer.print_string("] ")
        print_attributes(printer, self)
        printer.print_string(" : (")
        printer.print_list([values[0].type for values in groups.values()], printer.print_attribute)
        printer.print_string(") -> ")
        printer.print_attribute(self.res.type)


class SetMaxRegisterAction(StrEnum):
    INCREASE = "increase"
    DECREASE = "decrease"


@irdl_attr_definition
class SetMaxRegisterActionAttr(EnumAttribute[SetMaxRegisterAction]):
    name = "nvvm.action"

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(f" {self.data}")


@op_definition
class SetMaxRegisterOp(IRDLOperation):
    """Give registers to the warps that multiply, or take them from those that do not; four warps do it together."""

    name = "nvvm.setmaxregister"

    regCount = prop_def(i32_attr(24, 256))
    action = prop_def(SetMaxRegisterActionAttr)

    def verify_(self) -> None:
        if self.regCount.value.data % 8:
            raise VerifyException(f"registers are given 8 at a time, not {self.regCount.value.data}")

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        action = SetMaxRegisterActionAttr(parser.parse_str_enum(SetMaxRegisterAction))
        count = IntegerAttr(parser.parse_integer(), i32)
        attributes = parser.parse_optional_attr_dict()
        return cls.create(properties={"regCount": count, "action": action}, attributes=attributes)

    def print(self, printer: Printer) -> None:
        # two spaces: upstream's printer of an enum writes one of its own
        printer.print_string(f"  {self.action.data} {self.regCount.value.data}")
        print_attributes(printer, self, ("regCount", "action"))


MATRICES: Sequence[type[IRDLOperation]] = [
    WgmmaFenceAlignedOp,
    WgmmaGroupSyncAlignedOp,
    WgmmaWaitGroupSyncOp,
    WgmmaMmaAsyncOp,
    MmaOp,
    SetMaxRegisterOp,
]
MATRIX_ATTRIBUTES: Sequence[type[Attribute]] = [
    MMAShapeAttr,
    WGMMATypeAttr,
    WGMMAScaleInAttr,
    WGMMAScaleOutAttr,
    MMALayoutAttr,
    MMATypeAttr,
    SetMaxRegisterActionAttr,
]
