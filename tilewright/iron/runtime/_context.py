"""The runtime sequence that is being built: what fills, drains and task groups belong to."""

from __future__ import annotations

from contextlib import AbstractContextManager
from contextvars import ContextVar
from typing import TYPE_CHECKING

from tilewright.iron.builders.location import refuse
from tilewright.support.lazy import setting

if TYPE_CHECKING:
    from tilewright.iron.runtime.sequence import ActiveSequence

_active: ContextVar[ActiveSequence | None] = ContextVar("active sequence", default=None)


def active_sequence() -> ActiveSequence:
    """The sequence that is being built."""
    found = _active.get()
    if found is None:
        refuse(
            "this belongs in a runtime sequence",
            (None, "put it in the function that Runtime gets, or inside `with rt.sequence(...)`"),
        )
    return found


def active_sequence_scope(sequence: ActiveSequence) -> AbstractContextManager[ActiveSequence | None]:
    """Build this sequence inside the block."""
    return setting(_active, sequence)
