"""Programs for mlir-aie as they stand: importing this module serves `aie` and everything below it from here.

Programs of mlir-air's Python API find `air.api` and `air.backend` as well: they run on the emulated GPU.

One line in front of the first `import aie` of a program is enough, or `pytest -p tilewright.as_aie`, or nothing at all
with `tilewright exec PROGRAM.py`. `TILEWRIGHT_AIE=installed` in the environment leaves `aie` to the package that is
installed. `pyxrt` of XRT is served beside it; `TILEWRIGHT_XRT` says whose, `tilewright` or `installed`, and without it
it is whose `aie` is. `undo()` takes it back; `serving()` is for a block.
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
XRT_CHOICE = "TILEWRIGHT_XRT"
"""The variable of the environment that says whose `pyxrt` programs import."""
XRT_CHILDREN = CHILDREN / "xrt"
"""The same for `pyxrt`."""
XRT = "pyxrt"
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
}
"""What to use instead of names that are mlir-aie's and not ours, or of all that is below them."""

_aliases = ModuleAliases("aie", TARGETS, ABSENT, "mlir-aie")

AIR_TARGETS = {
    "air": "tilewright.air",
    "air.api": "tilewright.air",
    "air.compiler": "tilewright.air.backend",
    "air.compiler.util": "tilewright.air.backend.xrt",
    "air.ir": "tilewright.iron.ir",
}
"""The same for mlir-air."""
_OF_GPUS = "`air.api` is there, for GPUs; MLIR of mlir-air goes through `tilewright opt` and `tilewright air`"
AIR_ABSENT = {
    "air.dialects": _OF_GPUS,
    "air.extras": _OF_GPUS,
    "air.passmanager": _OF_GPUS,
}
_air_aliases = ModuleAliases("air", AIR_TARGETS, AIR_ABSENT, "mlir-air")


def serve() -> None:
    """Serve `aie` from here on, unless the environment asks for the installed package; to child processes, too."""
    match os.environ.get(CHOICE, OURS):
        case "" | "tilewright":
            _aliases.start()
            # a package of that name that is no mlir-air's is the program's own business
            if "air" not in sys.modules:
                _air_aliases.start()
            _serve_children(CHILDREN, *_xrt_folders(OURS))
        case "installed":
            if not is_installed("aie"):
                raise ImportError(f"{CHOICE}={INSTALLED}, but mlir-aie is not installed: there is no package 'aie'")
            _serve_children(*_xrt_folders(INSTALLED))
        case other:
            raise ImportError(f"{CHOICE} is '{other}': it can be {OURS} or {INSTALLED}")


def _xrt_folders(otherwise: str) -> list[Path]:
    """Where `pyxrt` is found if ours is asked for."""
    whose = os.environ.get(XRT_CHOICE) or otherwise
    if whose not in (OURS, INSTALLED):
        raise ImportError(f"{XRT_CHOICE} is '{whose}': it can be {OURS} or {INSTALLED}")
    return [XRT_CHILDREN] if whose == OURS else []


def undo() -> None:
    """Serve `aie` no longer; what programs have imported stays what it is."""
    _aliases.stop()
    _air_aliases.stop()
    _forget_children()


@contextmanager
def serving() -> Generator[None]:
    """Serve `aie` inside a `with`, whatever is installed or was imported before; not to child processes."""
    before, path = sys.modules.pop(XRT, None), [*map(str, _xrt_folders(OURS)), *sys.path]
    sys.path, kept = path, sys.path
    try:
        with _aliases.started(), _air_aliases.started():
            yield
    finally:
        sys.path = kept
        sys.modules.pop(XRT, None)
        if before is not None:
            sys.modules[XRT] = before


def _serve_children(*folders: Path) -> None:
    """Let processes that start from here on find `aie`: they get the environment, or (multiprocessing) this path."""
    _forget_children()
    if folders:
        os.environ[_PATH] = os.pathsep.join([*map(str, folders), *filter(None, [os.environ.get(_PATH)])])
    sys.path[1:1] = map(str, folders)  # the first one is the program's own folder


def _forget_children() -> None:
    served = {str(CHILDREN), str(XRT_CHILDREN)}
    folders = [folder for folder in os.environ.get(_PATH, "").split(os.pathsep) if folder and folder not in served]
    os.environ[_PATH] = os.pathsep.join(folders)
    if not os.environ[_PATH]:
        del os.environ[_PATH]
    sys.path[:] = [folder for folder in sys.path if folder not in served]
    if getattr(sys.modules.get(XRT), "__name__", None) == "tilewright.pyxrt":
        del sys.modules[XRT]


def target_of(name: str) -> str | None:
    """The module of ours that serves a name of mlir-aie; None for `aie` itself."""
    return _aliases.target_of(name)


serve()
