"""Functions of the host as native code: what differs from the code of a core, and what all of them share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from llvmlite import ir
from xdsl.ir import Attribute, Operation

from tilewright.dialects.gpu.calls import LaunchFuncOp
from tilewright.gpu.host.signatures import Signature
from tilewright.gpu.host.slots import FUNCTIONS, SITE
from tilewright.ir.diagnostics import fail_op
from tilewright.native.functions import FunctionLowering
from tilewright.native.gathers import intrinsic_reduce
from tilewright.native.lanes import constant_like
from tilewright.native.lowering import CODE, SLOT_BYTES, Lowering, Unit
from tilewright.native.values import I8, I64, element_of, index, number_of


@dataclass
class HostUnit(Unit):
    """The host functions of one program."""

    calls: dict[str, Signature] = field(default_factory=dict[str, Signature])
    """Functions of the runtime that it calls; their addresses are in the context, in this order."""
    sites: list[Operation] = field(default_factory=list[Operation])
    """Where it calls them."""
    launches: list[LaunchFuncOp] = field(default_factory=list[LaunchFuncOp])

    def call_slot(self, name: str, signature: Signature) -> int:
        """Where in the context the address of a function is, in bytes."""
        self.calls.setdefault(name, signature)
        return FUNCTIONS + SLOT_BYTES * list(self.calls).index(name)

    @property
    def context_bytes(self) -> int:
        return FUNCTIONS + SLOT_BYTES * len(self.calls)


class FunctionPointer(ir.PointerType):
    """A pointer that llvmlite can call: it wants to know what it points to."""

    def __init__(self, function: ir.FunctionType):
        super().__init__()
        self.pointee = function

    def __new__(cls, function: ir.FunctionType) -> FunctionPointer:
        return object.__new__(cls)


class _Attributes(ir.FunctionAttributes):
    """With an access through a null pointer being one that fails, where LLVM would take it for impossible."""

    _known: ClassVar[frozenset[str]] = ir.FunctionAttributes._known | {"null_pointer_is_valid"}


class HostBody(FunctionLowering):
    """One function. Its loops may run as long as they like: who waits for it has a clock."""

    def __init__(
        self, unit: HostUnit, op: Operation, name: str, results: Iterable[Attribute], arguments: Sequence[ir.Type]
    ):
        super().__init__(unit, op, name, results, arguments)
        self.function.attributes = _Attributes((*self.function.attributes, "null_pointer_is_valid"))
        self.host, self.op_at_work = unit, op

    def pause(self, often: bool) -> None:
        """Nobody else runs in this process."""

    def check_division(self, name: str, lhs: ir.Value, rhs: ir.Value) -> None:
        """Stop at what is undefined: by zero, or where the quotient does not fit."""
        element, divisor = element_of(lhs.type), number_of(rhs)
        if divisor not in (None, 0, -1):
            return
        some = _all(self.builder, self.builder.icmp_signed("!=", rhs, constant_like(rhs, 0)))
        self.trap_unless(self.op_at_work, some, "divides by zero")
        if name.endswith("ui"):
            return
        lowest = constant_like(lhs, -(1 << element.width - 1))
        fine = self.builder.or_(
            self.builder.icmp_signed("!=", lhs, lowest),
            self.builder.icmp_signed("!=", rhs, constant_like(rhs, -1)),
        )
        text = f"divides {-(1 << element.width - 1)} by -1, which does not fit into {element.width} bits"
        self.trap_unless(self.op_at_work, _all(self.builder, fine), text)

    def lower(self, op: Operation) -> None:
        self.op_at_work = op
        if op.name not in self.unit.handlers:
            fail_op(op, "cannot run on the host", (op, "it belongs into a kernel, or a pass has to lower it before"))
        super().lower(op)


def _all(builder: ir.IRBuilder, holds: ir.Value) -> ir.Value:
    """Whether something holds, for all elements of a vector."""
    return (
        intrinsic_reduce(builder, "llvm.vector.reduce.and", holds) if isinstance(holds.type, ir.VectorType) else holds
    )


def host_body(lowering: Lowering) -> HostBody:
    """What the handlers of operations that only hosts have are given."""
    assert isinstance(lowering, HostBody)
    return lowering


def call_runtime(
    body: HostBody, op: Operation, name: str, signature: Signature, arguments: Sequence[ir.Value]
) -> ir.Value:
    """Call a function of the runtime, and leave if that ended the program."""
    builder, unit = body.builder, body.host
    unit.sites.append(op)
    builder.store(index(len(unit.sites) - 1), body.in_context(SITE))
    slot = body.in_context(unit.call_slot(name, signature))
    function = builder.load(slot, typ=FunctionPointer(signature.native()))
    result = builder.call(function, arguments)
    on, off = body.new_block("on"), body.new_block("stopped")
    builder.cbranch(builder.icmp_signed("==", builder.load(body.in_context(CODE), typ=I64), index(0)), on, off)
    body.at(off)
    body.leave_again()
    body.at(on)
    return result


def in_row(body: HostBody, parts: Sequence[ir.Value]) -> ir.Value:
    """Values one after the other in memory, eight bytes for each."""
    room = body.variable(I64, max(len(parts), 1))
    for number, part in enumerate(parts):
        place = body.builder.gep(room, [index(SLOT_BYTES * number)], source_etype=I8)
        body.builder.store(part, place)
    return room
