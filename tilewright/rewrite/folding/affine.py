"""Folding and canonical forms of affine operations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

from xdsl.dialects.builtin import AffineMapAttr, AffineSetAttr
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineConstraintExpr, AffineDimExpr, AffineExpr, AffineMap, AffineSet, AffineSymExpr
from xdsl.pattern_rewriter import PatternRewriter

from tilewright.dialects import affine
from tilewright.ir.affine_text import constant_of as value_of
from tilewright.rewrite.canonicalization import PatternFunction
from tilewright.rewrite.control_flow import sizes_attr
from tilewright.rewrite.folding.affine_expressions import Flattener, number, shift, substitute
from tilewright.rewrite.folding.affine_maps import MapAndOperands, constant_bound
from tilewright.rewrite.folding.constants import IN_PLACE, INDEX, Folded, index_attr, scalar_int
from tilewright.rewrite.folding.memref import skip_casts
from tilewright.rewrite.folding.regions import has_one_op, only_block, replace_with_region, terminator


def _map_of(op: Operation) -> AffineMap:
    return cast(AffineMapAttr, op.properties["map"]).data


_OTHER_OPERANDS = {
    "affine.load": 1,
    "affine.prefetch": 1,
    "affine.store": 2,
    "affine.vector_load": 1,
    "affine.vector_store": 2,
}
"""How many operands come before those of the map: the buffer, and the value to store."""


def _constant_inputs(map: AffineMap, operands: Sequence[SSAValue]) -> tuple[list[AffineExpr], list[AffineExpr]]:
    """For each dimension and symbol its constant value, or itself."""
    known = [scalar_int(operand) for operand in operands]
    inputs: list[AffineExpr] = [
        number(value)
        if value is not None
        else AffineDimExpr(i)
        if i < map.num_dims
        else AffineSymExpr(i - map.num_dims)
        for i, value in enumerate(known)
    ]
    return inputs[: map.num_dims], inputs[map.num_dims :]


def _evaluate(map: AffineMap, operands: Sequence[SSAValue]) -> list[int] | None:
    """The numbers that the map gives, if the operands are constants."""
    dims, symbols = _constant_inputs(map, operands)
    values = [value_of(substitute(expr, dims, symbols)) for expr in map.results]
    return None if None in values else cast(list[int], values)


def _fold_apply(op: affine.ApplyOp) -> Folded:
    map = op.map.data
    result = map.results[0]
    if isinstance(result, AffineDimExpr):
        return (op.mapOperands[result.position],)
    if isinstance(result, AffineSymExpr):
        return (op.mapOperands[map.num_dims + result.position],)
    values = _evaluate(map, op.mapOperands)
    return (index_attr(values[0]),) if values is not None else None


def _fold_min_max(op: Operation) -> Folded:
    map = _map_of(op)
    dims, symbols = _constant_inputs(map, op.operands)
    folded = [substitute(expr, dims, symbols) for expr in map.results]
    results = [new if value_of(new) is not None else old for old, new in zip(map.results, folded, strict=True)]
    if map.num_symbols == 1 and map.num_dims == 0 and results == [AffineSymExpr(0)]:
        return (op.operands[0],)
    values = [value_of(expr) for expr in results]
    # the operation is gone only where all is known; else what is known becomes part of the map
    if None not in values:
        numbers = cast(list[int], values)
        return (index_attr(min(numbers) if op.name == "affine.min" else max(numbers)),)
    if tuple(results) == map.results:
        return None
    op.properties["map"] = AffineMapAttr(AffineMap(map.num_dims, map.num_symbols, tuple(results)))
    return IN_PLACE


def _fold_access(op: Operation) -> Folded:
    stored = op.operands[0] if op.name in ("affine.store", "affine.vector_store") else None
    return IN_PLACE if skip_casts(op, but=stored) else None


def _fold_for(op: affine.ForOp) -> Folded:
    changed = _fold_bounds(op)
    changed |= _canonicalize_bounds(op)
    count = trip_count(op)
    if count == 0 and op.results:
        return tuple(op.inits)
    replaced = _replace_empty_loop(op, count)
    return replaced if replaced is not None else IN_PLACE if changed else None


def trip_count(op: affine.ForOp) -> int | None:
    start, end = constant_bound(op.lowerBoundMap.data), constant_bound(op.upperBoundMap.data)
    step = op.step.value.data
    if start is None or end is None or step <= 0:
        return None
    return max(0, -(-(end - start) // step))


def _replace_empty_loop(op: affine.ForOp, count: int | None) -> Folded:
    """What a loop without a body gives."""
    if not has_one_op(only_block(op.body)) or not op.results:
        return None
    arguments = only_block(op.body).args[1:]
    yielded = terminator(op.body).operands
    in_order = all(value not in arguments or value is arguments[i] for i, value in enumerate(yielded))
    # how often it runs is not known: each argument must come back as it went in
    if count is None and (not in_order or any(value not in arguments for value in yielded)):
        return None
    # arguments that change places do so in every iteration
    if count is not None and count >= 2 and not in_order:
        return None
    return [op.inits[arguments.index(cast(Any, v))] if v in arguments else v for v in yielded]


def _fold_bounds(op: affine.ForOp) -> bool:
    changed = False
    for name, operands, choose in (
        ("lowerBoundMap", op.lowerBoundOperands, max),
        ("upperBoundMap", op.upperBoundOperands, min),
    ):
        map = cast(AffineMapAttr, op.properties[name]).data
        if constant_bound(map) is not None:
            continue
        values = _evaluate(map, operands)
        if values is not None:
            _set_bound(op, name, MapAndOperands([number(choose(values))], (), ()))
            changed = True
    return changed


def _set_bound(op: affine.ForOp, name: str, new: MapAndOperands) -> None:
    bounds = {"lowerBoundMap": op.lowerBoundOperands, "upperBoundMap": op.upperBoundOperands, name: new.operands}
    lists = (*bounds.values(), op.inits)
    op.properties[name] = AffineMapAttr(new.map)
    op.operands = [value for values in lists for value in values]
    op.properties["operandSegmentSizes"] = sizes_attr([len(values) for values in lists])


def _canonicalize_bounds(op: affine.ForOp) -> bool:
    # in MLIR's order, which simplifies the upper bound before it composes it
    lower = MapAndOperands.of(op.lowerBoundMap.data, op.lowerBoundOperands)
    upper = MapAndOperands.of(op.upperBoundMap.data, op.upperBoundOperands)
    lower.compose()
    lower.canonicalize()
    lower.drop_redundant(is_max=True)
    upper.drop_redundant(is_max=False)
    lower.drop_duplicates()
    upper.compose()
    upper.canonicalize()
    upper.drop_duplicates()
    changed = False
    for name, bound in (("lowerBoundMap", lower), ("upperBoundMap", upper)):
        if bound.map != cast(AffineMapAttr, op.properties[name]).data:
            _set_bound(op, name, bound)
            changed = True
    return changed


def _fold_if(op: affine.IfOp) -> Folded:
    condition = op.condition.data
    constraints = condition.constraints
    both = MapAndOperands(
        [constraint.lhs for constraint in constraints], op.args[: condition.num_dims], op.args[condition.num_dims :]
    )
    # as MLIR: nothing is composed where no operand is an apply
    if any(isinstance(value.owner, affine.ApplyOp) for value in op.args):
        both.compose()
    both.canonicalize()
    new = AffineSet(
        len(both.dims),
        len(both.symbols),
        tuple(
            AffineConstraintExpr(constraint.kind, expr, number(0), canonicalize=False)
            for constraint, expr in zip(constraints, both.results, strict=True)
        ),
    )
    if new == condition and both.operands == list(op.args):
        return None
    op.properties["condition"] = AffineSetAttr(new)
    op.operands = both.operands
    return IN_PLACE


def compose_maps(op: Operation, rewriter: PatternRewriter) -> None:
    """Take in the maps that make the operands, and simplify."""
    old, operands = _map_of(op), op.operands[_OTHER_OPERANDS.get(op.name, 0) :]
    new = MapAndOperands.of(old, operands)
    new.compose()
    new.canonicalize()
    new.use_loop_bounds()
    if new.map == old and new.operands == list(operands):
        return
    _replace_map(op, rewriter, new)


def _replace_map(op: Operation, rewriter: PatternRewriter, new: MapAndOperands) -> None:
    others = tuple(op.operands)[: _OTHER_OPERANDS.get(op.name, 0)]
    properties = {**op.properties, "map": AffineMapAttr(new.map)}
    operands = (*others, *new.operands)
    rewriter.replace(op, type(op).create(operands=operands, result_types=op.result_types, properties=properties))


def single_result_to_apply(op: Operation, rewriter: PatternRewriter) -> None:
    """The minimum of one expression is that expression."""
    if len(_map_of(op).results) == 1:
        properties = {"map": op.properties["map"]}
        rewriter.replace(op, affine.ApplyOp.create(operands=op.operands, result_types=(INDEX,), properties=properties))


def drop_duplicate_results(op: Operation, rewriter: PatternRewriter) -> None:
    map = _map_of(op)
    new = MapAndOperands.of(map, op.operands)
    new.drop_duplicates()
    if len(new.results) != len(map.results):
        _replace_map(op, rewriter, new)


def merge_nested(op: Operation, rewriter: PatternRewriter) -> None:
    """A minimum of a minimum is one minimum of all."""
    whole = MapAndOperands.of(_map_of(op), op.operands)
    kept: list[AffineExpr] = []
    inner: list[Operation] = []
    for expr in whole.results:
        inputs = whole.dims if isinstance(expr, AffineDimExpr) else whole.symbols
        producer = inputs[expr.position].owner if isinstance(expr, AffineDimExpr | AffineSymExpr) else None
        if isinstance(producer, Operation) and producer.name == op.name:
            inner.append(producer)
        else:
            kept.append(expr)
    if not inner:
        return
    # those of the inner ones are numbered after all that are there already
    for producer in inner:
        part = MapAndOperands.of(_map_of(producer), producer.operands)
        kept += [shift(expr, len(whole.dims), len(whole.symbols)) for expr in part.results]
        whole.dims += part.dims
        whole.symbols += part.symbols
    whole.results = kept
    _replace_map(op, rewriter, whole)


def sort_results(op: Operation, rewriter: PatternRewriter) -> None:
    """Order the expressions of a minimum or maximum by their coefficients."""
    map = _map_of(op)
    inputs = [*(AffineDimExpr(i) for i in range(map.num_dims)), *(AffineSymExpr(i) for i in range(map.num_symbols))]
    keys: list[list[int]] = []
    for expr in map.results:
        total = Flattener().flatten(expr) if expr.is_pure_affine() else None
        if total is None or total.locals:
            return
        keys.append([*(total.terms.get(term, 0) for term in inputs), total.constant])
    if keys == sorted(keys):
        return
    order = sorted(range(len(keys)), key=keys.__getitem__)
    new = MapAndOperands.of(map, op.operands)
    new.results = [map.results[index] for index in order]
    _replace_map(op, rewriter, new)


def drop_empty_else(op: affine.IfOp, rewriter: PatternRewriter) -> None:
    block = op.else_region.first_block
    if op.results or not has_one_op(block) or block is None or block.last_op is None:
        return
    rewriter.erase(block.last_op)
    op.else_region.detach_block(block)
    rewriter.notify_op_modified(op)


def take_known_branch(op: affine.IfOp, rewriter: PatternRewriter) -> None:
    constraints = op.condition.data.constraints
    # MLIR knows only its own spellings of the full set, 0 == 0, and of the empty one, 1 == 0
    if len(constraints) != 1 or constraints[0].kind.value != "==":
        return
    constant = value_of(constraints[0].lhs)
    if constant == 0:
        replace_with_region(op, rewriter, op.then_region)
    elif constant == 1:
        if op.else_region.first_block is None:
            rewriter.erase(op)
        else:
            replace_with_region(op, rewriter, op.else_region)


FOLDERS: dict[str, Callable[[Any], Folded]] = {
    "affine.apply": _fold_apply,
    "affine.for": _fold_for,
    "affine.if": _fold_if,
    "affine.max": _fold_min_max,
    "affine.min": _fold_min_max,
    **dict.fromkeys(_OTHER_OPERANDS, _fold_access),
}

_MIN_MAX = (single_result_to_apply, drop_duplicate_results, merge_nested, compose_maps, sort_results)

PATTERNS: dict[str, Sequence[PatternFunction]] = {
    "affine.apply": (compose_maps,),
    "affine.if": (drop_empty_else, take_known_branch),
    "affine.max": _MIN_MAX,
    "affine.min": _MIN_MAX,
    **dict.fromkeys(_OTHER_OPERANDS, (compose_maps,)),
}
