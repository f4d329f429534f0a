"""Kernels for the functions that a device declares: the user's, else those of their source, else the library's."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from xdsl.dialects.builtin import MemRefType, ModuleOp, StringAttr
from xdsl.ir import Attribute, Operation
from xdsl.utils.hints import isa

from tilewright.device.vector_unit import vector_unit
from tilewright.dialects.aie.core import CoreOp
from tilewright.dialects.aie.data_layout import element_count
from tilewright.dialects.aie.lookup import parent_of_type
from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.dialects.func import PRINTS, CallOp, FuncOp
from tilewright.errors import ArgumentError, KernelWarning, UnknownNameError, near_match
from tilewright.ir.diagnostics import fail
from tilewright.kernels.declaration import Declaration
from tilewright.kernels.definition import DTYPES, Call, Definition, MemoryArg, Parameter
from tilewright.kernels.registry import definitions
from tilewright.kernels.sources import DeviceSources, KernelMode
from tilewright.native import has_llvm
from tilewright.native.cpp_compiler import CPP_SUFFIXES, NoCompilerError
from tilewright.native.host_arrays import NotInNumPy, dtype_of, shown
from tilewright.sim.core import CoreProgram
from tilewright.sim.core_kernels import refuse_call
from tilewright.sim.kernel_sources import PLAIN_SUFFIXES
from tilewright.sim.kernels import CallingCore, KernelError, PreparedCall, costs, on_core, prepares
from tilewright.support.lazy import once
from tilewright.support.tracebacks import user_stack_level

Kernel = Callable[..., Any]
Given = Kernel | str | Path
"""What a user brings: a function, or `FILE.cc[:FUNCTION]`."""
SOURCE_SUFFIXES = CPP_SUFFIXES | PLAIN_SUFFIXES
SHOWN_LINES = 4
"""Of a compiler's message: an error, its line of the source, and what points there."""


class DeviceKernels(Mapping[str, Kernel]):
    """Looks a kernel up when a core first calls it; what the user brings comes first."""

    def __init__(self, own: Mapping[str, Given], device: DeviceOp, mode: KernelMode | None = None):
        self._device = device
        self._mode = KernelMode.named(None) if mode is None else mode
        self._declarations = declarations_of(device)
        self._sources = DeviceSources(device, self._declarations, self._mode)
        self._own = own
        self._bound = dict[str, Kernel]()

    def __getitem__(self, name: str) -> Kernel:
        given = self._own.get(name)
        if given is not None and not isinstance(given, str | Path):
            return given
        if name not in self._bound:
            found = self._find(name) if given is None else self._brought(name, given)
            if found is None:
                raise KeyError(name)
            self._bound[name] = found
        return self._bound[name]

    def _brought(self, name: str, given: str | Path) -> Kernel:
        """A function of a file that the user names; all of one file are one library, and share its variables."""
        path, _ = file_and_function(name, given)
        files = {other: file_and_function(other, file) for other, file in self._own.items() if not callable(file)}
        symbols = {other: symbol for other, (file, symbol) in files.items() if file == path}
        return self._sources.given(path, symbols)[name]

    def _find(self, name: str) -> Kernel | None:
        """The source that the declaration names, before the library, or the other way round: see `KernelMode`."""
        declaration = self._declarations.get(name)
        if declaration is None:
            return None
        # `print_` of the front end: no source could say what the text is.
        if isinstance(text := declaration.attributes.get(PRINTS), StringAttr):
            return _printer(text.data)
        in_library = bool(definitions(name))
        if in_library and self._mode is KernelMode.LIBRARY:
            return bind(declaration, self._device)
        try:
            if (from_source := self._sources.kernel(declaration)) is not None:
                return from_source
        except KernelError as error:
            # The library stands in for a source that only a compiler for cores takes, unless sources are asked for.
            if not in_library or self._mode.prefers_sources:
                raise
            if not isinstance(error.__cause__, NoCompilerError):
                text = f"the library's @{name} is used: {_with_first_error(str(error).splitlines())}"
                warnings.warn(text, KernelWarning, stacklevel=user_stack_level())
        return bind(declaration, self._device) if in_library else None

    def __iter__(self) -> Iterator[str]:
        found = [name for name in self._declarations if name not in self._own and self._find(name) is not None]
        return iter([*self._own, *found])

    def __len__(self) -> int:
        return sum(1 for _ in self)


