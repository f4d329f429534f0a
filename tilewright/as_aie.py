"""Programs for mlir-aie as they stand: importing this module serves `aie` and everything below it from here.

One line in front of the first `import aie` of a program is enough, or `pytest -p tilewright.as_aie`, or nothing at all
with `tilewright exec PROGRAM.py`. `TILEWRIGHT_AIE=installed` in the environment leaves `aie` to the package that is
installed. `undo()` takes it back; `serving()` is for a block.
"""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from tilewright.support.module_aliases import ModuleAliases, is_installed

CHOICE = "TILEWRIGHT_AIE"
"""The variable of the environment that says whose `aie` programs import."""
CHILDREN = Path(__file__).parent / "children"
"""A folder with an `aie` that serves itself: on the PYTHONPATH of processes that a program starts."""
OURS, INSTALLED = "tilewright", "installed"

TARGETS = {
    "aie": "tilewright.iron",
    "aie.iron": "tilewright.iron",
    "aie.iron.kernels._common": "tilewright.iron.kernels.library",
}
"""The module for each name of mlir-aie and what is below it. Modules that programs and ours share are one object, so
that `isinstance` holds between them."""

ABSENT = {
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
            _set_path([str(CHILDREN), *_path()])
        case "installed":
            if not is_installed("aie"):
                raise ImportError(f"{CHOICE}={INSTALLED}, but mlir-aie is not installed: there is no package 'aie'")
        case other:
            raise ImportError(f"{CHOICE} is '{other}': it can be {OURS} or {INSTALLED}")


def undo() -> None:
    """Serve `aie` no longer; what programs have imported stays what it is."""
    _aliases.stop()
    _set_path(_path())


@contextmanager
def serving() -> Generator[None]:
    """Serve `aie` inside a `with`, whatever is installed or was imported before; not to child processes."""
    with _aliases.started():
        yield


def _path() -> list[str]:
    """Folders of PYTHONPATH, without ours."""
    folders = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    return [folder for folder in folders if folder and folder != str(CHILDREN)]


def _set_path(folders: list[str]) -> None:
    os.environ["PYTHONPATH"] = os.pathsep.join(folders)
    if not folders:
        del os.environ["PYTHONPATH"]


def target_of(name: str) -> str | None:
    """The module of ours that serves a name of mlir-aie; None for `aie` itself."""
    return _aliases.target_of(name)


serve()
