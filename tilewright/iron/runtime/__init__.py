"""The host's side: sequences of transfers between its buffers and the array."""

from tilewright.iron.runtime.data import RuntimeData, RuntimeScalar
from tilewright.iron.runtime.dmataskhandle import Task
from tilewright.iron.runtime.parameters import sync_parameters
from tilewright.iron.runtime.runtime import Runtime
from tilewright.iron.runtime.task import RtpWriteTask, RuntimeTask
from tilewright.iron.runtime.taskgroup import TaskGroup

__all__ = [
    "RtpWriteTask",
    "Runtime",
    "RuntimeData",
    "RuntimeScalar",
    "RuntimeTask",
    "Task",
    "TaskGroup",
    "sync_parameters",
]
