"""Streams built in Python: the same operations as read from text, and what they know about themselves."""

from __future__ import annotations

from xdsl.dialects.builtin import i32

from tilewright.device import DmaDirection, WireBundle
from tilewright.dialects.aie.flows import (
    FlowOp,
    PacketDestOp,
    PacketFlowOp,
    PacketSourceOp,
    Port,
    ShimDmaAllocationOp,
)
from tilewright.dialects.aie.sequence import RuntimeSequenceOp
from tilewright.dialects.aie.switchbox import (
    AmselOp,
    ConnectOp,
    MasterSetOp,
    PacketRuleOp,
    PacketRulesOp,
    ShimMuxOp,
    SwitchboxOp,
)
from tilewright.dialects.aie.tiles import DeviceOp, TileOp
from tilewright.dialects.builtin import ModuleOp
from tilewright.ir.context import make_context
from tilewright.ir.parser import parse_source
from tilewright.ir.printer import module_text
from tilewright.ir.verifier import verify

SOUTH = Port(WireBundle.South, 0)
DMA = Port(WireBundle.DMA, 0)

WRITTEN = """module {
  aie.device(npu1) {
    %shim_noc_tile_0_0 = aie.tile(0, 0)
    %tile_0_2 = aie.tile(0, 2)
    aie.flow(%shim_noc_tile_0_0, DMA : 0, %tile_0_2, DMA : 0)
    aie.packet_flow(3) {
      aie.packet_source<%tile_0_2, DMA : 0>
      aie.packet_dest<%shim_noc_tile_0_0, South : 0>
    } {keep_pkt_header = true}
    %switchbox_0_2 = aie.switchbox(%tile_0_2) {
      %0 = aie.amsel<1> (2)
      %1 = aie.masterset(South : 0, %0) {keep_pkt_header = true}
      aie.packet_rules(DMA : 0) {
        aie.rule(31, 3, %0)
      }
    }
    %shim_mux_0_0 = aie.shim_mux(%shim_noc_tile_0_0) {
      aie.connect<DMA : 0, North : 3>
    }
    aie.shim_dma_allocation @out(%shim_noc_tile_0_0, S2MM, 1)
    aie.runtime_sequence @go(%arg0: i32) {
    }
  }
}
"""


def built() -> ModuleOp:
    shim, core = TileOp(0, 0), TileOp(0, 2)
    packets = [PacketSourceOp(core.result, DMA), PacketDestOp(shim.result, SOUTH)]
    amsel = AmselOp(1, 2)
    switch = [
        amsel,
        MasterSetOp(SOUTH, [amsel.result], keep_header=True),
        PacketRulesOp(DMA, [PacketRuleOp(31, 3, amsel.result)]),
    ]
    device = DeviceOp(
        "npu1",
        [
            shim,
            core,
            FlowOp(shim.result, DMA, core.result, DMA),
            PacketFlowOp(3, packets, keep_header=True),
            SwitchboxOp(core.result, switch),
            ShimMuxOp(shim.result, [ConnectOp(DMA, Port(WireBundle.North, 3))]),
            ShimDmaAllocationOp("out", shim.result, DmaDirection.S2MM, 1),
            RuntimeSequenceOp([i32], "go"),
        ],
    )
    return ModuleOp([device])


def test_built_design_reads_as_written() -> None:
    module = built()
    assert not verify(module)
    assert module_text(module).rstrip() == WRITTEN.rstrip()


def test_ports_survive_the_text() -> None:
    module = parse_source(make_context(), WRITTEN, "test.mlir")
    ops = {type(op): op for op in module.walk()}
    flow, packets = ops[FlowOp], ops[PacketFlowOp]
    assert isinstance(flow, FlowOp) and (flow.source_port, flow.dest_port) == (DMA, DMA)
    assert isinstance(packets, PacketFlowOp) and packets.packet_id.value.data == 3
    assert [dest.port for dest in packets.ports_of(PacketDestOp)] == [SOUTH]
    assert str(SOUTH) == "(South: 0)"


def test_a_copied_switch_has_one_end() -> None:
    module = built()
    text = module_text(module.clone(), generic=True)
    assert text == module_text(module, generic=True)
    assert text.count('"aie.end"()') == 5
