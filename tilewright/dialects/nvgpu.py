"""The nvgpu dialect: arrays described for the copy engine of NVIDIA's GPUs, with the syntax of upstream MLIR."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from xdsl.dialects.builtin import DYNAMIC_INDEX, IndexType, IntegerAttr, MemRefType
from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import Attribute, Dialect, ParametrizedAttribute, SpacedOpaqueSyntaxAttribute, TypeAttribute
from xdsl.irdl import IRDLOperation, irdl_attr_definition, operand_def, result_def, var_operand_def
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.str_enum import StrEnum

from tilewright.device.tensor_maps import DATA_TYPES, MOST_BOX, MOST_DIMENSIONS, DataType, exchanged_bytes
from tilewright.dialects._ods import op_definition
from tilewright.dialects.aie.data_layout import element_bytes
from tilewright.dialects.gpu.attributes import AddressSpace, AddressSpaceAttr
from tilewright.dialects.memref.types import ANY_MEMREF, is_ranked

SHARED = 3

# All kinds are in the order of the driver's numbers.


class Swizzle(StrEnum):
    """How wide rows are whose chunks of 16 bytes are exchanged."""

    NONE = "none"
    SWIZZLE_32B = "swizzle_32b"
    SWIZZLE_64B = "swizzle_64b"
    SWIZZLE_128B = "swizzle_128b"


class L2Promotion(StrEnum):
    """How much the L2 cache reads at least."""

    NONE = "none"
    L2PROMO_64B = "l2promo_64b"
    L2PROMO_128B = "l2promo_128b"
    L2PROMO_256B = "l2promo_256b"


class OutOfBounds(StrEnum):
    """What is read beyond the edges."""

    ZERO = "zero"
    NAN = "nan"


class Interleave(StrEnum):
    """How channels lie in the array."""

    NONE = "none"
    INTERLEAVE_16B = "interleave_16b"
    INTERLEAVE_32B = "interleave_32b"


@irdl_attr_definition
class SwizzleAttr(EnumAttribute[Swizzle], SpacedOpaqueSyntaxAttribute):
    name = "nvgpu.swizzle"


@irdl_attr_definition
class L2PromotionAttr(EnumAttribute[L2Promotion], SpacedOpaqueSyntaxAttribute):
    name = "nvgpu.l2promo"


@irdl_attr_definition
class OutOfBoundsAttr(EnumAttribute[OutOfBounds], SpacedOpaqueSyntaxAttribute):
    name = "nvgpu.oob"


@irdl_attr_definition
class InterleaveAttr(EnumAttribute[Interleave], SpacedOpaqueSyntaxAttribute):
    name = "nvgpu.interleave"


@irdl_attr_definition
class TensorMapDescriptorType(ParametrizedAttribute, TypeAttribute):
    """An array as the copy engine knows it; `tensor` is a box in memory of a block."""

    name = "nvgpu.tensormap.descriptor"

    tensor: MemRefType
    swizzle: SwizzleAttr
    l2promo: L2PromotionAttr
    oob: OutOfBoundsAttr
    interleave: InterleaveAttr

    KINDS: ClassVar[dict[str, type[EnumAttribute[Any]]]] = {
        "swizzle": SwizzleAttr,
        "l2promo": L2PromotionAttr,
        "oob": OutOfBoundsAttr,
        "interleave": InterleaveAttr,
    }

    @property
    def data_type(self) -> DataType | None:
        """None for elements that the engine does not know."""
        return DATA_TYPES.get(str(self.tensor.element_type))

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        found = dict[str, Attribute]()
        names = ("tensor", *cls.KINDS)

        def parse_parameter() -> None:
            name = next((name for name in names if parser.parse_optional_keyword(name) is not None), None)
            if name is None or name in found:
                parser.raise_error(f"expected one of {', '.join(name for name in names if name not in found)}")
            parser.parse_punctuation("=")
            kind = cls.KINDS.get(name)
            found[name] = parser.parse_type() if kind is None else kind(kind.parse_parameter(parser))

        parser.parse_comma_separated_list(parser.Delimiter.ANGLE, parse_parameter)
        if len(found) < len(names):
            parser.raise_error(f"expected {', '.join(name for name in names if name not in found)}")
        return [found[name] for name in names]

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string("tensor = ")
            printer.print_attribute(self.tensor)
            for name in self.KINDS:
                printer.print_string(f", {name} = {getattr(self, name).data}")


def driver_number(kind: EnumAttribute[Any]) -> int:
    """What the driver calls a swizzle, a promotion or a fill."""
    return [*kind.enum_type].index(kind.data)


@op_definition
class TmaCreateDescriptorOp(IRDLOperation):
    """Describe an array of the device to the copy engine, on the host, and the boxes that it copies."""

    name = "nvgpu.tma.create.descriptor"

    tensor = operand_def(ANY_MEMREF)
    boxDimensions = var_operand_def(IndexType)
    tensorMap = result_def(TensorMapDescriptorType)
    assembly_format = "$tensor `box` `[` $boxDimensions `]` attr-dict `:` type($tensor) `->` type($tensorMap)"

    @property
    def type(self) -> TensorMapDescriptorType:
        return self.tensorMap.type

    def verify_(self) -> None:
        if len(self.boxDimensions) > MOST_DIMENSIONS:
            raise VerifyException(
                f"Maximum {MOST_DIMENSIONS} dimensional box is supported, but got {len(self.boxDimensions)}"
            )
        _verify_box(self.type)
        rank, data_type = self.type.tensor.get_num_dims(), self.type.data_type
        if len(self.boxDimensions) != rank:
            raise VerifyException(f"has a box of {len(self.boxDimensions)} sizes and a tensor of {rank} dimensions")
        if is_ranked(self.tensor.type) and self.tensor.type.get_num_dims() != rank:
            raise VerifyException(f"describes an array of {self.tensor.type.get_num_dims()} dimensions by {rank}")
        if data_type is None:
            raise VerifyException(f"has elements that the copy engine does not know: {self.type.tensor.element_type}")
        if element_bytes(self.tensor.type) != data_type.bytes:
            raise VerifyException(
                f"reads elements of {element_bytes(self.tensor.type)} bytes as {self.type.tensor.element_type}, "
                f"which has {data_type.bytes}"
            )


def _verify_box(type: TensorMapDescriptorType) -> None:
    box, swizzle, data_type = type.tensor, driver_number(type.swizzle), type.data_type
    if type.interleave.data is not Interleave.NONE:
        raise VerifyException("Interleave options are not supported yet.")
    match box.memory_space:
        case IntegerAttr(value=number) if number.data == SHARED:
            pass
        case AddressSpaceAttr(data=AddressSpace.WORKGROUP):
            pass
        case _:
            raise VerifyException(
                "the tensor map descriptor has incorrect address space, it must be shared memory address space."
            )
    if not box.get_shape():
        raise VerifyException("the tensor map descriptor has a tensor without dimensions")
    for size in box.get_shape():
        # upstream has static shapes alone; boxes whose sizes a run knows are checked there
        if size != DYNAMIC_INDEX and not 1 <= size <= MOST_BOX:
            raise VerifyException(
                f"the tensor map descriptor must have dimensions between 1 and {MOST_BOX} but it is {size}"
            )
    row = box.get_shape()[-1]
    if row == DYNAMIC_INDEX or len(box.get_shape()) == 1 or not swizzle or data_type is None:
        return
    if row * data_type.bytes != exchanged_bytes(swizzle):
        raise VerifyException(
            f"the tensormap descriptor must have last dimension of {exchanged_bytes(swizzle)} bytes "
            f"but it is {row * data_type.bytes} bytes"
        )


NVGPU = Dialect(
    "nvgpu",
    [TmaCreateDescriptorOp],
    [TensorMapDescriptorType, SwizzleAttr, L2PromotionAttr, OutOfBoundsAttr, InterleaveAttr],
)
