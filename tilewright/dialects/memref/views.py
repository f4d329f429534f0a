"""A buffer's memory under another type, or a part of it."""
# pyright: reportIncompatibleVariableOverride=false, reportIncompatibleMethodOverride=false

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Self

from xdsl.dialects import memref as xdsl_memref
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    DenseArrayBase,
    IndexType,
    MemRefType,
    StridedLayoutAttr,
    i64,
)
from xdsl.ir import Attribute
from xdsl.irdl import (
    IRDLOperation,
    operand_def,
    prop_def,
    result_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects._derived import derived_op_definition
from tilewright.dialects._mixed_indices import MixedIndices
from tilewright.dialects._strides import compatible, strided_form
from tilewright.dialects._syntax import parse_types, print_attributes, print_types
from tilewright.dialects._type_directives import RankedMemRef, parse_type_of
from tilewright.dialects.memref.types import (
    ANY_MEMREF,
    BYTES,
    AnyMemRef,
    T,
    any_memref,
    is_contiguous,
    is_ranked,
    is_unranked,
    memref_type,
    static_sizes,
    verify_dynamic_size_count,
)
from tilewright.ir.diagnostics import VerifyError
from tilewright.ir.shown import quoted


def _castable(source: AnyMemRef, target: AnyMemRef) -> bool:
    """Whether `memref.cast` may turn one type into the other."""
    if is_ranked(source) and is_ranked(target):
        if source.element_type != target.element_type or source.memory_space != target.memory_space:
            return False
        if source.layout != target.layout:
            old, new = strided_form(source), strided_form(target)
            if old is None or new is None:
                return False
            # What is unknown on one side may be anything on the other.
            if not compatible((*old.strides, old.offset), (*new.strides, new.offset)):
                return False
        return compatible(static_sizes(source.get_shape()), static_sizes(target.get_shape()))
    if is_unranked(source) and is_unranked(target):
        return False
    return source.element_type == target.element_type and source.memory_space == target.memory_space


def _same_but_memory_space(source: AnyMemRef, target: AnyMemRef) -> bool:
    """Whether `memref.memory_space_cast` may turn one type into the other."""
    if is_ranked(source) and is_ranked(target):
        return MemRefType(source.element_type, source.shape, source.layout, target.memory_space) == target
    if is_unranked(source) and is_unranked(target):
        return source.element_type == target.element_type
    return False


def _cast_error(source: Attribute, target: Attribute) -> VerifyException:
    return VerifyException(f"operand type {quoted(source)} and result type {quoted(target)} are cast incompatible")


@derived_op_definition
class CastOp(xdsl_memref.CastOp):
    """Forget or assert static sizes, strides, or the rank."""

    source = operand_def(ANY_MEMREF)
    dest = result_def(ANY_MEMREF)
    assembly_format = "$source attr-dict `:` type($source) `to` type($dest)"

    def verify_(self) -> None:
        source, target = any_memref(self.source), any_memref(self.dest)
        if not _castable(source, target):
            raise _cast_error(source, target)


@derived_op_definition
class MemorySpaceCastOp(xdsl_memref.MemorySpaceCastOp):
    """View a buffer in another memory space."""

    source = operand_def(ANY_MEMREF)
    dest = result_def(ANY_MEMREF)
    assembly_format = "$source attr-dict `:` type($source) `to` type($dest)"

    def verify_(self) -> None:
        source, target = any_memref(self.source), any_memref(self.dest)
        if not _same_but_memory_space(source, target):
            raise _cast_error(source, target)


class _OffsetsSizesStrides(IRDLOperation):
    """Operations that describe a part of a buffer by mixed static and dynamic offsets, sizes and strides."""

    source = operand_def(MemRefType)
    offsets = var_operand_def(IndexType)
    sizes = var_operand_def(IndexType)
    strides = var_operand_def(IndexType)
    static_offsets = prop_def(DenseArrayBase.constr(i64))
    static_sizes = prop_def(DenseArrayBase.constr(i64))
    static_strides = prop_def(DenseArrayBase.constr(i64))

    def verify_lists(self, offset_count: int | None) -> None:
        """Offsets, sizes and strides must be as many as the rank of what they select, and values fill the gaps."""
        offsets, sizes, strides = (
            len(lists) for lists in (self.static_offsets, self.static_sizes, self.static_strides)
        )
        well_formed = "so the rank of the result type is well-formed."
        # A reinterpreted buffer has one offset, whatever its rank.
        if offset_count is None and offsets != sizes:
            raise VerifyError(
                f"expected mixed offsets rank to match mixed sizes rank ({offsets} vs {sizes}) {well_formed}", bare=True
            )
        if sizes != strides:
            raise VerifyError(
                f"expected mixed sizes rank to match mixed strides rank ({sizes} vs {strides}) {well_formed}", bare=True
            )
        for name, values, integers in (
            ("offsets", self.offsets, self.static_offsets),
            ("sizes", self.sizes, self.static_sizes),
            ("strides", self.strides, self.static_strides),
        ):
            expected = integers.get_values().count(DYNAMIC_INDEX)
            if len(values) != expected:
                raise VerifyError(
                    f"expected the number of '{name}' to match the number of dynamic entries in 'static_{name}' "
                    f"({len(values)} vs {expected})",
                    bare=True,
                )


@derived_op_definition
class SubviewOp(_OffsetsSizesStrides, xdsl_memref.SubviewOp):
    """A part of a buffer."""

    custom_directives = (MixedIndices, RankedMemRef)
    assembly_format = (
        "$source `` custom<MixedIndices>($offsets, $static_offsets) custom<MixedIndices>($sizes, $static_sizes) "
        "custom<MixedIndices>($strides, $static_strides) attr-dict "
        "`:` custom<RankedMemRef>(type($source)) `to` custom<RankedMemRef>(type($result))"
    )

    def verify_(self) -> None:
        self.verify_lists(offset_count=None)
        source, result = memref_type(self.source), self.result.type
        offsets, sizes, strides = (
            lists.get_values() for lists in (self.static_offsets, self.static_sizes, self.static_strides)
        )
        # All dimensions are listed; those that are dropped have size one.
        if len(offsets) != source.get_num_dims():
            raise VerifyError(f"expected {source.get_num_dims()} offset values, got {len(offsets)}", bare=True)
        if source.memory_space != result.memory_space:
            raise VerifyError(
                f"different memory spaces specified for base memref type {quoted(source)} "
                f"and subview memref type {quoted(result)}",
                bare=True,
            )
        expected = subview_type(source, offsets, sizes, strides)
        if expected is None:
            raise VerifyError(f"base type {quoted(source)} is not strided", bare=True)
        _verify_rank_reduced(expected, result)
        _verify_slice_bounds(source.get_shape(), offsets, sizes, strides)


def subview_type(
    source: MemRefType, offsets: Sequence[int], sizes: Sequence[int], strides: Sequence[int]
) -> MemRefType | None:
    """The type of a subview that keeps every dimension; None if the source has no strided layout."""
    form = strided_form(source)
    if form is None:
        return None
    offset = form.offset
    for step, stride in zip(offsets, form.strides, strict=True):
        # An offset of zero is known even where the stride is not.
        if step != 0:
            offset = None if offset is None or stride is None or step == DYNAMIC_INDEX else offset + step * stride
    layout = StridedLayoutAttr(
        [
            None if old is None or new == DYNAMIC_INDEX else old * new
            for old, new in zip(form.strides, strides, strict=True)
        ],
        offset,
    )
    return MemRefType(source.element_type, sizes, layout, source.memory_space)


def _verify_rank_reduced(expected: MemRefType, result: MemRefType) -> None:
    """`result` must be `expected`, or that with some dimensions of size one left out."""
    if result.get_num_dims() > expected.get_num_dims():
        raise VerifyError(
            f"expected result rank to be smaller or equal to the source rank, but got {quoted(result)}", bare=True
        )
    if not _keeps_order(expected.get_shape(), result.get_shape()):
        raise _subview_error(expected, result, "mismatch of result sizes")
    if expected.element_type != result.element_type:
        raise VerifyError(
            f"expected result element type to be {quoted(expected.element_type)}, but got {quoted(result)}", bare=True
        )
    old, new = strided_form(expected), strided_form(result)
    if (
        old is None
        or new is None
        or old.offset != new.offset
        or not _keeps_order(
            tuple(zip(expected.get_shape(), old.strides, strict=True)),
            tuple(zip(result.get_shape(), new.strides, strict=True)),
            lambda dimension: dimension[0] == 1,
        )
    ):
        raise _subview_error(expected, result, "mismatch of result layout")


def _subview_error(expected: MemRefType, result: MemRefType, reason: str) -> VerifyError:
    return VerifyError(
        f"expected result type to be {quoted(expected)} or a rank-reduced version. ({reason}), "
        f"but got {quoted(result)}",
        bare=True,
    )


def _keeps_order(
    original: Sequence[T], reduced: Sequence[T], droppable: Callable[[T], bool] = lambda size: size == 1
) -> bool:
    """Whether leaving out droppable elements of `original` can give `reduced`."""
    # Which elements may be left out is ambiguous, so all ways are followed at once.
    reachable = {0}
    for element in original:
        reachable = {n + 1 for n in reachable if n < len(reduced) and reduced[n] == element} | (
            reachable if droppable(element) else set[int]()
        )
    return len(reduced) in reachable


def _verify_slice_bounds(
    shape: Sequence[int], offsets: Sequence[int], sizes: Sequence[int], strides: Sequence[int]
) -> None:
    for dimension, (extent, offset, size, stride) in enumerate(zip(shape, offsets, sizes, strides, strict=True)):
        # Nothing can be said before the program runs.
        if DYNAMIC_INDEX in (extent, offset):
            continue
        if offset >= extent:
            raise VerifyError(f"offset {dimension} is out-of-bounds: {offset} >= {extent}", bare=True)
        if DYNAMIC_INDEX in (size, stride):
            continue
        last = offset + (size - 1) * stride
        if last >= extent:
            raise VerifyError(f"slice along dimension {dimension} runs out-of-bounds: {last} >= {extent}", bare=True)


@derived_op_definition
class ReinterpretCastOp(_OffsetsSizesStrides, xdsl_memref.ReinterpretCastOp):
    """The same memory under another shape and layout, which nothing checks."""

    source = operand_def(ANY_MEMREF)
    custom_directives = (MixedIndices, RankedMemRef)
    # The source may be unranked: all that counts is the memory.
    assembly_format = (
        "$source `to` `offset` `` `:` custom<MixedIndices>($offsets, $static_offsets) "
        "`,` `sizes` `` `:` custom<MixedIndices>($sizes, $static_sizes) "
        "`,` `strides` `` `:` custom<MixedIndices>($strides, $static_strides) attr-dict "
        "`:` type($source) `to` custom<RankedMemRef>(type($result))"
    )

    def verify_(self) -> None:
        self.verify_lists(offset_count=1)
        source, result = any_memref(self.source), self.result.type
        for what, first, second in (
            ("memory spaces", source.memory_space, result.memory_space),
            ("element types", source.element_type, result.element_type),
        ):
            if first != second:
                raise VerifyError(
                    f"different {what} specified for source type {quoted(source)} "
                    f"and result memref type {quoted(result)}",
                    bare=True,
                )
        _verify_listed("size", result.get_shape(), self.static_sizes.get_values())
        form = strided_form(result)
        if form is None:
            raise VerifyError(f"expected result type to have strided layout but found {quoted(result)}", bare=True)
        expected_offset = self.static_offsets.get_values()[0]
        # A dynamic offset in the type covers every static one.
        if form.offset is not None and form.offset != expected_offset:
            raise VerifyError(
                f"expected result type with offset = {_size_text(expected_offset)} instead of {form.offset}", bare=True
            )
        _verify_listed(
            "stride",
            [DYNAMIC_INDEX if stride is None else stride for stride in form.strides],
            self.static_strides.get_values(),
        )


def _size_text(size: int) -> str:
    return "dynamic" if size == DYNAMIC_INDEX else str(size)


def _verify_listed(what: str, found: Sequence[int], expected: Sequence[int]) -> None:
    """What a type says statically must be what the op lists."""
    for dimension, (have, want) in enumerate(zip(found, expected, strict=False)):
        if have not in (DYNAMIC_INDEX, want):
            raise VerifyError(
                f"expected result type with {what} = {_size_text(want)} instead of {have} in dim = {dimension}",
                bare=True,
            )


@derived_op_definition
class ViewOp(xdsl_memref.ViewOp):
    """Bytes of a buffer, seen as elements of another type."""

    source = operand_def(BYTES)

    def verify_(self) -> None:
        source, result = memref_type(self.source), self.result.type
        # Bytes lie one after the other in both.
        for what, type in (("base", source), ("result", result)):
            if not is_contiguous(type):
                raise VerifyError(f"unsupported map for {what} memref type {quoted(type)}", bare=True)
        if source.memory_space != result.memory_space:
            raise VerifyError(
                f"different memory spaces specified for base memref type {quoted(source)} "
                f"and view memref type {quoted(result)}",
                bare=True,
            )
        verify_dynamic_size_count(len(self.sizes), result)


@derived_op_definition
class ExtractStridedMetaDataOp(xdsl_memref.ExtractStridedMetaDataOp):
    """The base, offset, sizes and strides of a buffer."""

    # no format: how many sizes and strides there are shows when results are bound
    @classmethod
    def parse(cls, parser: Parser) -> Self:
        source = parser.parse_unresolved_operand()
        parser.parse_punctuation(":")
        value = parser.resolve_operand(source, parse_type_of(parser, MemRefType))
        parser.parse_punctuation("->")
        types = parse_types(parser)
        return cls.create(operands=[value], result_types=types, attributes=parser.parse_optional_attr_dict())

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.source)
        printer.print_string(" : ")
        printer.print_attribute(self.source.type)
        printer.print_string(" -> ")
        print_types(printer, self.result_types)
        print_attributes(printer, self)

    def verify_(self) -> None:
        source, base_type = memref_type(self.source), self.base_buffer.type
        if base_type != MemRefType(source.element_type, (), memory_space=source.memory_space):
            raise VerifyException(f"inferred type(s) do not match the base buffer type {quoted(base_type)}")
        if len(self.sizes) != source.get_num_dims():
            raise VerifyException(f"expected {source.get_num_dims()} sizes and strides, but found {len(self.sizes)}")
