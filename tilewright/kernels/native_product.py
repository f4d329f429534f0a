"""Products of matrices in blocks as machine code of this computer: c += a * b as the functions of `matmul` define it.

A vector of sums stands for a row of some blocks of c. It takes a group of products for each sum at a time: two of 16
bits or four of 8 bits where the computer adds those up in one instruction, else one. Operands of bf16 are multiplied as
f32, in which their products are exact.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from llvmlite import ir

from tilewright.native.host import NativeObject, host_key, host_object
from tilewright.native.object_cache import cached_object
from tilewright.native.types import declared
from tilewright.sim.kernels import NativeKernel

I8, I16, I32, I64, POINTER = (*(ir.IntType(width) for width in (8, 16, 32, 64)), ir.PointerType())
F32 = ir.FloatType()
INTEGERS = {"i8": I8, "i16": I16, "i32": I32}
LINE = 64
"""Bytes of the widest vector, at multiples of which operands begin."""
MOST_ROWS = 8
"""Sums of so many rows are in registers; more of them take no less time, as the instructions are the limit."""
SUM_BYTES = 4
SIGN = -128
"""Turns a signed byte into an unsigned one that is 128 more."""


class ProductShape(NamedTuple):
    """M rows and K columns times K rows and N columns, in blocks of r x s and s x t; turned ones are column-major."""

    operand: str
    total: str
    m: int
    k: int
    n: int
    r: int
    s: int
    t: int
    a_turned: bool = False
    b_turned: bool = False
    c_turned: bool = False

    @property
    def is_integer(self) -> bool:
        return self.total in INTEGERS


class Dots(NamedTuple):
    """Instructions that add products of a group to each sum."""

    group: int
    factor: ir.Type
    vector_bytes: int
    name: str = ""
    """LLVM's, for vectors of so many bits as stand in for {}; without one, plain operations."""
    adds: bool = False
    """Whether it adds to a sum, or gives products to be added."""


def native_product(shape: ProductShape, features: str | None = None) -> NativeKernel:
    """A function of the addresses of a, b and c, for this computer; or as if it had only some features."""
    dots = _dots(shape, host_key() if features is None else features)
    key = sha256(repr((*shape, dots, host_key(), Path(__file__).read_bytes())).encode()).hexdigest()
    native = NativeObject(cached_object(key, lambda: host_object(_Builder(shape, dots).build())))
    return NativeKernel(native.address("product"), native)


def native_zero(size: int) -> NativeKernel:
    """What a product begins with: a function that clears so many bytes of its memory."""
    key = sha256(repr((size, host_key(), Path(__file__).read_bytes())).encode()).hexdigest()
    native = NativeObject(cached_object(key, lambda: host_object(_zero_module(size))))
    return NativeKernel(native.address("zero"), native)


def _zero_module(size: int) -> ir.Module:
    module = ir.Module("zero")
    function = ir.Function(module, ir.FunctionType(ir.VoidType(), [POINTER]), "zero")
    b = ir.IRBuilder(function.append_basic_block("entry"))
    clear = declared(module, "llvm.memset.p0.i64", ir.VoidType(), [POINTER, I8, I64, ir.IntType(1)])
    b.call(
        clear, [b.load(function.args[0], typ=POINTER), ir.Constant(I8, 0), _number(size), ir.Constant(ir.IntType(1), 0)]
    )
    b.ret_void()
    return module


