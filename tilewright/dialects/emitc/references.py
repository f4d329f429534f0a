"""References to variables and to parts of them."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Attribute
from xdsl.irdl import IRDLOperation, operand_def, prop_def, result_def, traits_def, var_operand_def
from xdsl.parser import Parser
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects._ods import op_definition
from tilewright.dialects._type_directives import TellingType
from tilewright.ir.shown import quoted

from .operators import CExpression
from .types import (
    EMITC_TYPE,
    LVALUE,
    LVALUE_OR_ARRAY,
    POINTER,
    ArrayType,
    LValueType,
    OpaqueType,
    PointerType,
    is_integral,
)


# The result's type is never written; a wrong operand is for the verifier.
class AddressedType(TellingType):
    @classmethod
    def read(cls, parser: Parser) -> tuple[Attribute, Sequence[Attribute]]:
        type = parser.parse_type()
        return type, (PointerType(type.value_type if isinstance(type, LValueType) else type),)


class PointerToType(TellingType):
    @classmethod
    def read(cls, parser: Parser) -> tuple[Attribute, Sequence[Attribute]]:
        type = parser.parse_type()
        return type, (LValueType(type.pointee if isinstance(type, PointerType) else type),)


@op_definition
class AddressOfOp(IRDLOperation):
    """`&variable`"""

    name = "emitc.address_of"
    reference = operand_def(LVALUE)
    result = result_def(POINTER)
    traits = traits_def(CExpression())
    custom_directives = (AddressedType,)
    assembly_format = "$reference attr-dict `:` custom<AddressedType>(type($reference), type($result))"


@op_definition
class DereferenceOp(IRDLOperation):
    """`*pointer`"""

    name = "emitc.dereference"
    pointer = operand_def(POINTER)
    result = result_def(LVALUE)
    traits = traits_def(CExpression())
    custom_directives = (PointerToType,)
    assembly_format = "$pointer attr-dict `:` custom<PointerToType>(type($pointer), type($result))"


@op_definition
class SubscriptOp(IRDLOperation):
    """`value[index]...`"""

    name = "emitc.subscript"
    value = operand_def()
    indices = var_operand_def(EMITC_TYPE)
    result = result_def(LVALUE)
    traits = traits_def(CExpression())
    assembly_format = "$value `[` $indices `]` attr-dict `:` functional-type(operands, results)"

    def verify_(self) -> None:
        match self.value.type:
            case ArrayType() as type:
                self._verify_array(type)
            case PointerType() as type:
                self._verify_pointer(type)
            # C++ may define `[]` for it with any number of indices.
            case OpaqueType():
                pass
            case _:
                raise VerifyException(
                    f"operand #0 must be array type or pointer type or opaque type, but got {quoted(self.value.type)}"
                )

    def _verify_array(self, type: ArrayType) -> None:
        where = "on array operand requires"
        if len(self.indices) != len(type.sizes):
            raise VerifyException(
                f"{where} number of indices ({len(self.indices)}) to match the rank of the array type "
                f"({len(type.sizes)})"
            )
        for number, index in enumerate(self.indices):
            if not is_integral(index.type) and not isinstance(index.type, OpaqueType):
                raise VerifyException(
                    f"{where} index operand {number} to be integer-like, but got {quoted(index.type)}"
                )
        self._verify_element(where, type.element_type)

    def _verify_pointer(self, type: PointerType) -> None:
        where = "on pointer operand requires"
        if len(self.indices) != 1:
            raise VerifyException(f"{where} one index operand, but got {len(self.indices)}")
        index = self.indices[0].type
        if not is_integral(index) and not isinstance(index, OpaqueType):
            raise VerifyException(f"{where} index operand to be integer-like, but got {quoted(index)}")
        self._verify_element(where, type.pointee, "pointee type")

    def _verify_element(self, where: str, element: Attribute, what: str = "element type") -> None:
        # An element is assigned to through an lvalue of its type.
        result = self.result.type.value_type
        if element != result:
            raise VerifyException(f"{where} {what} ({quoted(element)}) and result type ({quoted(result)}) to match")


# MLIR has no custom syntax for it.
@op_definition
class MemberOp(IRDLOperation):
    """`operand.member`"""

    name = "emitc.member"
    member = prop_def(StringAttr)
    operand = operand_def(LVALUE)
    result = result_def(LVALUE_OR_ARRAY)
    traits = traits_def(CExpression())


@op_definition
class MemberOfPtrOp(IRDLOperation):
    """`operand->member`"""

    name = "emitc.member_of_ptr"
    member = prop_def(StringAttr)
    operand = operand_def(LVALUE)
    result = result_def(LVALUE_OR_ARRAY)
    traits = traits_def(CExpression())


OPS = [AddressOfOp, DereferenceOp, MemberOfPtrOp, MemberOp, SubscriptOp]
