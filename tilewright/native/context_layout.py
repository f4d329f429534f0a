"""Offsets in the context, the memory through which native code and Python tell each other what happens, in bytes."""

CODE, CYCLES, DETAIL, DEPTH, HEADER_BYTES = 0, 8, 16, 40, 48
"""A context begins with why the code returned, the cycles that passed, three numbers about a trap, and how
deep in itself a function is."""
FINISHED, PAUSED, IDLE, FIRST_WAIT = 0, 1, 2, 3
"""Why a core's program returned, if not for a trap: it is over, it lets others have the machine, it will do nothing any
more, or it is at the wait number `code - FIRST_WAIT`."""
PAUSE_CYCLES, POLL_CYCLES = 4096, 64
"""A loop of unknown length lets others have the machine after so many cycles, sooner if it seems to wait for them."""
SLOT_BYTES = 8
"""Of a value in a row of them; wider ones take several slots."""
MOST_FLOW = 1 << 16
"""Entries of a log of branches, 64 bits each behind their number: 0 and 1 for a branch not taken and one that is,
`FLOW_LOOP` and four times the turns for a loop without branches."""
FLOW_LOOP, FLOW_RETURN = 2, 3
"""What an entry is if it is no branch, in its lowest two bits; the other is four times the place returned to."""


def slot_count(size_bytes: int) -> int:
    """How many slots a value takes."""
    return -(-size_bytes // SLOT_BYTES)
