"""A design that has no routing is refused at once, for the right reason; one that has is not."""

from __future__ import annotations

import pytest
from routing_designs import parse_device

from tilewright.device import model
from tilewright.passes.design.create_pathfinder_flows.bottleneck import Bottleneck, check_capacity
from tilewright.passes.design.create_pathfinder_flows.grid import Grid
from tilewright.passes.design.create_pathfinder_flows.nets import collect_nets, requests_of


def check(flows: str) -> None:
    tiles = "\n".join(f"%t{row} = aie.tile(0, {row})" for row in range(6))
    device = parse_device(f"aie.device(npu1_1col) {{ {tiles} {flows} }}")
    check_capacity(Grid(model("npu1_1col"), {}, compact=False), collect_nets(requests_of(device)))


def down(count: int) -> str:
    """Circuits from cores to the mem tile below, past the four ports south of tile (0, 2)."""
    ends = [(row, channel) for row in range(2, 6) for channel in range(2)][:count]
    return "\n".join(f"aie.flow(%t{row}, DMA : {c}, %t1, DMA : {n})" for n, (row, c) in enumerate(ends))


def test_as_many_as_fit() -> None:
    check(down(4))


def test_one_too_many() -> None:
    with pytest.raises(Bottleneck) as caught:
        check(down(5))
    assert [str(port) for port in caught.value.ports] == [f"(0, 2) South:{channel}" for channel in range(4)]
    assert len(caught.value.nets) == 5


def test_paths_are_redirected() -> None:
    """The first path found may block the second; both fit."""
    check(
        "aie.flow(%t1, DMA : 0, %t2, DMA : 0) aie.flow(%t1, DMA : 1, %t3, DMA : 1) aie.flow(%t0, DMA : 0, %t2, DMA : 1)"
    )


@pytest.mark.parametrize("circuits, fits", [(3, True), (4, False)])
def test_packets_count_once(circuits: int, fits: bool) -> None:
    """They may all share links with each other, but not with circuits."""
    packets = [
        f"aie.packet_flow({row}) {{ aie.packet_source<%t{row}, Core : 0> aie.packet_dest<%t1, DMA : 5> }}"
        for row in range(2, 6)
    ]
    flows = "\n".join([*packets, down(circuits)])
    if fits:
        check(flows)
    else:
        with pytest.raises(Bottleneck):
            check(flows)


def test_traffic_both_ways() -> None:
    """Five circuits down do not fit because as many come up: where they end is not where these could."""
    up = "\n".join(f"aie.flow(%t1, DMA : {n}, %t{n + 2}, DMA : 0)" for n in range(4))
    with pytest.raises(Bottleneck) as caught:
        check(f"{down(5)}\n{up}")
    assert {port.tile.row for port in caught.value.ports} == {2}
