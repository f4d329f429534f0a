"""What users hold of a program under construction: values, operations and attributes, behind upstream's interface."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, Self, cast

from xdsl.dialects.builtin import IndexType, LocationAttr
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.irdl import IRDLOperation

from tilewright.ir.diagnostics import location_of
from tilewright.iron.builders.location import refuse
from tilewright.iron.builders.parts import AttributeMap, AttributeView, RegionView
from tilewright.iron.builders.python_values import is_list


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


_HARDWARE = ("aie", "aiex")
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
        if cls.OP is not None and "OP" in vars(cls):
            VIEW_CLASSES[cls.OP] = cls

    @classmethod
    def wrapping(cls, op: Operation) -> Self:
        """A view of an operation that exists."""
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
        if name.startswith("__") or name == "op":
            raise AttributeError(name)
        found = _field(self.op, name)
        match found:
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
        if name in definition.properties:
            return None
        parts = (definition.operands, definition.results, definition.regions)
        if any(name == part for group in parts for part, _ in group):
            return getattr(op, name)
    raise AttributeError(f"'{op.name}' has no '{name}'")


def ssa_of(given: Any, what: str = "operand") -> SSAValue:
    """The value of the IR behind a handle: a value, or an operation with one result."""
    if isinstance(given, OpView):
        given = given.result
    if isinstance(given, Operation) and len(given.results) == 1:
        given = given.results[0]
    if isinstance(given, Value):
        given = given.ssa
    if isinstance(given, SSAValue):
        return cast(SSAValue, given)
    inner = getattr(given, "op", None)
    if inner is None or inner is given:
        refuse(f"expected a value of the program as {what}, not {given!r}")
    return ssa_of(inner, what)
