"""Operations made cheaply, from parts that are known to fit.

xDSL's constructors flatten, check and copy what they are given, which costs several times what the operation does. Here
the caller hands over finished lists: operands in order, one type per result, dictionaries that nobody else keeps.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, TypeAlias, TypeVar, cast

from xdsl.dialects.builtin import UNKNOWN_LOC, DenseArrayBase, LocationAttr, UnregisteredOp
from xdsl.ir import Attribute, Block, Operation, OpResult, Region, SSAValue, SSAValues, Use
from xdsl.irdl import IRDLOperation, OptionalDef
from xdsl.irdl.operations import BaseAttrAccessor, BeforeVariadicSingleAccessor, SingleAttrAccessor, VarIRConstruct

from tilewright.ir.interned import array_numbers

_OperationT = TypeVar("_OperationT", bound=Operation)
_NOTHING: Mapping[str, Attribute] = {}
_Defaults: TypeAlias = "tuple[tuple[str, Attribute], ...]"


def create_operation(
    op_class: type[Operation],
    operands: Sequence[SSAValue],
    result_types: Sequence[Attribute],
    properties: dict[str, Attribute],
    attributes: dict[str, Attribute],
    successors: Sequence[Block],
    regions: Sequence[Region],
    location: LocationAttr,
) -> Operation:
    """The same operation as `op_class.create` makes, which keeps the dictionaries instead of copying them."""
    plan = _creation_plan(op_class)
    # An unregistered operation is of a class made for its name, with a constructor of its own.
    if plan is None:
        return op_class.create(
            operands=operands,
            result_types=result_types,
            properties=properties,
            attributes=attributes,
            location=location,
            successors=successors,
            regions=regions,
        )
    op = op_class.__new__(op_class)
    op.properties = properties
    op.attributes = attributes
    op.location = location
    if operands:
        op._operands = SSAValues(operands)
        op._operand_uses = _use(op, operands)
    if result_types:
        # Nearly all operations have one result.
        if len(result_types) == 1:
            op.results = SSAValues((OpResult(result_types[0], op, 0),))
        else:
            op.results = SSAValues([OpResult(type, op, index) for index, type in enumerate(result_types)])
    if successors:
        op._successors = tuple(successors)
        op._successor_uses = _use(op, successors)
    if regions:
        op.regions = tuple(regions)
        for region in regions:
            if region.parent is not None:
                # xDSL's words: callers and tests know them.
                raise ValueError("Cannot add region that is already attached on an operation.")
            region.parent = op
    finish, default_properties, default_attributes = plan
    for name, value in default_properties:
        properties.setdefault(name, value)
    for name, value in default_attributes:
        attributes.setdefault(name, value)
    if finish is not None:
        finish(op)
    return op


def initialize(
    op: Operation,
    operands: Sequence[SSAValue] = (),
    properties: dict[str, Attribute] | None = None,
    result_types: Sequence[Attribute] = (),
    regions: Sequence[Region] = (),
) -> None:
    """What the constructor of an operation does, for kinds of which programs consist; regions are new ones."""
    plan = _creation_plan(type(op))
    assert plan is not None
    finish, default_properties, default_attributes = plan
    op.properties = {} if properties is None else properties
    op.attributes = dict(default_attributes)
    op.location = UNKNOWN_LOC
    if operands:
        op._operands = SSAValues(operands)
        op._operand_uses = _use(op, operands)
    if result_types:
        op.results = SSAValues([OpResult(type, op, index) for index, type in enumerate(result_types)])
    if regions:
        op.regions = tuple(regions)
        for region in regions:
            region.parent = op
    for name, value in default_properties:
        op.properties.setdefault(name, value)
    if finish is not None:
        finish(op)


def copy_operation(op: _OperationT) -> _OperationT:
    """An operation with the same operands and properties, without a location; neither has results or regions."""
    copied = create_operation(
        op.__class__, op._operands, (), dict(op.properties), dict(op.attributes), (), (), UNKNOWN_LOC
    )
    return cast(_OperationT, copied)


def clone_operation(op: _OperationT) -> _OperationT:
    """The same operation, with all that is nested in it, as `op.clone()` makes."""
    copies, blocks = dict[int, SSAValue](), dict[int, Block]()
    early: list[tuple[Operation, Operation]] = []
    copied = _clone(op, copies, blocks, early)
    # what is used before it is made, or made outside
    for old, new in early:
        new.operands = [copies.get(id(operand), operand) for operand in old._operands]
    return cast(_OperationT, copied)


def _clone(
    op: Operation, copies: dict[int, SSAValue], blocks: dict[int, Block], early: list[tuple[Operation, Operation]]
) -> Operation:
    operands = [copies.get(id(operand)) for operand in op._operands]
    is_early = None in operands
    copied = create_operation(
        op.__class__,
        () if is_early else cast("list[SSAValue]", operands),
        [result._type for result in op.results],
        op.properties.copy(),
        op.attributes.copy(),
        [blocks.get(id(successor), successor) for successor in op._successors],
        [Region() for _ in op.regions],
        op.location,
    )
    if is_early:
        early.append((op, copied))
    for old, new in zip(op.results, copied.results, strict=True):
        copies[id(old)] = new
        new._name = old._name
    for region, other in zip(op.regions, copied.regions, strict=True):
        # before what is in them: branches lead to blocks that come later
        for block in region.blocks:
            made = blocks[id(block)] = Block(arg_types=[argument._type for argument in block._args])
            other.add_block(made)
            for old, new in zip(block._args, made._args, strict=True):
                copies[id(old)] = new
                new._name, new.location = old._name, old.location
        for block in region.blocks:
            made, child = blocks[id(block)], block._first_op
            while child is not None:
                append_operation(made, _clone(child, copies, blocks, early))
                child = child._next_op
    return copied


def with_cheap_create(op_class: type[_OperationT]) -> type[_OperationT]:
    """Give a class a `create`, a hash, and properties for its operands, that do what xDSL's do, in less time."""
    type.__setattr__(op_class, "create", classmethod(_create))
    # by identity, as xDSL's own, which is a function in Python
    type.__setattr__(op_class, "__hash__", object.__hash__)
    for name, accessor in list(vars(op_class).items()):
        if isinstance(accessor, BaseAttrAccessor) and accessor.construct is VarIRConstruct.OPERAND:
            type.__setattr__(op_class, name, _segment_property(accessor))
        elif isinstance(accessor, BeforeVariadicSingleAccessor) and accessor.construct is VarIRConstruct.OPERAND:
            type.__setattr__(op_class, name, _OperandAccessor(accessor.construct, accessor.idx))
    return op_class


