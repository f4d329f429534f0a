"""Stream-switch ports and the connections between them, one table per kind of tile.

The order of a table is the order of the hardware's port numbers: a port's number is the count of those before it.
Source: AIETargetModel.cpp of mlir-aie at 3ca0193cea9e (`getNum*Connections`, `isLegalTileConnection`,
`getStreamSwitchPortIndex`).
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from .enums import DmaDirection, TileType, WireBundle

Core, DMA, FIFO = WireBundle.Core, WireBundle.DMA, WireBundle.FIFO
South, West, North, East = WireBundle.South, WireBundle.West, WireBundle.North, WireBundle.East
Trace, TileControl = WireBundle.Trace, WireBundle.TileControl

Ports = Mapping[WireBundle, int]
Rule = Callable[[int, int], bool]  # is (source channel, destination channel) wired


def any_channel(source: int, dest: int) -> bool:
    return True


def same_channel(source: int, dest: int) -> bool:
    return source == dest


def only_to(channel: int) -> Rule:
    return lambda source, dest: dest == channel


@dataclass(frozen=True)
class StreamSwitch:
    """The ports of a switch (slaves bring data in, masters take it out) and which slave may feed which master."""

    slaves: Ports
    masters: Ports
    wired: Mapping[WireBundle, Mapping[WireBundle, Rule]]
    numbered_only: Ports = field(default_factory=dict[WireBundle, int])  # slave ports with a number and no wires

    def sources(self, bundle: WireBundle) -> int:
        return self.slaves.get(bundle, 0) - self.numbered_only.get(bundle, 0)

    def dests(self, bundle: WireBundle) -> int:
        return self.masters.get(bundle, 0)

    def connects(self, source: WireBundle, source_channel: int, dest: WireBundle, dest_channel: int) -> bool:
        rule = self.wired.get(source, {}).get(dest)
        return rule is not None and rule(source_channel, dest_channel)

    def port_number(self, bundle: WireBundle, channel: int, *, master: bool) -> int | None:
        """The port's number in the configuration and event registers."""
        before = 0
        for other, count in (self.masters if master else self.slaves).items():
            if other is bundle:
                return before + channel if 0 <= channel < count else None
            before += count
        return None


def _all_to(dests: Iterable[WireBundle], rule: Rule = any_channel) -> dict[WireBundle, Rule]:
    return dict.fromkeys(dests, rule)


def _cross(sources: Iterable[WireBundle], dests: Iterable[WireBundle]) -> dict[WireBundle, dict[WireBundle, Rule]]:
    """Every source to every destination, but back into its own bundle only on the same channel."""
    return {source: _all_to(dests) | {source: same_channel} for source in sources}


_AIE1_CORE_SLAVES = {Core: 2, DMA: 2, TileControl: 1, FIFO: 2, South: 6, West: 4, North: 4, East: 4, Trace: 2}
_AIE1_CORE_MASTERS = {Core: 2, DMA: 2, TileControl: 1, FIFO: 2, South: 4, West: 4, North: 6, East: 4}
_AIE1_SHIM_SLAVES = {TileControl: 1, FIFO: 2, South: 8, West: 4, North: 4, East: 4, Trace: 1}
_AIE1_SHIM_MASTERS = {TileControl: 1, FIFO: 2, South: 6, West: 4, North: 6, East: 4}


def _aie1_wiring(slaves: Ports, masters: Ports) -> dict[WireBundle, dict[WireBundle, Rule]]:
    return {slave: _all_to(masters) for slave in slaves} | {Trace: _all_to([South])}


_AIE1_SHIM = StreamSwitch(_AIE1_SHIM_SLAVES, _AIE1_SHIM_MASTERS, _aie1_wiring(_AIE1_SHIM_SLAVES, _AIE1_SHIM_MASTERS))

AIE1_SWITCHES = {
    TileType.CoreTile: StreamSwitch(
        _AIE1_CORE_SLAVES, _AIE1_CORE_MASTERS, _aie1_wiring(_AIE1_CORE_SLAVES, _AIE1_CORE_MASTERS)
    ),
    TileType.ShimNOCTile: _AIE1_SHIM,
    TileType.ShimPLTile: _AIE1_SHIM,
}

