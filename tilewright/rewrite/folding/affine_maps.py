"""Affine maps together with the values they are applied to: composing, pruning and simplifying both."""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd

from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType
from xdsl.ir import Block, BlockArgument, Operation, OpResult, Region, SSAValue
from xdsl.ir.affine import AffineBinaryOpExpr, AffineDimExpr, AffineExpr, AffineMap, AffineSymExpr

from tilewright.dialects import affine
from tilewright.dialects.memref import AllocOp, CastOp, DimOp, SubviewOp, ViewOp
from tilewright.ir.affine_text import ADD, BUILD, CEILDIV, FLOORDIV, MOD, floor_divide, known_divisor, modulo
from tilewright.ir.affine_text import constant_of as value_of
from tilewright.rewrite.effects import facts_of, is_pure
from tilewright.rewrite.folding.affine_expressions import bound, number, parts, shift, simplify, substitute
from tilewright.rewrite.folding.constants import INDEX, constant_of, scalar_int

AFFINE_SCOPES = frozenset({"builtin.module", "func.func", "gpu.func", "gpu.launch"})
"""Operations at whose top level every index may be used as a symbol."""


def _parent_op(value: SSAValue) -> Operation | None:
    owner = value.owner
    return owner.parent_op()


def _is_top_level(value: SSAValue) -> bool:
    parent = _parent_op(value)
    return parent is not None and parent.name in AFFINE_SCOPES


def _scope_of(op: Operation) -> Region | None:
    """The region around `op` that the nearest affine scope holds."""
    while (parent := op.parent_op()) is not None:
        if parent.name in AFFINE_SCOPES:
            return op.parent_region()
        op = parent
    return None


def can_be_symbol(value: SSAValue) -> bool:
    """Whether `value` may stand for a symbol wherever it is used."""
    if value.type != INDEX:
        return False
    if _is_top_level(value):
        return True
    return isinstance(value, OpResult) and _can_be_symbol_in(value, _scope_of(value.op))


def _can_be_symbol_in(value: SSAValue, region: Region | None) -> bool:
    if value.type != INDEX:
        return False
    owner = value.owner
    here = owner.parent if isinstance(owner, Block) else owner.parent_region()
    if region is not None and here is region:
        return True
    if isinstance(owner, Operation):
        if constant_of(value) is not None:
            return True
        if isinstance(owner, affine.ApplyOp):
            return all(_can_be_symbol_in(operand, region) for operand in owner.operands)
        if isinstance(owner, DimOp):
            return _is_symbolic_dim(owner, region)
        if is_pure(owner) and owner.operands and all(_can_be_symbol_in(operand, region) for operand in owner.operands):
            return True
    holder = region.parent if region is not None else None
    if holder is not None and not facts_of(holder).isolated and holder.parent_region() is not None:
        return _can_be_symbol_in(value, holder.parent_region())
    return False


def _is_symbolic_dim(op: DimOp, region: Region | None) -> bool:
    if _is_top_level(op.source):
        return True
    index = scalar_int(op.index)
    source = op.source.owner
    while isinstance(source, CastOp):
        source = source.source.owner
    if index is None or not isinstance(source, ViewOp | SubviewOp | AllocOp):
        return False
    type = source.results[0].type
    shape = type.get_shape() if isinstance(type, MemRefType) else ()
    if index >= len(shape):
        return False
    if shape[index] != DYNAMIC_INDEX:
        return True
    sizes = source.dynamic_sizes if isinstance(source, AllocOp) else source.sizes
    return _can_be_symbol_in(sizes[shape[:index].count(DYNAMIC_INDEX)], region)


