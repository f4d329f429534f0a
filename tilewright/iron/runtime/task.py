"""Things that a runtime sequence does, as objects: made anywhere, done where they are resolved."""

from __future__ import annotations

from typing import Any

from tilewright.iron.buffer import Buffer
from tilewright.iron.builders.location import at
from tilewright.iron.resolvable import Resolvable
from tilewright.iron.runtime.parameters import write_parameter
from tilewright.iron.runtime.taskgroup import TaskGroup
from tilewright.support.tracebacks import user_facing


class RuntimeTask(Resolvable):
    """Something that a sequence does; this one does nothing."""

    def __init__(self, task_group: TaskGroup | None = None):
        self._task_group = task_group

    @property
    def task_group(self) -> TaskGroup | None:
        """The group that it belongs to."""
        return self._task_group

    def resolve(self, loc: Any = None, ip: Any = None) -> None:
        """Do it here: in the sequence that is being built."""


@user_facing
class RtpWriteTask(RuntimeTask):
    """A runtime parameter that is written: `rt.write_rtp` as an object."""

    def __init__(self, buf_name: Buffer | str, index: int, value: Any):
        """What to write.

        Args:
            buf_name: the buffer with the parameters, or its name
            index: which of its elements
            value: a Python number, or one of the sequence
        """
        super().__init__()
        self._buffer, self._index, self._value = buf_name, index, value

    def resolve(self, loc: Any = None, ip: Any = None) -> None:
        """Write it here: in the sequence that is being built."""
        with at(loc):
            write_parameter(self._buffer, self._index, self._value)
