"""Names of the ports of a stream switch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tilewright.device import WireBundle
from tilewright.device.stream_switch import Ports


class PortName(NamedTuple):
    bundle: WireBundle
    channel: int

    def __str__(self) -> str:
        return f"{self.bundle.name} {self.channel}"


def names_of(ports: Ports) -> Iterator[PortName]:
    """Each port, in the order in which registers number them."""
    for bundle, count in ports.items():
        for channel in range(count):
            yield PortName(bundle, channel)
