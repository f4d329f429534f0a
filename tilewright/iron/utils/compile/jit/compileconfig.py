"""`@iron.compileconfig`: a design with settings, whose compile-time arguments come later."""

from __future__ import annotations

from functools import partial
from typing import Any

from tilewright.iron.utils.compile.jit.compilabledesign import CompilableDesign, Generator


def compileconfig(mlir_generator: Generator | None = None, **settings: Any) -> Any:
    """Decorates a function that builds a design, the `mlir_generator`; `settings` are those of `CompilableDesign`."""
    if mlir_generator is None:
        return partial(compileconfig, **settings)
    return CompilableDesign(mlir_generator, **settings)