class MapAndOperands:
    """Expressions over dimensions and symbols, and the values of these."""

    def __init__(self, results: Sequence[AffineExpr], dims: Sequence[SSAValue], symbols: Sequence[SSAValue]):
        self.results = list(results)
        self.dims: list[SSAValue] = list(dims)
        self.symbols: list[SSAValue] = list(symbols)

    @staticmethod
    def of(map: AffineMap, operands: Sequence[SSAValue]) -> MapAndOperands:
        return MapAndOperands(map.results, operands[: map.num_dims], operands[map.num_dims :])

    @property
    def map(self) -> AffineMap:
        return AffineMap(len(self.dims), len(self.symbols), tuple(self.results))

    @property
    def operands(self) -> list[SSAValue]:
        return [*self.dims, *self.symbols]

    def compose(self) -> None:
        """Take in the maps of all `affine.apply` that define operands."""
        dims: list[SSAValue | None] = list(self.dims)
        symbols: list[SSAValue | None] = list(self.symbols)
        if self.results:
            while self._take_in_one(dims, symbols):
                pass
        new_dims, self.dims = _renumber(dims, AffineDimExpr)
        new_symbols, self.symbols = _renumber(symbols, AffineSymExpr)
        self.results = [substitute(expr, new_dims, new_symbols) for expr in self.results]
        self.canonicalize()
        self.results = [simplify(expr) for expr in self.results]

    def _take_in_one(self, dims: list[SSAValue | None], symbols: list[SSAValue | None]) -> bool:
        for values, cls in ((dims, AffineDimExpr), (symbols, AffineSymExpr)):
            for position, value in enumerate(values):
                apply = value.owner if value is not None else None
                if not isinstance(apply, affine.ApplyOp):
                    continue
                inner = MapAndOperands.of(apply.map.data, apply.mapOperands)
                inner.canonicalize()
                values[position] = None
                replacement = shift(inner.results[0], len(dims), len(symbols))
                dims.extend(inner.dims)
                symbols.extend(inner.symbols)
                old = cls(position)
                self.results = [_replace(expr, old, replacement) for expr in self.results]
                return True
        return False

    def canonicalize(self) -> None:
        """Make symbols of dimensions where possible, constants of symbols; drop what is unused or there twice."""
        if not self.operands:
            return
        promoted: list[SSAValue] = []
        kept: list[SSAValue] = []
        dims: list[AffineExpr] = []
        for value in self.dims:
            if can_be_symbol(value):
                dims.append(AffineSymExpr(len(self.symbols) + len(promoted)))
                promoted.append(value)
            else:
                dims.append(AffineDimExpr(len(kept)))
                kept.append(value)
        self.results = [substitute(expr, dims, ()) for expr in self.results]
        self.dims, self.symbols = kept, [*self.symbols, *promoted]
        used = {part for expr in self.results for part in expr.dfs() if not isinstance(part, AffineBinaryOpExpr)}
        new_dims, self.dims = self._prune(self.dims, AffineDimExpr, used)
        new_symbols, self.symbols = self._prune(self.symbols, AffineSymExpr, used)
        self.results = [substitute(expr, new_dims, new_symbols) for expr in self.results]

    @staticmethod
    def _prune(
        values: Sequence[SSAValue], cls: type[AffineDimExpr] | type[AffineSymExpr], used: set[AffineExpr]
    ) -> tuple[list[AffineExpr], list[SSAValue]]:
        kept: list[SSAValue] = []
        replacements: list[AffineExpr] = []
        for position, value in enumerate(values):
            constant = scalar_int(value) if cls is AffineSymExpr else None
            if cls(position) not in used:
                replacements.append(number(0))
            elif constant is not None:
                replacements.append(number(constant))
            else:
                if value not in kept:
                    kept.append(value)
                replacements.append(cls(kept.index(value)))
        return replacements, kept

    def drop_duplicates(self) -> None:
        self.results = list(dict.fromkeys(self.results))

    def use_loop_bounds(self) -> None:
        """Simplify divisions by what is known of the loops whose induction variables are operands."""
        self.results = [_simplify_in_loops(expr, self) for expr in self.results]

    def drop_redundant(self, *, is_max: bool) -> None:
        """Of the expressions of a maximum or minimum, drop those that another always outdoes."""
        if not self.operands:
            return
        lows = [_expr_bound(expr, self, is_upper=False) for expr in self.results]
        highs = [_expr_bound(expr, self, is_upper=True) for expr in self.results]
        kept: list[AffineExpr] = []
        for index, expr in enumerate(self.results):
            if lows[index] is not None and lows[index] == highs[index]:
                expr = number(lows[index] or 0)
            if not _is_outdone(index, lows, highs, is_max):
                kept.append(expr)
        self.results = kept or self.results


def _is_outdone(index: int, lows: Sequence[int | None], highs: Sequence[int | None], is_max: bool) -> bool:
    mine, others = (highs, lows) if is_max else (lows, highs)
    value = mine[index]
    if value is None:
        return False
    for position, other in enumerate(others):
        if position == index or other is None:
            continue
        if (other > value) if is_max else (other < value):
            return True
        if other == value and not (
            mine[position] is not None
            and lows[index] is not None
            and lows[index] == highs[index]
            and other == mine[position]
            and index < position
        ):
            return True
    return False


def _renumber(
    values: Sequence[SSAValue | None], cls: type[AffineDimExpr] | type[AffineSymExpr]
) -> tuple[list[AffineExpr], list[SSAValue]]:
    kept: list[SSAValue] = []
    replacements: list[AffineExpr] = []
    for value in values:
        if value is None:
            replacements.append(number(0))
        else:
            replacements.append(cls(len(kept)))
            kept.append(value)
    return replacements, kept


