"""Numbers as LLVM instructions: the system of `numbers` that meanings are translated with.

Words are integers of 64 bits, which no meaning overflows in a way that shows. What Python knows stays Python's: an
operator on two constants is no instruction.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from llvmlite import ir

from tilewright.isa.numbers import Terms

I1, I8, I32, I64 = (ir.IntType(bits) for bits in (1, 8, 32, 64))
Builder = ir.IRBuilder


class Native:
    """A value with Python's operators: a word, a flag, lanes or flags of lanes, by its type."""

    __slots__ = ("builder", "is_signed", "value")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, builder: Builder, value: ir.Value, is_signed: bool = True):
        self.builder, self.value, self.is_signed = builder, value, is_signed

    @property
    def type(self) -> ir.Type:
        return self.value.type

    @property
    def bits(self) -> int:
        """Of the word, or of each lane."""
        return getattr(self.type, "element", self.type).width

    @property
    def count(self) -> int:
        """Of lanes; 0 for a word."""
        return self.type.count if isinstance(self.type, ir.VectorType) else 0

    def like(self, other: Any) -> ir.Value:
        """Another operand as a value of this type: copies of a word or of a constant for lanes."""
        if isinstance(other, Native):
            return other.value if other.count == self.count else splat(self.builder, other.value, self.type)
        return constant(self.type, int(other))

    def made(self, value: ir.Value) -> Native:
        return Native(self.builder, value, self.is_signed)

    def _binary(self, name: str, other: Any, swapped: bool = False) -> Native:
        if isinstance(other, Native) and other.count and not self.count:
            return other._binary(name, self, not swapped)
        a, b = self.value, self.like(other)
        return self.made(getattr(self.builder, name)(*((b, a) if swapped else (a, b))))

    def _compare(self, operator: str, other: Any) -> Native:
        if isinstance(other, Native) and other.count and not self.count:
            return other._compare({"<": ">", ">": "<", "<=": ">=", ">=": "<="}.get(operator, operator), self)
        test = self.builder.icmp_signed if self.is_signed else self.builder.icmp_unsigned
        return Native(self.builder, test(operator, self.value, self.like(other)), False)

    def __add__(self, other: Any) -> Native:
        return self._binary("add", other)

    def __sub__(self, other: Any) -> Native:
        return self._binary("sub", other)

    def __rsub__(self, other: Any) -> Native:
        return self._binary("sub", other, swapped=True)

    def __mul__(self, other: Any) -> Native:
        return self._binary("mul", other)

    def __and__(self, other: Any) -> Native:
        return self._binary("and_", other)

    def __or__(self, other: Any) -> Native:
        return self._binary("or_", other)

    def __xor__(self, other: Any) -> Native:
        return self._binary("xor", other)

    __radd__, __rmul__, __rand__, __ror__, __rxor__ = __add__, __mul__, __and__, __or__, __xor__

    def __invert__(self) -> Native:
        return self.made(self.builder.not_(self.value))

    def __lshift__(self, other: Any) -> Native:
        return self._binary("shl", other)

    def __rlshift__(self, other: Any) -> Native:
        return self._binary("shl", other, swapped=True)

    def __rshift__(self, other: Any) -> Native:
        return self._binary("ashr" if self.is_signed else "lshr", other)

    def __rrshift__(self, other: Any) -> Native:
        return self._binary("ashr", other, swapped=True)

    def __eq__(self, other: Any) -> Native:  # type: ignore[override]
        return self._compare("==", other)

    def __ne__(self, other: Any) -> Native:  # type: ignore[override]
        return self._compare("!=", other)

    def __lt__(self, other: Any) -> Native:
        return self._compare("<", other)

    def __le__(self, other: Any) -> Native:
        return self._compare("<=", other)

    def __gt__(self, other: Any) -> Native:
        return self._compare(">", other)

    def __ge__(self, other: Any) -> Native:
        return self._compare(">=", other)


def constant(type: ir.Type, number: int) -> ir.Constant:
    """A number, or copies of it for lanes."""
    count = type.count if isinstance(type, ir.VectorType) else 0
    return _constant(getattr(type, "element", type).width, count, number)


# llvmlite takes its time for constants: most programs have the same again and again
@lru_cache(1 << 12)
def _constant(bits: int, count: int, number: int) -> ir.Constant:
    type = ir.IntType(bits)
    number &= (1 << bits) - 1
    return ir.Constant(ir.VectorType(type, count), [number] * count) if count else ir.Constant(type, number)


