"""LLVM modules as functions of this process, or as shared libraries."""

from __future__ import annotations

import platform
import threading
from functools import cache

import llvmlite
import llvmlite.binding as llvm
from llvmlite import ir

from tilewright.native.elf import LinkError

LIBRARY_TRIPLES = {"x86_64": "x86_64-unknown-linux-gnu", "aarch64": "aarch64-unknown-linux-gnu"}
"""By what Linux calls a machine: the computers that shared libraries are made for."""

_lock = threading.Lock()  # LLVM's global state is not to be entered twice


@cache
def initialize_targets() -> None:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()


def _host_machine(optimize: int) -> llvm.TargetMachine:
    """Code generation for just this computer."""
    initialize_targets()
    target = llvm.Target.from_default_triple()
    features = llvm.get_host_cpu_features().flatten()
    return target.create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=features, opt=optimize, codemodel="jitdefault"
    )


def _library_machine(triple: str) -> llvm.TargetMachine:
    """Position-independent code for every computer of an architecture."""
    initialize_targets()
    return llvm.Target.from_triple(triple).create_target_machine(reloc="pic", codemodel="default")


def library_triple() -> str:
    """What LLVM calls the computers like this one."""
    system, machine = platform.system(), platform.machine()
    if system != "Linux" or machine not in LIBRARY_TRIPLES:
        known = " and ".join(LIBRARY_TRIPLES)
        raise LinkError(f"shared libraries can be made on Linux for {known}, but this is {system} on {machine}")
    return LIBRARY_TRIPLES[machine]


def optimized(
    module: ir.Module, machine: llvm.TargetMachine, optimize: int = 2, *, all_passes: bool = True
) -> llvm.ModuleRef:
    """The module checked and run through LLVM's standard passes, or just those that are quick on long code."""
    module.triple, module.data_layout = machine.triple, str(machine.target_data)
    compiled = llvm.parse_assembly(str(module))
    compiled.verify()
    builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=optimize))
    passes = builder.getModulePassManager() if all_passes else _linear_passes()
    passes.run(compiled, builder)
    return compiled


def _linear_passes() -> llvm.ModulePassManager:
    """Passes whose time does not grow faster than the code. Others do, with many conditions on the same value."""
    passes = llvm.create_new_module_pass_manager()
    passes.add_sroa_pass()
    passes.add_simplify_cfg_pass()
    passes.add_sccp_pass()
    passes.add_loop_rotate_pass()
    passes.add_new_gvn_pass()
    passes.add_dead_store_elimination_pass()
    passes.add_aggressive_dce_pass()
    passes.add_simplify_cfg_pass()
    return passes


class NativeModule:
    """Machine code in this process; its addresses are good as long as this object lives."""

    def __init__(self, module: ir.Module, optimize: int = 2, *, all_passes: bool = True):
        with _lock:
            machine = _host_machine(optimize)
            compiled = optimized(module, machine, optimize, all_passes=all_passes)
            self._engine = llvm.create_mcjit_compiler(compiled, machine)
            self._engine.finalize_object()

    def address(self, name: str) -> int:
        """Where the function is."""
        return self._engine.get_function_address(name)


class NativeObject:
    """Machine code of this computer that was made before, in this process."""

    def __init__(self, code: bytes):
        with _lock:
            self._engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), _host_machine(0))
            self._engine.add_object_file(llvm.ObjectFileRef.from_data(code))
            self._engine.finalize_object()

    def address(self, name: str) -> int:
        """Where the function is."""
        return self._engine.get_function_address(name)


def host_object(module: ir.Module) -> bytes:
    """A relocatable object for just this computer, see `host_key`."""
    with _lock:
        machine = _host_machine(2)
        return machine.emit_object(optimized(module, machine))


def host_key() -> str:
    """What machine code for this computer depends on, apart from the program."""
    initialize_targets()
    parts = llvmlite.__version__, llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten(), platform.machine()
    return " ".join(parts)


def object_code(module: ir.Module, triple: str, *, all_passes: bool = True) -> bytes:
    """A relocatable object for a shared library on computers of this description."""
    with _lock:
        machine = _library_machine(triple)
        return machine.emit_object(optimized(module, machine, all_passes=all_passes))
