"""Going through a program from the inside out."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.ir import Operation


def innermost_first(op: Operation) -> Iterator[Operation]:
    """What is nested in an operation, each after what is nested in it, the last of a block first."""
    for region in op.regions:
        for block in reversed(region.blocks):
            for child in reversed(list(block.ops)):
                yield from innermost_first(child)
                yield child
