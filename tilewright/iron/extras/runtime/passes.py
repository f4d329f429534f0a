"""Pipelines of passes, written as a chain of calls: `Pipeline().canonicalize().cse()`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from tilewright.iron.builders.module import Module
from tilewright.iron.passmanager import PassManager


class Pipeline:
    """Passes in order. Each is a method, named as its flag with underscores; its options are keywords."""

    def __init__(self, pipeline: list[str] | None = None):
        self._steps = list(pipeline or ())

    def add_pass(self, pass_name: str, **options: Any) -> Pipeline:
        """Append a pass by its flag."""
        texts = [f"{name.replace('_', '-')}={_text(value)}" for name, value in options.items() if value is not None]
        self._steps.append(f"{pass_name}{{{' '.join(texts)}}}" if texts else pass_name)
        return self

    def Nested(self, context: str, p: Pipeline) -> Pipeline:
        """Append passes that run on the operations of a name."""
        self._steps.append(f"{context}({p})")
        return self

    def Func(self, p: Pipeline) -> Pipeline:
        return self.Nested("func.func", p)

    def materialize(self, module: bool = True) -> str:
        """The text that a `PassManager` reads."""
        return f"builtin.module({self})" if module else str(self)

    def __getattr__(self, name: str) -> Callable[..., Pipeline]:
        if name.startswith("_"):
            raise AttributeError(name)

        def add(**options: Any) -> Pipeline:
            return self.add_pass(name.replace("_", "-"), **options)

        return add

    def __add__(self, other: Pipeline) -> Pipeline:
        return Pipeline([*self._steps, *other._steps])

    def __str__(self) -> str:
        return ",".join(self._steps)


def run_pipeline(
    module: Module,
    pipeline: str | Pipeline,
    description: str | None = None,
    enable_ir_printing: bool = False,
    print_pipeline: bool = False,
    verify: bool = True,
) -> Module:
    """Run passes on a module, which they change; gives the module.

    Args:
        module: what they run on
        pipeline: the passes, or their text
        description: for errors of mlir-aie's tools
        enable_ir_printing: whether the module is printed to stderr after them
        print_pipeline: whether their text is printed
        verify: whether the module is checked after each
    """
    text = pipeline.materialize() if isinstance(pipeline, Pipeline) else pipeline
    if print_pipeline:
        print(text)
    manager = PassManager.parse(text)
    manager.enable_verifier(verify)
    manager.run(module.operation)
    if enable_ir_printing:
        import sys

        print(module, file=sys.stderr)
    return module


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return ",".join(map(str, cast("list[Any]", value))) if isinstance(value, list | tuple) else str(value)


__all__ = ["Pipeline", "run_pipeline"]
