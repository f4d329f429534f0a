"""Operations of a program as LLVM instructions: the common part of native functions and native coroutines.

`Lowering` keeps what each value stands for and lets a table of handlers, one per operation name, do the translating.
What can go wrong in the running program is a trap: the code leaves with the trap's number, never by a signal.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from llvmlite import ir
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from tilewright.dialects.func import FuncOp
from tilewright.ir.diagnostics import fail_op
from tilewright.native.context_layout import CODE as CODE
from tilewright.native.context_layout import CYCLES as CYCLES
from tilewright.native.context_layout import DEPTH as DEPTH
from tilewright.native.context_layout import DETAIL, MOST_FLOW, SLOT_BYTES
from tilewright.native.context_layout import HEADER_BYTES as HEADER_BYTES
from tilewright.native.flow import Graph
from tilewright.native.ranges import Ranges
from tilewright.native.region_order import NEVER_REACHED, reverse_postorder, writes
from tilewright.native.traps import REACHED, Trap, Untranslatable
from tilewright.native.values import (
    I1,
    I8,
    I64,
    POINTER,
    Known,
    MemRef,
    Value,
    all_parts,
    index,
    part_types,
    parts,
    rebuild,
    with_parts,
)

# Each takes the class of the operation that its row in the table names, and the kind of lowering that has such ones.
Handler: TypeAlias = Callable[[Any, Any], None]


@dataclass
class Unit:
    """One LLVM module under construction, and what its functions share."""

    module: ir.Module
    handlers: Mapping[str, Handler]
    cycles_of: Callable[[Operation], int] = lambda op: 0
    declared_cycles: Callable[[Operation], int | None] = lambda op: None
    """How long a function says that it takes, whatever its operations would."""
    suspends: Callable[[Operation], bool] = lambda op: True
    """Whether an operation, or something in it, can make the code wait: it can be in a coroutine only."""
    buffers: list[Operation] = field(default_factory=list[Operation])
    """What defines the buffers from outside; their addresses follow the context's header, in this order."""
    traps: list[Trap] = field(default_factory=list[Trap])
    functions: dict[FuncOp, ir.Function] = field(default_factory=dict[FuncOp, ir.Function])
    finished: set[FuncOp] = field(default_factory=set[FuncOp])
    """Those of the functions that are complete."""
    loops: dict[str, ir.Function] = field(default_factory=dict[str, ir.Function])
    """Loops that have become functions, by their text."""
    apart: set[ir.Value] = field(default_factory=set[ir.Value])
    """Addresses of buffers none of which overlap."""
    ranges: Ranges = field(default_factory=Ranges)
    flow_log: int | None = None
    """Where in the context the address of a log of branches is; None if there is none."""
    asks_for_signals: bool = False
    """Whether code that takes long asks Python for Ctrl-C: it is called with the interpreter's lock then."""

    def buffer_slot(self, definition: Operation) -> int:
        """Where in the context a buffer's address is, in bytes."""
        if definition not in self.buffers:
            self.buffers.append(definition)
        return HEADER_BYTES + SLOT_BYTES * self.buffers.index(definition)


