"""Operations in the making: Python values become operands and attributes, the user's line the location.

A body is a Python function that is run once inside a new operation's region, with the insertion point there.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from functools import cache
from inspect import Parameter, Signature
from typing import TYPE_CHECKING, Any, TypeVar, cast

from xdsl.dialects.builtin import LocationAttr
from xdsl.ir import Attribute, Block, BlockArgument, Operation, OpResult, Region, SSAValue
from xdsl.irdl import AttrSizedOperandSegments, IRDLOperation, OptOperandDef, VarOperandDef
from xdsl.traits import IsTerminator
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects import scf
from tilewright.dialects._syntax import segments
from tilewright.ir.create import append_operation, create_operation, insert_operation
from tilewright.ir.definition_check import DefinitionCheck
from tilewright.ir.diagnostics import from_verify_exception, location_of
from tilewright.iron.builders.attributes import property_attribute
from tilewright.iron.builders.handles import OpView, RegionView, ssa_of, value_of, view_of
from tilewright.iron.builders.location import Location, UsageError, at, given_location, refuse, user_location
from tilewright.iron.builders.remedies import worded
from tilewright.iron.builders.types import as_list, convert_type

if TYPE_CHECKING:
    from types import TracebackType

OpT = TypeVar("OpT", bound=IRDLOperation)

_definitions = DefinitionCheck(is_lasting=True)
ViewT = TypeVar("ViewT", bound=OpView)
_stack: ContextVar[tuple[InsertionPoint, ...]] = ContextVar("insertion points", default=())


def build(
    op_class: type[OpT],
    *,
    results: Sequence[Attribute] = (),
    regions: Sequence[Region] = (),
    successors: Sequence[Block] = (),
    attributes: Mapping[str, Attribute] | None = None,
    loc: LocationAttr | Location | None = None,
    ip: InsertionPoint | None = None,
    **fields: Any,
) -> OpT:
    """Make an operation, check it against its definition and insert it.

    `fields` are its operands and properties by the names of its definition. Properties may be Python values; one that
    is None is left out.
    """
    place = ip or InsertionPoint.current
    groups = _operands(op_class, fields)
    for group in groups:
        for value in group:
            _check_reach(value, place.block)
    properties = _properties(op_class, fields)
    # without it, what stands for which operand could not be told
    if _keeps_segments(op_class):
        properties["operandSegmentSizes"] = segments(*map(len, groups))
    op = create_operation(
        op_class,
        [value for group in groups for value in group],
        results,
        properties,
        dict(attributes or {}),
        successors,
        regions,
        given_location(loc),
    )
    # before it is inserted: what is refused leaves no trace in the program
    _check(op)
    place.insert(op)
    return cast(OpT, op)


def _operands(op_class: type[IRDLOperation], fields: dict[str, Any]) -> list[list[SSAValue]]:
    """The values of each operand of a definition."""
    found = list[list[SSAValue]]()
    for name, what, is_optional, is_variadic in _operand_forms(op_class):
        given = fields.pop(name, None)
        if is_variadic:
            found.append([ssa_of(part, what) for part in as_list(() if given is None else given, what)])
        else:
            found.append([] if given is None and is_optional else [ssa_of(given, what)])
    return found


@cache
def _operand_forms(op_class: type[IRDLOperation]) -> list[tuple[str, str, bool, bool]]:
    """Operands of a definition: the name, what messages call it, whether it may be left out or is several values."""
    # an optional one is variadic, too, for xDSL, but is given by itself
    return [
        (name, f"'{name}' of '{op_class.name}'", is_optional, isinstance(definition, VarOperandDef) and not is_optional)
        for name, definition in op_class.get_irdl_definition().operands
        for is_optional in [isinstance(definition, OptOperandDef)]
    ]


def _check_reach(value: SSAValue, block: Block) -> None:
    """Refuse a value that is made inside a loop or a choice and used outside of it."""
    home = value.op.parent if isinstance(value, OpResult) else cast(BlockArgument, value).block
    if home is block:
        return
    outer = None if home is None else home.parent_op()
    # what is out of reach for other reasons is said when the module is checked
    if isinstance(outer, scf.ForOp | scf.IfOp | scf.WhileOp) and not is_inside(block, home):
        _refuse_reach(value, outer)


def is_inside(block: Block | None, outer: Block | None) -> bool:
    """Whether a block is another one, or nested in it."""
    while block is not None and block is not outer:
        block = block.parent_block()
    return block is not None


def _refuse_reach(value: SSAValue, outer: Operation) -> None:
    """Teach how a number leaves a loop."""
    if isinstance(outer, scf.ForOp):
        refuse(
            "this value is made inside a loop of the program, and used outside of it",
            (location_of(value), "it is made here, in each turn anew"),
            (outer, worded("carry it from turn to turn: `for i, total, result in {loop}(n, iter_args=[0]):`")),
            (outer, worded("end the body with `{p}yield_([total + ...])`, and use `result` behind the loop")),
        )
    refuse(
        "this value is made on one side of a choice, and used outside of it",
        (location_of(value), "it is made here"),
        (outer, worded("write `{p}where(condition, a, b)`{of}, or store it in a buffer")),
    )


@cache  # it is asked for each operation that is built
def _keeps_segments(op_class: type[IRDLOperation]) -> bool:
    """Whether an operation says how many values each of its operands has."""
    return any(isinstance(option, AttrSizedOperandSegments) for option in op_class.get_irdl_definition().options)


def _properties(op_class: type[IRDLOperation], fields: dict[str, Any]) -> dict[str, Attribute]:
    known = op_class.get_irdl_definition().properties
    if unknown := [name for name in fields if name not in known]:
        raise TypeError(f"'{op_class.name}' has no {', '.join(unknown)}")
    return {name: property_attribute(op_class, name, value) for name, value in fields.items() if value is not None}


def _check(op: Operation) -> None:
    """Refuse now what no later operation can put right; a body that is still to come is checked with the module."""
    # a region without blocks is still to be filled, or stays empty, which MLIR allows where it is optional
    if not all(region.blocks for region in op.regions):
        return
    try:
        _definitions.check(cast(IRDLOperation, op).get_irdl_definition(), op)
    except VerifyException as error:
        op.drop_all_references()  # else its operands would count it among their uses
        raise UsageError([from_verify_exception(op, error)]) from None


def builder(op_class: type[IRDLOperation], fields: str = "", *, optional: str = "", result: Any = None) -> Any:
    """A function that makes one kind of operation.

    `fields` are its arguments in order and `optional` those that may be left out, by the names of its definition
    (`name=field` where upstream calls a field otherwise). `result` is the type of its result; with `...` the first
    argument is that type.
    """
    required = [name.partition("=") for name in fields.split()]
    extra = [name.partition("=") for name in optional.split()]
    names = {name: field or name for name, _, field in (*required, *extra)}
    signature = _signature([name for name, _, _ in required], [name for name, _, _ in extra], result is ...)

    def make(*args: Any, **kwargs: Any) -> Any:
        bound = _bind(signature, op_class, args, kwargs)
        types = [convert_type(bound.pop("result_type"))] if result is ... else [] if result is None else [result]
        settings = {name: bound.pop(name, None) for name in ("loc", "ip")}
        op = build(op_class, results=types, **settings, **{names[name]: value for name, value in bound.items()})
        return value_of(op.results[0]) if op.results else view_of(op)

    # for `help`, and for what errors call it
    make.__name__ = make.__qualname__ = op_class.name.partition(".")[2].replace(".", "_")
    make.__doc__ = f"`{op_class.name}`: {(op_class.__doc__ or '').strip()}"
    make.__signature__ = signature
    return make


def _signature(required: list[str], optional: list[str], typed: bool) -> Signature:
    positional = ["result_type", *required] if typed else required
    return Signature(
        [Parameter(name, Parameter.POSITIONAL_OR_KEYWORD) for name in positional]
        + [Parameter(name, Parameter.POSITIONAL_OR_KEYWORD, default=None) for name in [*optional, "loc", "ip"]]
    )


def _bind(
    signature: Signature, op_class: type[IRDLOperation], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> dict[str, Any]:
    try:
        return dict(signature.bind(*args, **kwargs).arguments)
    except TypeError as error:
        refuse(f"'{op_class.name}': {error}", (None, f"its arguments are {signature}"))


def region_op(
    make: Callable[..., ViewT], terminator: Callable[[], object] | None = None, *, name: str = ""
) -> Callable[..., Callable[[Callable[..., Any]], ViewT]]:
    """A decorator that makes an operation and runs the decorated function in its first region.

    The terminator is for bodies that do not write one; `name` is what users call the decorator.
    """

    def with_arguments(*args: Any, **kwargs: Any) -> Callable[[Callable[..., Any]], ViewT]:
        bind(make, args, kwargs, name)
        where = user_location()  # the decorator's line: what its body builds has lines of its own

        def decorate(body: Callable[..., Any]) -> ViewT:
            with at(where):
                view = make(*args, **kwargs)
            fill(view.op.regions[0], body)
            last = view.op.regions[0].blocks[-1]
            if terminator is not None and not is_terminated(last):
                with InsertionPoint(last), at(where):
                    terminator()
            return view

        return decorate

    return with_arguments


def fill(region: Region, body: Callable[..., Any], types: Sequence[Attribute] = ()) -> Block:
    """Run `body` in the region's first block; the block's arguments go to it under its parameters' names."""
    block = region.blocks[0] if region.blocks else new_block(region, types)
    parameters = inspect.signature(body).parameters.values()
    # the contract names arguments as the source does; those behind a `*args` have no names there
    names = [parameter.name for parameter in parameters if parameter.kind is not parameter.VAR_POSITIONAL]
    for argument, name in zip(block.args, names, strict=False):
        argument.name_hint = name
    with InsertionPoint(block):
        call_body(body, *map(value_of, block.args))
    return block