def declarations_of(device: DeviceOp) -> dict[str, FuncOp]:
    """Functions without a body, of the device or the module around it."""
    module = device.parent_op()
    outside = module.regions[0].block.ops if module is not None else ()
    functions: list[Operation] = [*outside, *device.body.ops]
    return {op.sym_name.data: op for op in functions if isinstance(op, FuncOp) and not op.body.blocks}


def file_and_function(name: str, given: str | Path) -> tuple[Path, str]:
    """`FILE.cc[:FUNCTION]`: the file, and the function, which without one has the name that cores call."""
    text = str(given)
    path, colon, symbol = text.rpartition(":")
    if not colon or Path(text).suffix in SOURCE_SUFFIXES:
        path, symbol = text, name
    if Path(path).suffix not in SOURCE_SUFFIXES:
        kinds = ", ".join(sorted(SOURCE_SUFFIXES))
        raise ArgumentError(f"kernel {name!r}: {path!r} is no source or object for this computer: {kinds}")
    return Path(path).absolute(), symbol


def check_kernels(own: Mapping[str, Given], module: ModuleOp) -> None:
    """Complain about kernels that nothing in a design calls: most likely their names are misspelt."""
    given: object = own
    if not isinstance(given, Mapping):
        raise ArgumentError(f"kernels are functions by the names that cores call them by, got {shown(given)}")
    calls = [op for op in module.walk() if isinstance(op, CallOp)] if own else []
    functions = {op.sym_name.data: op for op in module.walk() if isinstance(op, FuncOp)} if own else {}
    names = dict.fromkeys([*(call.callee.string_value() for call in calls), *functions])
    # A function with a body is code of the core itself: a kernel of its name would never be called.
    known = [name for name in names if name not in functions or not functions[name].body.blocks]
    for name, kernel in own.items():
        if isinstance(kernel, str | Path):
            file_and_function(name, kernel)
        elif not callable(kernel):
            raise ArgumentError(f"kernel {name!r} has to be a function or the file of one, got {shown(kernel)}")
        if name not in known:
            text = f"no core calls a kernel {name!r}{near_match(name, known)}"
            _refuse_calls([call for call in calls if call.callee.string_value() not in own], functions, text)
            raise UnknownNameError(f"{text}; the kernels of this design: {', '.join(known) or 'none'}")


def _refuse_calls(calls: Iterable[CallOp], functions: Mapping[str, FuncOp], reason: str) -> None:
    """Complain about the first call that there is no kernel for."""
    for call in calls:
        name = call.callee.string_value()
        function, core = functions.get(name), parent_of_type(call, CoreOp)
        # Only a call that will fail is shown: the misspelt kernel was most likely meant for it.
        is_there = function is not None and (function.body.blocks or _has_source(function))
        if core is not None and not is_there and not definitions(name):
            refuse_call(call, CoreProgram(core), (call, reason))


def _has_source(function: FuncOp) -> bool:
    found = Declaration.of(function)
    return found.source is not None or found.source_file is not None or PRINTS in function.attributes


def bind(declaration: FuncOp, device: DeviceOp) -> Kernel:
    """The library's kernel for a declaration; an error at it if there is none for its types and sizes."""
    definition = _fitting(declaration)
    types = list(declaration.function_type.inputs)
    call = Call(vector_unit(device.model.arch), _sizes(types), Declaration.of(declaration).macros)
    if complaint := _complaint(definition, call):
        fail(declaration, f"@{declaration.sym_name.data} {complaint}", _own_kernel(declaration))
    return _kernel(definition, call)


def _printer(text: str) -> Kernel:
    """A kernel that prints its arguments, with `{}` in a text for each."""

    @on_core
    def printer(core: CallingCore, *numbers: Any) -> None:
        core.say(text.format(*numbers))

    return printer


def _kernel(definition: Definition, call: Call) -> Kernel:
    prepare = [_preparation(parameter) for parameter in definition.parameters]

    def prepared(arguments: Sequence[Any]) -> list[Any]:
        return [step(argument) for step, argument in zip(prepare, arguments, strict=True)]

    @costs(lambda *arguments: definition.cost(call, *prepared(arguments[-len(prepare) :])))
    def waiting_kernel(core: CallingCore, *arguments: Any) -> Any:
        return definition.function(core, call, *prepared(arguments))

    if definition.on_core:
        return on_core(waiting_kernel)
    native = once(lambda: definition.native(call) if has_llvm() else None)

    def ready(arguments: Sequence[Any]) -> PreparedCall:
        given = prepared(arguments)
        code, cycles = native(), definition.cost(call, *given)
        if code is None:
            return PreparedCall(partial(definition.function, call, *given), cycles)
        _check_memory(definition, call, given)
        made = code.call(*given)
        return PreparedCall(made.make, cycles, made)

    @prepares(ready)
    def kernel(*arguments: Any) -> Any:
        return ready(arguments).function()

    return kernel