def _replace(expr: AffineExpr, old: AffineExpr, new: AffineExpr) -> AffineExpr:
    if expr == old:
        return new
    if isinstance(expr, AffineBinaryOpExpr):
        return BUILD[expr.kind](_replace(expr.lhs, old, new), _replace(expr.rhs, old, new))
    return expr


def loop_of(value: SSAValue) -> affine.ForOp | None:
    """The loop whose induction variable `value` is."""
    if not isinstance(value, BlockArgument) or value.index != 0:
        return None
    parent = value.block.parent_op()
    return parent if isinstance(parent, affine.ForOp) else None


def constant_bound(map: AffineMap) -> int | None:
    return value_of(map.results[0]) if len(map.results) == 1 else None


def _lowest(value: SSAValue) -> int | None:
    loop = loop_of(value)
    return constant_bound(loop.lowerBoundMap.data) if loop is not None else None


def _highest(value: SSAValue) -> int | None:
    loop = loop_of(value)
    end = constant_bound(loop.upperBoundMap.data) if loop is not None else None
    if loop is None or end is None:
        return None
    start = constant_bound(loop.lowerBoundMap.data)
    if start is None:
        return end - 1
    last = end - start - 1
    return end - 1 - (abs(last) % loop.step.value.data) * (1 if last >= 0 else -1)


def _expr_bound(expr: AffineExpr, at: MapAndOperands, *, is_upper: bool) -> int | None:
    lower = [_lowest(value) for value in at.operands]
    upper = [_highest(value) for value in at.operands]
    return bound(expr, lower, upper, len(at.dims), is_upper=is_upper)


def _divisor_of(expr: AffineExpr, at: MapAndOperands) -> int:
    if not isinstance(expr, AffineDimExpr):
        return known_divisor(expr)
    loop = loop_of(at.dims[expr.position])
    if loop is None:
        return 1
    step = loop.step.value.data
    if constant_bound(loop.lowerBoundMap.data) == 0:
        return step
    return gcd(step, *(known_divisor(e) for e in loop.lowerBoundMap.data.results))


def _is_below(expr: AffineExpr, limit: int, at: MapAndOperands) -> bool:
    """Whether `0 <= expr < limit`, for a constant or an induction variable."""
    constant = value_of(expr)
    if constant is not None:
        return 0 <= constant < limit
    loop = loop_of(at.dims[expr.position]) if isinstance(expr, AffineDimExpr) else None
    if loop is None:
        return False
    start, end = constant_bound(loop.lowerBoundMap.data), constant_bound(loop.upperBoundMap.data)
    return start is not None and start >= 0 and end is not None and end <= limit


def _simplify_in_loops(expr: AffineExpr, at: MapAndOperands) -> AffineExpr:
    if not isinstance(expr, AffineBinaryOpExpr):
        return expr
    expr = BUILD[expr.kind](_simplify_in_loops(expr.lhs, at), _simplify_in_loops(expr.rhs, at))
    if not isinstance(expr, AffineBinaryOpExpr) or expr.kind not in (FLOORDIV, CEILDIV, MOD):
        return expr
    divisor = value_of(expr.rhs)
    if divisor is None or divisor <= 0:
        return expr
    low, high = _expr_bound(expr.lhs, at, is_upper=False), _expr_bound(expr.lhs, at, is_upper=True)
    if low is not None and high is not None:
        if expr.kind is FLOORDIV and low // divisor == high // divisor:
            return number(low // divisor)
        if expr.kind is CEILDIV and -(-low // divisor) == -(-high // divisor):
            return number(-(-low // divisor))
        if expr.kind is MOD and 0 <= low < divisor and high < divisor:
            return expr.lhs
    split = _quotient_and_rest(expr.lhs, at)
    if split is not None:
        multiple, known, rest = split
        if expr.kind is FLOORDIV and divisor % known == 0:
            return floor_divide(multiple, expr.rhs)
        return modulo(rest, expr.rhs) if expr.kind is MOD and known % divisor == 0 else expr
    if expr.kind is FLOORDIV and _is_below(expr.lhs, divisor, at):
        return number(0)
    if expr.kind is MOD and _divisor_of(expr.lhs, at) % divisor == 0:
        return number(0)
    return expr


def _quotient_and_rest(expr: AffineExpr, at: MapAndOperands) -> tuple[AffineExpr, int, AffineExpr] | None:
    """`expr` as a multiple of a number, and a rest that is smaller than that number."""
    total = parts(expr, ADD)
    if total is None:
        return None
    for multiple, rest in (total, reversed(total)):
        known = _divisor_of(multiple, at)
        if _is_below(rest, known, at):
            return multiple, known, rest
    return None
