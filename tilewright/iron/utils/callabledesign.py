"""Designs that are called like functions: compiled when needed, then run on the simulated NPU."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tilewright.driver.compiled_design import Design
from tilewright.errors import CallError, near_match
from tilewright.iron.builders.module import Module
from tilewright.iron.utils.compile.jit.compilabledesign import CompilableDesign, Generator
from tilewright.iron.utils.npukernel import KernelResult, NPUKernel
from tilewright.iron.utils.trace.config import TraceConfig
from tilewright.support.tracebacks import user_facing


@user_facing
class CallableDesign:
    """What `@iron.jit` makes of a function.

    Tensors are given in order, everything else by name. Another value of a `CompileTime` argument is another design,
    compiled once; numbers of the run go to the sequence of the same design.
    """

    def __init__(
        self,
        mlir_generator: Generator | Path | CompilableDesign,
        *,
        compile_kwargs: Mapping[str, Any] | None = None,
        use_cache: bool = True,
        source_files: list[str | Path] | None = None,
        aiecc_flags: list[str] | None = None,
        compile_flags: list[str] | None = None,
        include_paths: list[str | Path] | None = None,
        object_files: list[str | Path] | None = None,
        trace_config: TraceConfig | None = None,
        full_elf: bool = False,
        name: str | None = None,
    ):
        """A function that builds a design, as something to call.

        Args:
            mlir_generator: the function, or a file of MLIR
            compile_kwargs: compile-time arguments that are fixed
            use_cache: whether a design that was compiled before is used again
            source_files: for the vendor's compiler, as are `aiecc_flags`, `compile_flags`, `include_paths`,
                `object_files` and `full_elf`; they mean nothing here
            trace_config: the buffer for what trace units record, and the files that it goes to
            name: what it is called among others, see `Reconfiguration`; without one as its function is
        """
        if isinstance(mlir_generator, CompilableDesign):
            self.compilable = mlir_generator
        else:
            self.compilable = CompilableDesign(
                mlir_generator,
                compile_kwargs=compile_kwargs,
                use_cache=use_cache,
                source_files=source_files,
                aiecc_flags=aiecc_flags,
                compile_flags=compile_flags,
                include_paths=include_paths,
                object_files=object_files,
                full_elf=full_elf,
                name=name,
            )
        self.trace_config = trace_config
        self._kernel_cache = dict[Any, Design]()

    @property
    def recognised_by(self) -> CompilableDesign:
        """See `CompilableDesign.recognised_by`."""
        return self.compilable

    def __call__(self, *runtime_args: Any, **runtime_kwargs: Any) -> KernelResult:
        """Compile if that is needed, and run."""
        compilable, scalars = self._split(runtime_kwargs)
        self._check_call(runtime_args, scalars)
        tensors, numbers = compilable.split_runtime_args(runtime_args, scalars)
        design = self._design(compilable)
        compilable.validate_tensor_args(tensors, design)
        # a design may take the configuration as an argument of its own
        given = runtime_kwargs.get("trace_config")
        trace_config = given if isinstance(given, TraceConfig) else self.trace_config
        return NPUKernel(design=design, trace_config=trace_config).run(tensors, numbers)

    def _design(self, compilable: CompilableDesign) -> Design:
        """One that is known by everything that it is made from need not be built again to see that."""
        key = compilable.key() if compilable.use_cache else None
        if key is None:
            return compilable.design()  # kept on disk all the same, by what is built
        if key not in self._kernel_cache:
            self._kernel_cache[key] = compilable.design()
        return self._kernel_cache[key]

    def _split(self, runtime_kwargs: Mapping[str, Any]) -> tuple[CompilableDesign, dict[str, Any]]:
        """The design for the compile-time arguments of a call, and the call's other arguments."""
        # what a design is specialized for is not for calls to give
        known = set(self.compilable.compile_params) - set(self.compilable.specialized_params)
        given = {name: value for name, value in runtime_kwargs.items() if name in known}
        # designs that trace take its size as an argument
        if self.trace_config is not None and "trace_size" in known:
            given.setdefault("trace_size", self.trace_config.trace_size)
        scalars = {name: value for name, value in runtime_kwargs.items() if name not in known}
        return (self.compilable.specialize(**given) if given else self.compilable), scalars

    def _check_call(self, runtime_args: tuple[Any, ...], scalars: Mapping[str, Any]) -> None:
        compilable, name = self.compilable, self.compilable.generator_name
        if misplaced := set(scalars) & set(compilable.tensor_params):
            raise CallError(
                f"{name!r} received tensor param(s) as keyword arguments: {misplaced}.\n"
                f"  Params annotated In/Out/InOut must be passed positionally.\n"
                f"  CompileTime[T] params (passed as kwargs): {compilable.compile_params}."
            )
        numbers = [*compilable.scalar_params, *compilable.dispatch_params]
        known = [*compilable.tensor_params, *numbers, *compilable.compile_params]
        if compilable.parameters is not None and (unknown := [given for given in scalars if given not in known]):
            hint = near_match(unknown[0], known)
            raise CallError(f"{name!r} has no parameter {unknown[0]!r}{hint}; it takes {', '.join(known)}")
        most = len(compilable.tensor_params) + len(compilable.scalar_params)
        if compilable.parameters is not None and len(runtime_args) > most:
            raise CallError(
                f"{name!r} takes at most {most} positional argument(s) (tensor: {len(compilable.tensor_params)}, "
                f"scalar: {len(compilable.scalar_params)}) but {len(runtime_args)} were given.\n"
                f"  CompileTime[T] parameters {compilable.compile_params} must be keyword arguments, not positional."
                f"{_named_too(compilable.dispatch_params)}"
            )

    def specialize(self, **overrides: Any) -> CallableDesign:
        """The same with other settings and compile-time arguments."""
        trace_config = overrides.get("trace_config", self.trace_config)
        # a setting of this class, unless the design has an argument of that name
        if "trace_config" not in self.compilable.compile_params:
            overrides.pop("trace_config", None)
        return CallableDesign(self.compilable.specialize(**overrides), trace_config=trace_config)

    def compile(self, **files: Any) -> tuple[Path, Path | None]:
        """See `CompilableDesign.compile`."""
        return self.compilable.compile(**files)

    def get_artifacts(self) -> tuple[Path, Path | None] | None:
        """See `CompilableDesign.get_artifacts`."""
        return self.compilable.get_artifacts()

    def get_pdi_paths(self) -> list[Path]:
        """See `CompilableDesign.get_pdi_paths`."""
        return self.compilable.get_pdi_paths()

    def get_pdi_path(self, device_name: str | None = None) -> Path | None:
        """The PDI file of the device called `device_name`, see `CompilableDesign.get_pdi_path`."""
        return self.compilable.get_pdi_path(device_name)

    def design(self, **compile_kwargs: Any) -> Design:
        """The compiled design for these compile-time arguments: for its words, its C++, or runs with more options."""
        return self._design(self._split(compile_kwargs)[0])

    def resolve_program(self) -> Module:
        """What makes it a program: `tilewright.compile(design)`, `tilewright run FILE.py --entry NAME`."""
        return self.compilable.generate_mlir()

    def as_mlir(self, *runtime_args: Any, **runtime_kwargs: Any) -> str:
        """The program as MLIR text."""
        return str(self._split(runtime_kwargs)[0].generate_mlir())

    def __repr__(self) -> str:
        return f"CallableDesign({self.compilable!r})"


def _named_too(dispatch_params: list[str]) -> str:
    return f"\n  So must DispatchTime[T] parameters {dispatch_params}." if dispatch_params else ""
