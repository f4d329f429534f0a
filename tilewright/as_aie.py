"""Programs for mlir-aie as they stand: importing this module serves `aie` and everything below it from here.

One line in front of the first `import aie` of a program is enough, or `pytest -p tilewright.as_aie`, or nothing at all
with `tilewright exec PROGRAM.py`. `TILEWRIGHT_AIE=installed` in the environment leaves `aie` to the package that is
installed. `undo()` takes it back; `serving()` is for a block.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from tilewright.support.module_aliases import ModuleAliases, is_installed

CHOICE = "TILEWRIGHT_AIE"
"""The variable of the environment that says whose `aie` programs import."""
CHILDREN = Path(__file__).parent / "children"
"""A folder with an `aie` that serves itself: on the PYTHONPATH of processes that a program starts."""
_PATH = "PYTHONPATH"
OURS, INSTALLED = "tilewright", "installed"

TARGETS = {
    "aie": "tilewright.iron",
    "aie.iron": "tilewright.iron",
    "aie.iron.kernels._common": "tilewright.iron.kernels.library",
}
"""The module for each name of mlir-aie and what is below it. Modules that programs and ours share are one object, so
that `isinstance` holds between them."""

_RUNTIME = "`aie.utils.DefaultNPURuntime` is the simulated NPU, and `aie.utils.tensor` makes its tensors"
_TRACE = "`aie.utils.trace.parse_trace` and `tilewright trace decode` decode traces"
ABSENT = {
    "aie.execution_engine": "functions of a module run in a design, by `tilewright run`",
    "aie.iron.kernels": "`tilewright kernels` lists the kernels that there are; others are an `ExternalFunction`",
    "aie.runtime": "functions of a module run in a design, by `tilewright run`",
    "aie.tools": "`aiecc`, `aie_opt` and `aie_translate` are there; `tilewright --help` lists other tools",
    "aie.utils.hostruntime.hrxruntime": f"it needs HRX and an NPU; {_RUNTIME}",
    "aie.utils.hostruntime.xrtruntime.tensor.XrtTransport": "host and simulated NPU share the memory of tensors",
    "aie.utils.ml.DataShaper.get_dim_steps": "`aie.helpers.taplib` has steps of access patterns",
    "aie.utils.trace.event_ir": _TRACE,
    "aie.utils.trace.parse": _TRACE,
    "aie.utils.trace.setup": "`configure_trace` and `start_trace` set up traces",
    "aie.utils.trace.utils": _TRACE,
    "pyxrt": "a design runs on the simulated NPU when it is called (`iron.jit`), or as an `aie.utils.NPUKernel` that "
    "`aie.utils.DefaultNPURuntime` loads and runs",
}
"""What to use instead of names that are mlir-aie's and not ours, or of all that is below them."""

_aliases = ModuleAliases("aie", TARGETS, ABSENT, "mlir-aie")


def serve() -> None:
    """Serve `aie` from here on, unless the environment asks for the installed package; to child processes, too."""
    match os.environ.get(CHOICE, OURS):
        case "" | "tilewright":
            _aliases.start()
            _serve_children()
        case "installed":
            if not is_installed("aie"):
                raise ImportError(f"{CHOICE}={INSTALLED}, but mlir-aie is not installed: there is no package 'aie'")
        case other:
            raise ImportError(f"{CHOICE} is '{other}': it can be {OURS} or {INSTALLED}")


def undo() -> None:
    """Serve `aie` no longer; what programs have imported stays what it is."""
    _aliases.stop()
    _forget_children()


@contextmanager
def serving() -> Generator[None]:
    """Serve `aie` inside a `with`, whatever is installed or was imported before; not to child processes."""
    with _aliases.started():
        yield


def _serve_children() -> None:
    """Let processes that start from here on find `aie`: they get the environment, or (multiprocessing) this path."""
    _forget_children()
    os.environ[_PATH] = os.pathsep.join([str(CHILDREN), *filter(None, [os.environ.get(_PATH)])])
    sys.path.insert(1, str(CHILDREN))  # the first one is the program's own folder


def _forget_children() -> None:
    folders = os.environ.get(_PATH, "").split(os.pathsep)
    os.environ[_PATH] = os.pathsep.join(folder for folder in folders if folder != str(CHILDREN))
    if not os.environ[_PATH]:
        del os.environ[_PATH]
    if str(CHILDREN) in sys.path:
        sys.path.remove(str(CHILDREN))


def target_of(name: str) -> str | None:
    """The module of ours that serves a name of mlir-aie; None for `aie` itself."""
    return _aliases.target_of(name)


serve()
