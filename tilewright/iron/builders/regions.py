"""Bodies: a function that is run once inside a new operation's region, with the insertion point there."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from xdsl.ir import Attribute, Block, Region
from xdsl.traits import IsTerminator

from tilewright.iron.builders.checks import bind, call_body
from tilewright.iron.builders.handles import OpView, value_of
from tilewright.iron.builders.insertion import InsertionPoint
from tilewright.iron.builders.location import at, refuse, user_location
from tilewright.iron.builders.parts import RegionView

ViewT = TypeVar("ViewT", bound=OpView)


def region_op(
    make: Callable[..., ViewT], terminator: Callable[[], object] | None = None, *, name: str = ""
) -> Callable[..., Callable[[Callable[..., Any]], ViewT]]:
    """A decorator that makes an operation and runs the decorated function in its first region.

    The terminator is for bodies that do not write one; `name` is what users call the decorator.
    """

    def with_arguments(*args: Any, **kwargs: Any) -> Callable[[Callable[..., Any]], ViewT]:
        bind(make, args, kwargs, name)
        where = user_location()

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
    for argument, name in zip(block.args, _positional(body), strict=False):
        argument.name_hint = name
    with InsertionPoint(block):
        call_body(body, *map(value_of, block.args))
    return block


def _positional(body: Callable[..., Any]) -> list[str]:
    """The names of the parameters that take one argument each."""
    parameters = inspect.signature(body).parameters.values()
    return [parameter.name for parameter in parameters if parameter.kind is not parameter.VAR_POSITIONAL]


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