class Lowering:
    """Builds one LLVM function. The block called `entry` has only stack variables."""

    checks = True
    """Whether the code looks where it reads and writes before it does."""
    counts_cycles = True
    translation = "native translation"
    """The name of what an operation has none of, in messages."""

    def __init__(self, unit: Unit, function: ir.Function, context: ir.Value):
        self.unit, self.function, self.context = unit, function, context
        self.entry = function.append_basic_block("entry")
        self.begin = function.append_basic_block("begin")
        self.builder = ir.IRBuilder(self.begin)
        self.values: dict[SSAValue, Value] = {}
        self.calls: list[FuncOp] = []
        """The functions whose bodies are being put in place of a call of them, from the outermost on."""
        if self.counts_cycles:
            self.cycles = self.variable(I64)
            self.builder.store(index(0), self.cycles)
        self._unspent = 0

    def leave(self, trap: int) -> None:
        """End the current block by going out of the code because of a trap."""
        self.builder.store(index(-1 - trap), self.in_context(CODE))
        self.leave_again()

    # Code that has no traps and keeps no one waiting does nothing at these.

    def leave_again(self) -> None:
        """End the current block by going out because of a trap that has been noted already."""

    def pause(self, often: bool) -> None:
        """Let others have the machine now and then."""

    def poll(self) -> None:
        """Called in a loop around others, which together may take long."""

    def idle(self) -> None:
        """Called in a loop that has no effect and no end."""

    def remedy(self, op: Operation) -> str:
        """A note about an operation that has no translation."""
        return "a core of the simulator cannot execute it"

    def close(self) -> None:
        """Tie the two first blocks together, when all variables are known."""
        ir.IRBuilder(self.entry).branch(self.begin)

    def __getitem__(self, value: SSAValue) -> ir.Value:
        """The scalar or vector that a value stands for."""
        match found := self.get(value):
            case MemRef() | Known():
                fail_op(_owner(value), "gives no number or vector, which is what is needed here")
            case _:
                return found

    def __setitem__(self, value: SSAValue, native: Value) -> None:
        self.values[value] = native

    def get(self, value: SSAValue) -> Value:
        """What a value stands for; what is defined outside of the program's body is looked up when it is used."""
        found = self.values.get(value)
        if found is None:
            self.lower(_owner(value))
            # Looked up anew at the next use: what is made here need not dominate that.
            found = self.values.pop(value)
        return found

    def memref(self, value: SSAValue) -> MemRef:
        found = self.get(value)
        if not isinstance(found, MemRef):
            fail_op(_owner(value), "gives no memref, which is what is needed here")
        return found

    def lower(self, op: Operation) -> None:
        handler = self.unit.handlers.get(op.name)
        if handler is None:
            fail_op(op, f"has no {self.translation}", (op, self.remedy(op)))
        self._unspent += self.unit.cycles_of(op)
        try:
            handler(self, op)
        except Untranslatable as error:
            fail_op(op, f"has no {self.translation}: {error}")

    def lower_region(
        self, region: Region, arguments: Sequence[Value] = (), results: Iterable[Attribute] = ()
    ) -> list[Value]:
        """The code of a region from here on; gives what its terminator hands on, of types `results` if it has none."""
        blocks = reverse_postorder(region)
        if len(blocks) > 1 or (blocks[0].last_op is not None and blocks[0].last_op.successors):
            found = Graph(self, blocks).lower(arguments)
        else:
            found = self.lower_block(blocks[0], arguments)
        # Behind a region that never ends nothing is computed, but the code there needs values.
        return found or [
            rebuild(type, [ir.Constant(part, ir.Undefined) for part in part_types(type)]) for type in results
        ]

    def lower_block(self, block: Block, arguments: Sequence[Value] = ()) -> list[Value]:
        """All operations of a block but the last; gives the operands of that."""
        self.values.update(zip(block.args, arguments, strict=True))
        for op in block.ops:
            if op is not block.last_op:
                self.lower(op)
        if block.last_op is not None and block.last_op.name in NEVER_REACHED:
            self.trap_unless(block.last_op, ir.Constant(I1, 0), REACHED)
        return [self.get(operand) for operand in block.last_op.operands] if block.last_op is not None else []

    def check_division(self, name: str, lhs: ir.Value, rhs: ir.Value) -> None:
        """Called before `arith`'s operation of that name divides, by zero too: what that gives is not defined."""
        return

    def spend(self) -> None:
        """Count the cycles of what has been translated; called where control flow splits or joins."""
        if self._unspent and self.counts_cycles:
            total = self.builder.add(self.builder.load(self.cycles, typ=I64), index(self._unspent))
            self.builder.store(total, self.cycles)
            self._unspent = 0

    def go_round(self, body: Iterable[Operation]) -> None:
        """Begin a loop of unknown length again: that takes a cycle at least, and others may want to run.

        A loop that writes nothing is likely to wait for someone else to do so.
        """
        self._unspent += 1
        self.spend()
        self.pause(often=not any(writes(op) for op in body))

    def branch(self, target: ir.Block) -> ir.Block:
        """Go to a block; gives the one that goes there."""
        self.spend()
        # Not that in which a translation began: it may have ended in another one.
        here = self.builder.block
        self.builder.branch(target)
        return here

    def choose(self, condition: ir.Value, yes: ir.Block, no: ir.Block) -> None:
        self.spend()
        if self.unit.flow_log is not None:
            self.log_flow(self.builder.zext(condition, I64))
        self.builder.cbranch(condition, yes, no)

    def log_flow(self, entry: ir.Value) -> None:
        """Write down which way the program goes, as `context_layout` says; what there is no room for is counted."""
        assert self.unit.flow_log is not None
        builder = self.builder
        log = builder.load(self.in_context(self.unit.flow_log), typ=POINTER)
        count = builder.load(log, typ=I64)
        following = builder.add(count, index(1))
        with self.aside("log", builder.icmp_unsigned("<", count, index(MOST_FLOW))):
            builder.store(entry, builder.gep(log, [following], source_etype=I64))
        builder.store(following, log)

    def new_block(self, name: str) -> ir.Block:
        return self.function.append_basic_block(name)

    def at(self, block: ir.Block) -> None:
        self.builder.position_at_end(block)

    def phis(self, types: Sequence[Attribute]) -> Phis:
        """Values that depend on where control comes from, at the current place."""
        return Phis(types, [[self.builder.phi(part) for part in part_types(type)] for type in types])

    def merge(self, types: Sequence[Attribute], arrivals: Sequence[tuple[ir.Block, Sequence[Value]]]) -> list[Value]:
        """Values where several ways of control meet; what is the same on all of them stays as it is."""
        phis = self.phis(types)
        for block, values in arrivals:
            phis.add(values, block)
        return [
            _joined(merged, [values[number] for _, values in arrivals]) for number, merged in enumerate(phis.values)
        ]

    def variable(self, type: ir.Type, count: int | None = None) -> ir.Value:
        """Room for a value, or for some, as long as the function runs."""
        return stack_room(ir.IRBuilder(self.entry), type, None if count is None else index(count))

    def in_context(self, offset_bytes: int) -> ir.Value:
        return self.builder.gep(self.context, [index(offset_bytes)], source_etype=I8)

    @contextmanager
    def aside(self, name: str, condition: ir.Value, after: str = "on", *, when: bool = True) -> Generator[None]:
        """A block that runs only where a condition holds, or where it does not; code goes on behind it."""
        names = (name, after) if when else (after, name)
        blocks = {name: self.new_block(name) for name in names}
        self.builder.cbranch(condition, *blocks.values())
        self.at(blocks[name])
        yield
        # One that leaves the function has its terminator already.
        if not self.builder.block.is_terminated:
            self.builder.branch(blocks[after])
        self.at(blocks[after])

    def trap_unless(self, op: Operation, fine: ir.Value, text: str, *details: ir.Value) -> None:
        """Stop the program with a located message unless a condition holds."""
        with self.aside("trap", fine, when=False):
            for number, detail in enumerate(details):
                self.builder.store(detail, self.in_context(DETAIL + SLOT_BYTES * number))
            self.unit.traps.append(Trap(op, text))
            self.leave(len(self.unit.traps) - 1)


