"""Functions that become programs: traced when they are called, once for each kind of arguments, and run.

A function is traced for the types of its arguments and for a GPU, never for sizes: these stay open. What it became is
kept, so that the next call with such arguments only runs it.
"""

from __future__ import annotations

import inspect
import linecache
import threading
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import partial, update_wrapper
from types import MappingProxyType
from typing import Any, cast, overload

import numpy as np
from xdsl.dialects.builtin import FileLineColLoc, FunctionType, IntAttr, MemRefType, ModuleOp, StringAttr
from xdsl.ir import Attribute, Block, Region

from tilewright.air.arrays import Array, buffer_type
from tilewright.air.dtypes import KNOWN, f32, value_type
from tilewright.air.program import AirProgram, RunResult, default_chip, lanes_of
from tilewright.air.tidying import tidy
from tilewright.air.trace import is_tracing, tracing
from tilewright.device.gpu_targets import GpuTarget, Vendor
from tilewright.dialects import func
from tilewright.dialects import memref as ops
from tilewright.dialects._syntax import INDEX
from tilewright.errors import ArgumentError, CallError
from tilewright.gpu.device import BACKENDS
from tilewright.gpu.host.rank import RankJob
from tilewright.ir.diagnostics import CompileError
from tilewright.ir.printer import module_text
from tilewright.ir.traversal import all_operations
from tilewright.iron.builders.arithmetic import with_sign
from tilewright.iron.builders.location import at, refuse
from tilewright.iron.builders.operations import InsertionPoint, build, is_terminated
from tilewright.iron.builders.scalars import ScalarValue, as_index
from tilewright.passes.air.hierarchies import find_target
from tilewright.support.collector import unhurried_collector
from tilewright.support.tracebacks import at_user_line, user_facing

MOST_BUILDS = 32
"""That a function keeps, those used last: of a large one each takes tens of megabytes."""
OPTIONS = (
    *("ranks", "backend", "chip", "wave_size", "heap_bytes", "seed", "settings", "timeout", "check", "show"),
    *("profile", "opt_level"),
)
defaults: ContextVar[Mapping[str, Any]] = ContextVar("defaults", default=MappingProxyType({}))
"""Options of all calls that do not say otherwise, such as `backend`; the command line sets them."""


@dataclass(frozen=True)
class ArgumentKind:
    """What a program depends on of an argument: the type of an array and its dimensions, or the type of a number."""

    dtype: np.dtype[Any] | None
    dimensions: int | None = None

    @property
    def type(self) -> Attribute:
        if self.dimensions is None:
            return INDEX if self.dtype is None else value_type(self.dtype)
        assert self.dtype is not None
        return buffer_type([None] * self.dimensions, self.dtype)


def kind_of(name: str, value: Any) -> ArgumentKind:
    """The kind of an argument."""
    dtype: Any = getattr(value, "dtype", None)
    if isinstance(value, np.generic) and dtype in KNOWN:
        return ArgumentKind(dtype)
    if isinstance(value, bool | np.bool_):
        raise ArgumentError(f"argument {name} is {value}: pass what is known as a keyword, behind `*` in the function")
    if isinstance(value, int):
        return ArgumentKind(None)
    if isinstance(value, float):
        return ArgumentKind(f32)
    is_array = isinstance(value, np.ndarray)
    if not is_array or dtype not in KNOWN:
        given = f"an array of {dtype}" if is_array else repr(cast(object, value))
        raise ArgumentError(f"argument {name} is {given}: pass NumPy arrays of numbers, or numbers")
    return ArgumentKind(dtype, cast("np.ndarray[Any, Any]", value).ndim)


