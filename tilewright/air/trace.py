"""State of a function that is being traced: the module that it becomes, for which GPU, and the levels that are open."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from xdsl.dialects.builtin import FunctionType, StringAttr, UnitAttr, i8
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from tilewright.device.gpu_targets import GpuTarget
from tilewright.dialects import func, llvm
from tilewright.dialects.air.levels import GPU_PROGRAM
from tilewright.iron.builders.location import refuse, user_location
from tilewright.iron.builders.module import Module, building
from tilewright.iron.builders.operations import InsertionPoint, build
from tilewright.iron.builders.remedies import WORDS, Words
from tilewright.iron.builders.scalars import ScalarValue
from tilewright.support.lazy import setting


@dataclass
class TileLanes:
    """The lanes among which tiles are divided: those of a wave, or of a block."""

    number: ScalarValue
    """Which of them a lane is."""
    count: int
    waves: int
    """How many waves work on one tile; those of a block meet at barriers."""
    wave: ScalarValue | None = None
    """Which wave of the block it is in, as one number."""
    block_waves: int = 1


@dataclass
class OpenLevel:
    """A level whose body is being traced."""

    kind: str
    op: Operation
    block: Block
    workers: TileLanes | None = None
    lane: ScalarValue | None = None
    made: dict[str, Any] = field(default_factory=dict[str, Any])
    """What is made once in a body, by name."""
    checks: list[Callable[[], None]] = field(default_factory=list[Callable[[], None]])
    """Done when the body is built."""
    point: Sequence[ScalarValue] = ()
    """Of a herd, that of its `grid` which a wave is working on."""
    grid: tuple[int, ...] = ()
    shared_bytes: int = 0
    """Of a launch, memory of a block that is allocated so far."""
    has_segment_memory: bool = False
    """Of a launch, whether segments in it have allocated memory, which may be more than a block has."""


@dataclass
class TracedProgram:
    """A program in the making."""

    module: Module
    target: GpuTarget
    lanes: int
    backend: str
    levels: list[OpenLevel] = field(default_factory=list[OpenLevel])
    kernels: Mapping[str, Callable[..., Any]] = field(default_factory=dict[str, Callable[..., Any]])
    """What stands in for kernels of object files, by name."""
    symbols: dict[str, Operation] = field(default_factory=dict[str, Operation])
    """What is declared in the module by other than functions."""

    def inner(self, *kinds: str) -> OpenLevel | None:
        """The innermost open level of these kinds."""
        return next((level for level in reversed(self.levels) if level.kind in kinds), None)

    @property
    def is_kernel(self) -> bool:
        """Whether the line that is executed is code of a GPU."""
        return self.inner("launch", "segment", "herd") is not None


AIR_WORDS = Words("air.sequential", "air.", "", "`air.print_line(...)`", "an array")
"""What messages call what they name."""
_current: ContextVar[TracedProgram | None] = ContextVar("trace", default=None)


def is_tracing() -> bool:
    return _current.get() is not None


def current() -> TracedProgram:
    """The program that is being traced."""
    found = _current.get()
    if found is None:
        refuse("there is no program to build in", (None, "call it in a function that `@air.jit` traces"))
    return found


def in_herd(what: str) -> OpenLevel:
    """The herd that is being traced."""
    herd = current().inner("herd")
    if herd is None:
        refuse(
            f"{what} is for the waves of a herd",
            (None, "write it in a function under `@air.herd(...)`, or under `@air.launch(grid, waves=4)`"),
        )
    return herd


@contextmanager
def tracing(
    target: GpuTarget, lanes: int, backend: str, kernels: Mapping[str, Callable[..., Any]] | None = None
) -> Generator[TracedProgram]:
    """Build a new program in the block."""
    module = Module()
    module.op.attributes[GPU_PROGRAM] = UnitAttr()
    trace = TracedProgram(module, target, lanes, backend, kernels=dict(kernels or {}))
    with setting(_current, trace), setting(WORDS, AIR_WORDS), building(module):
        yield trace


def at_start(block: Block, make: Callable[[], Any]) -> Any:
    """What `make` builds, at the start of a block, where all that follows can use it."""
    with InsertionPoint.at_block_begin(block):
        return make()


def declared(name: str, make: Callable[[], Operation]) -> Operation:
    """An operation of the module, made when it is first asked for."""
    trace = current()
    if name not in trace.symbols:
        trace.symbols[name] = at_start(trace.module.body, make)
    return trace.symbols[name]


def call_runtime(name: str, results: Sequence[Attribute] = (), arguments: Sequence[SSAValue] = ()) -> list[SSAValue]:
    """Call a function of the runtime, on the host."""
    type = FunctionType.from_lists([value.type for value in arguments], list(results))
    private: dict[str, Any] = {"sym_name": name, "sym_visibility": "private", "function_type": type}
    declared(name, lambda: build(func.FuncOp, regions=[Region()], **private))
    call = build(func.CallOp, results=list(results), callee=name, arguments=list(arguments))
    return list(call.results)


def text_constant(text: str) -> SSAValue:
    """The address of a text, which ends with a zero."""
    name = f"text_{sha256(text.encode()).hexdigest()[:12]}"
    declared(name, lambda: _text(name, f"{text}\0"))
    return build(llvm.AddressOfOp, results=[llvm.LLVMPointerType()], global_name=name).results[0]


def _text(name: str, text: str) -> Operation:
    type = llvm.LLVMArrayType(len(text.encode()), i8)
    op = llvm.GlobalOp(type, name, "internal", constant=True, value=StringAttr(text))
    op.location = user_location()
    InsertionPoint.current.insert(op)
    return op