def on_values(build: Callable[[ir.IRBuilder, Attribute, list[ir.Value]], ir.Value]) -> Handler:
    """A handler of an operation with one result: `build` gets a builder, the type of the result and the operands."""

    def lower(lowering: Lowering, op: Operation) -> None:
        values = [lowering[operand] for operand in op.operands]
        lowering[op.results[0]] = build(lowering.builder, op.results[0].type, values)

    return lower


def stack_room(builder: ir.IRBuilder, type: ir.Type, count: ir.Value | None = None) -> ir.Value:
    """A pointer to room in the function's frame. LLVM's pointers have no types; llvmlite would give this one some."""
    room = builder.alloca(type, count)
    room.type = ir.PointerType()
    return room


class Phis:
    """Merged values at the head of a block."""

    def __init__(self, types: Sequence[Attribute], nodes: list[list[ir.PhiInstr]]):
        self.types, self.nodes = types, nodes
        self.values = [rebuild(type, pieces) for type, pieces in zip(types, nodes, strict=True)]

    def add(self, values: Sequence[Value], block: ir.Block) -> None:
        """What the values are when control comes from `block`."""
        for type, nodes, value in zip(self.types, self.nodes, values, strict=True):
            for node, part in zip(nodes, parts(value, type), strict=True):
                node.add_incoming(part, block)


def _joined(merged: Value, arrived: Sequence[Value]) -> Value:
    """A merged memref with what all those that arrive agree on."""
    if not isinstance(merged, MemRef):
        return merged
    columns = zip(*(all_parts(value) for value in arrived), strict=True)
    known = iter([parts[0] if all(part == parts[0] for part in parts) else None for parts in columns])
    return with_parts(merged, lambda part: found if (found := next(known)) is not None else part)


def _owner(value: SSAValue) -> Operation:
    owner = value.owner if isinstance(value.owner, Operation) else value.owner.parent_op()
    assert owner is not None, "a block argument belongs to an operation"
    return owner
