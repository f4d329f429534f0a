"""A program that waits now and then, as a native coroutine.

    void *start(context)         runs to the first wait, and gives a handle
    void resume(handle)          runs on to the next one
    void destroy(handle)

While the program waits, the context's code says why: it is over, it only pauses, it will do nothing any more, or it is
at the wait number code - FIRST_WAIT; a negative code is that of a trap, -1 - number. LLVM's coroutine passes find out
which values live across waits and keep them in a frame: https://llvm.org/docs/Coroutines.html, "switched-resume
lowering".
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar

from llvmlite import ir
from xdsl.ir import Operation, SSAValue

from tilewright.native.context_layout import FINISHED, FIRST_WAIT, IDLE, PAUSE_CYCLES, PAUSED, POLL_CYCLES
from tilewright.native.functions import FunctionLowering, run
from tilewright.native.lowering import CODE, CYCLES, Lowering, Unit
from tilewright.native.types import declared
from tilewright.native.values import I1, I8, I32, I64, POINTER, Value, all_parts, index, with_parts

LOOPS = frozenset({"scf.for", "scf.parallel", "affine.for", "memref.copy"})


class _Token(ir.Type):
    """The type that ties coroutine intrinsics together."""

    def _to_string(self) -> str:
        return "token"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Token)

    def __hash__(self) -> int:
        return hash(_Token)


class _Attributes(ir.FunctionAttributes):
    _known: ClassVar[frozenset[str]] = ir.FunctionAttributes._known | {"presplitcoroutine"}


TOKEN, VOID = _Token(), ir.VoidType()
NO_TOKEN = ir.FormattedConstant(TOKEN, "none")
NULL = ir.Constant(POINTER, None)
_DECLARATIONS: dict[str, tuple[ir.Type, Sequence[ir.Type]]] = {
    "llvm.coro.id": (TOKEN, (I32, POINTER, POINTER, POINTER)),
    "llvm.coro.size.i64": (I64, ()),
    "llvm.coro.begin": (POINTER, (TOKEN, POINTER)),
    "llvm.coro.suspend": (I8, (TOKEN, I1)),
    "llvm.coro.free": (POINTER, (TOKEN, POINTER)),
    "llvm.coro.end": (VOID, (POINTER, I1, TOKEN)),
    "llvm.coro.resume": (VOID, (POINTER,)),
    "llvm.coro.destroy": (VOID, (POINTER,)),
    "llvm.coro.align.i64": (I64, ()),
    "aligned_alloc": (POINTER, (I64, I64)),
    "free": (VOID, (POINTER,)),
}
RESUMED, DESTROYED = ir.Constant(I8, 0), ir.Constant(I8, 1)
"""What a suspension gives when the program goes on, or never will."""


class Coroutine(Lowering):
    """Builds `start`, and with it `resume` and `destroy`."""

    def __init__(self, unit: Unit):
        function = ir.Function(unit.module, ir.FunctionType(POINTER, [POINTER]), "start")
        function.attributes = _Attributes(["presplitcoroutine", "nounwind"])
        super().__init__(unit, function, function.args[0])
        self.cleanup, self.out, self.over = (self.new_block(name) for name in ("cleanup", "out", "over"))
        self.waits = 0
        self.id = self._call("llvm.coro.id", ir.Constant(I32, 0), NULL, NULL, NULL)
        self.handle = self._call("llvm.coro.begin", self.id, self._allocate())

    def _allocate(self) -> ir.Value:
        """Room for the frame, which vectors can make want more alignment than `malloc` gives."""
        builder, size, alignment = self.builder, self._call("llvm.coro.size.i64"), self._call("llvm.coro.align.i64")
        mask = builder.sub(alignment, index(1))
        # C asks that the size be a multiple of the alignment.
        rounded = builder.and_(builder.add(size, mask), builder.xor(mask, index(-1)))
        return self._call("aligned_alloc", alignment, rounded)

    def _call(self, name: str, *values: ir.Value) -> ir.Value:
        result, arguments = _DECLARATIONS[name]
        return self.builder.call(declared(self.unit.module, name, result, arguments), values)

    def lower(self, op: Operation) -> None:
        """Loops that do not wait become functions: what a coroutine keeps in its frame is slow to get at."""
        if op.name in LOOPS and not self.unit.suspends(op):
            outline(self, op)
        else:
            super().lower(op)

    def wait(self) -> int:
        """Stop until resumed; gives the number of this wait, from 0."""
        self._stop_here(FIRST_WAIT + self.waits)
        self.waits += 1
        return self.waits - 1

    def pause(self, often: bool) -> None:
        """Wait for nothing in particular if some time has passed since the last wait."""
        now, most = self.builder.load(self.cycles, typ=I64), index(POLL_CYCLES if often else PAUSE_CYCLES)
        with self.aside("pause", self.builder.icmp_signed(">", now, most)):
            self._stop_here(PAUSED)

    def idle(self) -> None:
        self._stop_here(IDLE)

    def _stop_here(self, code: int) -> None:
        self.spend()
        self.builder.store(index(code), self.in_context(CODE))
        self._hand_over_cycles()
        self._suspend("resumed", final=False)

    def _hand_over_cycles(self) -> None:
        self.builder.store(self.builder.load(self.cycles, typ=I64), self.in_context(CYCLES))
        self.builder.store(index(0), self.cycles)

    def _suspend(self, name: str, final: bool) -> None:
        resumed = self.new_block(name)
        state = self._call("llvm.coro.suspend", NO_TOKEN, ir.Constant(I1, int(final)))
        # The default is the way out to the caller, as LLVM's coroutines have it.
        switch = self.builder.switch(state, self.out)
        switch.add_case(RESUMED, resumed)
        switch.add_case(DESTROYED, self.cleanup)
        self.at(resumed)

    def leave_again(self) -> None:
        self.builder.branch(self.over)

    def finish(self) -> None:
        """The end of the program, and what belongs to every coroutine."""
        self.spend()
        self.builder.store(index(FINISHED), self.in_context(CODE))
        self.builder.branch(self.over)
        self.at(self.over)
        self._hand_over_cycles()
        # A final suspension: resuming it is not defined, only destroying.
        self._suspend("never", final=True)
        self.builder.unreachable()
        self.at(self.cleanup)
        self._call("free", self._call("llvm.coro.free", self.id, self.handle))
        self.builder.branch(self.out)
        self.at(self.out)
        self._call("llvm.coro.end", self.handle, ir.Constant(I1, 0), NO_TOKEN)
        self.builder.ret(self.handle)
        self.close()
        for name in ("resume", "destroy"):
            self._define_entry(name)

    def _define_entry(self, name: str) -> None:
        """A function that callers from outside can use."""
        function = ir.Function(self.unit.module, ir.FunctionType(VOID, [POINTER]), name)
        self.builder = ir.IRBuilder(function.append_basic_block("entry"))
        self._call(f"llvm.coro.{name}", function.args[0])
        self.builder.ret_void()


def outline(lowering: Lowering, op: Operation) -> None:
    """Translate an operation that does not wait to a call of a function, which gets what it uses as arguments."""
    # Numbers that are known become part of the function.
    used = {value: lowering.values[value] for value in _used(op) if value in lowering.values}
    passed = _unknown_parts(used.values())
    name = lowering.unit.module.get_unique_name("loop")
    body = FunctionLowering(lowering.unit, op, name, op.result_types, [part.type for part in passed])
    # Inlined, its values would be in the coroutine's frame after all.
    body.function.attributes.add("noinline")
    _tell_apart(lowering, body, passed)
    inside = dict(zip(passed, body.arguments, strict=True))
    body.values = {value: with_parts(native, lambda part: inside.get(part, part)) for value, native in used.items()}
    body.lower(op)
    body.finish(op.result_types, [body.get(result) for result in op.results])
    results = run(lowering, _known_function(lowering, body), list(op.result_types), passed)
    lowering.values.update(zip(op.results, results, strict=True))


def _known_function(lowering: Lowering, body: FunctionLowering) -> ir.Function:
    """The function, or one that is the same and has been there before, as unrolled loops bring them."""
    function, unit = body.function, lowering.unit
    # Without its name, so that two loops with the same text are one.
    text = str(function).replace(function.get_reference(), "", 1)
    found = unit.loops.setdefault(text, function)
    if found is not function:
        del unit.module.globals[function.name]
    return found


def _used(op: Operation) -> list[SSAValue]:
    """Values from outside that an operation uses, in the order of their first use."""
    # A dict keeps the order, which a set does not: the same program has to give the same code each time.
    return list(dict.fromkeys(operand for inner in op.walk() for operand in inner.operands))


def _unknown_parts(values: Iterable[Value]) -> list[ir.Value]:
    parts = (part for value in values for part in all_parts(value))
    return list(dict.fromkeys(part for part in parts if not isinstance(part, ir.Constant)))


def _tell_apart(lowering: Lowering, body: FunctionLowering, passed: list[ir.Value]) -> None:
    """Say that the buffers do not overlap, if all of them are known not to."""
    pointers = [(part, argument) for part, argument in zip(passed, body.arguments, strict=True) if part.type == POINTER]
    if all(part in lowering.unit.apart for part, _ in pointers):
        for _, argument in pointers:
            argument.add_attribute("noalias")
