"""Programs in mlir-air's form: tensors are declared, and the launch that follows is a program over them.

Such a launch is outside of functions under `@air.jit`. Its body is traced when it is compiled, for the tensors and
symbols that were declared since the last one.
"""

from __future__ import annotations

import linecache
import re
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import Any, NoReturn, cast

import numpy as np
from xdsl.dialects.builtin import FileLineColLoc

from tilewright.air.arrays import Array
from tilewright.air.dtypes import as_dtype
from tilewright.air.extern_kernels import checked_kernels
from tilewright.air.functions import ArgumentKind, checked_options, target_of, traced
from tilewright.air.program import AirProgram
from tilewright.air.tiles import shape_of
from tilewright.errors import ArgumentError
from tilewright.gpu.host.arguments import written_arguments
from tilewright.ir.printer import module_text
from tilewright.iron.builders.handles import ssa_of
from tilewright.iron.builders.location import refuse, user_location
from tilewright.iron.builders.types import is_integer, is_list
from tilewright.support.tracebacks import user_facing

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
Declared = tuple["Tensor | Symbol", ...]
_declared: ContextVar[Declared] = ContextVar("declared", default=())
"""Tensors and symbols since the last launch."""
_tracing = Lock()
"""Tensors are arguments of one program at a time."""


@user_facing
class Tensor(Array):
    """An array that a program gets when it is called, with a known `shape`, a `dtype` and a `name`."""

    def __init__(self, shape: Any, dtype: Any, name: str | None = None):
        self._dtype, self._shape = as_dtype(dtype), shape_of(shape, "a tensor")
        self.name = _assigned(name, "tensor")

    def __getattr__(self, name: str) -> NoReturn:
        if name == "ssa":
            refuse(f"{self.name} has elements in the launch that follows alone", (None, "use it in the launch's body"))
        raise AttributeError(name)


class Symbol(int):
    """A whole number that is known when a program is compiled, with a `name`."""

    name: str


def tensor(shape: Any, dtype: Any, name: str | None = None) -> Tensor:
    """Declare an array of a `shape` and a `dtype` for the launch that follows, under a `name`."""
    made = Tensor(shape, dtype, name)
    _declared.set((*_declared.get(), made))
    return made


def symbol(
    choices: Sequence[int] | None = None, hint: int | None = None, default: int = 64, name: str | None = None
) -> Symbol:
    """A whole number for the launch that follows: the `hint`, else the first of `choices`, else the `default`.

    The launch says under its `name` in `search_space` what it is.
    """
    if choices is not None and (not is_list(choices) or not choices or not all(map(is_integer, choices))):
        refuse(f"choices are a list of whole numbers, not {choices!r}", (None, "one number is a `hint`"))
    value = hint if hint is not None else choices[0] if choices else default
    if not is_integer(value) or (choices is not None and value not in choices):
        refuse(f"the value of a symbol is a whole number, and one of its choices, not {value!r}")
    made = Symbol(value)
    made.name = _assigned(name, "symbol")
    _declared.set((*_declared.get(), made))
    return made


def claimed() -> Declared:
    """What was declared since the last launch."""
    found = _declared.get()
    _declared.set(())
    return found


def _assigned(name: str | None, kind: str) -> str:
    """The name that is given, else that of the variable that the line assigns."""
    place = user_location()
    line = linecache.getline(place.filename.data, place.line.data) if isinstance(place, FileLineColLoc) else ""
    found = re.match(r"\s*([A-Za-z_]\w*)\s*=", line, re.ASCII)
    if name is not None and not (isinstance(cast("object", name), str) and NAME.fullmatch(name)):
        refuse(f"the name of a {kind} is letters, digits and underscores, not {name!r}")
    return name or (found[1] if found else f"{kind}{len(_declared.get())}")


@dataclass(frozen=True)
class TensorProgram:
    """A launch over what was `declared` before it, under a `name`; `body` builds it.

    `kernels` are functions that stand in for those of object files.
    """

    name: str
    declared: Declared
    body: Callable[[], Any]
    kernels: Mapping[str, Callable[..., Any]] = field(default_factory=dict[str, Callable[..., Any]])

    @property
    def tensors(self) -> list[Tensor]:
        return [each for each in self.declared if isinstance(each, Tensor)]

    @property
    def search_space(self) -> dict[str, int]:
        return {each.name: int(each) for each in self.declared if isinstance(each, Symbol)}

    def traced(self, options: dict[str, Any]) -> AirProgram:
        """The program that it is for a GPU, which `options` name as those of `@air.jit`."""
        tensors = self.tensors

        def build(*arrays: Array) -> None:
            for tensor, array in zip(tensors, arrays, strict=True):
                tensor.ssa = ssa_of(array)
            try:
                self.body()
            finally:
                for tensor in tensors:
                    del tensor.ssa

        build.__name__ = self.name
        kinds = [ArgumentKind(tensor.dtype, tensor.ndim) for tensor in tensors]
        with _tracing:
            return traced(build, [tensor.name for tensor in tensors], kinds, {}, *target_of(options), self.kernels)

    def mlir(self, options: dict[str, Any]) -> str:
        return module_text(self.traced(options).module)


