"""Sizes beyond which a program is refused, each with its reason: none of them takes minutes or gigabytes to refuse.

What the hardware cannot do is in `device`; these are about what compiling takes.
"""

from __future__ import annotations

MOST_SOURCE_BYTES = 1 << 28
"""Of a file: a device that never ends is read no further."""
MOST_TOKENS, MOST_LINE_TOKENS = 1 << 23, 1 << 22
"""Of a program's text, about 50 MB of it, whose operations would fill 10 GB; and of one line."""
MAX_NESTING = 256
"""Levels of regions, attributes and types: each takes several frames of Python's stack."""
MOST_ELEMENT_BYTES = 1 << 28
"""Of the elements of one literal, which are kept one by one even where they are all the same."""
MOST_ALIAS_TOKENS, MOST_EXPANDED_TOKENS = 1 << 16, 1 << 22
"""Of what one alias stands for when it is written out, and of what all uses of long ones stand for: a few lines of
aliases that each use the one before twice would stand for more than there is memory."""
LONG_ALIAS_TOKENS = 64
MOST_DEVICES, MOST_SEQUENCES = 128, 256
"""Of a program: each device takes some 40 ms to configure, each sequence some 20 ms to compile."""
MOST_UNROLLED_OPERATIONS = 1 << 20
"""Of one unrolled loop; it takes some 30 us and 2 kB for each of them."""
KEPT_LOOP_OPERATIONS = 8192
"""Of a runtime sequence's loop, unrolled: beyond, `tilewright compile` keeps the loop where it can."""
MOST_TURNS = 1 << 22
"""Of all loops of a sequence together: beyond, a stream would not fit into `MOST_STREAM_WORDS`."""
MOST_STREAM_WORDS = 1 << 26
"""Of a TXN stream: 256 MB, a hundred times what the largest public designs have."""
MOST_CHANNEL_VISITS = 1 << 16
"""Of one end of an AIR channel, by all ranks, blocks, processing elements and turns of loops that tell channels of its
bundle apart, in all worlds that are tried: each takes some 80 us."""
MOST_FIFO_ELEMENTS = 4096
"""Of an object FIFO that are acquired at once: each is a buffer with an address of its own, and the smallest have 4
bytes of a mem tile's 512 kB."""
