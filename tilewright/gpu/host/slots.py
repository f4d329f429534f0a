"""What the context of a host program holds besides what all native code has there. Needs nothing but Python."""

from tilewright.native.context_layout import HEADER_BYTES, SLOT_BYTES

STOPPED = 1
"""The code of a context whose program was ended by the runtime: it ran into an error, or `exit` was called."""
SITE, BUSY, FUNCTIONS = HEADER_BYTES, HEADER_BYTES + SLOT_BYTES, HEADER_BYTES + 2 * SLOT_BYTES
"""Where the context says which call of the runtime was the last, whether it is under way, and where functions are."""
