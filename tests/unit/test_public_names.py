"""Public names can be found with Tab and read with `help`: all are listed, with short signatures and parameters."""

from __future__ import annotations

import inspect
import re
import runpy
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import pytest
from helpers import DOCS

import tilewright as tw

REFERENCE = runpy.run_path(str(DOCS / "reference.py"))
MODULES: list[str] = [name for name in REFERENCE["MODULES"] if "taplib" not in name]
UPSTREAMS = {"loc", "ip"}
"""Parameters that every operation of upstream's takes."""
BY_FIELD = {"RankReport", "RunResult", "Sweep", "SweepResult", "SweepRow", "Trial"}
"""Data classes whose fields are explained one by one."""
LONGEST_SIGNATURE = 900


@pytest.mark.parametrize(
    "module, names",
    [
        (
            "tilewright",
            {"compile", "load", "Design", "RunResult", "Hang", "Error", "ArgumentError", "air", "txn", "iron"},
        ),
        ("tilewright.iron", {"Program", "Worker", "ObjectFifo", "Runtime", "jit", "zeros", "device", "kernels"}),
        ("tilewright.iron.device", {"NPU1", "NPU2", "NPU1Col1", "Tile", "from_name"}),
        ("tilewright.iron.utils", {"tensor", "NPUKernel", "TraceConfig"}),
    ],
)
def test_tab_offers_all_names(module: str, names: set[str]) -> None:
    found = import_module(module)
    assert names <= set(dir(found)) and set(getattr(found, "__all__", ())) <= set(dir(found))
    assert all(hasattr(found, name) for name in dir(found))
    private = {name for name in dir(found) if name.startswith("_") and not name.startswith("__")}
    assert not private and not {"TYPE_CHECKING", "annotations", "lazy_names"} & set(dir(found))


def test_names_are_offered_before_anything_is_imported() -> None:
    """Completion must not cost what an import of the compiler does."""
    code = "import sys, tilewright as tw; dir(tw); dir(tw.iron); print('xdsl' in sys.modules, len(dir(tw.iron)) > 50)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.split() == ["False", "True"]


def functions() -> Iterator[tuple[str, Any, str]]:
    """Public functions and methods, by name, with what is said about them."""
    for module in MODULES:
        for name, value in REFERENCE["names_of"](import_module(module)):
            if not inspect.isclass(value):
                yield f"{module}.{name}", value, inspect.getdoc(value) or ""
            elif not issubclass(value, BaseException):
                if "__init__" in vars(value) and name not in BY_FIELD:
                    made: Any = vars(value)["__init__"]
                    yield f"{module}.{name}", made, f"{value.__doc__}\n{inspect.getdoc(made)}"
                for member, found in vars(value).items():
                    function = getattr(found, "__func__", found)
                    if inspect.isfunction(function) and not member.startswith("_") and inspect.getdoc(function):
                        yield f"{module}.{name}.{member}", function, inspect.getdoc(function) or ""


EXPLAINED = {
    "tilewright.iron.CascadeFlow",
    "tilewright.iron.CompilableDesign.compile",
    "tilewright.iron.CompilableDesign.split_runtime_args",
    "tilewright.iron.CompilableDesign.validate_tensor_args",
    "tilewright.iron.Task",
}
"""Those whose parameters are upstream's, and explained by their types."""


@pytest.mark.parametrize("name, function, said", [pytest.param(*found, id=found[0]) for found in functions()])
def test_help_names_every_parameter(name: str, function: Any, said: str) -> None:
    if name in EXPLAINED:
        return
    signature = inspect.signature(function)
    assert len(str(signature)) < LONGEST_SIGNATURE
    named = (p.name for p in signature.parameters.values() if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD))
    silent = [p for p in named if p not in UPSTREAMS | {"self", "cls"} and not re.search(rf"\b{p}\b", said)]
    assert not silent, f"what is {silent}?"


def test_compile_shows_what_a_person_gives_it() -> None:
    names = ["source", "lowering", "host", "guard_queues", "expand_load_pdis"]
    assert list(inspect.signature(tw.compile).parameters) == names
    assert inspect.signature(tw.compile).parameters["lowering"].default is None
    assert "aie-" not in str(inspect.signature(tw.compile)) and "CompileError" in (tw.compile.__doc__ or "")
