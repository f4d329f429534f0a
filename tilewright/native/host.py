"""LLVM modules as functions of this process, or as shared libraries."""

from __future__ import annotations

import threading
from functools import cache

import llvmlite.binding as llvm
from llvmlite import ir

_lock = threading.Lock()  # LLVM's global state is not to be entered twice


@cache
def _initialize() -> None:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()


def target_machine(*, shared: bool = False, optimize: int = 2) -> llvm.TargetMachine:
    """Code generation for this computer; position independent where a shared library is to be made of it."""
    _initialize()
    target = llvm.Target.from_default_triple()
    if shared:
        return target.create_target_machine(opt=optimize, reloc="pic", codemodel="default")
    features = llvm.get_host_cpu_features().flatten()
    return target.create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=features, opt=optimize, codemodel="jitdefault"
    )


def optimized(module: ir.Module, machine: llvm.TargetMachine, optimize: int = 2) -> llvm.ModuleRef:
    """The module checked and run through LLVM's standard passes."""
    compiled = llvm.parse_assembly(str(module))
    compiled.verify()
    tuning = llvm.create_pipeline_tuning_options(speed_level=optimize)
    builder = llvm.create_pass_builder(machine, tuning)
    builder.getModulePassManager().run(compiled, builder)
    return compiled


class NativeModule:
    """Machine code in this process; its addresses are good as long as this object lives."""

    def __init__(self, module: ir.Module, optimize: int = 2):
        with _lock:
            machine = target_machine(optimize=optimize)
            self._engine = llvm.create_mcjit_compiler(optimized(module, machine, optimize), machine)
            self._engine.finalize_object()

    def address(self, name: str) -> int:
        """Where the function is."""
        return self._engine.get_function_address(name)


def object_code(module: ir.Module) -> bytes:
    """A relocatable object for a shared library."""
    with _lock:
        machine = target_machine(shared=True)
        return machine.emit_object(optimized(module, machine))
