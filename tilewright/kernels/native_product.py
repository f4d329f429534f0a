"""Products of matrices in blocks as machine code of this computer: c += a * b as the functions of `matmul` define it.

Operands are put into plain rows of floats, in which their products and sums are exact, and multiplied there: integers
of 8 bits as f32, all others as f64.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from itertools import product as pairs_of
from pathlib import Path
from typing import NamedTuple

import numpy as np
from llvmlite import ir

from tilewright.native.host import NativeObject, host_key, host_object
from tilewright.native.object_cache import cached_object
from tilewright.native.types import declared

I8, I16, I32, I64, POINTER = (*(ir.IntType(width) for width in (8, 16, 32, 64)), ir.PointerType())
F32, F64 = ir.FloatType(), ir.DoubleType()
INTEGERS = {"i8": I8, "i16": I16, "i32": I32}
EXACT_IN_F32 = 1 << 10
"""So many products of eight bits add up exactly in an f32."""
LINE = 64
"""Bytes of the widest vector, at multiples of which operands begin."""
REGISTERS = {16: 14, 32: 28}
"""By how many vector registers a computer has: those that sums may take, the rest being for operands."""


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
    b_turned: bool = False
    c_turned: bool = False

    @property
    def number(self) -> ir.Type:
        return F32 if self.operand == "i8" and self.k <= EXACT_IN_F32 else F64

    @property
    def number_bytes(self) -> int:
        return 4 if self.number is F32 else 8

    @property
    def is_integer(self) -> bool:
        return self.total in INTEGERS

    @property
    def scratch_bytes(self) -> int:
        """Of the three matrices in plain rows."""
        return sum(_lines(size * self.number_bytes) for size in (self.m * self.k, self.k * self.n, self.m * self.n))


def _lines(size: int) -> int:
    return -(-size // LINE) * LINE


def native_product(shape: ProductShape) -> Callable[[int, int, int], None]:
    """A function of the addresses of a, b and c. It keeps the interpreter's lock, under which its scratch memory is."""
    key = sha256(repr((*shape, host_key(), Path(__file__).read_bytes())).encode()).hexdigest()
    native = NativeObject(cached_object(key, lambda: host_object(_Builder(shape).build())))
    code = ctypes.PYFUNCTYPE(None, *[ctypes.c_void_p] * 4)(native.address("product"))
    memory = np.zeros(shape.scratch_bytes + LINE, np.uint8)
    scratch = memory.ctypes.data + -memory.ctypes.data % LINE

    def call(a: int, b: int, c: int) -> None:
        code(a, b, c, scratch)

    # machine code and memory stay as long as something can call it
    setattr(call, "kept", (native, memory))  # noqa: B010
    return call


class _Matrix(NamedTuple):
    """A matrix in blocks of `rows` x `columns` of elements at `data`, and in plain rows of numbers at `plain`."""

    data: ir.Value
    element: str
    plain: ir.Value
    height: int
    width: int
    rows: int
    columns: int
    turned: bool


