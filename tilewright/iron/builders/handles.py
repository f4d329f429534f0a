"""Handles of a program under construction: values, operations and attributes, behind upstream's interface."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, Self, cast

from xdsl.dialects.builtin import ArrayAttr, FloatAttr, IndexType, IntegerAttr, LocationAttr, StringAttr, SymbolRefAttr
from xdsl.ir import Attribute, Block, Operation, OpResult, Region, SSAValue
from xdsl.irdl import IRDLOperation

from tilewright.ir.diagnostics import location_of
from tilewright.iron.builders.location import refuse
from tilewright.iron.builders.types import convert_type, is_list


class Value:
    """A value of the program; what it can do depends on its type, see `ScalarValue` and `MemRefValue`."""

    def __init__(self, ssa: SSAValue):
        self.ssa = ssa

    @property
    def type(self) -> Attribute:
        return self.ssa.type

    @property
    def owner(self) -> OpView | Block:
        """The operation that it is a result of, or the block that it is an argument of."""
        owner = self.ssa.owner
        return view_of(owner) if isinstance(owner, Operation) else owner

    @property
    def result(self) -> Self:
        return self

    @property
    def location(self) -> LocationAttr:
        return location_of(self.ssa)

    def get_name(self) -> str:
        """`%name`, as it would be printed now."""
        from tilewright.ir.printer import Printer

        return Printer().value_text(self.ssa)

    def __str__(self) -> str:
        return f"{type(self).__name__}({self.get_name()}, {self.type})"

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.type})"

    def __eq__(self, other: object) -> Any:
        return isinstance(other, Value) and other.ssa is self.ssa

    def __hash__(self) -> int:
        return hash(self.ssa)


_HARDWARE = ("aie", "aiex")  # dialects whose indices are handles
VALUE_CLASSES: dict[type[Attribute], type[Value]] = {}
"""Which class wraps values of a type; `Value` itself for all others."""


def value_of(ssa: SSAValue) -> Value:
    """The handle for a value of the IR; tiles, locks and tasks are no numbers, though their type is that of indices."""
    owner = ssa.owner
    if isinstance(ssa.type, IndexType) and isinstance(owner, Operation) and owner.dialect_name() in _HARDWARE:
        return Value(ssa)
    return VALUE_CLASSES.get(type(ssa.type), Value)(ssa)


class OpView:
    """An operation; its operands, attributes and regions are Python attributes by the names of its definition."""

    OP: ClassVar[type[Operation] | None] = None
    """The operation that a subclass is the view of."""

    op: Operation

    def __init__(self, op: Operation):
        if not isinstance(op, Operation):
            refuse(
                f"{type(self).__name__} shows an operation that exists", (None, "there is a function that makes one")
            )
        self.op = op

    def __init_subclass__(cls, **kwargs: Any):
        super().__init_subclass__(**kwargs)
        # one that inherits its operation is made for a purpose, not to show what is there
        if cls.OP is not None and "OP" in vars(cls):
            VIEW_CLASSES[cls.OP] = cls

    @classmethod
    def wrapping(cls, op: Operation) -> Self:
        """A view of an operation that exists."""
        # constructors of views make new operations
        view = cls.__new__(cls)
        view.op = op
        return view

    @property
    def operation(self) -> Self:
        return self

    @property
    def opview(self) -> Self:
        return self

    @property
    def name(self) -> str:
        return self.op.name

    @property
    def location(self) -> LocationAttr:
        return self.op.location

    @property
    def results(self) -> list[Value]:
        return [value_of(result) for result in self.op.results]

    @property
    def result(self) -> Value:
        if len(self.op.results) != 1:
            refuse(f"'{self.name}' has {len(self.op.results)} results, not one")
        return value_of(self.op.results[0])

    @property
    def type(self) -> Attribute:
        return self.result.type

    @property
    def operands(self) -> list[Value]:
        return [value_of(operand) for operand in self.op.operands]

    @property
    def regions(self) -> list[RegionView]:
        return [RegionView(region) for region in self.op.regions]

    @property
    def attributes(self) -> AttributeMap:
        return AttributeMap(self.op)

    @property
    def successors(self) -> Sequence[Block]:
        return self.op.successors

    @property
    def parent(self) -> OpView | None:
        parent = self.op.parent_op()
        return None if parent is None else view_of(parent)

    def verify(self) -> bool:
        """True, or a `CompileError` with everything that is wrong."""
        from tilewright.iron.builders.module import verify_operation

        verify_operation(self.op)
        return True

    def walk(self) -> Iterator[OpView]:
        return map(view_of, self.op.walk())

    def erase(self) -> None:
        self.op.detach()
        self.op.erase()

    def __getattr__(self, name: str) -> Any:
        # copying and pickling ask for these before there is an `op` to look into
        if name.startswith("__") or name == "op":
            raise AttributeError(name)
        match found := _field(self.op, name):
            case SSAValue():
                return value_of(cast(SSAValue, found))
            case Region():
                return RegionView(found)
            case Attribute():
                return AttributeView(found)
            case _:
                return [value_of(part) for part in found] if is_list(found) else found

    def __str__(self) -> str:
        from tilewright.ir.printer import module_text

        return module_text(self.op).rstrip()

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.name}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OpView) and other.op is self.op

    def __hash__(self) -> int:
        return hash(self.op)


VIEW_CLASSES: dict[type[Operation], type[OpView]] = {}


def view_of(op: Operation) -> OpView:
    """The view of an operation, of the class that its kind has."""
    return VIEW_CLASSES.get(type(op), OpView).wrapping(op)


def _field(op: Operation, name: str) -> Any:
    """A part of an operation by the name that its definition gives it in the IR, or ours."""
    if name in op.properties:
        return op.properties[name]
    if isinstance(op, IRDLOperation):
        definition = op.get_irdl_definition()
        if name in definition.properties:  # one that is left out
            return None
        parts = (definition.operands, definition.results, definition.regions)
        if any(name == part for group in parts for part, _ in group):
            return getattr(op, name)
    raise AttributeError(f"'{op.name}' has no '{name}'")


def ssa_of(given: Any, what: str = "operand") -> SSAValue:
    """The value of the IR behind a handle: a value, or an operation with one result."""
    # most are one of these; the classes asked for below are abstract, which costs more to ask
    if isinstance(given, Value):
        return given.ssa
    if isinstance(given, OpResult):
        return cast(SSAValue, given)
    if isinstance(given, OpView):
        return ssa_of(given.result, what)
    if isinstance(given, Operation) and len(given.results) == 1:
        given = given.results[0]
    if isinstance(given, SSAValue):
        return cast(SSAValue, given)
    # parts of a program (`Tile`, `Buffer`) have what they became in `op`
    inner = getattr(given, "op", None)
    if inner is None or inner is given:
        refuse(f"expected a value of the program as {what}, not {given!r}")
    return ssa_of(inner, what)


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
        # programs compare with attributes as well as with numbers
        return (other.attribute if isinstance(other, AttributeView) else other) in (self.attribute, self.value)

    def __hash__(self) -> int:
        return hash(self.attribute)


def plain(attribute: Attribute) -> Any:
    """What an attribute says, as a Python value; itself if Python has none for it."""
    match attribute:
        case StringAttr():
            return attribute.data
        case IntegerAttr():
            is_bool = getattr(attribute.type, "bitwidth", None) == 1
            return bool(attribute.value.data) if is_bool else attribute.value.data
        case FloatAttr():
            return attribute.value.data
        case SymbolRefAttr():
            return attribute.string_value()
        case ArrayAttr():
            return [plain(part) for part in attribute]
        case _:
            return attribute


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
