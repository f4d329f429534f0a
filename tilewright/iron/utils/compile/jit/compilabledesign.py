"""A design's function together with everything that is known when it is compiled."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from xdsl.dialects.builtin import MemRefType
from xdsl.utils.hints import isa

from tilewright.dialects.aie.data_layout import element_bytes, element_count
from tilewright.driver.compiled_design import Design
from tilewright.driver.sources import BuiltSource, Source, TextSource
from tilewright.errors import ArgumentError, CallError
from tilewright.ir.context import make_context
from tilewright.iron.builders.location import refuse
from tilewright.iron.builders.module import Module, mlir_mod_ctx
from tilewright.iron.kernel import ExternalFunction
from tilewright.iron.runtime.dispatch import DispatchParameter, dispatch_value
from tilewright.iron.scripts import built
from tilewright.iron.utils.compile.jit.context import compile_context
from tilewright.iron.utils.compile.jit.design_cache import compiled_design, design_file, program_key
from tilewright.iron.utils.compile.jit.fingerprint import fingerprint
from tilewright.iron.utils.compile.jit.introspection import EMPTY, Parameters, parameters_of
from tilewright.iron.utils.compile.jit.placeholders import TensorPlaceholder
from tilewright.iron.utils.hostruntime.current_device import ensure_current_device
from tilewright.iron.utils.hostruntime.tensor_class import array_of
from tilewright.native.host_arrays import check_array
from tilewright.support.output_files import write_file

Generator = Callable[..., Any]
ADDRESSED = "input_with_addresses.mlir"


def config_param_names(cls: type) -> frozenset[str]:
    """The parameters of a class that are settings as mlir-aie has them, not arguments of the design."""
    return setting_names(cls) - {"name"}


def setting_names(cls: type) -> frozenset[str]:
    """The parameters of a class that are settings, not arguments of the design."""
    return frozenset(inspect.signature(cls).parameters) - {"mlir_generator", "compile_kwargs"}


class TensorSizeError(ArgumentError, RuntimeError):
    """A tensor that is not as large as the design was compiled for."""


class CompilableDesign:
    """A function that builds a design, or a file of MLIR, with its compile-time arguments.

    `use_cache=False` compiles each time. The flags and files for the vendor's compiler are kept, but mean nothing here.
    """

    def __init__(
        self,
        mlir_generator: Generator | Path,
        *,
        use_cache: bool = True,
        compile_kwargs: Mapping[str, Any] | None = None,
        compile_flags: Sequence[str] | None = None,
        source_files: Iterable[str | Path] | None = None,
        include_paths: Iterable[str | Path] | None = None,
        aiecc_flags: Sequence[str] | None = None,
        object_files: Iterable[str | Path] | None = None,
        full_elf: bool = False,
        name: str | None = None,
    ):
        """A design that is still to be built.

        Args:
            mlir_generator: the function that builds it, or a file of MLIR
            use_cache: whether a design that was compiled before is used again
            compile_kwargs: compile-time arguments that are fixed
            compile_flags: for the vendor's compiler, as are `source_files`, `include_paths`, `aiecc_flags`,
                `object_files` and `full_elf`; they mean nothing here
            name: what it is called among others, see `Reconfiguration`; without one as its function is
        """
        self.mlir_generator, self.name = mlir_generator, name
        self.use_cache, self.full_elf = use_cache, full_elf
        # what is built is kept by them, so they must not change
        self.compile_kwargs: Mapping[str, Any] = MappingProxyType(self._bound(compile_kwargs or {}))
        self.compile_flags, self.aiecc_flags = tuple(compile_flags or ()), tuple(aiecc_flags or ())
        self.source_files, self.include_paths = _paths(source_files), _paths(include_paths)
        self.object_files = _paths(object_files)
        self._sources = dict[str, Source]()
        self._artifacts: tuple[Path, Path | None] | None = None

    def _bound(self, compile_kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """Compile-time arguments, with numbers of the calls that become part of the design checked."""
        types = self.parameters.dispatch if self.parameters else {}
        return {n: dispatch_value(n, types[n], v) if n in types else v for n, v in compile_kwargs.items()}

    @property
    def recognised_by(self) -> tuple[Any, ...]:
        """What another one that is the same has in common with it, see `fingerprint`; what it has built is not."""
        return self.mlir_generator, dict(self.compile_kwargs)

    @property
    def parameters(self) -> Parameters | None:
        """Those of the function; None for a file."""
        return None if isinstance(self.mlir_generator, Path) else parameters_of(self.mlir_generator)

    @property
    def compile_params(self) -> list[str]:
        """Those that are part of the design: the numbers of calls that it is specialized for are, too."""
        return [*self.parameters.compile_time, *self.specialized_params] if self.parameters else []

    @property
    def specialized_params(self) -> list[str]:
        """Numbers of calls that are part of this design."""
        return [name for name in self.parameters.dispatch if name in self.compile_kwargs] if self.parameters else []

    @property
    def dispatch_params(self) -> list[str]:
        """Numbers that calls give."""
        return [n for n in self.parameters.dispatch if n not in self.compile_kwargs] if self.parameters else []

    @property
    def dispatch_param_types(self) -> list[type]:
        """The NumPy types of `dispatch_params`."""
        return [self.parameters.dispatch[name] for name in self.dispatch_params] if self.parameters else []

    @property
    def tensor_params(self) -> list[str]:
        return list(self.parameters.tensors) if self.parameters else []

    @property
    def scalar_params(self) -> list[str]:
        return list(self.parameters.scalars) if self.parameters else []

    @property
    def generator_name(self) -> str:
        if isinstance(self.mlir_generator, Path):
            return str(self.mlir_generator)
        return getattr(self.mlir_generator, "__name__", repr(self.mlir_generator))

    def specialize(self, **overrides: Any) -> CompilableDesign:
        """The same with other settings and compile-time arguments; what is not named stays."""
        settings = {name: getattr(self, name) for name in setting_names(type(self))}
        given = {name: value for name, value in overrides.items() if name in settings}
        arguments = {name: value for name, value in overrides.items() if name not in settings}
        kwargs: dict[str, Any] = {**settings, **given}
        return CompilableDesign(self.mlir_generator, compile_kwargs={**self.compile_kwargs, **arguments}, **kwargs)

    def key(self) -> str | None:
        """Names the program that the function builds; None if only building it can tell."""
        generator = self.mlir_generator
        if isinstance(generator, Path):
            return fingerprint(str(generator), generator.read_bytes())
        device = ensure_current_device()
        return fingerprint(generator, dict(self.compile_kwargs), None if device is None else device.name)

    def source(self) -> Source:
        """The program: built again only if something that matters has changed."""
        key = self.key()
        if key is None:
            return self._build()
        if key not in self._sources:
            self._sources[key] = self._build()
        return self._sources[key]

    def _build(self) -> Source:
        if isinstance(self.mlir_generator, Path):
            return TextSource(self.mlir_generator.read_text(encoding="utf-8"), str(self.mlir_generator))
        ensure_current_device()
        parameters = parameters_of(self.mlir_generator)
        self._check_arguments(parameters)
        # the function gets placeholders for tensors, and types for numbers of the run
        tensors = {name: TensorPlaceholder(name) for name in parameters.tensors}
        numbers = {name: DispatchParameter(name, parameters.dispatch[name]) for name in self.dispatch_params}
        known = {name: parameters.dispatch[name](self.compile_kwargs[name]) for name in self.specialized_params}
        arguments = {**tensors, **parameters.scalar_types, **self.compile_kwargs, **numbers, **known}
        ExternalFunction.forget_all()
        with compile_context(**self.compile_kwargs), mlir_mod_ctx() as ctx:
            result = self.mlir_generator(**arguments)
        # placed designs build in the context, others give a program
        return built(ctx.module if result is None else result)

    def _check_arguments(self, parameters: Parameters) -> None:
        given = set(self.compile_kwargs)
        if tensors := given & set(parameters.tensors):
            raise CallError(
                f"CompilableDesign for {self.generator_name!r}: compile_kwargs contains name(s) annotated as runtime "
                f"tensors (In/Out/InOut), not CompileTime[T] parameters: {tensors}.\n"
                f"  Tensor params must be supplied at call time, not compile time.\n"
                f"  CompileTime[T] params are: {self.compile_params}."
            )
        if unknown := given - set(parameters.signature.parameters):
            raise CallError(
                f"CompilableDesign for {self.generator_name!r}: compile_kwargs contains key(s) not in the generator "
                f"signature: {unknown}.\n  Valid CompileTime[T] params are: {self.compile_params}."
            )
        if missing := [n for n in parameters.compile_time if n not in given and parameters.default(n) is EMPTY]:
            raise CallError(
                f"CompilableDesign for '{self.generator_name}': compile_kwargs do not match CompileTime[T] parameters "
                f"— missing a required argument: {missing[0]!r}"
            )

    def design(self) -> Design:
        """The compiled design."""
        design = compiled_design(self.source(), self.use_cache)
        self._check_numbers(design)
        return design

    def _check_numbers(self, design: Design) -> None:
        """Each number that calls give is an argument of the sequence: by name, or in order where names differ."""
        operation = design.operation() if self.dispatch_params else None
        if operation is None:
            return
        names = operation.argument_names
        given = [n for i, n in enumerate(names) if n in design.scalars() and operation.buffer_counted_by(i) is None]
        lost = [name for name in self.dispatch_params if name not in given]
        if len(lost) > len([name for name in given if name not in self.dispatch_params]):
            raise CallError(
                f"{self.generator_name!r}: DispatchTime parameter {lost[0]!r} does not reach the sequence: "
                f"put it into Runtime(function, [..., {lost[0]}, ...]) as it is"
            )

    def generate_mlir(self) -> Module:
        """The program as the function builds it."""
        source = self.source()
        return Module(source.module) if isinstance(source, BuiltSource) else Module(source.read(make_context()))

    resolve_program = generate_mlir
    """What makes it a program: `tilewright.compile(design)`, `tilewright run FILE.py --entry NAME`."""

    def compile(
        self,
        xclbin_path: str | Path | None = None,
        inst_path: str | Path | None = None,
        elf_path: str | Path | None = None,
        full_elf_path: str | Path | None = None,
        pdi_path: str | Path | None = None,
    ) -> tuple[Path, Path | None]:
        """Compile now, and give the files: the design, and the words of its sequence if it has no scalars.

        They are written to `xclbin_path` and `inst_path`, or where designs are kept. The package is for the simulator:
        `NPUKernel(xclbin_path, inst_path)` and programs for XRT run it there. Its cores have no machine code.
        """
        for name, path in (("pdi_path", pdi_path), ("elf_path", elf_path)):
            if path is not None and (xclbin_path is None or inst_path is None):
                raise ValueError(f"compile(): {name} requires explicit xclbin_path and inst_path")
        if full_elf_path is not None or elf_path is not None or pdi_path is not None:
            refuse("ELF and PDI files are not made here", (None, "have the vendor's tools compile the printed MLIR"))
        # a design whose calls give numbers has no words yet
        if (xclbin_path is None) != (inst_path is None) and not (xclbin_path is not None and self.dispatch_params):
            raise ValueError(
                "compile(): xclbin_path and inst_path must be set together (both paths to write artifacts directly, or "
                f"both None to use the JIT cache).  Got xclbin_path={xclbin_path!r}, inst_path={inst_path!r}."
            )
        self._artifacts = self._written(self.design(), xclbin_path, inst_path)
        return self._artifacts

    def _written(
        self, design: Design, xclbin_path: str | Path | None, inst_path: str | Path | None
    ) -> tuple[Path, Path | None]:
        if xclbin_path is None:
            kept = design_file(program_key(self.source()), design)
            return kept, _write_words(design, kept.with_suffix(".bin"))
        # few programs package what they compile
        from tilewright.containers.packaging import KernelNames
        from tilewright.driver.device_images import DeviceImage
        from tilewright.driver.packaged_design import packaged_design

        target = Path(xclbin_path)
        image = DeviceImage(design.device(design.device_of()))
        embedded = packaged_design(design, image.device.sym_name.data, pdi=image.uuid)
        _write(target, image.xclbin(KernelNames(), design=embedded).write())
        # where the vendor's driver leaves it: what reads traces is given this file
        _write(target.with_suffix(".prj") / ADDRESSED, embedded.design.encode())
        return target, None if inst_path is None else _write_words(design, Path(inst_path))

    def get_artifacts(self) -> tuple[Path, Path | None] | None:
        """The files that `compile` has given, None before it was called."""
        return self._artifacts

    def get_pdi_paths(self) -> list[Path]:
        """PDI files of the design: there are none, they are for hardware."""
        return []

    def get_pdi_path(self, device_name: str | None = None) -> Path | None:
        """The PDI file of the device called `device_name`, or of the only one, if there is a file."""
        return next(iter(self.get_pdi_paths()), None)

    @property
    def recipe_hash(self) -> str:
        """A hash of what is compiled: the function, its compile-time arguments, and flags."""
        arguments = sorted(self.compile_kwargs.items())
        recipe = (self.mlir_generator, arguments, self.aiecc_flags, self.compile_flags, self.full_elf)
        # a function that cannot be told from others by what it is, can by which it is
        return fingerprint(*recipe) or fingerprint(id(self.mlir_generator), self.generator_name) or ""

    @property
    def artifact_hash(self) -> str:
        """A hash of what it is compiled with: files of sources and objects, and the device."""
        device = ensure_current_device()
        files = [(str(path), path.read_bytes() if path.is_file() else None) for path in self._files]
        return fingerprint(files, None if device is None else device.name) or ""

    @property
    def _files(self) -> tuple[Path, ...]:
        return (*self.source_files, *self.object_files)

    def __hash__(self) -> int:
        return hash((self.recipe_hash, self.artifact_hash))

    def to_json(self) -> str:
        """Everything but the function, as text; numbers and texts among the arguments come back as they were."""
        paths = {name: [path.as_posix() for path in getattr(self, name)] for name in _PATHS}
        arguments = {name: _encoded(value) for name, value in self.compile_kwargs.items()}
        flags = {name: list(getattr(self, name)) for name in _FLAGS}
        known = {"generator_name": self.generator_name, "use_cache": self.use_cache, "compile_kwargs": arguments}
        return json.dumps({**known, **flags, **paths, "cache_hash": self.recipe_hash + self.artifact_hash})

    @classmethod
    def from_json(cls, json_str: str, generator: Generator | None = None) -> CompilableDesign:
        """A design of its text, `json_str`, and its function, `generator`."""
        if generator is None:
            raise ValueError("generator must be supplied to CompilableDesign.from_json(): the text does not have it")
        data = json.loads(json_str)
        arguments = {name: _KINDS.get(kind, str)(value) for name, (kind, value) in data["compile_kwargs"].items()}
        settings = {name: data.get(name, ()) for name in (*_FLAGS, *_PATHS)}
        return cls(generator, use_cache=data.get("use_cache", True), compile_kwargs=arguments, **settings)

    def split_runtime_args(
        self, runtime_args: Sequence[Any], runtime_kwargs: Mapping[str, Any]
    ) -> tuple[list[Any], dict[str, Any]]:
        """The tensors of a call in order, and its numbers by name.

        Args:
            runtime_args: what is given in order: tensors, and numbers that are no `DispatchTime`
            runtime_kwargs: what is given by name; a number that is left out has its default
        """
        from tilewright.iron.kernel import BaseKernel

        # upstream's calls may have kernels among tensors; here the design has them itself
        positional = [argument for argument in runtime_args if not isinstance(argument, BaseKernel)]
        parameters = self.parameters
        if parameters is None:
            return positional, dict(runtime_kwargs)
        scalars, tensors = dict(runtime_kwargs), list[Any]()
        given = iter(positional)
        for name in parameters.signature.parameters:
            if name in parameters.tensors:
                tensors += (
                    [scalars.pop(name)]
                    if name in scalars
                    else [value for value in [next(given, EMPTY)] if value is not EMPTY]
                )
            elif name in parameters.scalars and name not in scalars:
                value = next(given, parameters.default(name))
                if value is not EMPTY:
                    scalars[name] = value
        if next(given, EMPTY) is not EMPTY:
            most = len(parameters.tensors) + len(parameters.scalars)
            raise CallError(f"{self.generator_name!r} got too many positional arguments: it takes {most}")
        return tensors, {**scalars, **self._dispatched(parameters, scalars)}

    def _dispatched(self, parameters: Parameters, given: Mapping[str, Any]) -> dict[str, int]:
        """The numbers of a call that are `DispatchTime`, all of them."""
        numbers = {name: given.get(name, parameters.default(name)) for name in self.dispatch_params}
        if missing := [name for name, value in numbers.items() if value is EMPTY]:
            raise CallError(f"{self.generator_name!r} is missing a required argument: {missing[0]!r}")
        if bound := [name for name in self.specialized_params if name in given]:
            raise CallError(
                f"{self.generator_name!r} is specialized for {bound[0]} = {self.compile_kwargs[bound[0]]}: a call "
                f"cannot give {bound[0]!r}; call the design without that, or specialize({bound[0]}=...) again"
            )
        return {name: dispatch_value(name, parameters.dispatch[name], value) for name, value in numbers.items()}

    def validate_tensor_args(self, tensor_args: Sequence[Any], design: Design) -> None:
        """A complaint if a tensor is not as large as the sequence's argument; where sizes are open it may be larger."""
        types = [argument.type for argument in design.operation().body.block.args if isa(argument.type, MemRefType)]
        open_sizes = bool(design.scalars())  # with sizes among its arguments a sequence may use a part
        for number, (tensor, type) in enumerate(zip(tensor_args, types, strict=False)):
            if tensor is None:
                continue  # one that the sequence does not use
            name = self.tensor_params[number] if number < len(self.tensor_params) else f"arg[{number}]"
            expected = element_count(type)
            actual = check_array(f"argument {name}", array_of(tensor), type).nbytes // element_bytes(type)
            if expected is not None and (actual < expected if open_sizes else actual != expected):
                raise TensorSizeError(
                    f"Tensor argument {name!r} has {actual} elements but the kernel was compiled for {expected} "
                    f"elements.\nCompileTime[T] parameters used at compile time: {dict(self.compile_kwargs)!r}"
                )

    def __repr__(self) -> str:
        return f"CompilableDesign(generator={self.generator_name!r}, compile_kwargs={dict(self.compile_kwargs)!r})"


_FLAGS = ("compile_flags", "aiecc_flags")
_PATHS = ("source_files", "include_paths", "object_files")
_KINDS: dict[str, Callable[[Any], Any]] = {kind.__name__: kind for kind in (bool, int, float, str)}


def _encoded(value: Any) -> list[Any]:
    kind = type(value).__name__
    return [kind, value] if kind in _KINDS else ["str", str(value)]


def _paths(paths: Iterable[str | Path] | None) -> tuple[Path, ...]:
    return tuple(Path(path) for path in paths or ())


def _write_words(design: Design, path: Path) -> Path | None:
    if design.scalars():
        return None
    _write(path, design.txn().astype("<u4").tobytes())
    return path


def _write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_file(path, data)
