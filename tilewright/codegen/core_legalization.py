"""LLVM IR as the back end for cores (Peano) takes it: vectors of its registers' sizes, instructions that it selects.

Vector instructions that it has no rule for are done lane by lane, intrinsics that it has none for become instructions
that it has, or calls of the C library. Accesses of vectors stay whole only where addresses are known to be aligned:
the hardware drops the lower bits of others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import reduce
from itertools import chain
from typing import Any, cast

from llvmlite import ir
from llvmlite.ir import instructions as llvm

from tilewright.codegen.core_alignment import Alignments
from tilewright.native.lanes import assemble, constant_like, lane, splat
from tilewright.native.math_functions import call_library
from tilewright.native.values import (
    I8,
    I32,
    I64,
    POINTER,
    Untranslatable,
    bit_width,
    element_of,
    natural_alignment,
    number_of,
    size_of,
)

# Xilinx/llvm-aie at bb7ca7b00ecb: llvm/lib/Target/AIE/AIE2LegalizerInfo.cpp.
REGISTER_BITS = (256, 512, 1024)
"""Of the vectors that instructions, phis and selections take."""
MEMORY_BITS = (128, *REGISTER_BITS)
LANE_BITS = (8, 16, 32)
WHOLE_BITS = 512
"""Of the vectors that sums and differences take."""
VECTOR_ALIGNMENT = 32
"""Bytes; vectors of 128 bits are aligned to their size."""
WORD_ALIGNMENT = 4
"""Bytes: nothing but vectors is aligned to more."""
ON_INTEGERS, ON_BITS, ON_FLOATS = ("add", "sub"), ("and", "or"), ("fadd", "fsub")

Scalars = list[ir.Value]
Build = Callable[..., ir.Value]


def legalize(function: ir.Function, has_float_sums: bool) -> None:
    """Change a finished function in place; `has_float_sums` says whether vectors of `float` can be added."""
    _Legalizer(function, has_float_sums).run()


class _Legalizer:
    def __init__(self, function: ir.Function, has_float_sums: bool):
        self.function, self.has_float_sums = function, has_float_sums
        self.builder = ir.IRBuilder()
        self.alignments = Alignments(function)
        self.lanes: dict[ir.Value, Scalars] = {}
        self.replaced: dict[ir.Value, ir.Value] = {}
        """Instructions that are gone, and what has their place."""
        self.phis: list[tuple[llvm.PhiInstr, Scalars]] = []
        self._unused: ir.Value | None = None

    def run(self) -> None:
        instructions = list(chain.from_iterable(block.instructions for block in self.function.blocks))
        kept = [each for each in instructions if not self._is_split(each)]
        split = {each for each in instructions if self._is_split(each)}
        self.wanted = {operand for each in kept for operand in _operands(each) if operand in split}
        """Vectors that are made of lanes and are used as vectors all the same."""
        for block in _in_order(self.function):
            old, block.instructions = list(block.instructions), []
            self.builder.position_at_end(block)
            # All phis come first, those that are made of vectors too.
            heads = [each for each in old if isinstance(each, llvm.PhiInstr)]
            for each in heads:
                if each in split:
                    self._phi(each)
                else:
                    self._keep(each)
            for each in heads:
                self._join(each)
            for each in (each for each in old if not isinstance(each, llvm.PhiInstr)):
                if each in split:
                    self._split(each)
                else:
                    self._keep(each)
        for phi, scalars in self.phis:
            for value, source in phi.incomings:
                for scalar, part in zip(scalars, self._lanes_at_end(value, source), strict=True):
                    cast(llvm.PhiInstr, scalar).add_incoming(part, source)
        for each in chain.from_iterable(block.instructions for block in self.function.blocks):
            _substitute(each, self.replaced)

    # What stays, and what is done lane by lane.

    def _is_split(self, op: Any) -> bool:
        match op:
            case llvm.PhiInstr():
                return _is_vector(op.type) and not _is_register(op.type)
            case llvm.LoadInstr():
                return _is_vector(op.type) and not self._is_whole(op.type, op.operands[0])
            case llvm.StoreInstr():
                return _is_vector(op.operands[0].type) and not self._is_whole(op.operands[0].type, op.operands[1])
            case llvm.ExtractElement() | llvm.InsertElement():
                return number_of(op.operands[-1]) is not None
            case llvm.ShuffleVector():
                return True
            case llvm.CallInstr():
                return _intrinsic_name(op) is not None
            case llvm.SelectInstr():
                return _is_vector(op.type) and (_is_vector(op.cond.type) or not _is_register(op.type))
            case llvm.CastInstr():
                registers = _is_register(op.type) and _is_register(op.operands[0].type)
                return _is_vector(op.type) and not (op.opname == "bitcast" and registers)
            case llvm.CompareInstr():
                return _is_vector(op.type)
            case llvm.Terminator():
                return False
            case llvm.Instruction() if len(op.operands) and _is_vector(op.operands[0].type):
                return not self._has_rule(op.opname, op.type)
            case _:
                return False

    def _has_rule(self, opname: str, type: ir.Type) -> bool:
        if opname in ON_BITS:
            return _is_register(type)
        whole = _is_register(type) and bit_width(type) == WHOLE_BITS
        is_float = isinstance(element_of(type), ir.FloatType)
        return whole and (opname in ON_INTEGERS or (opname in ON_FLOATS and is_float and self.has_float_sums))

    def _is_whole(self, type: ir.Type, pointer: ir.Value) -> bool:
        fits = _has_lanes(type) and bit_width(type) in MEMORY_BITS
        return fits and self.alignments.of(pointer) >= _vector_alignment(type)

    def _keep(self, op: Any) -> None:
        if isinstance(op, llvm.LoadInstr | llvm.StoreInstr):
            type = op.type if isinstance(op, llvm.LoadInstr) else op.operands[0].type
            op.align = _vector_alignment(type) if _is_vector(type) else min(natural_alignment(type), WORD_ALIGNMENT)
        self.builder._insert(op)

    def _split(self, op: Any) -> None:
        match op:
            case llvm.ExtractElement():
                self.replaced[op] = self._lanes_of(op.operands[0])[cast(int, number_of(op.operands[1]))]
            case llvm.StoreInstr():
                self._store(op)
            case llvm.CallInstr() if not _is_vector(op.type):
                result = self._called(op)
                if result is not None:
                    self.replaced[op] = result
            case _:
                self.lanes[op] = list(self._computed(op))
                self._join(op)

    def _join(self, op: Any) -> None:
        """A vector of the lanes, where someone wants one."""
        if op not in self.wanted:
            return
        lanes = self.lanes[op]
        same = all(each is lanes[0] for each in lanes)
        self.replaced[op] = (
            splat(self.builder, lanes[0], len(lanes)) if same else assemble(self.builder, op.type, lanes)
        )

    def _lanes_of(self, value: ir.Value) -> Scalars:
        known = self.lanes.get(value)
        if known is None:
            known = _constant_lanes(value) or [lane(self.builder, value, n) for n in range(_count(value.type))]
        return known

    def _lanes_at_end(self, value: ir.Value, block: ir.Block) -> Scalars:
        """Lanes that a phi takes from a block that leads to it."""
        self.builder.position_before(block.instructions[-1])
        return self._lanes_of(value)

    def _phi(self, op: llvm.PhiInstr) -> None:
        scalars: Scalars = [self.builder.phi(element_of(op.type)) for _ in range(_count(op.type))]
        self.lanes[op] = scalars
        self.phis.append((op, scalars))

    def _computed(self, op: Any) -> Iterable[ir.Value]:
        builder = self.builder
        match op:
            case llvm.LoadInstr():
                return self._load(op)
            case llvm.InsertElement():
                found = list(self._lanes_of(op.operands[0]))
                found[cast(int, number_of(op.operands[2]))] = op.operands[1]
                return found
            case llvm.ShuffleVector():
                both = [*self._lanes_of(op.operands[0]), *self._lanes_of(op.operands[1])]
                return [both[cast(int, number_of(place))] for place in op.operands[2].constant]
            case llvm.SelectInstr():
                conditions = self._spread(op.cond, _count(op.type))
                sides = self._lanes_of(op.lhs), self._lanes_of(op.rhs)
                return [builder.select(*each) for each in zip(conditions, *sides, strict=True)]
            case llvm.CastInstr():
                return self._cast(op)
            case llvm.CallInstr():
                return self._call_lanes(op)
            case llvm.CompareInstr():
                make = llvm.FCMPInstr if op.opname == "fcmp" else llvm.ICMPInstr

                def compared(a: ir.Value, b: ir.Value) -> llvm.Instruction:
                    return make(builder.block, op.op, a, b, flags=op.flags)

                return self._each(compared, op)
            case _:
                scalar, name = element_of(op.type), op.opname

                def again(*values: ir.Value) -> llvm.Instruction:
                    return llvm.Instruction(builder.block, scalar, name, values, flags=op.flags)

                return self._each(again, op)

    def _each(self, make: Callable[..., Any], op: Any) -> Iterator[ir.Value]:
        for operands in zip(*map(self._lanes_of, op.operands), strict=True):
            made = make(*operands)
            self.builder._insert(made)
            yield made

    def _spread(self, value: ir.Value, count: int) -> Scalars:
        return self._lanes_of(value) if _is_vector(value.type) else [value] * count

    # Memory, element by element.

    def _places(self, pointer: ir.Value, type: ir.Type) -> Iterator[ir.Value]:
        size = size_of(element_of(type))
        for number in range(_count(type)):
            yield self.builder.gep(pointer, [ir.Constant(I64, number * size)], source_etype=I8)

    def _load(self, op: llvm.LoadInstr) -> Iterator[ir.Value]:
        for place in self._places(op.operands[0], op.type):
            yield self._load_scalar(place, element_of(op.type))

    def _load_scalar(self, place: ir.Value, type: ir.Type) -> ir.Value:
        return self.builder.load(place, typ=type, align=min(natural_alignment(type), WORD_ALIGNMENT))

    def _store_scalar(self, value: ir.Value, place: ir.Value) -> None:
        self.builder.store(value, place, align=min(natural_alignment(value.type), WORD_ALIGNMENT))

    def _store(self, op: llvm.StoreInstr) -> None:
        vector, pointer = op.operands
        for value, place in zip(self._lanes_of(vector), self._places(pointer, vector.type), strict=True):
            self._store_scalar(value, place)

    def _unused_room(self) -> ir.Value:
        """A place that accesses go to which are not meant."""
        if self._unused is None:
            room = llvm.AllocaInstr(self.function.blocks[0], ir.ArrayType(I8, 8), None, "")
            room.type, room.align = POINTER, 8
            self.function.blocks[0].instructions.insert(0, room)
            self._unused = room
            # The entry block may be the current one.
            self.builder.position_at_end(self.builder.block)
        return self._unused

    # Conversions.

    def _cast(self, op: llvm.CastInstr) -> Iterable[ir.Value]:
        source, target = op.operands[0].type, op.type
        if _is_vector(source) and _count(source) == _count(target):
            scalar, name = element_of(target), op.opname

            def converted(value: ir.Value) -> llvm.Instruction:
                return llvm.CastInstr(self.builder.block, name, value, scalar)

            return self._each(converted, op)
        return self._regrouped(self._spread(op.operands[0], 1), element_of(source), target)

    def _regrouped(self, lanes: Scalars, source: ir.Type, target: ir.Type) -> list[ir.Value]:
        """The same bits in wider or narrower lanes, the first of them in the lowest bits."""
        builder, old, new = self.builder, bit_width(source), bit_width(element_of(target))
        bits = [self._as_type(value, ir.IntType(old)) for value in lanes]
        wide = ir.IntType(new)
        if new > old:
            groups = [bits[first : first + new // old] for first in range(0, len(bits), new // old)]
            parts = [
                [
                    builder.shl(builder.zext(bit, wide), ir.Constant(wide, place * old))
                    for place, bit in enumerate(group)
                ]
                for group in groups
            ]
            whole: list[ir.Value] = [reduce(builder.or_, group) for group in parts]
        else:
            whole = [
                builder.trunc(builder.lshr(bit, ir.Constant(bit.type, place * new)), wide)
                for bit in bits
                for place in range(old // new)
            ]
        return [self._as_type(value, element_of(target)) for value in whole]

    def _as_type(self, value: ir.Value, type: ir.Type) -> ir.Value:
        return value if value.type == type else self.builder.bitcast(value, type)

    # Intrinsics that are not the vendor's.

    def _call_lanes(self, op: llvm.CallInstr) -> Iterable[ir.Value]:
        name = _intrinsic_name(op)
        if name == "llvm.masked.gather":
            return self._gather(op)
        count = _count(op.type)
        columns = [self._spread(operand, count) for operand in op.args]
        build, result = _expansion(name), element_of(op.type)
        return [build(self.builder, result, *each) for each in zip(*columns, strict=True)]

    def _called(self, op: llvm.CallInstr) -> ir.Value | None:
        name = cast(str, _intrinsic_name(op))
        if name == "llvm.masked.scatter":
            self._scatter(op)
            return None
        if name.startswith(REDUCTION):
            return self._reduced(name.removeprefix(REDUCTION), op)
        return _expansion(name)(self.builder, op.type, *op.args)

    def _gather(self, op: llvm.CallInstr) -> Iterator[ir.Value]:
        builder, room = self.builder, self._unused_room()
        for place, mask, other in zip(*map(self._lanes_of, op.args), strict=True):
            if number_of(mask) == 1:
                yield self._load_scalar(place, element_of(op.type))
                continue
            found = self._load_scalar(builder.select(mask, place, room), element_of(op.type))
            yield builder.select(mask, found, other)

    def _scatter(self, op: llvm.CallInstr) -> None:
        builder, room = self.builder, self._unused_room()
        for value, place, mask in zip(*map(self._lanes_of, op.args), strict=True):
            self._store_scalar(value, place if number_of(mask) == 1 else builder.select(mask, place, room))

    def _reduced(self, kind: str, op: llvm.CallInstr) -> ir.Value:
        lanes = self._lanes_of(op.operands[-1])
        combine = cast(Build, getattr(self.builder, {"and": "and_", "or": "or_"}.get(kind, kind), None))
        if kind not in ("add", "mul", "and", "or", "xor"):
            raise Untranslatable(f"there is no rule for reductions by {kind}")
        return reduce(combine, lanes)


REDUCTION = "llvm.vector.reduce."
VENDOR = "llvm.aie"


def _intrinsic_name(op: Any) -> str | None:
    """The name without types of an intrinsic that has to become something else."""
    name = getattr(op.callee, "name", "")
    if not name.startswith("llvm.") or name.startswith(VENDOR):
        return None
    if name.startswith(("llvm.masked.gather.", "llvm.masked.scatter.")):
        return ".".join(name.split(".")[:3])
    if name.startswith(REDUCTION):
        return ".".join(name.split(".")[:4])
    found = next((known for known in EXPANSIONS if name.startswith(f"{known}.")), None)
    # A vector of what is fine for scalars is taken apart too.
    if found is None and any(_is_vector(each.type) for each in op.args):
        found = name.rpartition(".")[0]
    return found


def _expansion(name: str | None) -> Build:
    found = EXPANSIONS.get(name or "") or SCALARS.get(name or "")
    if found is None:
        raise Untranslatable(f"there is no rule for {name}")
    return found


def _again(name: str) -> Build:
    """The same intrinsic on scalars."""

    def build(builder: ir.IRBuilder, result: ir.Type, *values: ir.Value) -> ir.Value:
        full = f"{name}.{'f' if not isinstance(result, ir.IntType) else 'i'}{bit_width(result)}"
        known = builder.module.globals.get(full)
        function = known or ir.Function(builder.module, ir.FunctionType(result, [v.type for v in values]), full)
        return builder.call(function, values)

    return build


def _extreme(operator: str, numbers: bool) -> Build:
    """The larger or the smaller number. A NaN wins, or loses where `numbers` are asked for; -0 is less than 0."""

    def build(builder: ir.IRBuilder, result: ir.Type, a: ir.Value, b: ir.Value) -> ir.Value:
        bits = ir.IntType(bit_width(result))
        left, right = builder.bitcast(a, bits), builder.bitcast(b, bits)
        zero = builder.bitcast((builder.and_ if operator == ">" else builder.or_)(left, right), result)
        chosen = builder.select(builder.fcmp_ordered(operator, a, b), a, b)
        chosen = builder.select(builder.fcmp_ordered("==", a, b), zero, chosen)
        no_left, no_right = (builder.fcmp_unordered("uno", value, value) for value in (a, b))
        first, second = (b, a) if numbers else (a, b)
        return builder.select(no_left, first, builder.select(no_right, second, chosen))

    return build


def _saturated(signed: bool) -> Build:
    """A number as an integer: what does not fit becomes the nearest that does, a NaN becomes 0."""

    def build(builder: ir.IRBuilder, result: ir.Type, value: ir.Value) -> ir.Value:
        width = result.width
        low, high = (-(1 << width - 1), (1 << width - 1) - 1) if signed else (0, (1 << width) - 1)
        # Both limits are powers of two, which every type of floating-point numbers here has.
        above, below = ir.Constant(value.type, float(high + 1)), ir.Constant(value.type, float(low))
        # The back end converts to words: a narrower result would be one of those, cut off.
        word = ir.IntType(max(width, I32.width))
        inside = (builder.fptosi if signed or width < I32.width else builder.fptoui)(value, word)
        found = inside if word.width == width else builder.trunc(inside, result)
        found = builder.select(builder.fcmp_ordered(">=", value, above), ir.Constant(result, high), found)
        found = builder.select(builder.fcmp_ordered("<", value, below), ir.Constant(result, low), found)
        return builder.select(builder.fcmp_unordered("uno", value, value), ir.Constant(result, 0), found)

    return build


def _library(name: str) -> Build:
    def build(builder: ir.IRBuilder, result: ir.Type, *values: ir.Value) -> ir.Value:
        return call_library(builder, name, *values)

    return build


def _copysign(builder: ir.IRBuilder, result: ir.Type, size: ir.Value, sign: ir.Value) -> ir.Value:
    bits = ir.IntType(bit_width(result))
    top = ir.Constant(bits, 1 << bits.width - 1)
    parts = builder.bitcast(size, bits), builder.bitcast(sign, bits)
    kept = builder.and_(parts[0], ir.Constant(bits, (1 << bits.width - 1) - 1))
    return builder.bitcast(builder.or_(kept, builder.and_(parts[1], top)), result)


def _ones(builder: ir.IRBuilder, result: ir.Type, value: ir.Value) -> ir.Value:
    """How many bits are set: sums of neighbours, of more and more bits at once."""
    width = result.width
    room = 1 << (width - 1).bit_length()
    wide = ir.IntType(room)
    total = value if room == width else builder.zext(value, wide)
    step = 1
    while step < room:
        mask = ir.Constant(wide, sum(((1 << step) - 1) << place for place in range(0, room, 2 * step)))
        other = builder.and_(builder.lshr(total, ir.Constant(wide, step)), mask)
        total = builder.add(builder.and_(total, mask), other)
        step *= 2
    return total if room == width else builder.trunc(total, result)


def _leading_ones(builder: ir.IRBuilder, result: ir.Type, value: ir.Value, _: ir.Value) -> ir.Value:
    """How many zeros there are above the first one: all bits below it are set, and the others counted."""
    if result == I32:
        return _again("llvm.ctlz")(builder, result, value, _)
    step = 1
    while step < result.width:
        value = builder.or_(value, builder.lshr(value, ir.Constant(result, step)))
        step *= 2
    return _ones(builder, result, builder.not_(value))


def _trailing(builder: ir.IRBuilder, result: ir.Type, value: ir.Value, _: ir.Value) -> ir.Value:
    below = builder.and_(builder.not_(value), builder.sub(value, constant_like(value, 1)))
    return _ones(builder, result, below)


EXPANSIONS: dict[str, Build] = {
    "llvm.maximum": _extreme(">", numbers=False),
    "llvm.minimum": _extreme("<", numbers=False),
    "llvm.maxnum": _extreme(">", numbers=True),
    "llvm.minnum": _extreme("<", numbers=True),
    "llvm.fptosi.sat": _saturated(signed=True),
    "llvm.fptoui.sat": _saturated(signed=False),
    "llvm.copysign": _copysign,
    "llvm.ctpop": _ones,
    "llvm.cttz": _trailing,
    "llvm.ctlz": _leading_ones,
    **{f"llvm.{name}": _library(name) for name in ("sqrt", "floor", "ceil", "trunc", "roundeven", "round", "fma")},
}
"""Intrinsics that the back end has no rule for. Names that begin as others come first."""
SCALARS: dict[str, Build] = {"llvm.fabs": _again("llvm.fabs")}


# Values.


def _is_vector(type: ir.Type) -> bool:
    return isinstance(type, ir.VectorType)


def _count(type: ir.Type) -> int:
    return type.count if isinstance(type, ir.VectorType) else 1


def _has_lanes(type: ir.Type) -> bool:
    """Whether the lanes of a vector are of the widths that registers have."""
    element = element_of(type)
    return isinstance(element, ir.IntType | ir.FloatType | ir.HalfType) and bit_width(element) in LANE_BITS


def _is_register(type: ir.Type) -> bool:
    return _is_vector(type) and _has_lanes(type) and bit_width(type) in REGISTER_BITS


def _vector_alignment(type: ir.Type) -> int:
    return min(bit_width(type) // 8, VECTOR_ALIGNMENT)


def _constant_lanes(value: ir.Value) -> Scalars | None:
    if not isinstance(value, ir.Constant):
        return None
    element, numbers = element_of(value.type), value.constant
    if isinstance(numbers, list | tuple):
        every = cast("Sequence[Any]", numbers)
        return [each if isinstance(each, ir.Constant) else ir.Constant(element, each) for each in every]
    number = ir.Undefined if numbers is ir.Undefined else 0
    return [ir.Constant(element, number) for _ in range(_count(value.type))]


def _in_order(function: ir.Function) -> list[ir.Block]:
    """Blocks, each after all that dominate it; those that nothing leads to come last."""
    found: list[ir.Block] = []
    seen = {function.blocks[0]}
    path = [(function.blocks[0], iter(_successors(function.blocks[0])))]
    while path:
        block, rest = path[-1]
        following = next((each for each in rest if each not in seen), None)
        if following is None:
            found.append(block)
            path.pop()
        else:
            seen.add(following)
            path.append((following, iter(_successors(following))))
    return [*reversed(found), *(block for block in function.blocks if block not in seen)]


def _successors(block: ir.Block) -> list[ir.Block]:
    end: Any = block.terminator
    if isinstance(end, llvm.SwitchInstr):
        return [end.default, *(target for _, target in end.cases)]
    return [each for each in end.operands if isinstance(each, ir.Block)]


def _operands(op: Any) -> Iterable[ir.Value]:
    return [value for value, _ in op.incomings] if isinstance(op, llvm.PhiInstr) else op.operands


def _substitute(op: Any, replaced: dict[ir.Value, ir.Value]) -> None:
    """Have an instruction use what has the place of others."""

    def now(value: Any) -> Any:
        while value in replaced:
            value = replaced[value]
        return value

    if isinstance(op, llvm.PhiInstr):
        op.incomings = [(now(value), block) for value, block in op.incomings]
    elif any(operand in replaced for operand in op.operands):
        op.operands = [now(operand) for operand in op.operands]
        if isinstance(op, llvm.GEPInstr):
            op.pointer, *op.indices = op.operands
    op._clear_string_cache()
