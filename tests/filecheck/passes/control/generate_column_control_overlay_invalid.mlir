// RUN: tilewright opt --split-input-file --verify-diagnostics --aie-generate-column-control-overlay="route-shim-to-tile-ctrl=true emit-standalone-overlay=true" %s

// A circuit holds the channel that control packets would need.
// expected-error@+1 {{'aie.device' op failed to generate column control overlay from shim dma to tile ctrl ports, because some shim mm2s dma channels were reserved from routing control packets.}}
aie.device(npu1) {
  %shim = aie.tile(0, 0)
  %core = aie.tile(0, 2)
  aie.flow(%shim, DMA : 0, %core, DMA : 0)
}

// -----

aie.device(npu1) @one {
  %shim = aie.tile(0, 0)
}
// expected-error@+1 {{'aie.device' op cannot generate a single standalone ctrl_pkt_overlay device: participating devices have mismatched target architectures.}}
aie.device(npu2) @two {
  %shim = aie.tile(0, 0)
}

// -----

// expected-error@+1 {{'builtin.module' op a symbol named `ctrl_pkt_overlay` already exists in the module; cannot create a standalone ctrl_pkt_overlay device.}}
module {
  aie.device(npu1) {
    %shim = aie.tile(0, 0)
  }
  aie.device(npu1) @ctrl_pkt_overlay {
  }
}

// -----

aie.device(npu1_1col) {
  // expected-error@+1 {{has a controller id that no packet can have: Packet ID field can only hold 5 bits.}}
  %shim = aie.tile(0, 0) {controller_id = #aie.packet_info<pkt_type = 0, pkt_id = 1023>}
}
