"""Buffers: memory of a tile that workers, DMA programs and runtime sequences refer to by name."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX

from tilewright.iron.builders.location import refuse
from tilewright.iron.builders.types import array_dtype, array_shape, is_array_type
from tilewright.iron.device.tile import Tile
from tilewright.iron.placed.buffers import buffer
from tilewright.iron.resolvable import Emitted
from tilewright.support.tracebacks import user_facing

if TYPE_CHECKING:
    from tilewright.iron.worker import Worker

# names are unique in a process, as upstream's are
_numbers = count()


@user_facing
class Buffer(Emitted[Any]):
    """An array in a tile's memory; runtime parameters are elements of such arrays."""

    def __init__(
        self,
        type: Any = None,
        initial_value: np.ndarray[Any, Any] | None = None,
        name: str | None = None,
        tile: Tile | None = None,
        use_write_rtp: bool = False,
        address: int | None = None,
    ):
        """An array in the memory of a tile.

        Args:
            type: an array type such as `np.ndarray[(16,), np.dtype[np.int32]]`; that of `initial_value` unless given
            initial_value: what it holds at first
            name: what messages and reports call it
            tile: where it is; on the tile of the worker that is given it unless said
            use_write_rtp: whether assigning to an element writes a runtime parameter, in a runtime sequence
            address: in the tile's memory, for hosts that know where to write
        """
        super().__init__()
        if type is None and initial_value is None:
            refuse("Must provide either type, initial value, or both.")
        if initial_value is not None and type is None:
            type = np.ndarray[initial_value.shape, np.dtype[initial_value.dtype.type]]
        if not is_array_type(type):
            refuse(f"a buffer is an array, not {type!r}", (None, "such as np.ndarray[(16,), np.dtype[np.int32]]"))
        if DYNAMIC_INDEX in array_shape(type):
            refuse("a buffer has a size that is known", (None, "give each dimension of its type one"))
        self._arr_type: Any = type
        self._initial_value = initial_value
        self.name = name or f"buf_{next(_numbers)}"
        self.use_write_rtp = use_write_rtp
        self._address = address
        self._tile = tile
        self._is_pinned = tile is not None  # kept apart: a worker may give it a tile later
        self._owner_worker: Worker | None = None

    @property
    def tile(self) -> Tile | None:
        """Where it is; None while nobody has said so."""
        return self._tile

    def tiles(self) -> list[Tile]:
        return [] if self._tile is None else [self._tile]

    @property
    def arr_type(self) -> Any:
        return self._arr_type

    @property
    def shape(self) -> tuple[int, ...]:
        return array_shape(self._arr_type)

    @property
    def dtype(self) -> Any:
        return array_dtype(self._arr_type)

    def give_to(self, worker: Worker) -> None:
        """Let a worker have it: on the worker's own tile unless it has one. Only one that has may be shared."""
        if self._owner_worker is not None and self._owner_worker is not worker and not self._is_pinned:
            refuse(
                f"Buffer '{self.name}' has no explicit tile and is shared across Workers",
                (self.where, "say where it is: Buffer(..., tile=...)"),
            )
        self._owner_worker = self._owner_worker or worker  # the first one says where it is
        self.place_on(worker.tile)

    def place_on(self, tile: Tile) -> None:
        """Put it on a tile unless it is on one."""
        self._tile = self._tile or tile

    def __getitem__(self, index: Any) -> Any:
        return self.op[index]

    def __setitem__(self, index: Any, value: Any) -> None:
        from tilewright.iron.runtime.parameters import write_parameter

        if self.use_write_rtp:
            write_parameter(self, index, value)
        else:
            self.op[index] = value

    def _emit(self) -> Any:
        if self._tile is None:
            refuse(f"Buffer '{self.name}' is on no tile", (None, "give it to a worker, or say Buffer(..., tile=...)"))
        return buffer(
            self._tile.op,
            self._arr_type,
            self.name,
            address=self._address,
            initial_value=self._initial_value,
            use_write_rtp=self.use_write_rtp,
        )

    def __str__(self) -> str:
        return f"Buffer('{self.name}')"

    __repr__ = __str__
