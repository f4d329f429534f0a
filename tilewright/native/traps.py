"""What running programs do that they must not, and what no program can be made of."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import LocationAttr
from xdsl.ir import Operation

OUTSIDE = "accesses bytes {} up to {} of a buffer that has {}"
FAR = "accesses element {} of a buffer that has {} bytes"
LOST = "names an element by a number that does not fit into 64 bits"
BEGINS_OUTSIDE = "begins at byte {} of a buffer that has {}"
NO_SUCH_ELEMENT = "takes element {} of a vector that has {}"
NO_STEP = "the step of this loop is not positive, so that it never ends"
REACHED = "is reached, which the program says cannot be"
DEEPEST_CALL = 1000
TOO_DEEP = f"calls itself more than {DEEPEST_CALL} times"
FARTHEST = 1 << 55
"""Elements whose distance from a buffer's begin, in bytes, is sure to fit into 64 bits."""
LARGEST_BYTES = 1 << 20
"""More than the memory of a core and its neighbours: no program allocates as much."""


class Untranslatable(Exception):
    """What has no native translation; says what that is."""


@dataclass(frozen=True)
class Trap:
    """A place where the running program may go wrong. `text` has room for the three numbers of the context."""

    operation: Operation
    text: str

    @property
    def location(self) -> LocationAttr:
        return self.operation.location


def stopping(message: str) -> str:
    """The text of a trap that a program sets for itself; what a trap says is a format, with room for numbers."""
    return "stops the program: " + message.replace("{", "{{").replace("}", "}}")
