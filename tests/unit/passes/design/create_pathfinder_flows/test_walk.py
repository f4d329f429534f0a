"""The route checker notices what is wrong with settings, one mistake at a time."""

from __future__ import annotations

import pytest
from routing_designs import parse_device

from tilewright.passes.design.create_pathfinder_flows.nets import requests_of
from tilewright.passes.design.create_pathfinder_flows.switch_settings import check_routes, read_settings, unused_hops

RIGHT = """
aie.device(npu1_1col) {
  %shim = aie.tile(0, 0)
  %mem = aie.tile(0, 1)
  %core = aie.tile(0, 2)
  aie.flow(%shim, DMA : 0, %mem, DMA : 0)
  aie.packet_flow(5) {
    aie.packet_source<%core, DMA : 0>
    aie.packet_dest<%shim, DMA : 1>
  } {keep_pkt_header = true}
  %mux = aie.shim_mux(%shim) {
    aie.connect<DMA : 0, North : 3>
    aie.connect<North : 3, DMA : 1>
  }
  %s0 = aie.switchbox(%shim) {
    aie.connect<South : 3, North : 0>
    %a = aie.amsel<0>(0)
    %m = aie.masterset(South : 3, %a) {keep_pkt_header = true}
    aie.packet_rules(North : 1) { aie.rule(31, 5, %a) }
  }
  %s1 = aie.switchbox(%mem) {
    aie.connect<South : 0, DMA : 0>
    %a = aie.amsel<0>(0)
    %m = aie.masterset(South : 1, %a)
    aie.packet_rules(North : 1) { aie.rule(30, 4, %a) }
  }
  %s2 = aie.switchbox(%core) {
    %a = aie.amsel<0>(0)
    %m = aie.masterset(South : 1, %a)
    aie.packet_rules(DMA : 0) { aie.rule(31, 5, %a) }
  }
}
"""


def problems(text: str) -> list[str]:
    device = parse_device(text)
    requests = requests_of(device)
    return [problem.text for problem in check_routes(read_settings(device), device.model, requests)]


def test_right_settings() -> None:
    assert problems(RIGHT) == []


CONNECT = "aie.connect<South : 0, DMA : 0>"
RULES = "aie.packet_rules(North : 1) { aie.rule(31, 5, %a) }"
KEEP, LOSE = "{keep_pkt_header = true}", "{keep_pkt_header = false}"
MASTER = "(South : 1, %a)\n    aie.packet_rules(DMA"

MISTAKES = {
    "wrong channel": ("<South : 3, North : 0>", "<South : 3, North : 2>", "does not arrive"),
    "wrong multiplexer": ("<DMA : 0, North : 3>", "<DMA : 0, North : 7>", "no circuit leads on from (0, 0) South:7"),
    "wrong mask": ("rule(30, 4", "rule(31, 4", "no rule at (0, 1) North:1 matches packet 5"),
    "header lost at the end": (f"%a) {KEEP}", "%a)", "arrives without its packet header"),
    "header lost on the way": (
        MASTER,
        MASTER.replace("%a)", f"%a) {LOSE}"),
        "packets lose their header at (0, 2) South:1, halfway",
    ),
    "stray branch": (CONNECT, f"{CONNECT}\naie.connect<South : 0, DMA : 1>", "also arrives at (0, 1) DMA:1"),
    "turned back": (RULES, "aie.connect<North : 1, North : 1>", "does not arrive"),
}


@pytest.mark.parametrize("right, wrong, text", MISTAKES.values(), ids=MISTAKES)
def test_mistake(right: str, wrong: str, text: str) -> None:
    assert RIGHT.count(right) == 1
    assert any(text in problem for problem in problems(RIGHT.replace(right, wrong)))


def test_circuits_that_meet() -> None:
    """Two circuits may not enter the same output, even where both then get everywhere."""
    text = """
    aie.device(npu1_1col) {
      %core = aie.tile(0, 2)
      %high = aie.tile(0, 3)
      aie.flow(%core, DMA : 0, %high, DMA : 0)
      aie.packet_flow(1) { aie.packet_source<%core, DMA : 1> aie.packet_dest<%high, DMA : 0> }
      %s = aie.switchbox(%core) {
        aie.connect<DMA : 0, North : 0>
        aie.connect<DMA : 1, North : 1>
      }
      %t = aie.switchbox(%high) {
        aie.connect<South : 0, DMA : 0>
        aie.connect<South : 1, DMA : 0>
      }
    }
    """
    assert any("meets" in problem for problem in problems(text))


def test_unused_connection() -> None:
    device = parse_device(RIGHT.replace(CONNECT, f"{CONNECT}\naie.connect<DMA : 3, DMA : 3>"))
    (hop,) = unused_hops(read_settings(device), device.model, requests_of(device))
    assert str(hop.source) == "(DMA: 3)"
