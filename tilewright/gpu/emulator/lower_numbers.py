"""`arith`, `index`, `math` and `vector` as instructions; most are one row of a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias, cast

import numpy as np
from xdsl.dialects.builtin import (
    AffineMapAttr,
    ArrayAttr,
    BoolAttr,
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IntegerAttr,
    MemRefType,
    VectorType,
)
from xdsl.ir import Attribute, Operation, SSAValue

from tilewright.dialects import arith, vector
from tilewright.dialects import index as index_dialect
from tilewright.dialects.arith.meaning import FLOAT_MEANING, MEANING, PREDICATES, RESIZES, SAME_IN_INDEX, SAME_IN_LLVM
from tilewright.dialects.vector import shape
from tilewright.dialects.vector.orders import walked_dimensions
from tilewright.dialects.vector.types import CombiningKindFlag
from tilewright.gpu.emulator.builder import Handler, ProgramBuilder
from tilewright.gpu.emulator.lower_memory import about, position
from tilewright.gpu.emulator.program import (
    I1,
    I64,
    Constant,
    Kind,
    MemRefParts,
    Operand,
    Struct,
    Unsupported,
    Value,
    index,
    kind_of,
    number_constant,
)

_ROWS = {
    **{name: name for name in (*MEANING, *FLOAT_MEANING, "arith.negf")},
    **{f"index.{name}": same for name, same in SAME_IN_INDEX.items()},
    **{f"llvm.{name}": same for name, same in SAME_IN_LLVM.items()},
    **{f"llvm.f{name}": f"arith.{name}f" for name in ("add", "sub", "mul", "div", "rem", "neg")},
}
"""Operations that are one instruction, which is called as in `arith`."""
FUNCTIONS = (
    *("exp", "exp2", "expm1", "log", "log10", "log1p", "log2", "cbrt", "atan2"),
    *("sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh"),
    *("absf", "ceil", "floor", "trunc", "round", "roundeven", "sqrt", "rsqrt", "copysign", "powf", "erf", "fma"),
    *("absi", "ctlz", "cttz", "ctpop", "ipowi", "isnan", "isinf", "isfinite"),
)
"""Of `math`, by the names that generated code calls them by."""


def _row(name: str, **extra: object) -> Handler:
    """An operation that is one instruction."""
    return lambda b, op: b.emit(name, kind_of(op.results[0].type), *b.operands(op), **extra)


def attribute_constant(value: Attribute, type: Attribute) -> Constant:
    kind = kind_of(type)
    match value:
        case IntegerAttr() | FloatAttr():
            return number_constant(kind, value.value.data)
        case DenseIntOrFPElementsAttr():
            numbers = [number_constant(kind.element, number).value for number in value.get_values()]
            # one lane, which NumPy spreads over all
            return Constant(kind, np.array(numbers, dtype=kind.dtype).reshape(*kind.shape, 1))
        case _:
            raise Unsupported(f"{value} is no number and no list of numbers")


def _constant(b: ProgramBuilder, op: Operation) -> Operand:
    return attribute_constant(op.properties["value"], op.results[0].type)


def _compare(b: ProgramBuilder, op: Operation) -> Operand:
    name = PREDICATES[cast(IntegerAttr, op.properties["predicate"]).value.data]
    return b.emit(name, kind_of(op.results[0].type), *b.operands(op))


def _index_cmp(b: ProgramBuilder, op: index_dialect.CmpOp) -> Operand:
    return b.emit(str(op.pred.data), I1, *b.operands(op))


def _cmpf(b: ProgramBuilder, op: arith.CmpfOp) -> Operand:
    return b.emit("arith.cmpf", kind_of(op.result.type), *b.operands(op), predicate=op.predicate.value.data)


def _select(b: ProgramBuilder, op: Operation) -> Value:
    """A choice; of memrefs, of all their parts."""
    condition, yes, no = op.operands
    chosen = b[condition]
    match b.values[yes], b.values[no]:
        case MemRefParts() as first, MemRefParts() as second:
            parts = [_choose(b, chosen, x, y) for x, y in zip(first.parts, second.parts, strict=True)]
            # of two spaces, only the address tells at the access
            return MemRefParts.of(first.kind, first.space if first.space == second.space else None, parts)
        case Struct() as first, Struct() as second:
            leaves = second.leaves
            return Struct({place: _choose(b, chosen, leaf, leaves[place]) for place, leaf in first.leaves.items()})
        case _:
            return _choose(b, chosen, b[yes], b[no])


def _choose(b: ProgramBuilder, condition: Operand, yes: Operand, no: Operand) -> Operand:
    return yes if yes == no else b.emit("select", yes.kind, condition, yes, no)


def _cast(name: str, **extra: object) -> Handler:
    def lower(b: ProgramBuilder, op: Operation) -> Operand:
        value, kind = b[op.operands[0]], kind_of(op.results[0].type)
        if value.kind == kind:
            return value
        # what is known stays so: operations that ask for a dimension or a size need constants
        if isinstance(value, Constant) and name == "resize" and not kind.shape:
            number = int(value.value) & ((1 << value.kind.bits) - 1) if not extra["signed"] else _signed(value)
            return number_constant(kind, number)
        return b.emit(name, kind, value, **extra)

    return lower


def _signed(constant: Constant) -> int:
    # a bit that is set is -1, which Python's True is not
    return -int(constant.value) if constant.kind.bits == 1 else constant.value


def _extended(signed: bool) -> Handler:
    def lower(b: ProgramBuilder, op: Operation) -> Operand:
        kind, values = kind_of(op.results[0].type), b.operands(op)
        b[op.results[1]] = b.emit("mulhigh", kind, *values, signed=signed)
        return b.emit("arith.muli", kind, *values)

    return lower


def _add_extended(b: ProgramBuilder, op: Operation) -> Operand:
    kind, values = kind_of(op.results[0].type), b.operands(op)
    total = b.emit("arith.addi", kind, *values)
    # a sum without signs that wrapped is below both sides
    b[op.results[1]] = b.emit("ult", kind_of(op.results[1].type), total, values[0])
    return total


def _clampf(b: ProgramBuilder, op: Operation) -> Operand:
    kind, (value, low, high) = kind_of(op.results[0].type), b.operands(op)
    return b.emit("arith.minnumf", kind, b.emit("arith.maxnumf", kind, value, low), high)


Dims: TypeAlias = "Sequence[int | None]"
"""The dimension of a buffer that each dimension of a vector walks along; None for one that repeats."""


def _last(base: SSAValue, type: VectorType) -> Dims:
    rank = cast(MemRefType, base.type).get_num_dims()
    if rank < type.get_num_dims():
        raise Unsupported("how the rows of the buffer lie must be known")
    return range(rank - type.get_num_dims(), rank)


def _pattern(buffer: MemRefParts, type: VectorType, dims: Dims) -> np.ndarray:
    """Where the elements of a vector are, from its first one on."""
    sizes, strides = tuple(type.get_shape()), [index(0) if dim is None else buffer.strides[dim] for dim in dims]
    if not all(isinstance(stride, Constant) for stride in strides):
        raise Unsupported("how the rows of the buffer lie must be known")
    numbers = [cast(Constant, stride).value for stride in strides]
    grid = np.indices(sizes, dtype=np.int64)
    return sum((axis * stride for axis, stride in zip(grid, numbers, strict=True)), np.zeros(sizes, np.int64))


def _load_rows(b: ProgramBuilder, result: SSAValue, base: SSAValue, indices: Sequence[SSAValue], dims: Dims) -> Operand:
    buffer, type = b.memref(base), cast(VectorType, result.type)
    place, pattern = position(b, buffer, [b[value] for value in indices]), _pattern(buffer, type, dims)
    return b.emit("load", kind_of(type), buffer.pointer, place, pattern=pattern, **about(buffer))


def _store_rows(b: ProgramBuilder, value: SSAValue, base: SSAValue, indices: Sequence[SSAValue], dims: Dims) -> None:
    buffer, type = b.memref(base), cast(VectorType, value.type)
    place, pattern = position(b, buffer, [b[value] for value in indices]), _pattern(buffer, type, dims)
    b.effect("store", b[value], buffer.pointer, place, pattern=pattern, **about(buffer))


def _load(b: ProgramBuilder, op: vector.LoadOp) -> Operand:
    return _load_rows(b, op.result, op.base, op.indices, _last(op.base, op.result.type))


def _store(b: ProgramBuilder, op: vector.StoreOp) -> None:
    _store_rows(b, op.vector, op.base, op.indices, _last(op.base, cast(VectorType, op.vector.type)))


def _walked(op: Operation, mask: SSAValue | None) -> Dims:
    bounds = cast("ArrayAttr[BoolAttr]", op.properties["in_bounds"])
    # anything else pads or masks, element by element
    if mask is not None or not all(bound.value.data for bound in bounds):
        raise Unsupported("only transfers without a mask that are in bounds; lower it to loops first")
    return walked_dimensions(cast(AffineMapAttr, op.properties["permutation_map"]).data)


def _transfer_read(b: ProgramBuilder, op: vector.TransferReadOp) -> Operand:
    return _load_rows(b, op.result, op.source, op.indices, _walked(op, op.mask))


def _transfer_write(b: ProgramBuilder, op: vector.TransferWriteOp) -> None:
    _store_rows(b, op.vector, op.source, op.indices, _walked(op, op.mask))


def _contract(b: ProgramBuilder, op: vector.ContractionOp) -> Operand:
    """Each lane multiplies all of it; matrix instructions do so together."""
    if op.kind.data is not CombiningKindFlag.ADD:
        raise Unsupported(f"there are sums of products here, none of kind {op.kind.data}")
    return b.emit("vcontract", kind_of(op.result.type), *b.operands(op), dims=tuple(op.dimensions))


def _transpose(b: ProgramBuilder, op: shape.TransposeOp) -> Operand:
    return b.emit("vtranspose", kind_of(op.result.type), b[op.vector], order=tuple(op.permutation.get_values()))


def _static(position: Sequence[Operand]) -> tuple[int, ...] | None:
    found = tuple(part.value for part in position if isinstance(part, Constant))
    return found if len(found) == len(position) else None


def _extract(b: ProgramBuilder, op: vector.ExtractOp) -> Operand:
    position = b.mixed(op.dynamic_position, op.static_position.get_values())
    kind, value, static = kind_of(op.result.type), b[op.vector], _static(position)
    if static is not None:
        return b.emit("vextract", kind, value, position=static)
    if len(position) == 1 and not kind.shape:
        return b.emit("vpick", kind, value, position[0])
    raise Unsupported("which part it takes must be known")


def _insert(b: ProgramBuilder, op: vector.InsertOp) -> Operand:
    static = _static(b.mixed(op.dynamic_position, op.static_position.get_values()))
    if static is None:
        raise Unsupported("where it inserts must be known")
    return b.emit("vinsert", kind_of(op.result.type), b[op.source], b[op.dest], position=static)


def _extract_slice(b: ProgramBuilder, op: shape.ExtractStridedSliceOp) -> Operand:
    kind, starts = kind_of(op.result.type), tuple(entry.value.data for entry in op.offsets)
    # dimensions behind those that are named are taken whole
    ends = tuple(start + size for start, size in zip(starts, kind.shape, strict=False))
    return b.emit("vslice", kind, b[op.source], starts=starts, ends=ends)


def _to_elements(b: ProgramBuilder, op: Operation) -> None:
    value = b[op.operands[0]]
    for result, place in zip(op.results, np.ndindex(*value.kind.shape), strict=True):
        b[result] = b.emit("vextract", kind_of(result.type), value, position=tuple(place))


def combining(reduction: str, kind: Kind) -> str:
    """The operation of `arith` that a reduction combines two values with; some reductions name no type."""
    name = f"arith.{reduction}"
    return name if name in _ROWS else name + ("f" if kind.is_float else "i")


def _reduction(b: ProgramBuilder, op: vector.ReductionOp) -> Operand:
    kind, combine = kind_of(op.dest.type), op.kind.data.value
    result = b.emit("vreduce", kind, b[op.vector], combine=combine)
    return result if op.acc is None else b.emit(combining(combine, kind), kind, result, b[op.acc])


_FLOAT_CASTS = {
    "sitofp": _cast("tofloat", signed=True),
    "uitofp": _cast("tofloat", signed=False),
    "fptosi": _cast("toint", signed=True),
    "fptoui": _cast("toint", signed=False),
}
HANDLERS: dict[str, Handler] = {
    **{name: _row(instruction) for name, instruction in _ROWS.items()},
    **{f"math.{name}": _row("math", function=name) for name in FUNCTIONS},
    **dict.fromkeys(("arith.constant", "index.constant", "index.bool.constant", "llvm.mlir.constant"), _constant),
    "index.sizeof": lambda b, op: index(I64.bits),
    "arith.cmpi": _compare,
    "llvm.icmp": _compare,
    "index.cmp": _index_cmp,
    "arith.cmpf": _cmpf,
    "arith.select": _select,
    "llvm.select": _select,
    "arith.mulsi_extended": _extended(signed=True),
    "arith.mului_extended": _extended(signed=False),
    "arith.addui_extended": _add_extended,
    "math.clampf": _clampf,
    **{name: _cast("resize", signed=signed) for name, signed in RESIZES.items()},
    **dict.fromkeys(("index.casts", "llvm.sext"), _cast("resize", signed=True)),
    **dict.fromkeys(("index.castu", "llvm.trunc", "llvm.zext"), _cast("resize", signed=False)),
    **{f"{dialect}.{name}": cast for dialect in ("arith", "llvm") for name, cast in _FLOAT_CASTS.items()},
    **dict.fromkeys(("arith.extf", "arith.truncf", "llvm.fpext", "llvm.fptrunc"), _cast("fpcast")),
    **dict.fromkeys(("arith.bitcast", "llvm.bitcast"), _cast("bitcast")),
    "vector.load": _load,
    "vector.store": _store,
    "vector.transfer_read": _transfer_read,
    "vector.transfer_write": _transfer_write,
    "vector.broadcast": _row("vbroadcast"),
    "vector.splat": _row("vbroadcast"),
    "vector.extract": _extract,
    "vector.insert": _insert,
    "vector.shape_cast": _row("vreshape"),
    "vector.bitcast": _row("vbitcast"),
    "vector.extract_strided_slice": _extract_slice,
    "vector.transpose": _transpose,
    "vector.contract": _contract,
    "vector.from_elements": _row("vgather"),
    "vector.to_elements": _to_elements,
    "vector.reduction": _reduction,
    "vector.fma": _row("math", function="fma"),
}