_item: Callable[[tuple[SSAValue, ...], int], SSAValue] = tuple[SSAValue, ...].__getitem__
"""Of the base class: sequences of values have a method in Python for this."""


class _OperandAccessor(BeforeVariadicSingleAccessor):
    """One of the operands of an operation, by its number."""

    def __get__(self, obj: Operation, objtype: type[Operation] | None = None) -> SSAValue:
        return _item(obj._operands, self.idx)


def _segment_property(accessor: BaseAttrAccessor) -> property:
    """One of the operands of an operation that says in an attribute how many belong to each name."""
    if isinstance(accessor, SingleAttrAccessor) and accessor.idx == 0:
        return property(lambda op: op._operands[0])  # whatever the numbers

    def segment(op: Operation) -> Any:
        sizes = cast("DenseArrayBase[Any]", accessor.option.container(op)[accessor.option.attribute_name])
        return accessor.index(array_numbers(sizes), op._operands)

    return property(segment)


def _create(
    cls: type[_OperationT],
    *,
    operands: Sequence[SSAValue] = (),
    result_types: Sequence[Attribute] = (),
    properties: Mapping[str, Attribute] = _NOTHING,
    attributes: Mapping[str, Attribute] = _NOTHING,
    location: LocationAttr | None = None,
    successors: Sequence[Block] = (),
    regions: Sequence[Region] = (),
) -> _OperationT:
    where = UNKNOWN_LOC if location is None else location
    op = create_operation(cls, operands, result_types, dict(properties), dict(attributes), successors, regions, where)
    return cast(_OperationT, op)


def _use(op: Operation, used: Sequence[SSAValue] | Sequence[Block]) -> tuple[Use, ...]:
    uses: list[Use] = []
    for index, value in enumerate(used):
        next_use = value.first_use
        use = Use(op, index, None, next_use)
        # Uses of a value are a doubly linked list; a new one goes to its front.
        if next_use is not None:
            next_use._prev_use = use
        value.first_use = use
        uses.append(use)
    return tuple(uses)


@cache
def _creation_plan(
    op_class: type[Operation],
) -> tuple[Callable[[Operation], None] | None, _Defaults, _Defaults] | None:
    """What a class wants beyond its fields: its own `__post_init__`, or the defaults that IRDL's would fill in."""
    if issubclass(op_class, UnregisteredOp):
        return None
    finish = op_class.__post_init__
    # Looked at once for each class: the plan is cached.
    if finish is Operation.__post_init__:
        return None, (), ()
    if finish is not IRDLOperation.__post_init__ or not issubclass(op_class, IRDLOperation):
        return finish, (), ()
    definition = op_class.get_irdl_definition()
    properties, attributes = (
        tuple(
            (name, part.default_value)
            for name, part in parts.items()
            if part.default_value is not None and not isinstance(part, OptionalDef)
        )
        for parts in (definition.properties, definition.attributes)
    )
    return None, properties, attributes


def append_operation(block: Block, op: Operation) -> None:
    """`block.add_op(op)` for an operation that is in no block and does not contain this one."""
    op.parent = block
    last = block._last_op
    if last is None:
        block._first_op = op
    else:
        last._next_op = op
        op._prev_op = last
    block._last_op = op


def insert_operation(op: Operation, before: Operation) -> None:
    """`block.insert_op_before(op, before)` for an operation that is in no block and does not contain that one."""
    block, previous = before.parent, before._prev_op
    assert block is not None
    op.parent = block
    op._next_op = before
    before._prev_op = op
    op._prev_op = previous
    if previous is None:
        block._first_op = op
    else:
        previous._next_op = op


def erase_operation(op: Operation) -> None:
    """`block.erase_op(op)` for an operation whose results nobody uses, and with nothing in its regions."""
    block, previous, following = op.parent, op._prev_op, op._next_op
    assert block is not None
    if previous is None:
        block._first_op = following
    else:
        previous._next_op = following
    if following is None:
        block._last_op = previous
    else:
        following._prev_op = previous
    op.parent = op._prev_op = op._next_op = None
    for operand, use in zip(op._operands, op._operand_uses, strict=True):
        before, after = use._prev_use, use._next_use
        if before is None:
            operand.first_use = after
        else:
            before._next_use = after
        if after is not None:
            after._prev_use = before
    op._operand_uses = ()
    if op._successors or op.regions:
        op.drop_all_references()
