"""`arith`, `index`, `math` and `vector` as instructions; most are one row of a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np
from xdsl.dialects.builtin import (
    AffineMapAttr,
    ArrayAttr,
    BoolAttr,
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IntegerAttr,
    VectorType,
)
from xdsl.ir import Attribute, Operation, SSAValue

from tilewright.dialects import arith, vector
from tilewright.dialects import index as index_dialect
from tilewright.dialects.arith.meaning import PREDICATES, RESIZES, SAME_IN_INDEX, SAME_IN_LLVM
from tilewright.dialects.vector import shape
from tilewright.gpu.emulator.builder import Handler, KernelBuilder
from tilewright.gpu.emulator.lower_memory import PLAIN, extent, position
from tilewright.gpu.emulator.program import I1, I64, Constant, Kind, MemRefParts, Operand, Struct, Unsupported, kind_of

_FLOATS = ("add", "sub", "mul", "div", "rem")
_ROWS = {
    **{f"index.{name}": name for name in SAME_IN_INDEX},
    **{same: name for name, same in SAME_IN_INDEX.items()},
    **{f"arith.{name}f": f"f{name}" for name in (*_FLOATS, "maximum", "minimum", "maxnum", "minnum")},
    **{f"llvm.f{name}": f"f{name}" for name in _FLOATS},
}
"""Operations that are one instruction; those on integers are called as in `index`."""
COMBINED = {
    ("add", False): "add",
    ("mul", False): "mul",
    ("add", True): "fadd",
    ("mul", True): "fmul",
    ("and", False): "and",
    ("or", False): "or",
    ("xor", False): "xor",
    ("minsi", False): "mins",
    ("maxsi", False): "maxs",
    ("minui", False): "minu",
    ("maxui", False): "maxu",
    ("minnumf", True): "fminnum",
    ("maxnumf", True): "fmaxnum",
    ("minimumf", True): "fminimum",
    ("maximumf", True): "fmaximum",
}
"""Instructions that combine two values, by the name of a reduction and whether they are floats."""
FUNCTIONS = (
    *("exp", "exp2", "expm1", "log", "log10", "log1p", "log2", "cbrt", "atan2"),
    *("sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh"),
    *("absf", "ceil", "floor", "trunc", "round", "roundeven", "sqrt", "rsqrt", "copysign", "powf", "erf", "fma"),
    *("absi", "ctlz", "cttz", "ctpop", "ipowi", "isnan", "isinf", "isfinite"),
)
"""Of `math`, by the names that generated code calls them by."""


def _row(name: str) -> Handler:
    """An operation that is one instruction."""

    def lower(b: KernelBuilder, op: Operation) -> None:
        b[op.results[0]] = b.emit(name, kind_of(op.results[0].type), *b.operands(op))

    return lower


def number_constant(kind: Kind, value: object) -> Constant:
    """A constant as registers of that kind hold it."""
    if isinstance(value, int) and not kind.is_float:
        bits = 1 << kind.bits
        value = bool(value & 1) if kind.bits == 1 else (value + bits // 2) % bits - bits // 2
    return Constant(kind, value)


def attribute_constant(value: Attribute, type: Attribute) -> Constant:
    kind = kind_of(type)
    match value:
        case IntegerAttr() | FloatAttr():
            return number_constant(kind, value.value.data)
        case DenseIntOrFPElementsAttr():
            numbers = [number_constant(kind.element, number).value for number in value.get_values()]
            array = np.array(numbers, dtype=kind.dtype).reshape(*kind.shape, 1)
            return Constant(kind, array)
        case _:
            raise Unsupported(f"{value} is no number and no list of numbers")


def _constant(b: KernelBuilder, op: Operation) -> None:
    b[op.results[0]] = attribute_constant(op.properties["value"], op.results[0].type)


def _cmpi(b: KernelBuilder, op: Operation) -> None:
    assert isinstance(op, arith.CmpiOp)
    b[op.result] = b.emit(PREDICATES[op.predicate.value.data], kind_of(op.result.type), *b.operands(op))


def _index_cmp(b: KernelBuilder, op: Operation) -> None:
    assert isinstance(op, index_dialect.CmpOp)
    b[op.result] = b.emit(str(op.pred.data), I1, *b.operands(op))


def _cmpf(b: KernelBuilder, op: Operation) -> None:
    assert isinstance(op, arith.CmpfOp)
    b[op.result] = b.emit("fcmp", kind_of(op.result.type), *b.operands(op), predicate=op.predicate.value.data)


def _select(b: KernelBuilder, op: Operation) -> None:
    """A choice; of memrefs, of all their parts."""
    condition, yes, no = op.operands
    chosen = b[condition]
    values = b.values[yes], b.values[no]
    match values:
        case MemRefParts() as first, MemRefParts() as second:
            parts = [_choose(b, chosen, x, y) for x, y in zip(first.parts, second.parts, strict=True)]
            rank = len(first.sizes)
            space = first.space if first.space == second.space else None
            b[op.results[0]] = MemRefParts(
                first.kind, space, parts[0], parts[1], tuple(parts[2 : 2 + rank]), tuple(parts[2 + rank :])
            )
        case Struct() as first, Struct() as second:
            b[op.results[0]] = Struct(
                {place: _choose(b, chosen, leaf, second.leaves[place]) for place, leaf in first.leaves.items()}
            )
        case _:
            b[op.results[0]] = _choose(b, chosen, b[yes], b[no])


def _choose(b: KernelBuilder, condition: Operand, yes: Operand, no: Operand) -> Operand:
    if yes == no:
        return yes
    return b.emit("select", yes.kind, condition, yes, no)


def _cast(name: str, **extra: object) -> Handler:
    def lower(b: KernelBuilder, op: Operation) -> None:
        value, kind = b[op.operands[0]], kind_of(op.results[0].type)
        if value.kind == kind:
            b[op.results[0]] = value
        elif isinstance(value, Constant) and name == "resize" and not kind.shape:
            number = int(value.value) & ((1 << value.kind.bits) - 1) if not extra["signed"] else _signed(value)
            b[op.results[0]] = number_constant(kind, number)
        else:
            b[op.results[0]] = b.emit(name, kind, value, **extra)

    return lower


def _signed(constant: Constant) -> int:
    return -int(constant.value) if constant.kind.bits == 1 else constant.value


def _function(name: str) -> Handler:
    def lower(b: KernelBuilder, op: Operation) -> None:
        b[op.results[0]] = b.emit("math", kind_of(op.results[0].type), *b.operands(op), function=name)

    return lower


def _negf(b: KernelBuilder, op: Operation) -> None:
    b[op.results[0]] = b.emit("fneg", kind_of(op.results[0].type), *b.operands(op))


def _extended(signed: bool) -> Handler:
    def lower(b: KernelBuilder, op: Operation) -> None:
        kind, values = kind_of(op.results[0].type), b.operands(op)
        b[op.results[0]] = b.emit("mul", kind, *values)
        b[op.results[1]] = b.emit("mulhigh", kind, *values, signed=signed)

    return lower


def _add_extended(b: KernelBuilder, op: Operation) -> None:
    kind, values = kind_of(op.results[0].type), b.operands(op)
    total = b.emit("add", kind, *values)
    b[op.results[0]] = total
    b[op.results[1]] = b.emit("ult", kind_of(op.results[1].type), total, values[0])


def _clampf(b: KernelBuilder, op: Operation) -> None:
    kind, (value, low, high) = kind_of(op.results[0].type), b.operands(op)
    b[op.results[0]] = b.emit("fminnum", kind, b.emit("fmaxnum", kind, value, low), high)


def _width(b: KernelBuilder, op: Operation) -> None:
    b[op.results[0]] = Constant(I64, I64.bits)


def _pattern(buffer: MemRefParts, type: VectorType) -> np.ndarray:
    """Where the elements of a vector are, from its first one on: it lies along the last dimensions."""
    sizes = tuple(type.get_shape())
    strides = buffer.strides[len(buffer.strides) - len(sizes) :]
    if len(strides) < len(sizes) or not all(isinstance(stride, Constant) for stride in strides):
        raise Unsupported("how the rows of the buffer lie must be known")
    numbers = [cast(Constant, stride).value for stride in strides]
    grid = np.indices(sizes, dtype=np.int64)
    return sum((axis * stride for axis, stride in zip(grid, numbers, strict=True)), np.zeros(sizes, np.int64))


def _load_rows(b: KernelBuilder, result: SSAValue, base: SSAValue, indices: Sequence[SSAValue]) -> None:
    buffer, type = b.memref(base), cast(VectorType, result.type)
    place, made = position(b, buffer, [b[value] for value in indices]), b.register(kind_of(type))
    b.effect(
        "load",
        *(buffer.pointer, place),
        outs=[made],
        space=buffer.space,
        kind=buffer.kind,
        limit=extent(buffer),
        order=PLAIN,
        pattern=_pattern(buffer, type),
    )
    b[result] = made


def _store_rows(b: KernelBuilder, value: SSAValue, base: SSAValue, indices: Sequence[SSAValue]) -> None:
    buffer = b.memref(base)
    place = position(b, buffer, [b[value] for value in indices])
    b.effect(
        "store",
        *(b[value], buffer.pointer, place),
        space=buffer.space,
        kind=buffer.kind,
        limit=extent(buffer),
        order=PLAIN,
        pattern=_pattern(buffer, cast(VectorType, value.type)),
    )


def _load(b: KernelBuilder, op: Operation) -> None:
    assert isinstance(op, vector.LoadOp)
    _load_rows(b, op.result, op.base, op.indices)


def _store(b: KernelBuilder, op: Operation) -> None:
    assert isinstance(op, vector.StoreOp)
    _store_rows(b, op.vector, op.base, op.indices)


def _check_plain(op: Operation, mask: SSAValue | None) -> None:
    map = cast(AffineMapAttr, op.properties["permutation_map"]).data
    bounds = cast("ArrayAttr[BoolAttr]", op.properties["in_bounds"])
    if mask is not None or not map.is_minor_identity() or not all(bound.value.data for bound in bounds):
        raise Unsupported("only transfers of whole rows that are in bounds; lower it to loops first")


def _transfer_read(b: KernelBuilder, op: Operation) -> None:
    assert isinstance(op, vector.TransferReadOp)
    _check_plain(op, op.mask)
    _load_rows(b, op.result, op.source, op.indices)


def _transfer_write(b: KernelBuilder, op: Operation) -> None:
    assert isinstance(op, vector.TransferWriteOp)
    _check_plain(op, op.mask)
    _store_rows(b, op.vector, op.source, op.indices)


def _broadcast(b: KernelBuilder, op: Operation) -> None:
    b[op.results[0]] = b.emit("vbroadcast", kind_of(op.results[0].type), b[op.operands[0]])


def _static(position: Sequence[Operand]) -> tuple[int, ...] | None:
    found = tuple(part.value for part in position if isinstance(part, Constant))
    return found if len(found) == len(position) else None


def _extract(b: KernelBuilder, op: Operation) -> None:
    assert isinstance(op, vector.ExtractOp)
    position = b.mixed(op.dynamic_position, op.static_position.get_values())
    kind, value, static = kind_of(op.result.type), b[op.vector], _static(position)
    if static is not None:
        b[op.result] = b.emit("vextract", kind, value, position=static)
    elif len(position) == 1 and not kind.shape:
        b[op.result] = b.emit("vpick", kind, value, position[0])
    else:
        raise Unsupported("which part it takes must be known")


def _insert(b: KernelBuilder, op: Operation) -> None:
    assert isinstance(op, vector.InsertOp)
    static = _static(b.mixed(op.dynamic_position, op.static_position.get_values()))
    if static is None:
        raise Unsupported("where it inserts must be known")
    b[op.result] = b.emit("vinsert", kind_of(op.result.type), b[op.source], b[op.dest], position=static)


def _shape_cast(b: KernelBuilder, op: Operation) -> None:
    b[op.results[0]] = b.emit("vreshape", kind_of(op.results[0].type), b[op.operands[0]])


def _integers(array: ArrayAttr[IntegerAttr]) -> list[int]:
    return [entry.value.data for entry in array]


def _extract_slice(b: KernelBuilder, op: Operation) -> None:
    assert isinstance(op, shape.ExtractStridedSliceOp)
    kind = kind_of(op.result.type)
    starts = _integers(op.offsets)
    ends = [start + size for start, size in zip(starts, kind.shape, strict=False)]
    b[op.result] = b.emit("vslice", kind, b[op.source], starts=tuple(starts), ends=tuple(ends))


def _from_elements(b: KernelBuilder, op: Operation) -> None:
    b[op.results[0]] = b.emit("vgather", kind_of(op.results[0].type), *b.operands(op))


def _to_elements(b: KernelBuilder, op: Operation) -> None:
    value = b[op.operands[0]]
    for result, place in zip(op.results, np.ndindex(*value.kind.shape), strict=True):
        b[result] = b.emit("vextract", kind_of(result.type), value, position=tuple(place))


def _reduction(b: KernelBuilder, op: Operation) -> None:
    assert isinstance(op, vector.ReductionOp)
    kind, combine = kind_of(op.dest.type), str(op.kind.data[0] if isinstance(op.kind.data, tuple) else op.kind.data)
    result = b.emit("vreduce", kind, b[op.vector], combine=combine)
    if op.acc is not None:
        result = b.emit(COMBINED[combine, kind.is_float], kind, result, b[op.acc])
    b[op.dest] = result


def _fma(b: KernelBuilder, op: Operation) -> None:
    b[op.results[0]] = b.emit("math", kind_of(op.results[0].type), *b.operands(op), function="fma")


HANDLERS: dict[str, Handler] = {
    **{name: _row(instruction) for name, instruction in _ROWS.items()},
    **{f"llvm.{name}": _row(_ROWS[same]) for name, same in SAME_IN_LLVM.items()},
    **{f"math.{name}": _function(name) for name in FUNCTIONS},
    "arith.constant": _constant,
    "index.constant": _constant,
    "index.bool.constant": _constant,
    "llvm.mlir.constant": _constant,
    "index.sizeof": _width,
    "arith.cmpi": _cmpi,
    "index.cmp": _index_cmp,
    "arith.cmpf": _cmpf,
    "arith.select": _select,
    "llvm.select": _select,
    "arith.negf": _negf,
    "llvm.fneg": _negf,
    "arith.mulsi_extended": _extended(signed=True),
    "arith.mului_extended": _extended(signed=False),
    "arith.addui_extended": _add_extended,
    "math.clampf": _clampf,
    **{name: _cast("resize", signed=signed) for name, signed in RESIZES.items()},
    "index.casts": _cast("resize", signed=True),
    "index.castu": _cast("resize", signed=False),
    "llvm.trunc": _cast("resize", signed=False),
    "llvm.zext": _cast("resize", signed=False),
    "llvm.sext": _cast("resize", signed=True),
    "arith.sitofp": _cast("tofloat", signed=True),
    "arith.uitofp": _cast("tofloat", signed=False),
    "llvm.sitofp": _cast("tofloat", signed=True),
    "llvm.uitofp": _cast("tofloat", signed=False),
    "arith.fptosi": _cast("toint", signed=True),
    "arith.fptoui": _cast("toint", signed=False),
    "llvm.fptosi": _cast("toint", signed=True),
    "llvm.fptoui": _cast("toint", signed=False),
    "arith.extf": _cast("fpcast"),
    "arith.truncf": _cast("fpcast"),
    "llvm.fpext": _cast("fpcast"),
    "llvm.fptrunc": _cast("fpcast"),
    "arith.bitcast": _cast("bitcast"),
    "llvm.bitcast": _cast("bitcast"),
    "vector.load": _load,
    "vector.store": _store,
    "vector.transfer_read": _transfer_read,
    "vector.transfer_write": _transfer_write,
    "vector.broadcast": _broadcast,
    "vector.splat": _broadcast,
    "vector.extract": _extract,
    "vector.insert": _insert,
    "vector.shape_cast": _shape_cast,
    "vector.extract_strided_slice": _extract_slice,
    "vector.from_elements": _from_elements,
    "vector.to_elements": _to_elements,
    "vector.reduction": _reduction,
    "vector.fma": _fma,
}
