"""The one LLVM back end: SSA operations go in, machine code for this computer or a shared library comes out."""

from importlib.util import find_spec


def has_llvm() -> bool:
    """Whether there is LLVM to make native code with; without it programs are executed in Python."""
    return find_spec("llvmlite") is not None
