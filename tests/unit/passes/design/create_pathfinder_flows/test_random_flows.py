"""Whatever flows a design asks for: they are routed and data gets where it should and nowhere else, or refused."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from routing_designs import designs, route

from tilewright.ir.diagnostics import DiagnosedError, file_position
from tilewright.passes.design.create_pathfinder_flows.switch_settings import check_routes, unused_hops

REASONS = (
    "Unable to find a legal routing",
    "slave port packet rules exceed the 4-slot limit",
    "has used up all",
    "its packet header",
)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(designs())
def test_flows_arrive_or_are_refused(design: str) -> None:
    try:
        device, requests, found = route(design)
    except DiagnosedError as error:
        (diagnostic,) = error.diagnostics
        assert any(reason in diagnostic.text for reason in REASONS), str(error)
        assert file_position(diagnostic.location) is not None
        return
    assert check_routes(found, device.model, requests) == []
    assert unused_hops(found, device.model, requests) == set()


GEMM = [
    *(f"aie.flow(%t{c}_0, DMA : {k}, %t{c}_1, DMA : {k})" for c in range(8) for k in range(2)),
    *(f"aie.flow(%t{c}_1, DMA : 0, %t{c}_{r}, DMA : 1)" for c in range(8) for r in range(2, 6)),
    *(f"aie.flow(%t{2 * (r - 2)}_1, DMA : 1, %t{c}_{r}, DMA : 0)" for r in range(2, 6) for c in range(8)),
    *(f"aie.flow(%t{c}_{r}, DMA : 0, %t{c}_1, DMA : {r})" for c in range(8) for r in range(2, 6)),
    *(f"aie.flow(%t{c}_1, DMA : 2, %t{c}_0, DMA : 0)" for c in range(8)),
]


@pytest.mark.parametrize("flows", [pytest.param(GEMM, id="matrix product on all cores of npu2")])
def test_large_design(flows: list[str]) -> None:
    tiles = [f"%t{column}_{row} = aie.tile({column}, {row})" for column in range(8) for row in range(6)]
    device, requests, found = route("\n".join(["aie.device(npu2) {", *tiles, *flows, "}"]))
    assert len(requests) == len(flows) == 120
    assert check_routes(found, device.model, requests) == []
    assert unused_hops(found, device.model, requests) == set()