def _dots(shape: ProductShape, features: str) -> Dots:
    """The best instructions of a computer for a type."""
    is_wide = "+avx512f" in features or "+sve" in features
    size = LINE if is_wide else LINE // 2
    if not shape.is_integer:
        return Dots(1, F32, size)
    if shape.operand == "i8" and "+avx512vnni" in features and "+avx512vl" in features:
        return Dots(4, I8, size, "llvm.x86.avx512.vpdpbusd.{}", adds=True)
    if "+avx512vnni" in features and "+avx512vl" in features:
        return Dots(2, I16, size, "llvm.x86.avx512.vpdpwssd.{}", adds=True)
    if "+avx2" in features:
        return Dots(2, I16, LINE // 2, "llvm.x86.avx2.pmadd.wd")
    return Dots(2, I16, LINE // 2)


class _Builder:
    def __init__(self, shape: ProductShape, dots: Dots):
        self.shape, self.dots = shape, dots
        self.module = ir.Module("product")
        function = ir.Function(self.module, ir.FunctionType(ir.VoidType(), [POINTER]), "product")
        function.attributes.add("nounwind")
        self.function = function
        self.b = ir.IRBuilder(function.append_basic_block("entry"))
        self.lanes = _lanes(shape, dots)
        self.sums = ir.VectorType(self._lane, self.lanes)

    def build(self) -> ir.Module:
        """The function in LLVM's language. Its argument is the address of three addresses."""
        shape, factor = self.shape, self.dots.factor
        a, b, c = (self._load(self._at(self.function.args[0], POINTER, _number(n)), POINTER) for n in range(3))
        # unsigned bytes are 128 too large, so their products are 128 times the sum of a column too large
        excess = self._room(I32, shape.n) if self._is_unsigned else None
        left, right = a, self._room(factor, shape.k * shape.n)
        if shape.a_turned or self._is_unsigned or factor is not INTEGERS.get(shape.operand):
            left = self._room(factor, shape.m * shape.k)
            self._pack_a(a, left)
        self._pack_b(b, right, excess)
        self._multiply(left, right, c, excess)
        self.b.ret_void()
        return self.module

    @property
    def _lane(self) -> ir.Type:
        return I32 if self.shape.is_integer else F32

    @property
    def _is_unsigned(self) -> bool:
        """Whether the instruction takes the left operand as unsigned bytes."""
        return self.dots.factor is I8

    def _room(self, type: ir.Type, count: int) -> ir.Value:
        room = self.b.alloca(type, ir.Constant(I32, count))
        room.align = LINE
        room.type = POINTER  # as all others are, not one to an element
        return room

    @contextmanager
    def _loop(self, end: int, step: int = 1) -> Generator[ir.Value]:
        """What is built inside runs for 0, step, ... below the end."""
        before = self.b.block
        body, after = (self.function.append_basic_block(name) for name in ("body", "after"))
        self.b.branch(body)
        self.b.position_at_end(body)
        at = self.b.phi(I64)
        at.add_incoming(_number(0), before)
        yield at
        following = self.b.add(at, _number(step))
        at.add_incoming(following, self.b.block)
        self.b.cbranch(self.b.icmp_signed("<", following, _number(end)), body, after)
        self.b.position_at_end(after)

    # Operands as the instructions take them.

    def _pack_a(self, a: ir.Value, packed: ir.Value) -> None:
        """In the order of its blocks row by row, in which the elements of a group stand side by side."""
        shape = self.shape
        size, block = shape.m * shape.k, shape.r * shape.s
        if not shape.a_turned:
            count = LINE if size % LINE == 0 else block
            with self._loop(size, count) as at:
                self._pack_elements(self._load_elements(a, at, count), count, packed, at)
            return
        height, width = shape.m // shape.r, shape.k // shape.s
        order = [column * shape.r + row for row in range(shape.r) for column in range(shape.s)]
        with self._loop(height) as row, self._loop(width) as column:
            turned = self._load_elements(a, self._times(self._block(row, column, height, width, True), block), block)
            at = self._times(self._block(row, column, height, width, False), block)
            self._pack_elements(self._shuffled(turned, order), block, packed, at)

    def _load_elements(self, data: ir.Value, at: ir.Value, count: int) -> ir.Value:
        return self._load(self._element(data, at), ir.VectorType(_stored(self.shape.operand), count))

    def _pack_elements(self, elements: ir.Value, count: int, packed: ir.Value, at: ir.Value) -> None:
        """Put elements of the left operand where its factors are."""
        values = self._factors(elements, count)
        if self._is_unsigned:
            values = self.b.xor(values, _splat(I8, count, SIGN))
        self._store(values, self._at(packed, self.dots.factor, at))

    def _pack_b(self, b: ir.Value, packed: ir.Value, excess: ir.Value | None) -> None:
        """For each vector of columns the groups of all rows, one after the other."""
        shape, lanes, group = self.shape, self.lanes, self.dots.group
        s, t, turned = shape.s, shape.t, shape.b_turned
        order = [
            column // t * s * t + (column % t * s + row if turned else row * t + column % t)
            for first in range(0, s, group)
            for column in range(lanes)
            for row in range(first, first + group)
        ]
        with self._loop(shape.n // lanes) as vector:
            here = None if excess is None else self._at(excess, I32, self._times(vector, lanes))
            if here is not None:
                self._store(_splat(I32, lanes, 0), here)
            with self._loop(shape.k // s) as depth:
                blocks = list[ir.Value]()
                for number in range(lanes // t):
                    column = self._plus(self._times(vector, lanes // t), number)
                    block = self._block(depth, column, shape.k // s, shape.n // t, turned)
                    blocks.append(self._load_elements(b, self._times(block, s * t), s * t))
                values = self._factors(self._shuffled(_joined(self.b, blocks), order), len(order))
                at = self._plus(self._times(vector, shape.k * lanes), self._times(depth, s * lanes))
                self._store(values, self._at(packed, self.dots.factor, at))
                if here is not None:
                    total, step = self._load(here, self.sums), lanes * group
                    for first in range(0, len(order), step):
                        part = self._shuffled(values, range(first, first + step))
                        total = self._dot(total, _splat(I8, step, SIGN), part)
                    self._store(total, here)

    def _factors(self, elements: ir.Value, count: int) -> ir.Value:
        factor = self.dots.factor
        if self.shape.is_integer:
            is_wider = factor is not INTEGERS[self.shape.operand]
            return self.b.sext(elements, ir.VectorType(factor, count)) if is_wider else elements
        return self._singles(elements, count)

    def _singles(self, halves: ir.Value, count: int) -> ir.Value:
        """Numbers of bf16 as f32."""
        bits = self.b.zext(halves, ir.VectorType(I32, count))
        return self.b.bitcast(self.b.shl(bits, _splat(I32, count, 16)), ir.VectorType(F32, count))

    # The product.

    def _multiply(self, left: ir.Value, right: ir.Value, c: ir.Value, excess: ir.Value | None) -> None:
        shape, lanes = self.shape, self.lanes
        rows = _rows(shape)
        with self._loop(shape.n // lanes) as column, self._loop(shape.m, rows) as i:
            strips = [self._strip(c, i, first, column) for first in range(0, rows, shape.r)]
            first = [sum for strip in strips for sum in self._first_sums(strip, column, excess)]
            entered = self.b.block
            body, after = (self.function.append_basic_block(name) for name in ("products", "summed"))
            self.b.branch(body)
            self.b.position_at_end(body)
            depth = self.b.phi(I64)
            sums = [self.b.phi(self.sums) for _ in range(rows)]
            # to -0.0, unlike to 0.0, anything can be added: LLVM leaves that out
            added = list[ir.Value](sums) if shape.is_integer else [_splat(F32, lanes, -0.0)] * rows
            for step in range(0, shape.s, self.dots.group):
                factors = self._right(right, column, depth, step)
                added = [self._dot(added[row], self._left(left, i, row, depth, step), factors) for row in range(rows)]
            # an accumulator of floats takes the products of a block at once
            totals = added if shape.is_integer else list(map(self.b.fadd, sums, added))
            following = self.b.add(depth, _number(1))
            depth.add_incoming(_number(0), entered)
            depth.add_incoming(following, self.b.block)
            for phi, start, total in zip(sums, first, totals, strict=True):
                phi.add_incoming(start, entered)
                phi.add_incoming(total, self.b.block)
            self.b.cbranch(self.b.icmp_signed("<", following, _number(shape.k // shape.s)), body, after)
            self.b.position_at_end(after)
            for number, strip in enumerate(strips):
                self._put_sums(strip, totals[number * shape.r : (number + 1) * shape.r])

    def _right(self, right: ir.Value, column: ir.Value, depth: ir.Value, step: int) -> ir.Value:
        """Groups of a vector of columns."""
        shape, lanes, dots = self.shape, self.lanes, self.dots
        at = self._plus(self._times(column, shape.k * lanes), self._times(depth, shape.s * lanes))
        type = ir.VectorType(dots.factor, lanes * dots.group)
        return self._load(self._at(right, dots.factor, self._plus(at, step * lanes)), type)

    def _left(self, left: ir.Value, i: ir.Value, row: int, depth: ir.Value, step: int) -> ir.Value:
        """A group of a row, in each lane of a vector."""
        shape, dots = self.shape, self.dots
        inside = row // shape.r * shape.r * shape.k + row % shape.r * shape.s + step
        at = self._plus(self._times(i, shape.k), self._times(depth, shape.r * shape.s))
        one = self._load(self._at(left, dots.factor, self._plus(at, inside)), self._lane)
        empty = ir.Constant(self.sums, ir.Undefined)
        spread = self._shuffled(self.b.insert_element(empty, one, ir.Constant(I32, 0)), [0] * self.lanes)
        return self.b.bitcast(spread, ir.VectorType(dots.factor, self.lanes * dots.group))

    def _dot(self, total: ir.Value, left: ir.Value, right: ir.Value) -> ir.Value:
        """Sums with the products of a group each."""
        dots, lanes = self.dots, self.lanes
        if dots.factor is F32:
            return self.b.fadd(total, self.b.fmul(left, right))
        if dots.name and dots.adds:
            words = [self.b.bitcast(value, self.sums) for value in (left, right)]
            return self._call(dots.name.format(32 * lanes), self.sums, [total, *words])
        if dots.name and 4 * lanes == dots.vector_bytes:
            return self.b.add(total, self._call(dots.name, self.sums, [left, right]))
        wide = ir.VectorType(I32, lanes * dots.group)
        products = self.b.mul(self.b.sext(left, wide), self.b.sext(right, wide))
        even, odd = (self._shuffled(products, range(first, lanes * dots.group, 2)) for first in range(2))
        return self.b.add(total, self.b.add(even, odd))

    # Strips of c: the blocks side by side that `r` vectors of sums are.

    def _strip(self, c: ir.Value, i: ir.Value, first: int, column: ir.Value) -> list[ir.Value]:
        """The addresses of its blocks; it begins some rows below `i`."""
        shape, count = self.shape, self.lanes // self.shape.t
        row = self._plus(self.b.udiv(i, _number(shape.r)), first // shape.r)
        size, height, width = shape.r * shape.t, shape.m // shape.r, shape.n // shape.t
        columns = [self._plus(self._times(column, count), number) for number in range(count)]
        blocks = [self._block(row, column, height, width, shape.c_turned) for column in columns]
        return [self._at(c, _stored(shape.total), self._times(block, size)) for block in blocks]

    def _first_sums(self, strip: Sequence[ir.Value], column: ir.Value, excess: ir.Value | None) -> list[ir.Value]:
        """What the sums of each row begin with: those of floats with what is in c, which is rounded with each block."""
        shape, lanes = self.shape, self.lanes
        r, t, block = shape.r, shape.t, ir.VectorType(_stored(shape.total), shape.r * shape.t)
        if excess is not None:
            return [self.b.neg(self._load(self._at(excess, I32, self._times(column, lanes)), self.sums))] * r
        if shape.is_integer:
            return [_splat(I32, lanes, 0)] * r
        joined = _joined(self.b, [self._load(address, block) for address in strip])
        found = list[ir.Value]()
        for row in range(r):
            inside = [lane % t * r + row if shape.c_turned else row * t + lane % t for lane in range(lanes)]
            values = self._shuffled(joined, [lane // t * r * t + at for lane, at in enumerate(inside)])
            found.append(self._singles(values, lanes) if shape.total == "bf16" else values)
        return found

    def _put_sums(self, strip: Sequence[ir.Value], totals: Sequence[ir.Value]) -> None:
        shape, lanes = self.shape, self.lanes
        r, t, type = shape.r, shape.t, ir.VectorType(_stored(shape.total), shape.r * shape.t)
        joined = _joined(self.b, list(map(self._elements, totals)))
        for number, address in enumerate(strip):
            inside = [(at % r, at // r) if shape.c_turned else (at // t, at % t) for at in range(r * t)]
            values = self._shuffled(joined, [row * lanes + number * t + column for row, column in inside])
            self._store(self.b.add(self._load(address, type), values) if shape.is_integer else values, address)

    def _elements(self, total: ir.Value) -> ir.Value:
        """Sums in the type of c: integers wrap around, floats are rounded to the nearest, of two to the even one."""
        shape, lanes = self.shape, self.lanes
        if shape.is_integer:
            element = INTEGERS[shape.total]
            return total if element is I32 else self.b.trunc(total, ir.VectorType(element, lanes))
        return self._bf16(total, lanes) if shape.total == "bf16" else total

    def _bf16(self, singles: ir.Value, count: int) -> ir.Value:
        """Rounded in its bits: the upper half, one more if the lower half is more than half, or half of an odd one."""
        bits = self.b.bitcast(singles, ir.VectorType(I32, count))
        upper = self.b.lshr(bits, _splat(I32, count, 16))
        odd = self.b.and_(upper, _splat(I32, count, 1))
        rounded = self.b.lshr(self.b.add(self.b.add(bits, odd), _splat(I32, count, 0x7FFF)), _splat(I32, count, 16))
        # of what is no number the payload would carry over; one with its sign is what NumPy's bf16 makes of it
        none = self.b.or_(self.b.and_(upper, _splat(I32, count, 0x8000)), _splat(I32, count, 0x7FC0))
        is_number = self.b.fcmp_ordered("ord", singles, singles)
        return self.b.trunc(self.b.select(is_number, rounded, none), ir.VectorType(I16, count))

    # Addresses and vectors.

    def _block(self, row: ir.Value, column: ir.Value, height: int, width: int, turned: bool) -> ir.Value:
        """The number of a block of a matrix that is so many blocks high and wide."""
        return self.b.add(self._times(column, height), row) if turned else self.b.add(self._times(row, width), column)

    def _element(self, data: ir.Value, place: ir.Value) -> ir.Value:
        return self._at(data, _stored(self.shape.operand), place)

    def _at(self, base: ir.Value, type: ir.Type, place: ir.Value) -> ir.Value:
        return self.b.gep(base, [place], source_etype=type)

    def _load(self, address: ir.Value, type: ir.Type) -> ir.Value:
        return self.b.load(address, typ=type, align=1)

    def _store(self, value: ir.Value, address: ir.Value) -> None:
        self.b.store(value, address, align=1)

    def _shuffled(self, vector: ir.Value, order: Iterable[int]) -> ir.Value:
        return self.b.shuffle_vector(vector, ir.Constant(vector.type, ir.Undefined), _mask(order))

    def _call(self, name: str, type: ir.Type, arguments: Sequence[ir.Value]) -> ir.Value:
        return self.b.call(declared(self.module, name, type, [value.type for value in arguments]), arguments)

    def _plus(self, value: ir.Value, number: ir.Value | int) -> ir.Value:
        return self.b.add(value, _number(number) if isinstance(number, int) else number)

    def _times(self, value: ir.Value, factor: int) -> ir.Value:
        return self.b.mul(value, _number(factor))


def _joined(b: ir.IRBuilder, vectors: Sequence[ir.Value]) -> ir.Value:
    """Vectors, a power of two of them, one after the other in one."""
    while len(vectors) > 1:
        type, pairs = vectors[0].type, zip(vectors[::2], vectors[1::2], strict=True)
        assert isinstance(type, ir.VectorType)
        vectors = [b.shuffle_vector(one, other, _mask(range(2 * type.count))) for one, other in pairs]
    return vectors[0]


def _lanes(shape: ProductShape, dots: Dots) -> int:
    """Sums in a vector: as many blocks of t columns side by side as fit, of which N has whole vectors."""
    most = dots.vector_bytes // SUM_BYTES
    return max(t for t in (shape.t << n for n in range(5)) if t == shape.t or (t <= most and shape.n % t == 0))


def _rows(shape: ProductShape) -> int:
    """Rows whose sums are kept in registers at a time."""
    return shape.r * next(count for count in (MOST_ROWS // shape.r, 1) if count and shape.m % (shape.r * count) == 0)


def _stored(element: str) -> ir.Type:
    return I16 if element == "bf16" else INTEGERS.get(element, F32)


def _splat(type: ir.Type, count: int, value: float) -> ir.Constant:
    return ir.Constant(ir.VectorType(type, count), [value] * count)


def _mask(order: Iterable[int]) -> ir.Constant:
    lanes = list(order)
    return ir.Constant(ir.VectorType(I32, len(lanes)), lanes)


def _number(value: int) -> ir.Constant:
    return ir.Constant(I64, value)
