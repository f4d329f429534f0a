"""Cascades: a core's wide stream to the core beside or below it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tilewright.iron.resolvable import Emitted

if TYPE_CHECKING:
    from tilewright.iron.worker import Worker


class CascadeFlow(Emitted[Any]):
    """The cascade from one worker's core to that of another, which has to be a neighbour.

    It only says that the connection is there; kernels put into it and get from it.
    """

    def __init__(self, src: Worker, dst: Worker):
        super().__init__()
        self.source, self.target = src, dst
        src.cascades.append(self)

    def _emit(self) -> Any:
        from tilewright.iron.dialects.aie import cascade_flow

        return cascade_flow(self.source.tile.op, self.target.tile.op)
