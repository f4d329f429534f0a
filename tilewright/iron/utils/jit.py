"""`@iron.jit`: makes a design of a function that builds one."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from inspect import Parameter
from typing import Any, overload

from tilewright.errors import CallError
from tilewright.iron.utils.callabledesign import CallableDesign
from tilewright.iron.utils.compile.jit.compilabledesign import Generator, config_param_names, setting_names
from tilewright.iron.utils.compile.jit.introspection import EMPTY, Parameters, parameters_of

_logger = logging.getLogger("aie.utils.callabledesign")  # programs for mlir-aie set its level
_SETTINGS = setting_names(CallableDesign)


__all__ = ["CallableDesign", "config_param_names", "jit"]


@overload
def jit(mlir_generator: Generator, **kwargs: Any) -> CallableDesign: ...
@overload
def jit(mlir_generator: None = None, **kwargs: Any) -> Callable[[Generator], CallableDesign]: ...
def jit(mlir_generator: Generator | None = None, **kwargs: Any) -> Any:
    """Decorates a function that builds a design, the `mlir_generator`, so that calling it runs the design.

    `@iron.jit`, or `@iron.jit(M=512)` with settings of `CallableDesign` and compile-time arguments that are fixed.
    """
    if mlir_generator is None:
        return partial(jit, **kwargs)  # `@iron.jit(...)`: the function comes next
    # a parameter of the function comes first: many are called `name`
    own = set(parameters_of(mlir_generator).signature.parameters) if callable(mlir_generator) else set[str]()
    settings = {name: value for name, value in kwargs.items() if name in _SETTINGS and name not in own}
    arguments = {name: value for name, value in kwargs.items() if name not in settings}
    # a file of MLIR has no parameters to check
    if callable(mlir_generator):
        _check(mlir_generator, parameters_of(mlir_generator), arguments)
    return CallableDesign(mlir_generator, compile_kwargs=arguments or None, **settings)


def _check(function: Generator, parameters: Parameters, arguments: dict[str, Any]) -> None:
    """Refuse what could only go wrong later."""
    name, compile_time = function.__name__, list(parameters.compile_time)
    if unknown := set(arguments) - {*compile_time, *parameters.dispatch}:
        raise CallError(
            f"@iron.jit received keyword argument(s) that do not match any CompileTime[T]-annotated parameter of "
            f"{name!r}: {sorted(unknown)}.\n  Valid CompileTime[T] params: {compile_time}.\n"
            f"{_specializable(parameters)}  Config keys: {sorted(_SETTINGS)}."
        )
    unclear = [scalar for scalar in parameters.scalars if scalar not in parameters.scalar_types]
    if silent := [scalar for scalar in unclear if parameters.default(scalar) is not EMPTY]:
        raise CallError(
            f"@iron.jit: parameter(s) {silent!r} of {name!r} have default values but no In / Out / InOut / "
            f"CompileTime[T] / DispatchTime[T] annotation: it is not said when they are known.\n"
            f"  Fix options:\n    * CompileTime[T] = default: another value compiles another design.\n"
            f"    * DispatchTime[T] = default, with T such as np.int32: a number of each call.\n"
            f"    * In / Out / InOut if it is a tensor."
        )
    if unbound := [n for n in compile_time if n not in arguments and parameters.default(n) is EMPTY]:
        _logger.debug("%r has parameters with no defaults and no pre-bound values: %s", name, unbound)
    if positional := [n for n in compile_time if _may_be_positional(parameters, n) and n not in arguments]:
        shown = ", ".join(f"{parameter}: CompileTime[...]" for parameter in positional)
        raise CallError(
            f"@iron.jit: CompileTime[T] parameter(s) {positional!r} in {name!r} are not keyword-only.\n"
            f"Place a bare '*' before your CompileTime[T] parameters:\n\n"
            f"  # Before:\n  def {name}(a: In, b: Out, {shown}):\n      ...\n\n"
            f"  # After:\n  def {name}(a: In, b: Out, *, {shown}):\n      ..."
        )


def _specializable(parameters: Parameters) -> str:
    return f"  DispatchTime[T] params: {list(parameters.dispatch)}.\n" if parameters.dispatch else ""


def _may_be_positional(parameters: Parameters, name: str) -> bool:
    parameter = parameters.signature.parameters[name]
    return parameter.kind not in (Parameter.KEYWORD_ONLY, Parameter.VAR_KEYWORD) and parameter.default is EMPTY
