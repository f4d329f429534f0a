"""Parts of an operation as upstream's bindings show them: its attributes, its regions and their blocks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from xdsl.dialects.builtin import ArrayAttr, FloatAttr, IntegerAttr, LocationAttr, StringAttr, SymbolRefAttr
from xdsl.ir import Attribute, Block, Operation, Region
from xdsl.irdl import IRDLOperation

from tilewright.iron.builders.types import convert_type


class AttributeView:
    """An attribute whose `value` is a number, a text or a list of Python's."""

    def __init__(self, attribute: Attribute):
        self.attribute = attribute

    @property
    def value(self) -> Any:
        return plain(self.attribute)

    def __int__(self) -> int:
        return int(self.value)

    def __str__(self) -> str:
        return str(self.attribute)

    def __repr__(self) -> str:
        return f"AttributeView({self})"

    def __eq__(self, other: object) -> bool:
        return (other.attribute if isinstance(other, AttributeView) else other) in (self.attribute, self.value)

    def __hash__(self) -> int:
        return hash(self.attribute)


def plain(attribute: Attribute) -> Any:
    """What an attribute says, as a Python value; itself if Python has none for it."""
    match attribute:
        case StringAttr():
            return attribute.data
        case IntegerAttr():
            return bool(attribute.value.data) if _is_bool(attribute) else attribute.value.data
        case FloatAttr():
            return attribute.value.data
        case SymbolRefAttr():
            return attribute.string_value()
        case ArrayAttr():
            return [plain(part) for part in attribute]
        case _:
            return attribute


def _is_bool(attribute: IntegerAttr) -> bool:
    return getattr(attribute.type, "bitwidth", None) == 1


class AttributeMap:
    """The attributes of an operation by name; what is set may be a Python value."""

    def __init__(self, op: Operation):
        self._op = op

    def _home(self, name: str) -> dict[str, Attribute]:
        own = isinstance(self._op, IRDLOperation) and name in self._op.get_irdl_definition().properties
        return self._op.properties if own else self._op.attributes

    def __contains__(self, name: str) -> bool:
        return name in self._home(name)

    def __getitem__(self, name: str) -> AttributeView:
        return AttributeView(self._home(name)[name])

    def __setitem__(self, name: str, value: Any) -> None:
        from tilewright.iron.builders.attributes import property_attribute

        self._home(name)[name] = property_attribute(self._op, name, value)

    def __delitem__(self, name: str) -> None:
        del self._home(name)[name]

    def __iter__(self) -> Iterator[str]:
        return iter([*self._op.properties, *self._op.attributes])

    def __len__(self) -> int:
        return len(self._op.properties) + len(self._op.attributes)


class RegionView:
    """A region; `blocks` can be appended to."""

    def __init__(self, region: Region):
        self.region = region

    @property
    def blocks(self) -> BlockList:
        return BlockList(self.region)


class BlockList:
    """The blocks of a region, in order."""

    def __init__(self, region: Region):
        self.region = region

    def append(self, *types: Any, arg_locs: Sequence[LocationAttr] | None = None) -> Block:
        block = Block(arg_types=[convert_type(type) for type in types])
        self.region.add_block(block)
        return block

    def __len__(self) -> int:
        return len(self.region.blocks)

    def __getitem__(self, index: int) -> Block:
        return self.region.blocks[index]

    def __iter__(self) -> Iterator[Block]:
        return iter(self.region.blocks)