def bind(function: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any], name: str) -> None:
    """Refuse arguments that a function does not take."""
    signature = inspect.signature(function)
    try:
        signature.bind(*args, **kwargs)
    except TypeError as error:
        refuse(f"{name}: {error}", (None, f"its arguments are {signature}"))


def call_body(body: Callable[..., Any], *args: Any) -> Any:
    """Run a function that writes a body; one with other parameters than the body has values is refused."""
    try:
        inspect.signature(body).bind(*args)
    except TypeError:
        names = ", ".join(inspect.signature(body).parameters)
        refuse(f"the body has {len(args)} arguments, but '{body.__name__}' takes ({names})")
    return body(*args)


def is_terminated(block: Block) -> bool:
    """Whether a block has its last operation."""
    return block.last_op is not None and block.last_op.has_trait(IsTerminator, value_if_unregistered=False)


def new_block(region: Region, types: Sequence[Attribute] = ()) -> Block:
    block = Block(arg_types=types)
    region.add_block(block)
    return block


class BlockFactory:
    """`Block.create_at_start(region)`, as upstream's bindings have it."""

    @staticmethod
    def create_at_start(parent: Any, arg_types: Sequence[Attribute] = (), arg_locs: Any = None) -> Block:
        region = parent.region if isinstance(parent, RegionView) else parent
        if not isinstance(region, Region):
            refuse(f"expected a region, not {parent!r}")
        block = Block(arg_types=arg_types)
        region.insert_block(block, 0)
        return block


