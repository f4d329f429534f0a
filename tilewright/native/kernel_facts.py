"""Facts about a compiled kernel for the host that launches it. Needs nothing but Python: bundles carry this file."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class KernelFacts:
    """What the host has to know of a kernel before it launches it."""

    name: str
    parameters: tuple[int, ...]
    """The bytes of each flattened parameter."""
    shared_bytes: int
    """Memory of a block that the kernel needs."""
    block: tuple[int, int, int] | None
    """The threads of a block, if the program says so."""
    waves: int | None = None
    """How many waves a block can have at most, if there is such a limit besides that of threads."""
    launch_bytes: int = 0
    """How much of the memory of a block the launch has to ask for, since code cannot declare it."""
    begins_early: bool = False
    """Whether it waits by itself for the launch before it, and so may begin while that one ends."""
