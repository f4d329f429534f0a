"""Compiled AIR programs as folders that run where there is neither compiler nor LLVM: Python, NumPy and a driver do.

`write` makes such a folder of a program; `run` starts its ranks. All but `write` needs nothing else.
"""
