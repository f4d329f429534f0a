"""The program as a whole: made, printed, checked, handed to the compiler."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from xdsl.dialects import builtin as xdsl_builtin
from xdsl.dialects.builtin import LocationAttr
from xdsl.ir import Block, Operation

from tilewright.dialects.builtin import ModuleOp
from tilewright.ir.context import make_context
from tilewright.ir.diagnostics import CompileError, Diagnostic
from tilewright.ir.verifier import verify
from tilewright.iron.builders.handles import OpView
from tilewright.iron.builders.location import user_location
from tilewright.iron.builders.operations import InsertionPoint
from tilewright.support.lazy import setting

# of the module that is being built; each thread may build one of its own
_deferred: ContextVar[list[Diagnostic] | None] = ContextVar("deferred", default=None)


def deferred_errors() -> list[Diagnostic]:
    """For errors that cannot be raised where they are found: checking the module that is being built raises them."""
    found = _deferred.get()
    return [] if found is None else found


class Context:
    """Nothing is kept in it: programs have all dialects."""

    allow_unregistered_dialects = False

    def append_dialect_registry(self, registry: object) -> None:
        """What a registry has is there already."""

    def load_all_available_dialects(self) -> None:
        """They are loaded when a program mentions them."""

    def __enter__(self) -> Context:
        return self

    def __exit__(self, *error: Any) -> None:
        pass


class Module:
    """A program under construction."""

    def __init__(self, op: xdsl_builtin.ModuleOp | None = None):
        if op is None:
            op = ModuleOp([])
            op.location = user_location()
        self.op = op
        self.deferred: list[Diagnostic] = []

    @classmethod
    def create(cls, loc: LocationAttr | None = None) -> Module:
        return cls()

    @classmethod
    def parse(cls, text: str, context: Any = None) -> Module:
        """The program that MLIR text describes."""
        from tilewright.ir.parser import parse_source

        return cls(parse_source(make_context(), text, "<text>"))

    @property
    def operation(self) -> ModuleView:
        return ModuleView(self)

    @property
    def context(self) -> Context:
        return Context()

    @property
    def body(self) -> Block:
        return self.op.body.block

    def verify(self) -> bool:
        """True, or a located error for everything that is wrong."""
        if self.deferred:
            raise CompileError(self.deferred)
        verify_operation(self.op)
        return True

    def __str__(self) -> str:
        from tilewright.ir.printer import module_text

        return module_text(self.op)


class ModuleView(OpView):
    """The module as an operation."""

    def __init__(self, module: Module):
        super().__init__(module.op)
        self.module = module

    def verify(self) -> bool:
        return self.module.verify()

    def __str__(self) -> str:
        return str(self.module)


class ModuleContext:
    """What `mlir_mod_ctx` gives: the module that is being built."""

    def __init__(self, module: Module):
        self.module = module

    def __str__(self) -> str:
        return str(self.module)


@contextmanager
def mlir_mod_ctx(
    src: str | None = None, context: Any = None, location: Any = None, allow_unregistered_dialects: bool = False
) -> Generator[ModuleContext]:
    """A new module, or the one that `src` describes; what is built inside the block goes into it."""
    module = Module() if src is None else Module.parse(src)
    with building(module):
        yield ModuleContext(module)
    for collected in _collecting:  # only a module that was finished without an error
        collected.append(module)


@contextmanager
def building(module: Module) -> Generator[Module]:
    """Build in the module's body."""
    with setting(_deferred, module.deferred), InsertionPoint(module.body):
        yield module


# a stack: a script that is loaded may load another one
_collecting: list[list[Module]] = []


@contextmanager
def collect_modules() -> Generator[list[Module]]:
    """Gather the modules that scripts run inside the block finish with `mlir_mod_ctx`."""
    found: list[Module] = []
    _collecting.append(found)
    try:
        yield found
    finally:
        _collecting.remove(found)


def verify_operation(op: Operation) -> None:
    """Raise everything that is wrong with an operation and what is in it."""
    if errors := verify(op):
        raise CompileError(errors)


def finished(module: Module | ModuleContext) -> xdsl_builtin.ModuleOp:
    """The checked program, ready for the compiler."""
    module = module.module if isinstance(module, ModuleContext) else module
    module.verify()
    return module.op