def _check_memory(definition: Definition, call: Call, arrays: Sequence[Any]) -> None:
    """What machine code gets the addresses of is there, and the last, which it writes, may be written."""
    for memory, size, array in zip(definition.memories, call.sizes, arrays, strict=True):
        if array.size < size:
            raise KernelError(f"it takes {size} elements as '{memory.name}', not {shown(array)}")
    if not arrays[-1].flags.writeable:
        raise KernelError(f"it writes '{definition.memories[-1].name}', and the array given for it is read-only")


def _preparation(parameter: Parameter) -> Callable[[Any], Any]:
    """Memory as a flat array of the kernel's own type; C++ only sees a pointer."""
    if not isinstance(parameter, MemoryArg):
        return int
    dtype = DTYPES[parameter.element]

    def flat(array: Any) -> Any:
        if not array.flags.c_contiguous:
            raise KernelError(
                f"it gets a pointer to the first element of '{parameter.name}', the others do not follow it"
            )
        return array.reshape(-1).view(dtype)

    return flat


def _own_kernel(declaration: FuncOp) -> tuple[FuncOp, str]:
    name = declaration.sym_name.data
    return declaration, f'bring one of your own: run(..., kernels={{"{name}": function}})'


def _fitting(declaration: FuncOp) -> Definition:
    """The first definition with the declaration's types; where signs are missing, the first with its widths."""
    name, types = declaration.sym_name.data, list(declaration.function_type.inputs)
    found = definitions(name)
    # An exact match anywhere in the list wins over one that only has the right widths.
    for accepts in (_same, _same_width):
        for definition in found:
            if len(types) == len(definition.parameters) and all(map(accepts, definition.parameters, types)):
                return definition
    shown = ", ".join(str(type) for type in types)
    fail(
        declaration,
        f"declares @{name}({shown}), but the kernel of the library takes other types",
        *((declaration, f"it is {definition.signature}") for definition in found),
        _own_kernel(declaration),
    )


def _dtype(type: Attribute) -> np.dtype[Any] | None:
    try:
        return dtype_of(type)
    except NotInNumPy:
        return None


def _same(parameter: Parameter, type: Attribute) -> bool:
    if isinstance(parameter, MemoryArg):
        return isa(type, MemRefType) and _dtype(type.element_type) == DTYPES[parameter.element]
    return _is_integer(type)


def _same_width(parameter: Parameter, type: Attribute) -> bool:
    """`i8` may mean either sign."""
    if not isinstance(parameter, MemoryArg):
        return _is_integer(type)
    found = _dtype(type.element_type) if isa(type, MemRefType) else None
    wanted = DTYPES[parameter.element]
    return found is not None and found.kind == "i" and wanted.kind in "iu" and found.itemsize == wanted.itemsize


def _is_integer(type: Attribute) -> bool:
    found = _dtype(type)
    return found is not None and found.kind in "iub"


def _sizes(types: Sequence[Attribute]) -> list[int]:
    return [element_count(type) or 0 for type in types if isa(type, MemRefType)]


def _complaint(definition: Definition, call: Call) -> str | None:
    """What is wrong with the sizes of a declaration."""
    for memory, size in zip(definition.memories, call.sizes, strict=True):
        if memory.size is not None and size != memory.size:
            return f"always works on {memory.size} elements of '{memory.name}', which has {size}"
    return definition.check(call) if definition.check is not None else None


def _with_first_error(lines: Sequence[str]) -> str:
    """What went wrong, and of a compiler's message the first error with the line that it is about."""
    found = next((number for number, line in enumerate(lines) if "error:" in line), None)
    if found is None:
        return "\n".join(lines[:SHOWN_LINES])
    # The first line says which kernel and compiler; warnings between it and the error say nothing.
    return "\n".join([*lines[: min(found, 1)], *lines[found : found + SHOWN_LINES]])
