"""Says which GPUs the modules of kernels are compiled for; upstream MLIR's passes."""

from __future__ import annotations

import re
from abc import abstractmethod
from dataclasses import dataclass, field
from typing import Any, ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IntAttr, StringAttr, UnitAttr
from xdsl.ir import Attribute, Operation

from tilewright.dialects._targets import TargetAttr
from tilewright.dialects.gpu.kernels import GPUModuleOp
from tilewright.dialects.nvvm import NVVMTargetAttr
from tilewright.dialects.rocdl import ROCDLTargetAttr
from tilewright.ir.diagnostics import fail
from tilewright.ir.pass_manager import Pass


def _option(default: Any, help: str, name: str | None = None) -> Any:
    return field(default=default, metadata={"help": help} | ({"option": name} if name else {}))


class AttachTargetPass(Pass):
    """Adds a target to the modules whose name matches."""

    target: ClassVar[type[TargetAttr]]
    module: str
    link_libs: tuple[str, ...]

    def apply(self, ctx: Context, op: Operation) -> None:
        try:
            wanted = re.compile(self.module)
        except re.error as error:
            fail(None, f"for the --module option: '{self.module}' is no regular expression: {error}")
        target = self._target_attr()
        for child in [inner for region in op.regions for inner in region.walk() if isinstance(inner, GPUModuleOp)]:
            if wanted.search(child.sym_name.data):
                targets = child.targets.data if child.targets is not None else ()
                # a module may have several targets, each once
                child.properties["targets"] = ArrayAttr(dict.fromkeys((*targets, target)))

    def _target_attr(self) -> TargetAttr:
        fields: dict[str, Attribute] = {"O": IntAttr(getattr(self, "opt_level"))}  # noqa: B009, declared by subclasses
        for name in ("triple", "chip", "features", "abi"):
            if name in self.target.DEFAULTS:
                fields[name] = StringAttr(getattr(self, name))
        flags = self._flags()
        if flags:
            fields["flags"] = DictionaryAttr({name: UnitAttr() for name in flags})
        if self.link_libs:
            fields["link"] = ArrayAttr([StringAttr(path) for path in self.link_libs])
        return self.target.of(**fields)

    @abstractmethod
    def _flags(self) -> list[str]:
        """What the code may take liberties with."""


@dataclass(frozen=True)
class RocdlAttachTargetPass(AttachTargetPass):
    name = "rocdl-attach-target"
    target: ClassVar[type[TargetAttr]] = ROCDLTargetAttr

    module: str = _option("", "which modules, a regular expression; all unless given")
    triple: str = _option("amdgcn-amd-amdhsa", "what LLVM calls the target")
    chip: str = _option("gfx900", "the GPU")
    features: str = _option("", "features to switch on or off")
    abi: str = _option("600", "version of the code object")
    opt_level: int = _option(2, "how much to optimize", "O")
    wave64: bool = _option(True, "waves of 64 lanes")
    fast: bool = _option(False, "all of the liberties below")
    daz: bool = _option(False, "treat denormals as zero")
    finite_only: bool = _option(False, "assume that there are no infinities")
    unsafe_math: bool = _option(False, "rearrange arithmetic")
    correct_sqrt: bool = _option(True, "round square roots correctly")
    link_libs: tuple[str, ...] = _option((), "libraries of bitcode to link", "l")

    def _flags(self) -> list[str]:
        # what is on by default is a flag when it is switched off
        chosen = {
            "no_wave64": not self.wave64,
            "fast": self.fast,
            "daz": self.daz,
            "finite_only": self.finite_only,
            "unsafe_math": self.unsafe_math,
            "unsafe_sqrt": not self.correct_sqrt,
        }
        return [name for name, is_set in chosen.items() if is_set]


@dataclass(frozen=True)
class NvvmAttachTargetPass(AttachTargetPass):
    name = "nvvm-attach-target"
    target: ClassVar[type[TargetAttr]] = NVVMTargetAttr

    module: str = _option("", "which modules, a regular expression; all unless given")
    triple: str = _option("nvptx64-nvidia-cuda", "what LLVM calls the target")
    chip: str = _option("sm_50", "the GPU")
    features: str = _option("", "features to switch on or off")
    opt_level: int = _option(2, "how much to optimize", "O")
    fast: bool = _option(False, "take liberties with floating-point arithmetic")
    ftz: bool = _option(False, "flush denormals to zero")
    link_libs: tuple[str, ...] = _option((), "libraries of bitcode to link", "l")

    def _flags(self) -> list[str]:
        return [name for name, is_set in (("fast", self.fast), ("ftz", self.ftz)) if is_set]