@lru_cache(1 << 12)
def _order(order: tuple[int, ...]) -> ir.Constant:
    return ir.Constant(ir.VectorType(I32, len(order)), list(order))


def splat(builder: Builder, word: ir.Value, type: ir.Type) -> ir.Value:
    """Copies of a word's lowest bits."""
    assert isinstance(type, ir.VectorType)
    scalar = resized(builder, word, type.element.width)
    first = builder.insert_element(ir.Constant(type, ir.Undefined), scalar, ir.Constant(I32, 0))
    return shuffled(builder, first, [0] * type.count)


def resized(builder: Builder, word: ir.Value, bits: int) -> ir.Value:
    if word.type.width == bits:
        return word
    return (builder.trunc if word.type.width > bits else builder.zext)(word, ir.IntType(bits))


def shuffled(builder: Builder, value: ir.Value, order: Sequence[int], other: ir.Value | None = None) -> ir.Value:
    other = ir.Constant(value.type, ir.Undefined) if other is None else other
    return builder.shuffle_vector(value, other, _order(tuple(order)))


def bytes_type(size: int) -> ir.VectorType:
    return ir.VectorType(I8, size)


class NativeNumbers:
    """Builds instructions where a builder stands."""

    def __init__(self, builder: Builder, refuse: Callable[[str, ir.Value], None]):
        """`refuse` builds what happens where something is not known: what it is, and the number that names it."""
        self.builder, self.refuse = builder, refuse

    def _made(self, value: ir.Value, is_signed: bool = True) -> Native:
        return Native(self.builder, value, is_signed)

    def _value(self, word: Any) -> ir.Value:
        return word.value if isinstance(word, Native) else constant(I64, word)

    def choose(self, flag: Any, yes: Any, no: Any) -> Any:
        if not isinstance(flag, Native):
            return yes if flag else no
        if yes is no:
            return yes
        like = next((it for it in (yes, no) if isinstance(it, Native) and it.count), None)
        if like is None and flag.count:
            like = self._made(constant(ir.VectorType(I64, flag.count), 0))
        like = like or next((it for it in (yes, no) if isinstance(it, Native)), self._made(constant(I64, 0)))
        return like.made(self.builder.select(flag.value, like.like(yes), like.like(no)))

    def switch(self, word: Any, cases: Mapping[int, Callable[[], Any]], what: str, named: Any = None) -> Any:
        if not isinstance(word, Native) and word in cases:
            return cases[word]()
        builder = self.builder
        after, other = (builder.append_basic_block(name) for name in ("after", "unknown"))
        choice = builder.switch(self._value(word), other)
        found = list[tuple[Native, ir.Block]]()
        blocks = dict[Callable[[], Any], ir.Block]()
        for number, make in cases.items():
            block = blocks.get(make)
            if block is None:
                block = blocks[make] = builder.append_basic_block(f"case{number}")
                builder.position_at_end(block)
                made = make()
                found.append((made, builder.block))
                builder.branch(after)
            choice.add_case(constant(I64, number), block)
        builder.position_at_end(other)
        self.refuse(what, self._value(word if named is None else named))
        first = found[0][0]
        found.append((first.made(constant(first.type, 0)), builder.block))
        builder.branch(after)
        builder.position_at_end(after)
        phi = builder.phi(first.type)
        for made, block in found:
            phi.add_incoming(made.value, block)
        return first.made(phi)

    def refuse_if(self, flag: Any, what: str, named: Any) -> None:
        if isinstance(flag, Native):
            with self.builder.if_then(flag.value, likely=False):
                self.refuse(what, self._value(named))
        elif flag:
            self.refuse(what, self._value(named))

    def leading_zeros(self, word: Native) -> Native:
        narrow = resized(self.builder, word.value, 32)
        return self._made(resized(self.builder, self.builder.ctlz(narrow, ir.Constant(I1, 0)), 64))

    def lanes(self, data: Native, bits: int, is_signed: bool) -> Native:
        if bits == 4:
            pairs = self._made(data.value, False)
            order = [at // 2 + data.count * (at % 2) for at in range(2 * data.count)]
            low = self._made(shuffled(self.builder, (pairs & 15).value, order, (pairs >> 4).value), is_signed)
            return (low ^ 8) - 8 if is_signed else low
        type = ir.VectorType(ir.IntType(bits), data.count * 8 // bits)
        return self._made(self.builder.bitcast(data.value, type), is_signed)

    def data(self, lanes: Native) -> Native:
        return self._made(self.builder.bitcast(lanes.value, bytes_type(lanes.count * lanes.bits // 8)), False)

    def nibbles(self, lanes: Native) -> Native:
        low, high = (self.pick(lanes, range(first, lanes.count, 2)) for first in (0, 1))
        return self._made(((low & 15) | (high << 4)).value, False)

    def cast(self, lanes: Native, bits: int, is_signed: bool) -> Native:
        type = ir.VectorType(ir.IntType(bits), lanes.count)
        if bits == lanes.bits:
            return self._made(lanes.value, is_signed)
        grow = self.builder.sext if lanes.is_signed else self.builder.zext
        return self._made((self.builder.trunc if bits < lanes.bits else grow)(lanes.value, type), is_signed)

    def pick(self, lanes: Native, order: Sequence[int]) -> Native:
        return lanes.made(shuffled(self.builder, lanes.value, order))

    def fill(self, word: Any, bits: int, count: int) -> Native:
        return self._made(splat(self.builder, self._value(word), ir.VectorType(ir.IntType(bits), count)), False)

    def flags(self, word: Any, count: int) -> Native:
        bits = resized(self.builder, self._value(word), count)
        return self._made(self.builder.bitcast(bits, ir.VectorType(I1, count)), False)

    def mask(self, flags: Native) -> Native:
        return self._made(resized(self.builder, self.builder.bitcast(flags.value, ir.IntType(flags.count)), 64))

    def zeros(self, size: int) -> Native:
        return self._made(constant(bytes_type(size), 0), False)

    def join(self, *parts: Native) -> Native:
        joined = parts[0]
        for part in parts[1:]:
            a, b = joined.count, part.count
            wide = max(a, b)
            first, other = (self._filled_up(it, wide) for it in (joined, part))
            order = [*range(a), *range(wide, wide + b)]
            joined = self._made(shuffled(self.builder, first, order, other), False)
        return joined

    def _filled_up(self, data: Native, count: int) -> ir.Value:
        if data.count == count:
            return data.value
        return shuffled(self.builder, data.value, [min(at, data.count - 1) for at in range(count)])

    def part(self, data: Native, start: int, size: int) -> Native:
        return data if data.count == size else self.pick(data, range(start, start + size))

    def _in_memory(self, data: Native, start: Native) -> tuple[ir.Value, ir.Value]:
        with self.builder.goto_entry_block():
            room = self.builder.alloca(data.type)
        # llvmlite would take it for a pointer to nothing but this type
        room.type = ir.PointerType()
        self.builder.store(data.value, room)
        return room, self.builder.gep(room, [start.value], source_etype=I8)

    def window(self, data: Native, start: Any, size: int) -> Native:
        if not isinstance(start, Native):
            return self.part(data, start, size)
        _, place = self._in_memory(data, start)
        return self._made(self.builder.load(place, typ=bytes_type(size), align=1), False)

    def replaced(self, data: Native, start: Any, part: Native) -> Native:
        room, place = self._in_memory(data, start if isinstance(start, Native) else self._made(constant(I64, start)))
        self.builder.store(part.value, place, align=1)
        return self._made(self.builder.load(room, typ=data.type), False)

    def arranged(self, data: Native, orders: Sequence[Sequence[int]], number: Any) -> Native:
        cases = {at: lambda order=order: self.pick(data, order) for at, order in enumerate(orders)}
        return self.switch(number, cases, "an order of bytes")

    def word(self, data: Native) -> Native:
        bits = ir.IntType(8 * data.count)
        return self._made(resized(self.builder, self.builder.bitcast(data.value, bits), 64))

    def word_data(self, word: Any, size: int) -> Native:
        return self._made(
            self.builder.bitcast(resized(self.builder, self._value(word), 8 * size), bytes_type(size)), False
        )

    def float_bits(self, lanes: Native) -> Native:
        floats = self.builder.sitofp(lanes.value, ir.VectorType(ir.FloatType(), lanes.count))
        return lanes.made(self.builder.bitcast(floats, lanes.type))

    def product_sum(self, a: Native, b: Native, terms: Terms, bits: int) -> Native:
        total: Any = 0
        for first, other in terms:
            total = self.cast(self.pick(a, first), bits, True) * self.cast(self.pick(b, other), bits, True) + total
        return total
