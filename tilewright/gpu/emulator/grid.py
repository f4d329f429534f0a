"""Where blocks of a launch are, and in which cluster.

They are numbered cluster by cluster, so that those of a cluster are neighbours. Without clusters each is one by itself.
"""

from __future__ import annotations

from math import prod
from typing import Any, NamedTuple

from xdsl.dialects.builtin import LocationAttr

from tilewright.device.gpu_targets import GpuTarget
from tilewright.gpu.device import Size3
from tilewright.ir.run_errors import Fault


def split(number: Any, size: Size3) -> tuple[Any, Any, Any]:
    """A number as x, y and z, x fastest."""
    return number % size.x, number // size.x % size.y, number // (size.x * size.y)


def shown(place: tuple[Any, Any, Any]) -> str:
    return str(tuple(map(int, place)))


class ClusteredGrid(NamedTuple):
    """Blocks of a launch, and of each cluster; methods take numbers of blocks, or arrays of them."""

    size: Size3
    cluster: Size3

    @property
    def blocks(self) -> int:
        return prod(self.size)

    @property
    def cluster_blocks(self) -> int:
        return prod(self.cluster)

    @property
    def clusters(self) -> Size3:
        """How many there are in each dimension."""
        return Size3(*(size // each for size, each in zip(self.size, self.cluster, strict=True)))

    def rank(self, block: Any) -> Any:
        """Which one of its cluster a block is."""
        return block % self.cluster_blocks

    def cluster_place(self, block: Any) -> tuple[Any, Any, Any]:
        return split(block // self.cluster_blocks, self.clusters)

    def place_in_cluster(self, block: Any) -> tuple[Any, Any, Any]:
        return split(self.rank(block), self.cluster)

    def place(self, block: Any) -> tuple[Any, Any, Any]:
        parts = zip(self.cluster_place(block), self.cluster, self.place_in_cluster(block), strict=True)
        x, y, z = (cluster * each + inside for cluster, each, inside in parts)
        return x, y, z

    def check(self, target: GpuTarget, resident_blocks: int, where: LocationAttr) -> None:
        """Whether a GPU can start such clusters, as many blocks as it holds at a time."""
        if (fault := target.cluster_fault(self.cluster)) is not None:
            raise Fault(fault, where)
        if any(size % each for size, each in zip(self.size, self.cluster, strict=True)):
            raise Fault(
                f"a grid of {_product(self.size)} blocks is no multiple of its clusters, {_product(self.cluster)}",
                where,
                [(where, "start blocks that have nothing to do, so that all clusters are whole")],
            )
        if self.cluster_blocks > resident_blocks:
            raise Fault(
                f"a cluster of {self.cluster_blocks} blocks, all of which run at the same time; {target.chip} holds"
                f" {resident_blocks} of them",
                where,
                [(where, "make clusters smaller, or blocks: their waves, or their memory")],
            )


def _product(size: Size3) -> str:
    return " x ".join(map(str, size))
