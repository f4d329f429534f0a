"""Offsets in the context, the memory through which native code and Python tell each other what happens, in bytes."""

CODE, CYCLES, DETAIL, DEPTH, HEADER_BYTES = 0, 8, 16, 40, 48
"""A context begins with why the code returned, the cycles that passed, three numbers about a trap, and how
deep in itself a function is."""
SLOT_BYTES = 8
