"""The one LLVM back end: SSA operations go in, machine code for this computer or a shared library comes out."""
