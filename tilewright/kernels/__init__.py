"""Kernels that designs can name without bringing them: the names and arguments of mlir-aie's, as NumPy functions.

A design that declares `func.func private @matmul_i16_i16(...)` runs on the simulator without more: the library has a
function of that name, bit for bit as the C++ one in integers, and with bf16 rounded to nearest even wherever that one
rounds. Each says how long it takes on the device.
"""
