"""Kernels in the gpu dialect to functions in the llvm dialect: arguments, buffers, and what the device is asked."""
