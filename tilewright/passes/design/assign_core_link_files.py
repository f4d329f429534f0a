"""Lists on each core the files that its program is linked or merged with, which the functions it calls name."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from xdsl.dialects.builtin import ArrayAttr, StringAttr

from tilewright.dialects.aie.core import CoreOp
from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.dialects.func import CallIndirectOp, CallOp, FuncOp
from tilewright.ir.diagnostics import emit_error, emit_warning
from tilewright.ir.traversal import all_operations
from tilewright.rewrite.pass_bases import DevicePass, ops_of

MERGE = "merge"


@dataclass(frozen=True)
class Artifact:
    """A file that a function is in, and whether it is merged as LLVM IR before the link."""

    path: str
    is_merged: bool


@dataclass
class CoreFiles:
    """The files of one core, each once, in the order of the calls."""

    core: CoreOp
    linked: dict[str, None] = field(default_factory=dict[str, None])
    merged: dict[str, None] = field(default_factory=dict[str, None])

    def add(self, artifact: Artifact) -> None:
        (self.merged if artifact.is_merged else self.linked)[artifact.path] = None

    def write(self) -> None:
        self.core.link_with = None  # its file is in the list now
        if self.linked:
            self.core.link_files = ArrayAttr(map(StringAttr, self.linked))
        if self.merged:
            self.core.link_merge_files = ArrayAttr(map(StringAttr, self.merged))


class AssignCoreLinkFilesPass(DevicePass):
    name = "aie-assign-core-link-files"

    def apply_to(self, device: DeviceOp) -> None:
        functions = ops_of(device.body.ops, FuncOp)
        artifacts = _artifacts(functions)
        if artifacts is None:
            return
        called: set[str] = set()
        cores = [_files_of(core, artifacts, called) for core in ops_of(all_operations(device), CoreOp)]
        if not _modes_agree(cores):
            return
        for files in cores:
            files.write()
        for function in functions:
            if (name := function.sym_name.data) in artifacts and name not in called:
                emit_warning(
                    function,
                    f"func '{name}' has link_with but is never called from any core; its artifact will not be linked "
                    "or merged",
                )


def _artifacts(functions: list[FuncOp]) -> dict[str, Artifact] | None:
    """The file of each function that names one; None if what some say makes no sense."""
    found: dict[str, Artifact] = {}
    is_sound = True
    for function in functions:
        name = function.sym_name.data
        path, mode = _text(function, "link_with"), _text(function, "link_with_mode")
        if mode is not None and path is None:
            emit_error(
                function,
                f"func '{name}' has link_with_mode but no link_with; link_with_mode only describes how the link_with "
                "artifact is linked",
            )
            is_sound = False
        elif mode not in (None, MERGE):
            emit_error(
                function,
                f"func '{name}' has unknown link_with_mode '{mode}'; the only supported value is '{MERGE}'",
            )
            is_sound = False
        elif path is not None:
            found[name] = Artifact(path, is_merged=mode == MERGE)
    return found if is_sound else None


def _text(function: FuncOp, name: str) -> str | None:
    """An attribute of a function that only designs for the array have."""
    value = function.attributes.get(name)
    return value.data if isinstance(value, StringAttr) else None


def _files_of(core: CoreOp, artifacts: dict[str, Artifact], called: set[str]) -> CoreFiles:
    files = CoreFiles(core)
    if core.link_with is not None:
        emit_warning(core, "link_with on aie.core is deprecated; attach link_with to the func.func declaration instead")
        files.add(Artifact(core.link_with.data, is_merged=False))
    for name in _calls(core):
        called.add(name)
        if name in artifacts:
            files.add(artifacts[name])
    return files


def _calls(core: CoreOp) -> Iterator[str]:
    """The functions that a core calls itself; what those call is not followed."""
    for op in core.body.walk():
        if isinstance(op, CallOp):
            yield op.callee.root_reference.data
        elif isinstance(op, CallIndirectOp):  # what it calls is only known at run time
            emit_warning(
                op,
                "indirect call in core body — link_with attributes on indirectly-called functions are not "
                "automatically resolved; add a direct func.call to the required func.func declaration so that "
                "aie-assign-core-link-files can trace the dependency",
            )


def _modes_agree(cores: list[CoreFiles]) -> bool:
    """All cores of a device may become one LLVM module, so a file is either merged everywhere or nowhere."""
    # reversed: the first core is the one named
    linked_by = {path: files.core for files in reversed(cores) for path in files.linked}
    conflicts = [(files.core, path) for files in cores for path in files.merged if path in linked_by]
    for core, path in conflicts:
        emit_error(
            core,
            f"artifact '{path}' is merged into an LLVM module here but object-linked in the same aie.device; an "
            "artifact must use a single link mode across all cores of a device",
        ).note(linked_by[path], f"artifact '{path}' is object-linked here")
    return not conflicts