_AIE2_SHIM = StreamSwitch(
    slaves={TileControl: 1, FIFO: 1, South: 8, West: 4, North: 4, East: 4, Trace: 2},
    masters={TileControl: 1, FIFO: 1, South: 6, West: 4, North: 6, East: 4},
    numbered_only={Trace: 1},
    wired={
        TileControl: _all_to([FIFO, South, West, North, East]),
        FIFO: _all_to([TileControl, FIFO, South, West, North, East]),
        South: _all_to([TileControl, FIFO, South, West, North, East]),
        **_cross([West, North, East], [TileControl, FIFO, South, West, North, East]),
        Trace: _all_to([FIFO, South]) | _all_to([West, East], only_to(0)),
    },
)

AIE2_SWITCHES = {
    TileType.CoreTile: StreamSwitch(
        slaves={Core: 1, DMA: 2, TileControl: 1, FIFO: 1, South: 6, West: 4, North: 4, East: 4, Trace: 2},
        masters={Core: 1, DMA: 2, TileControl: 1, FIFO: 1, South: 4, West: 4, North: 6, East: 4},
        wired={
            Core: _all_to([DMA, TileControl, FIFO, South, West, North, East]),
            TileControl: _all_to([Core, FIFO, South, West, North, East]),
            Trace: _all_to([FIFO, South]) | _all_to([DMA], only_to(0)),
            **_cross([DMA, FIFO, South, West, North, East], [Core, DMA, TileControl, FIFO, South, West, North, East]),
        },
    ),
    TileType.MemTile: StreamSwitch(
        slaves={DMA: 6, TileControl: 1, South: 6, North: 4, Trace: 1},
        masters={DMA: 6, TileControl: 1, South: 4, North: 6},
        wired={
            DMA: _all_to([TileControl, South, North]) | _all_to([DMA], same_channel),
            TileControl: _all_to([South, North]) | _all_to([DMA], only_to(5)),
            South: _all_to([DMA, TileControl]) | _all_to([South, North], same_channel),
            North: _all_to([DMA, TileControl]) | _all_to([South, North], same_channel),
            Trace: _all_to([South]) | _all_to([DMA], only_to(5)),
        },
    ),
    TileType.ShimNOCTile: _AIE2_SHIM,
    TileType.ShimPLTile: _AIE2_SHIM,
}

# Where the ports of a bundle lead: columns to the right, rows up. Each meets the opposite bundle, channel by channel.
STEPS: Mapping[WireBundle, tuple[int, int]] = {South: (0, -1), West: (-1, 0), North: (0, 1), East: (1, 0)}

# Below a shim switch sits a multiplexer; its South ports are the ones that face the switch.
SHIM_MUX_SOURCES: Ports = {DMA: 2, WireBundle.NOC: 4, WireBundle.PLIO: 8, South: 6}
SHIM_MUX_DESTS: Ports = {DMA: 2, WireBundle.NOC: 4, WireBundle.PLIO: 6, South: 8}

# The South port of the switch that a channel of the shim's DMA is wired to, by number of the channel.
# Source: AIECreatePathFindFlows.cpp of mlir-aie at 3ca0193cea9e.
SHIM_DMA_PORTS = {DmaDirection.S2MM: (2, 3), DmaDirection.MM2S: (3, 7)}

# Which South channel of the switch each of the multiplexer's other ports is joined to, by the multiplexer's setting.
# Source: AIECreatePathFindFlows.cpp of mlir-aie at 3ca0193cea9e.
SHIM_MUX_ENTRIES: Mapping[tuple[WireBundle, int], int] = {
    **{(DMA, channel): south for channel, south in enumerate((3, 7))},
    **{(WireBundle.NOC, channel): south for channel, south in enumerate((2, 3, 6, 7))},
    **{(WireBundle.PLIO, channel): channel for channel in range(SHIM_MUX_SOURCES[WireBundle.PLIO])},
}
SHIM_MUX_EXITS: Mapping[tuple[WireBundle, int], int] = {
    **{(DMA, channel): south for channel, south in enumerate((2, 3))},
    **{(WireBundle.NOC, channel): south for channel, south in enumerate((2, 3, 4, 5))},
    **{(WireBundle.PLIO, channel): channel for channel in range(SHIM_MUX_DESTS[WireBundle.PLIO])},
}
