"""Scratchpad parameters: numbers that the host sets between runs and cores read."""

from __future__ import annotations

from typing import Any

from tilewright.iron.builders.types import scalar_type
from tilewright.iron.resolvable import Emitted


class ScratchpadParameter(Emitted[Any]):
    """A number with a name; `read` is for workers' functions, and transfers can have one as their offset."""

    def __init__(self, name: str, dtype: Any):
        """A parameter called `name`, of a NumPy scalar type, its `dtype`; `np.float32` does not fit in 30 bits."""
        super().__init__()
        self.name = name
        self.dtype = dtype

    def read(self) -> Any:
        """Its value, in a worker's function."""
        from tilewright.iron.dialects.aiex import read_scratchpad_parameter

        return read_scratchpad_parameter(self.name, scalar_type(self.dtype))

    def _emit(self) -> Any:
        from tilewright.iron.dialects.aiex import scratchpad_parameter

        return scratchpad_parameter(self.name, scalar_type(self.dtype))
