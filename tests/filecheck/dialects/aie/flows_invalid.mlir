// RUN: tilewright opt --split-input-file --verify-diagnostics %s

aie.device(npu1) {
  %t = aie.tile(0, 2)
  // expected-error@+1 {{'aie.packet_flow' op must have at least one aie.packet_source}}
  aie.packet_flow(1) {
    aie.packet_dest<%t, DMA : 0>
  }
}

// -----

aie.device(npu1) {
  %t = aie.tile(0, 2)
  // expected-error@+1 {{'aie.packet_flow' op must have at least one aie.packet_dest}}
  aie.packet_flow(1) {
    aie.packet_source<%t, DMA : 0>
  }
}

// -----

aie.device(npu1) {
  aie.packet_flow(1) {
    // expected-error@+1 {{'aie.tile' op cannot be contained in a PacketFlow op}}
    %t = aie.tile(0, 2)
  }
}

// -----

aie.device(npu1) {
  %t = aie.tile(0, 2)
  // expected-error@+1 {{'aie.packet_source' op expects parent op 'aie.packet_flow'}}
  aie.packet_source<%t, DMA : 0>
}

// -----

aie.device(npu1) {
  %t = aie.tile(0, 2)
  // expected-error@+1 {{'aie.flow' op attribute 'source_channel' failed to satisfy constraint: 32-bit signless integer attribute whose minimum value is 0}}
  aie.flow(%t, DMA : -1, %t, DMA : 0)
}

// -----

aie.device(npu1) {
  %t = aie.tile(0, 2)
  // expected-error@+1 {{expected string or keyword containing one of the following enum values for attribute 'dest_bundle' [Core, DMA, FIFO, South, West, North, East, PLIO, NOC, Trace, TileControl]}}
  aie.flow(%t, DMA : 0, %t, Up : 0)
}

// -----

aie.device(npu1) {
  %t = aie.tile(0, 2)
  // expected-error@+1 {{invalid dest_bundle attribute specification: "Up"}}
  aie.flow(%t, DMA : 0, %t, "Up" : 0)
}

// -----

aie.device(npu1) {
  // expected-error@+1 {{integer constant out of range for attribute}}
  aie.packet_flow(256) {
  }
}

// -----

aie.device(npu1) {
  %t = aie.tile(0, 1)
  // expected-error@+1 {{'aie.shim_dma_allocation' op tile must be a shim tile, but got tile(0, 1)}}
  aie.shim_dma_allocation @a(%t, MM2S, 0)
}

// -----

aie.device(npu1) {
  %t = aie.logical_tile<CoreTile>(?, 2)
  // expected-error@+1 {{'aie.shim_dma_allocation' op tile must be a shim tile}}
  aie.shim_dma_allocation @a(%t, MM2S, 0)
}
