"""Which addresses of host buffers the firmware leaves for the stream to translate."""

FIRST_FOLDED_ARGUMENT = 5  # the firmware translates the addresses of the first five host buffers itself
FOLDED_OFFSET = 0x80000000  # where the array sees host memory


def address_offset(argument: int, *, fold: bool) -> int:
    """What an address patch for a host buffer must add to its offset."""
    return FOLDED_OFFSET if fold and argument >= FIRST_FOLDED_ARGUMENT else 0


def largest_offset(argument: int) -> int:
    """The largest offset into a host buffer that the 32 bits of an address patch hold, after any translation."""
    return 0xFFFFFFFF - address_offset(argument, fold=True)
