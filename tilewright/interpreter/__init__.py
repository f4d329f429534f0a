"""Programs executed operation by operation in Python. In: a body with blocks, and memory. Out: changed memory, where it
waits, how many cycles that took.

The meanings of operations are those of `dialects`, on Python's numbers: the obvious way to what native code computes,
and the way that is left where there is no LLVM.

`numbers` has values and arithmetic, `memory` buffers and views; `body` puts them together, `control` has loops and
calls.
"""
