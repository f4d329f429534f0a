"""Switches of random designs, set by a configuration, connect what the designs say, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

import pytest
from configuration_streams import CORE, MEM, NPU2, SHIM, registers_after, stream_of
from hypothesis import given, settings
from hypothesis import strategies as st

from tilewright.device import TileId, WireBundle
from tilewright.device.register_fields import fields_at
from tilewright.device.register_names import name_address

Port: TypeAlias = "tuple[WireBundle, int]"


@dataclass
class Routes:
    """Circuits and packet rules of one switch."""

    circuits: list[tuple[Port, Port]]
    masters: dict[Port, tuple[int, set[int]]]  # arbiter and msels
    rules: dict[Port, list[tuple[int, int, int, int]]]  # mask, value, arbiter and msel


def ports_of(tile: TileId, *, masters: bool) -> list[Port]:
    count = NPU2.num_switchbox_dests if masters else NPU2.num_switchbox_sources
    return [(bundle, channel) for bundle in WireBundle for channel in range(count(*tile, bundle))]


def is_wired(tile: TileId, source: Port, dest: Port) -> bool:
    return NPU2.is_legal_tile_connection(*tile, *source, *dest)


@st.composite
def routes(draw: st.DrawFn, tile: TileId) -> Routes:
    """Circuits between some ports, packets between others."""
    sources = draw(st.permutations(ports_of(tile, masters=False)))
    dests = draw(st.permutations(ports_of(tile, masters=True)))
    half = len(dests) // 2
    circuits = [pair for pair in zip(sources[:half], dests[:half], strict=True) if is_wired(tile, *pair)]
    selects = st.tuples(st.integers(0, 5), st.sets(st.integers(0, 3), min_size=1))
    masters = {dest: draw(selects) for dest in dests[half : half + 2]}
    amsels = [(arbiter, msel) for arbiter, msels in masters.values() for msel in msels]
    rule = st.tuples(st.integers(0, 31), st.integers(0, 31), st.sampled_from(amsels))
    rules = {
        source: [(mask, value, *amsel) for mask, value, amsel in draw(st.lists(rule, min_size=1, max_size=4))]
        for source in sources[half : half + 2]
        if all(is_wired(tile, source, dest) for dest in masters)
    }
    return Routes(circuits, masters, rules)


def switch_text(tile: TileId, wanted: Routes) -> str:
    amsels = sorted({(arbiter, msel) for arbiter, msels in wanted.masters.values() for msel in msels})
    lines = [f"%a{arbiter}{msel} = aie.amsel<{arbiter}>({msel})" for arbiter, msel in amsels]
    for number, ((bundle, channel), (arbiter, msels)) in enumerate(wanted.masters.items()):
        operands = ", ".join(f"%a{arbiter}{msel}" for msel in sorted(msels))
        lines.append(f"%m{number} = aie.masterset({bundle} : {channel}, {operands})")
    for (bundle, channel), rules in wanted.rules.items():
        body = "\n".join(f"aie.rule({mask}, {value}, %a{arbiter}{msel})" for mask, value, arbiter, msel in rules)
        lines.append(f"aie.packet_rules({bundle} : {channel}) {{ {body} }}")
    lines += ["aie.connect<{} : {}, {} : {}>".format(*source, *dest) for source, dest in wanted.circuits]
    body = "\n".join(lines)
    return f"aie.device(npu2) {{ %t = aie.tile{tile[0], tile[1]} aie.switchbox(%t) {{ {body} }} }}"


def registers_of(wanted: Routes, tile: TileId) -> Iterator[tuple[str, dict[str, int]]]:
    """The registers that a switch needs by name, and what fields of them have to hold; others are 0."""
    for (source, source_channel), (dest, dest_channel) in wanted.circuits:
        number = NPU2.port_number(*tile, source, source_channel, master=False)
        yield f"Switch.slave.{source}{source_channel}", {"slave_enable": 1}
        yield f"Switch.master.{dest}{dest_channel}", {"master_enable": 1, "configuration": number or 0}
    for (bundle, channel), (arbiter, msels) in wanted.masters.items():
        drops = bundle is WireBundle.DMA or (tile == SHIM and bundle is WireBundle.South)
        mask = sum(1 << msel for msel in msels)
        selection = {"arbiter": arbiter, "msel_mask": mask, "configuration": mask << 3 | arbiter}
        enabled = {"master_enable": 1, "packet_enable": 1, "drop_header": int(drops)}
        yield f"Switch.master.{bundle}{channel}", enabled | selection
    for (bundle, channel), rules in wanted.rules.items():
        yield f"Switch.slave.{bundle}{channel}", {"slave_enable": 1, "packet_enable": 1}
        for slot, (mask, value, arbiter, msel) in enumerate(rules):
            fields = {"id": value, "mask": mask, "enable": 1, "msel": msel, "arbit": arbiter}
            yield f"Switch.slot.{bundle}{channel}.{slot}", fields


@pytest.mark.parametrize(
    "tile, name",
    [
        pytest.param(CORE, "core(1,2)", id="core tile"),
        pytest.param(MEM, "mem(1,1)", id="mem tile"),
        pytest.param(SHIM, "shim(1,0)", id="shim tile"),
    ],
)
@settings(max_examples=20)
@given(data=st.data())
def test_switches_read_back(tile: TileId, name: str, data: st.DataObject):
    wanted = data.draw(routes(tile))
    found = {
        name_address(NPU2, address): {field: value for field, value in fields_at(NPU2, address, word).items() if value}
        for address, word in registers_after(stream_of(switch_text(tile, wanted))).items()
    }
    expected = {
        f"{name} {register}": {field: value for field, value in fields.items() if value}
        for register, fields in registers_of(wanted, tile)
    }
    assert found == expected