@user_facing
class BuiltLaunch:
    """A launch over tensors, `program`, with `options`, which is traced when it is printed, as MLIR, or compiled.

    `target` is the GPU that it is for.
    """

    def __init__(self, program: TensorProgram, options: dict[str, Any]):
        self._program, self._options = program, options
        self.target = target_of(options)[0].chip

    def compile(self, kernels: Mapping[str, Callable[..., Any]] | None = None, **options: Any) -> CompiledKernel:
        """A function of arrays; `kernels` and `options` are added to those that it was built with."""
        program = replace(self._program, kernels={**self._program.kernels, **checked_kernels(kernels)})
        return CompiledKernel(program, {**self._options, **options})

    def __str__(self) -> str:
        return self._program.mlir(self._options)


@user_facing
class CompiledKernel:
    """A launch over tensors, `program`, that was compiled with `options`.

    Call it with an array for each tensor that it does not write. It gives arrays of those that it writes: one, or a
    tuple. `search_space` has the values of symbols.
    """

    def __init__(self, program: TensorProgram, options: dict[str, Any]):
        self.search_space, self._options = program.search_space, checked_options(options)
        target, lanes, backend = target_of(options)
        self._traced = program.traced(options)
        self._job = self._traced.job(
            *(backend, program.name, target.chip, lanes, options.get("heap_bytes"), options.get("seed", 0)),
            settings=options.get("settings"),
            opt_level=options.get("opt_level", 0),
        )
        written = written_arguments(self._job.program.module, self._job.program.entry)
        self._tensors = [(tensor, number in written) for number, tensor in enumerate(program.tensors)]
        if not written:
            raise ArgumentError(f"{program.name} writes none of its tensors: store what it computes")

    @property
    def inputs(self) -> list[Tensor]:
        """Tensors that it does not write."""
        return [tensor for tensor, is_written in self._tensors if not is_written]

    @property
    def outputs(self) -> list[Tensor]:
        """Tensors that it writes, which are zeros before."""
        return [tensor for tensor, is_written in self._tensors if is_written]

    def __call__(self, *arrays: Any) -> Any:
        if len(arrays) != len(self.inputs):
            names = ", ".join(tensor.name for tensor in self.inputs)
            raise ArgumentError(f"the kernel takes {len(self.inputs)} arrays ({names}), not {len(arrays)}")
        given = [_elements(*pair) for pair in zip(self.inputs, arrays, strict=True)]
        made = [np.zeros(tensor.shape, tensor.dtype) for tensor in self.outputs]
        inputs, outputs = iter(given), iter(made)
        arguments = [next(outputs if is_written else inputs) for _, is_written in self._tensors]
        options = {name: self._options[name] for name in ("ranks", "timeout", "show", "check") if name in self._options}
        self._traced.run_job(self._job.with_arguments(arguments), arguments, **options)
        return made[0] if len(made) == 1 else tuple(made)

    def unload(self) -> None:
        """Say that it is not used any more; nothing is kept on the device between calls."""


def _elements(tensor: Tensor, given: Any) -> np.ndarray[Any, Any]:
    """An array for a tensor; one of as many bytes is taken for what they are."""
    if isinstance(given, np.ndarray):
        array = cast("np.ndarray[Any, Any]", given)
        if (array.dtype, array.shape) == (tensor.dtype, tensor.shape):
            return array
        if array.dtype == np.uint8 and array.size == tensor.size * tensor.dtype.itemsize:
            return np.frombuffer(array.tobytes(), tensor.dtype).reshape(tensor.shape)
        shown = f"one of {array.dtype}, {array.shape}"
    else:
        shown = repr(cast("object", given))
    sizes = " x ".join(map(str, tensor.shape))
    raise ArgumentError(f"{tensor.name} is an array of {tensor.dtype}, {sizes}, and is given {shown}")
