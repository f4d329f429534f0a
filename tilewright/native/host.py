"""LLVM modules as functions of this process, or as shared libraries."""

from __future__ import annotations

import platform
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar
from weakref import finalize

import llvmlite
import llvmlite.binding as llvm
from llvmlite import ir
from llvmlite.binding.newpassmanagers import NewPassManager

from tilewright.native.elf import LinkError
from tilewright.support.lazy import once

LIBRARY_TRIPLES = {"x86_64": "x86_64-unknown-linux-gnu", "aarch64": "aarch64-unknown-linux-gnu"}
"""By what Linux calls a machine: the computers that shared libraries are made for."""

T = TypeVar("T")
_lock = threading.Lock()  # LLVM's global state is not to be entered twice


def with_llvm(work: Callable[[], T]) -> T:
    """What some work with LLVM gives. One thread at a time does such work, and Ctrl-C need not wait until it is done.

    Python tells its main thread of a signal between two steps of Python, so another thread does what takes long.
    """
    if threading.current_thread() is not threading.main_thread():
        with _lock:
            return work()
    found: Future[T] = Future()
    threading.Thread(target=_do, args=(work, found), name="LLVM", daemon=True).start()
    return found.result()


def _do(work: Callable[[], T], found: Future[T]) -> None:
    try:
        with _lock:
            found.set_result(work())
    except BaseException as error:
        found.set_exception(error)


@once
def initialize_targets() -> None:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()


def _host_machine(optimize: int) -> llvm.TargetMachine:
    """Code generation for just this computer."""
    initialize_targets()
    cpu, features = llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()
    target = llvm.Target.from_default_triple()
    return target.create_target_machine(cpu=cpu, features=features, opt=optimize, codemodel="jitdefault")


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
    compiled = llvm.parse_assembly(str(module), llvm.create_context())  # what is in the global one is never freed
    try:
        compiled.verify()
    except RuntimeError:
        compiled.close()  # Python may free the context first, with what caught this
        raise
    builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=optimize))
    passes = builder.getModulePassManager() if all_passes else _linear_passes()
    passes.run(compiled, builder)
    NewPassManager._dispose(passes)  # llvmlite's own `close` does not come to this
    passes.detach()
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


class HostCode:
    """Functions in this process; their addresses are good as long as this object lives."""

    def __init__(self, module: llvm.ModuleRef, machine: llvm.TargetMachine, code: bytes | None = None):
        """The code of a module, or of an object that was made before."""
        self._engine = llvm.create_mcjit_compiler(module, machine)
        finalize(self, _free, self._engine, module._context).atexit = False
        if code is not None:
            self._engine.add_object_file(llvm.ObjectFileRef.from_data(code))
        self._engine.finalize_object()

    def address(self, name: str) -> int:
        """Where the function is."""
        return self._engine.get_function_address(name)


def _free(engine: llvm.ExecutionEngine, context: llvm.ContextRef) -> None:
    """Give memory back in this order: the engine's modules are in the context."""
    engine.close()
    context.close()


class NativeModule(HostCode):
    """A module as machine code."""

    def __init__(self, module: ir.Module, optimize: int = 2, *, all_passes: bool = True):
        def compile() -> None:
            machine = _host_machine(optimize)
            HostCode.__init__(self, optimized(module, machine, optimize, all_passes=all_passes), machine)

        with_llvm(compile)


class NativeObject(HostCode):
    """Machine code of this computer that was made before."""

    def __init__(self, code: bytes):
        def load() -> None:
            HostCode.__init__(self, llvm.parse_assembly("", llvm.create_context()), _host_machine(0), code)

        with_llvm(load)


def host_object(module: ir.Module, *, all_passes: bool = True) -> bytes:
    """A relocatable object for just this computer, see `host_key`."""
    return with_llvm(lambda: _object(module, _host_machine(2), all_passes=all_passes))


def _object(module: ir.Module, machine: llvm.TargetMachine, *, all_passes: bool = True) -> bytes:
    return machine.emit_object(optimized(module, machine, all_passes=all_passes))


def host_key() -> str:
    """What machine code for this computer depends on, apart from the program."""
    initialize_targets()
    versions = llvmlite.__version__, ".".join(map(str, llvm.llvm_version_info))
    return " ".join((*versions, llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten(), platform.machine()))


def object_code(module: ir.Module, triple: str, *, all_passes: bool = True) -> bytes:
    """A relocatable object for a shared library on computers of this description."""
    return with_llvm(lambda: _object(module, _library_machine(triple), all_passes=all_passes))
