"""Values of MLIR in native code.

Scalars are LLVM scalars, `bf16` as its 16 bits. Vectors of any rank are flat LLVM vectors in row-major order. A memref
is the place of its buffer, the buffer's size, and an offset, sizes and strides, which are constants where the type or
the program says what they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import TypeAlias, cast

from llvmlite import ir
from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType, VectorType
from xdsl.ir import Attribute, Operation

from tilewright.dialects._strides import strided_form
from tilewright.dialects.memref.types import is_ranked
from tilewright.native.traps import Untranslatable
from tilewright.native.types import llvm_type

# Types that are compared by what they are: llvmlite makes no difference between two of the same width.
I1, I8, I16, I32, I64, POINTER = (*(ir.IntType(width) for width in (1, 8, 16, 32, 64)), ir.PointerType())
F32, F64 = ir.FloatType(), ir.DoubleType()


@dataclass(frozen=True)
class MemRef:
    """A part of a buffer: offset and strides count elements, `limit` is the size of the whole buffer in bytes."""

    base: ir.Value
    limit: ir.Value
    offset: ir.Value
    sizes: tuple[ir.Value, ...]
    strides: tuple[ir.Value, ...]


@dataclass(frozen=True)
class Known:
    """Something of the device that a program refers to by a value, such as a lock: no number in native code."""

    definition: Operation


Value: TypeAlias = ir.Value | MemRef | Known


def index(number: int) -> ir.Constant:
    return ir.Constant(I64, number)


def number_of(value: ir.Value) -> int | None:
    """The number, if it is known while code is made."""
    return value.constant if isinstance(value, ir.Constant) and isinstance(value.constant, int) else None


def _scalar_type(type: Attribute) -> ir.Type:
    try:
        return llvm_type(type)
    except TypeError as error:
        raise Untranslatable(str(error)) from error


def value_type(type: Attribute) -> ir.Type:
    """The LLVM type of a scalar or a vector."""
    if not isinstance(type, VectorType):
        return _scalar_type(type)
    # Only vectors of processors with scalable registers have such dimensions.
    if any(type.get_scalable_dims()):
        raise Untranslatable(f"the length of {type} is not known")
    return ir.VectorType(_scalar_type(cast(VectorType, type).element_type), prod(type.get_shape()))


def with_element(type: ir.Type, element: ir.Type) -> ir.Type:
    """`element`, or a vector of as many of them as `type` has."""
    return ir.VectorType(element, type.count) if isinstance(type, ir.VectorType) else element


def element_of(type: ir.Type) -> ir.Type:
    return type.element if isinstance(type, ir.VectorType) else type


def natural_alignment(type: ir.Type) -> int:
    """The bytes that an element of a scalar or vector is aligned to."""
    element = element_of(type)
    if isinstance(element, ir.IntType):
        return max(1, element.width // 8)
    # The rest are doubles and pointers.
    return {"half": 2, "float": 4}.get(str(element), 8)


def size_of(type: ir.Type) -> int:
    """The bytes that a value has in memory, without what aligns the parts of a structure."""
    if isinstance(type, ir.ArrayType | ir.VectorType):
        return type.count * size_of(type.element)
    if isinstance(type, ir.LiteralStructType):
        return sum(map(size_of, type.elements))
    if isinstance(type, ir.IntType):
        # LLVM rounds the bytes of an integer up to a power of two.
        return 1 << (-(-type.width // 8) - 1).bit_length()
    return natural_alignment(type)


def bit_width(type: ir.Type) -> int:
    """The bits of a scalar, or of all elements of a vector."""
    if isinstance(type, ir.VectorType):
        return type.count * bit_width(type.element)
    return type.width if isinstance(type, ir.IntType) else 8 * natural_alignment(type)


def global_data(module: ir.Module, type: ir.Type, name: str, space: int = 0) -> ir.GlobalVariable:
    """A variable of a module. LLVM's pointers have no types; llvmlite would give this one some."""
    variable = ir.GlobalVariable(module, type, name, addrspace=space)
    variable.type, variable.linkage = ir.PointerType(addrspace=space), "internal"
    return variable


def constant_sizes(type: MemRefType) -> list[int | None]:
    return [None if size == DYNAMIC_INDEX else size for size in type.get_shape()]


def strides_of(type: MemRefType) -> tuple[int | None, ...]:
    """Strides in elements, None where only the running program knows."""
    form = strided_form(type)
    if form is None:
        raise Untranslatable(f"{type} has no strides")
    return form.strides


def offset_of(type: MemRefType) -> int | None:
    """Where the elements of a memref begin, if its type says so."""
    form = strided_form(type)
    return None if form is None else form.offset


def known_or(known: Sequence[int | None], parts: Iterable[ir.Value]) -> tuple[ir.Value, ...]:
    """Numbers that a type has, and values where it has none."""
    return tuple(part if number is None else index(number) for number, part in zip(known, parts, strict=True))


def part_types(type: Attribute) -> list[ir.Type]:
    """The LLVM values that a value of this type is made of, apart from what its type already says."""
    if not is_ranked(type):
        return [value_type(type)]
    dynamic = [*constant_sizes(type), *strides_of(type)].count(None)
    return [POINTER, I64, I64, *(I64 for _ in range(dynamic))]


def parts(value: Value, type: Attribute) -> list[ir.Value]:
    """A value as what `part_types` names."""
    if not isinstance(value, MemRef):
        return all_parts(value)
    memref = cast(MemRefType, type)
    known = [*constant_sizes(memref), *strides_of(memref)]
    rest = [part for part, fixed in zip([*value.sizes, *value.strides], known, strict=True) if fixed is None]
    return [value.base, value.limit, value.offset, *rest]


def rebuild(type: Attribute, pieces: Sequence[ir.Value]) -> Value:
    """The inverse of `parts`."""
    if not is_ranked(type):
        return pieces[0]
    base, limit, offset, *rest = pieces
    # Sizes first, then strides, as `parts` has them.
    dynamic = iter(rest)
    sizes = tuple(_fill(constant_sizes(type), dynamic))
    return MemRef(base, limit, offset, sizes, tuple(_fill(strides_of(type), dynamic)))


def _fill(known: Sequence[int | None], dynamic: Iterator[ir.Value]) -> Iterator[ir.Value]:
    for number in known:
        yield next(dynamic) if number is None else index(number)


def with_parts(value: Value, replace: Callable[[ir.Value], ir.Value]) -> Value:
    """A value all of whose parts are replaced, in the order of `all_parts`."""
    if not isinstance(value, MemRef):
        return value if isinstance(value, Known) else replace(value)
    base, limit, offset, *rest = [replace(part) for part in all_parts(value)]
    rank = len(value.sizes)
    return MemRef(base, limit, offset, tuple(rest[:rank]), tuple(rest[rank:]))


def all_parts(value: Value) -> list[ir.Value]:
    """Everything that a value is made of, be it known or not."""
    match value:
        case MemRef():
            return [value.base, value.limit, value.offset, *value.sizes, *value.strides]
        case Known():
            raise Untranslatable(f"{value.definition.name} is no number: which one it is has to be known")
        case _:
            return [value]


def whole_buffer(base: ir.Value, limit: ir.Value, type: MemRefType) -> MemRef:
    """All of a buffer whose size is static."""
    # Nothing is left for the running program to say.
    none = iter(())
    sizes, strides = (tuple(_fill(known, none)) for known in (constant_sizes(type), strides_of(type)))
    return MemRef(base, limit, index(offset_of(type) or 0), sizes, strides)