class _Builder:
    def __init__(self, shape: ProductShape):
        self.shape = shape
        self.module = ir.Module("product")
        function = ir.Function(self.module, ir.FunctionType(ir.VoidType(), [POINTER] * 4), "product")
        function.attributes.add("nounwind")
        self.function = function
        self.b = ir.IRBuilder(function.append_basic_block("entry"))
        self.lanes, self.registers = _vectors(shape)
        self.vector = ir.VectorType(shape.number, self.lanes)

    def build(self) -> ir.Module:
        """The function in LLVM's language."""
        shape = self.shape
        a_data, b_data, c_data, scratch = self.function.args
        sizes = [_lines(size * shape.number_bytes) for size in (shape.m * shape.k, shape.k * shape.n)]
        plain = [self._byte(scratch, _number(sum(sizes[:before]))) for before in range(3)]
        a = _Matrix(a_data, shape.operand, plain[0], shape.m, shape.k, shape.r, shape.s, False)
        b = _Matrix(b_data, shape.operand, plain[1], shape.k, shape.n, shape.s, shape.t, shape.b_turned)
        c = _Matrix(c_data, shape.total, plain[2], shape.m, shape.n, shape.r, shape.t, shape.c_turned)
        self._runs(a, self._take)
        self._runs(b, self._take)
        if not shape.is_integer:
            self._runs(c, self._take)
        self._multiply(a, b, c)
        self._runs(c, self._add if shape.is_integer else self._put)
        self.b.ret_void()
        return self.module

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

    # Blocks and plain rows.

    def _runs(self, matrix: _Matrix, move: Callable[[_Matrix, ir.Value, Sequence[ir.Value]], None]) -> None:
        """Go through a matrix by runs of elements that follow each other in its blocks.

        `move` gets the place of the first one, and those of all of them in plain rows.
        """
        height, width, rows, columns = matrix.height, matrix.width, matrix.rows, matrix.columns
        if matrix.turned:
            height, width, rows, columns = width, height, columns, rows
        with self._loop(height // rows) as i, self._loop(width // columns) as j, self._loop(rows) as row:
            block = self._plus(self._times(i, width // columns), j)
            run = self._times(self._plus(self._times(block, rows), row), columns)
            y, x = self._plus(self._times(i, rows), row), self._times(j, columns)
            places = [
                self._plus(self._times(here, matrix.width), there)
                for here, there in (
                    (self._plus(x, _number(at)), y) if matrix.turned else (y, self._plus(x, _number(at)))
                    for at in range(columns)
                )
            ]
            move(matrix, run, places)

    def _take(self, matrix: _Matrix, run: ir.Value, places: Sequence[ir.Value]) -> None:
        """From blocks to rows."""
        elements = self._load_elements(matrix, run, len(places))
        self._store_numbers(matrix, places, self._numbers(elements, len(places), matrix.element))

    def _put(self, matrix: _Matrix, run: ir.Value, places: Sequence[ir.Value]) -> None:
        """From rows to blocks; numbers are rounded to the nearest, or of two that are as near the even one."""
        numbers = self._load_numbers(matrix, places)
        singles = self.b.fptrunc(numbers, ir.VectorType(F32, len(places)))
        self._store_elements(matrix, run, self._bf16(singles, len(places)) if matrix.element == "bf16" else singles)

    def _add(self, matrix: _Matrix, run: ir.Value, places: Sequence[ir.Value]) -> None:
        """To integers in blocks; what does not fit wraps around."""
        count, element = len(places), INTEGERS[matrix.element]
        wide = I32 if self.shape.number is F32 else I64
        sums = self.b.fptosi(self._load_numbers(matrix, places), ir.VectorType(wide, count))
        cut = sums if element is wide else self.b.trunc(sums, ir.VectorType(element, count))
        self._store_elements(matrix, run, self.b.add(self._load_elements(matrix, run, count), cut))

    def _load_elements(self, matrix: _Matrix, run: ir.Value, count: int) -> ir.Value:
        return self.b.load(self._element(matrix, run), typ=ir.VectorType(_stored(matrix.element), count), align=1)

    def _store_elements(self, matrix: _Matrix, run: ir.Value, values: ir.Value) -> None:
        self.b.store(values, self._element(matrix, run), align=1)

    def _element(self, matrix: _Matrix, place: ir.Value) -> ir.Value:
        return self.b.gep(matrix.data, [place], source_etype=_stored(matrix.element))

    def _load_numbers(self, matrix: _Matrix, places: Sequence[ir.Value]) -> ir.Value:
        type = ir.VectorType(self.shape.number, len(places))
        if not matrix.turned:
            return self.b.load(self._plain(matrix, places[0]), typ=type, align=self.shape.number_bytes)
        found: ir.Value = ir.Constant(type, ir.Undefined)
        for lane, place in enumerate(places):
            one = self.b.load(self._plain(matrix, place), typ=self.shape.number)
            found = self.b.insert_element(found, one, ir.Constant(I32, lane))
        return found

    def _store_numbers(self, matrix: _Matrix, places: Sequence[ir.Value], values: ir.Value) -> None:
        if not matrix.turned:
            self.b.store(values, self._plain(matrix, places[0]), align=self.shape.number_bytes)
            return
        for lane, place in enumerate(places):
            self.b.store(self.b.extract_element(values, ir.Constant(I32, lane)), self._plain(matrix, place))

    def _plain(self, matrix: _Matrix, place: ir.Value) -> ir.Value:
        return self.b.gep(matrix.plain, [place], source_etype=self.shape.number)

    def _numbers(self, elements: ir.Value, count: int, element: str) -> ir.Value:
        numbers = ir.VectorType(self.shape.number, count)
        if element in INTEGERS:
            return self.b.sitofp(elements, numbers)
        if element == "bf16":
            bits = self.b.zext(elements, ir.VectorType(I32, count))
            shifted = self.b.shl(bits, _splat(I32, count, 16))
            elements = self.b.bitcast(shifted, ir.VectorType(F32, count))
        return self.b.fpext(elements, numbers)

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

    # The product.

    def _multiply(self, a: _Matrix, b: _Matrix, c: _Matrix) -> None:
        shape, lanes = self.shape, self.lanes
        rows, vectors = _tile(shape, lanes, self.registers if shape.is_integer else self.registers // 2)
        places = list(pairs_of(range(rows), range(vectors)))
        with self._loop(shape.m, rows) as i, self._loop(shape.n, vectors * lanes) as j:
            targets = [
                self._at(c, self._plus(i, _number(row)), self._plus(j, _number(vector * lanes)))
                for row, vector in places
            ]
            before = self.b.block
            zero = _splat(shape.number, lanes, 0.0)
            first = [zero if shape.is_integer else self._aligned(target) for target in targets]
            entered = self.b.block
            assert entered is before, "loads do not branch"
            body, after = (self.function.append_basic_block(name) for name in ("products", "summed"))
            self.b.branch(body)
            self.b.position_at_end(body)
            p = self.b.phi(I64)
            sums = [self.b.phi(self.vector) for _ in places]
            added = [zero] * len(places)
            for step in range(shape.s):
                at = self._plus(p, _number(step))
                right = [
                    self._aligned(self._at(b, at, self._plus(j, _number(vector * lanes)))) for vector in range(vectors)
                ]
                left = [self._spread(self._at(a, self._plus(i, _number(row)), at)) for row in range(rows)]
                added = [
                    self._fma(left[row], right[vector], value)
                    for (row, vector), value in zip(
                        places, added if step or not shape.is_integer else sums, strict=True
                    )
                ]
            totals = added if shape.is_integer else list(map(self._rounded_sum, sums, added))
            following = self.b.add(p, _number(shape.s))
            p.add_incoming(_number(0), entered)
            p.add_incoming(following, self.b.block)
            for phi, start, total in zip(sums, first, totals, strict=True):
                phi.add_incoming(start, entered)
                phi.add_incoming(total, self.b.block)
            self.b.cbranch(self.b.icmp_signed("<", following, _number(shape.k)), body, after)
            self.b.position_at_end(after)
            for target, total in zip(targets, totals, strict=True):
                self.b.store(total, target, align=self.shape.number_bytes)

    def _rounded_sum(self, total: ir.Value, added: ir.Value) -> ir.Value:
        """An accumulator takes the products of a block at once, and is an f32 after it."""
        singles = self.b.fptrunc(self.b.fadd(total, added), ir.VectorType(F32, self.lanes))
        return self.b.fpext(singles, self.vector)

    def _fma(self, left: ir.Value, right: ir.Value, total: ir.Value) -> ir.Value:
        name = f"llvm.fma.v{self.lanes}{'f32' if self.shape.number is F32 else 'f64'}"
        return self.b.call(declared(self.module, name, self.vector, [self.vector] * 3), [left, right, total])

    def _spread(self, address: ir.Value) -> ir.Value:
        one = self.b.load(address, typ=self.shape.number)
        empty = ir.Constant(self.vector, ir.Undefined)
        first = self.b.insert_element(empty, one, ir.Constant(I32, 0))
        return self.b.shuffle_vector(first, empty, _splat(I32, self.lanes, 0))

    def _aligned(self, address: ir.Value) -> ir.Value:
        return self.b.load(address, typ=self.vector, align=self.shape.number_bytes)

    def _at(self, matrix: _Matrix, row: ir.Value, column: ir.Value) -> ir.Value:
        return self._plain(matrix, self._plus(self._times(row, matrix.width), column))

    # Numbers of the machine.

    def _byte(self, base: ir.Value, offset: ir.Value) -> ir.Value:
        return self.b.gep(base, [offset], source_etype=I8)

    def _plus(self, one: ir.Value, other: ir.Value) -> ir.Value:
        return self.b.add(one, other)

    def _times(self, value: ir.Value, factor: int) -> ir.Value:
        return self.b.mul(value, _number(factor))


def _vectors(shape: ProductShape) -> tuple[int, int]:
    """Lanes of a vector that N is whole vectors of, and registers for sums, on this computer."""
    is_wide = "+avx512f" in host_key() or "+sve" in host_key()
    widest = (64 if is_wide else 32) // shape.number_bytes
    lanes = next(count for count in (widest, widest // 2, widest // 4, 1) if shape.n % count == 0)
    return lanes, REGISTERS[32 if is_wide else 16]


def _tile(shape: ProductShape, lanes: int, registers: int) -> tuple[int, int]:
    """Rows and vectors of sums that are kept in registers at a time: such that each operand is used most often."""
    vectors = shape.n // lanes
    fitting = [
        (rows, count)
        for rows, count in pairs_of(range(1, registers + 1), range(1, 5))
        if shape.m % rows == 0 and vectors % count == 0 and rows * count + count <= registers
    ]
    return max(fitting, key=lambda tile: tile[0] * tile[1] / (tile[0] + tile[1]))


def _stored(element: str) -> ir.Type:
    return I16 if element == "bf16" else INTEGERS.get(element, F32)


def _splat(type: ir.Type, count: int, value: float) -> ir.Constant:
    return ir.Constant(ir.VectorType(type, count), [value] * count)


def _number(value: int) -> ir.Constant:
    return ir.Constant(I64, value)