class _Current(type):
    @property
    def current(cls) -> InsertionPoint:
        """The insertion point of the innermost `with`."""
        if not is_building():
            refuse(
                "there is no module to build in",
                (None, "put this inside `with mlir_mod_ctx() as ctx:` or a device's body"),
            )
        return _stack.get()[-1]


class InsertionPoint(metaclass=_Current):
    """A place in a block: its end, or right before an operation; `with` makes it the current one."""

    def __init__(self, where: Any):
        """At the end of a block, or before an operation."""
        if not isinstance(where, Operation):
            # upstream takes handles of blocks and of operations alike
            where = getattr(where, "block", where)
            where = getattr(where, "op", where)
        self.before: Operation | None = where if isinstance(where, Operation) else None
        found = self.before.parent if self.before is not None else where
        if not isinstance(found, Block):
            refuse(f"expected a block or an operation in one to insert at, not {where!r}")
        self.block: Block = found

    @classmethod
    def at_block_begin(cls, block: Block) -> InsertionPoint:
        return cls.before_op(block.first_op, block)

    @classmethod
    def before_op(cls, op: Operation | None, block: Block) -> InsertionPoint:
        """Right before an operation of a block, at the block's end if there is none."""
        return cls(block if op is None else op)

    @classmethod
    def at_block_terminator(cls, block: Block) -> InsertionPoint:
        """Before the block's terminator, at its end if it has none yet."""
        return cls(block.last_op if is_terminated(block) else block)

    def insert(self, op: Operation) -> None:
        # nothing is in it, so that it cannot be inserted into itself
        if op.parent is None and not op.regions:
            if self.before is None:
                append_operation(self.block, op)
            else:
                insert_operation(op, self.before)
        elif self.before is None:
            self.block.add_op(op)
        else:
            self.block.insert_op_before(op, self.before)

    def __enter__(self) -> InsertionPoint:
        _stack.set((*_stack.get(), self))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Leave it, and all that were entered since: an error in a `range_` loop leaves the loop's only when the loop
        is forgotten, which may be long after."""
        stack = _stack.get()
        if self in stack:
            _stack.set(stack[: stack.index(self)])


def is_building() -> bool:
    """Whether there is a current insertion point."""
    return bool(_stack.get())