@dataclass
class _Build:
    """A program that is made once; threads that ask meanwhile wait."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    program: AirProgram | None = None
    jobs: dict[Any, RankJob] = field(default_factory=dict[Any, RankJob])


@user_facing
class Jit:
    """A function that is traced and run when it is called with arrays and numbers.

    Arguments behind `*` are known when the function is traced: sizes of tiles, or functions to apply.
    """

    def __init__(self, function: Callable[..., Any], **options: Any):
        self.function, self._options = function, checked_options(options)
        self._signature = inspect.signature(function)
        self._builds: dict[Any, _Build] = {}
        self._lock = threading.Lock()
        update_wrapper(self, function)
        self.names = [p.name for p in self._signature.parameters.values() if p.kind is not p.KEYWORD_ONLY]

    def options(self, **options: Any) -> Jit:
        """The same function with other options: `add.options(backend="cuda", ranks=2)(a, b, c)`."""
        other = Jit(self.function, **{**self._options, **options})
        other._builds, other._lock = self._builds, self._lock
        return other

    def __call__(self, *arguments: Any, **constants: Any) -> Any:
        """Run it; arrays have afterwards what rank 0 made of them. In a program that is traced, build it there."""
        if is_tracing():
            return self.function(*arguments, **constants)
        return self.run(*arguments, **constants)

    def run(self, *arguments: Any, **constants: Any) -> RunResult:
        """Run it; gives what was counted and printed, and the arrays of all ranks."""
        options = {**defaults.get(), **self._options}
        program, job = self._job(arguments, constants, options)
        result = program.run_job(
            job.with_arguments(list(arguments)),
            arguments,
            options.get("ranks"),
            options.get("timeout"),
            options.get("show"),
            options.get("check", True),
        )
        # functions of the library give arrays, not results: whoever wants their profiles is told
        if callable(options.get("profile")) and result.profile is not None:
            options["profile"](result.profile)
        return result

    def program(self, *arguments: Any, **constants: Any) -> AirProgram:
        """What it becomes for such arguments."""
        options = {**defaults.get(), **self._options}
        return self._built(arguments, constants, *target_of(options))[0]

    def mlir(self, *arguments: Any, **constants: Any) -> str:
        """What it becomes for such arguments, as text."""
        return module_text(self.program(*arguments, **constants).module)

    @unhurried_collector()
    def _job(
        self, arguments: Sequence[Any], constants: Mapping[str, Any], options: Mapping[str, Any]
    ) -> tuple[AirProgram, RankJob]:
        target, lanes, backend = target_of(options)
        program, build = self._built(arguments, constants, target, lanes, backend)
        settings = dict(options.get("settings") or {})
        seed = options.get("seed", 0)
        profile = bool(options.get("profile"))
        level = options.get("opt_level", 0)
        key = (backend, target.chip, lanes, options.get("heap_bytes"), tuple(sorted(settings.items())), profile, level)
        with build.lock:
            if key not in build.jobs:
                name, heap_bytes = self.function.__name__, options.get("heap_bytes")
                build.jobs[key] = program.job(
                    backend, name, target.chip, lanes, heap_bytes, 0, settings, profile, level
                )
            job = build.jobs[key]
        return program, replace(job, options=replace(job.options, seed=seed)) if seed else job

    def _built(
        self, arguments: Sequence[Any], constants: Mapping[str, Any], target: GpuTarget, lanes: int, backend: str
    ) -> tuple[AirProgram, _Build]:
        bound = self._bound(arguments, constants)
        kinds = tuple(kind_of(name, value) for name, value in zip(self.names, arguments, strict=True))
        # what is known may be of any type, and 1, 1.0 and True are equal
        known: tuple[Any, ...] = tuple((name, type(value), value) for name, value in bound.items())
        key = (kinds, known, target.chip, lanes, backend == "emulator")
        try:
            with self._lock:
                # those used last are the last ones
                build = self._builds[key] = self._builds.pop(key, None) or _Build()
                for old in list(self._builds)[:-MOST_BUILDS]:
                    del self._builds[old]
        except TypeError:
            raise ArgumentError(f"what {self.function.__name__} knows when it is traced has to be hashable") from None
        with build.lock:
            if build.program is None:
                build.program = traced(self.function, self.names, kinds, bound, target, lanes, backend)
        return build.program, build

    def _bound(self, arguments: Sequence[Any], constants: Mapping[str, Any]) -> dict[str, Any]:
        """The constants, with those that are not given; refuses what the function does not take."""
        try:
            bound = self._signature.bind(*arguments, **constants)
        except TypeError as error:
            raise CallError(f"{self.function.__name__}: {error}; its arguments are {self._signature}") from None
        bound.apply_defaults()
        if len(arguments) != len(self.names):
            raise CallError(f"{self.function.__name__}: pass {', '.join(self.names)} by position, not by name")
        return dict(bound.kwargs)

    def __repr__(self) -> str:
        return f"<air.jit {self.function.__name__}{self._signature}>"


def checked_options(options: Mapping[str, Any]) -> dict[str, Any]:
    for name in options:
        if name not in OPTIONS:
            raise CallError(f"there is no option {name}; there is {', '.join(OPTIONS)}")
    backend = options.get("backend", "emulator")
    if backend not in BACKENDS:
        raise ArgumentError(f"unknown backend '{backend}'; there is {', '.join(BACKENDS)}")
    return dict(options)


def target_of(options: Mapping[str, Any]) -> tuple[GpuTarget, int, str]:
    """The GPU to trace for, lanes of its waves, and the backend."""
    backend = options.get("backend", "emulator")
    target = find_target(options.get("chip") or default_chip(backend))
    wanted = options.get("wave_size")
    # programs of texts are written for 64 lanes; these ask how many there are
    lanes = 32 if wanted is None and target.vendor is Vendor.NVIDIA else lanes_of(target, wanted)
    return target, lanes, backend


@unhurried_collector()
def traced(
    function: Callable[..., Any],
    names: Sequence[str],
    kinds: Sequence[ArgumentKind],
    constants: Mapping[str, Any],
    target: GpuTarget,
    lanes: int,
    backend: str,
    kernels: Mapping[str, Callable[..., Any]] | None = None,
) -> AirProgram:
    """The program that a function becomes for arguments of these kinds; `kernels` stand in for those of others."""
    code = inspect.unwrap(function).__code__
    place = FileLineColLoc(StringAttr(code.co_filename), IntAttr(code.co_firstlineno), IntAttr(1))
    with tracing(target, lanes, backend, kernels) as trace:
        with at(place):
            name: Any = {"sym_name": function.__name__}
            type = FunctionType.from_lists([kind.type for kind in kinds], [])
            body = Block(arg_types=list(type.inputs))
            build(func.FuncOp, regions=[Region(body)], function_type=type, **name)
        for argument, hint in zip(body.args, names, strict=True):
            argument.name_hint = hint
        with InsertionPoint(body):
            function(*(_argument(body, number, kind) for number, kind in enumerate(kinds)), **constants)
            if not is_terminated(body):
                build(func.ReturnOp)
        assert not trace.levels, "levels are closed when their bodies end"
    if trace.module.deferred:
        raise CompileError(trace.module.deferred)
    module = trace.module.op
    tidy(module)
    return AirProgram.of_module(module, code.co_filename, sources_of(module))


def _argument(body: Block, number: int, kind: ArgumentKind) -> Any:
    """An argument as the function sees it."""
    value = body.args[number]
    if kind.dimensions is None:
        return ScalarValue(with_sign(value, kind.type))
    assert kind.dtype is not None and isinstance(value.type, MemRefType)
    sizes = [
        ScalarValue(build(ops.DimOp, results=[INDEX], source=value, index=as_index(dimension)).results[0])
        for dimension in range(kind.dimensions)
    ]
    return Array(value, kind.dtype, sizes)


def sources_of(module: ModuleOp) -> dict[str, str]:
    """The texts of the files that a program comes from, for messages."""
    # each place once: most have many operations
    places = {id(op.location): op.location for op in all_operations(module)}
    files = {place.filename.data for place in places.values() if isinstance(place, FileLineColLoc)}
    return {file: "".join(linecache.getlines(file)) for file in files}


@overload
def jit(function: Callable[..., Any]) -> Jit: ...
@overload
def jit(**options: Any) -> Callable[[Callable[..., Any]], Jit]: ...
@at_user_line
def jit(function: Any = None, **options: Any) -> Any:
    """Let a function be traced into an AIR program and run when it is called.

    `@air.jit`, or with options of runs: `@air.jit(backend="cuda", ranks=2)`.
    """
    if function is None:
        return partial(Jit, **options)
    if not inspect.isfunction(function):
        refuse(f"only functions can be traced, not {function!r}")
    return Jit(function, **options)
