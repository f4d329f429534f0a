"""The simulated NPU. In: a device, TXN words with a map from words to source lines, core programs, host arrays.
Out: what the hardware would leave in host memory, the cycles it took, or why it hung.

Only bytes, registers and the core programs are read here; nothing of what the compiler meant by them.
"""
