// RUN: tilewright opt --split-input-file --verify-diagnostics --aie-create-pathfinder-flows %s

// expected-error@+2 {{Unable to find a legal routing}}
// expected-note@+1 {{5 flows have to pass 4 ports, which are full: South:0-3 of (0, 2)}}
aie.device(npu1_1col) { // expected-note {{move some of these ends to other columns or channels}}
  %mem = aie.tile(0, 1)
  %c2 = aie.tile(0, 2)
  %c3 = aie.tile(0, 3)
  %c4 = aie.tile(0, 4)
  aie.flow(%c2, DMA : 0, %mem, DMA : 0) // expected-note {{one of them is circuit (0, 2) DMA:0 -> (0, 1) DMA:0}}
  aie.flow(%c2, DMA : 1, %mem, DMA : 1) // expected-note {{one of them is}}
  aie.flow(%c3, DMA : 0, %mem, DMA : 2) // expected-note {{one of them is}}
  aie.flow(%c3, DMA : 1, %mem, DMA : 3) // expected-note {{one of them is}}
  aie.flow(%c4, DMA : 0, %mem, DMA : 4) // expected-note {{one of them is}}
}

// -----

// expected-error@+1 {{Unable to find a legal routing}}
aie.device(npu1) {
  %shim = aie.tile(0, 0)
  %mem = aie.tile(0, 1)
  // expected-note@+2 {{no way for circuit (0, 0) DMA:0 -> (0, 1) Core:0}}
  // expected-note@+1 {{nothing leaves the streams at (0, 1) Core:0: a MemTile has DMA:0-5, South:0-3, North:0-5, TileControl:0}}
  aie.flow(%shim, DMA : 0, %mem, Core : 0)
}

// -----

// expected-error@+2 {{Unable to find a legal routing}}
// expected-note@+1 {{use another channel for one of them, or packets with different ids for both}}
aie.device(npu1) {
  %c2 = aie.tile(0, 2)
  %c3 = aie.tile(0, 3)
  %c4 = aie.tile(0, 4)
  // expected-note@+1 {{circuit (0, 2) DMA:0 -> (0, 4) DMA:0}}
  aie.flow(%c2, DMA : 0, %c4, DMA : 0)
  // expected-note@+1 {{no way for circuit (0, 3) DMA:0 -> (0, 4) DMA:0: it and the next one both need (0, 4) DMA:0}}
  aie.flow(%c3, DMA : 0, %c4, DMA : 0)
}

// -----

// The shim's DMA:0 and PLIO:3 are two names for one port of the switch.
// expected-error@+2 {{Unable to find a legal routing}}
// expected-note@+1 {{use another channel}}
aie.device(xcvc1902) {
  %shim = aie.tile(2, 0)
  %core = aie.tile(2, 1)
  // expected-note@+1 {{circuit (2, 0) DMA:0 -> (2, 1) DMA:0}}
  aie.flow(%shim, DMA : 0, %core, DMA : 0)
  // expected-note@+1 {{both need (2, 0) South:3}}
  aie.flow(%shim, PLIO : 3, %core, DMA : 1)
}

// -----

// expected-error@+1 {{Unable to find a legal routing}}
aie.device(npu1) {
  %mem = aie.tile(0, 1)
  %core = aie.tile(0, 2)
  %settings = aie.switchbox(%core) {
    aie.connect<North : 0, DMA : 0>
  }
  // expected-note@+2 {{no way for circuit (0, 1) DMA:0 -> (0, 2) DMA:0}}
  // expected-note@+1 {{(0, 2) DMA:0 is used by switch settings that the design has already}}
  aie.flow(%mem, DMA : 0, %core, DMA : 0)
}

// -----

aie.device(npu1) {
  // expected-note@+1 {{packets that enter (0, 2) South:0 leave in too many ways: 0 to Core:0, 1 to DMA:0, 2 to DMA:1, 3 to North:0, 4 to TileControl:0}}
  %core = aie.tile(0, 2)
  aie.packet_flow(0) { aie.packet_source<%core, South : 0> aie.packet_dest<%core, Core : 0> }
  aie.packet_flow(1) { aie.packet_source<%core, South : 0> aie.packet_dest<%core, DMA : 0> }
  aie.packet_flow(2) { aie.packet_source<%core, South : 0> aie.packet_dest<%core, DMA : 1> }
  aie.packet_flow(3) { aie.packet_source<%core, South : 0> aie.packet_dest<%core, North : 0> }
  // expected-note@+2 {{give packets that leave together ids that share bits}}
  // expected-error@+1 {{slave port packet rules exceed the 4-slot limit (4 + 1).}}
  aie.packet_flow(4) { aie.packet_source<%core, South : 0> aie.packet_dest<%core, TileControl : 0> }
}

// -----

// A DMA gets all its packets with headers, or all without.
aie.device(npu1) {
  %mem = aie.tile(0, 1)
  %core = aie.tile(0, 2)
  // expected-note@+1 {{packet 0 (0, 1) DMA:0 -> (0, 2) DMA:0 has the same destination and another keep_pkt_header}}
  aie.packet_flow(0) {
    aie.packet_source<%mem, DMA : 0>
    aie.packet_dest<%core, DMA : 0>
  } {keep_pkt_header = true}
  // expected-error@+1 {{packet 1 (0, 1) DMA:1 -> (0, 2) DMA:0 arrives with its packet header}}
  aie.packet_flow(1) {
    aie.packet_source<%mem, DMA : 1>
    aie.packet_dest<%core, DMA : 0>
  }
}

// -----

aie.device(npu1) {
  // expected-note@+1 {{run --aie-place-tiles first}}
  %mem = aie.logical_tile<MemTile>(?, ?)
  %core = aie.tile(0, 2)
  // expected-error@+1 {{cannot be routed: one of its tiles is not placed}}
  aie.flow(%mem, DMA : 0, %core, DMA : 0)
}

// -----

// An output listens to one arbiter, which has four selects: no more than four combinations of outputs can include one.
aie.device(npu1) {
  // expected-error@+2 {{tile op arbiter 0 has used up all its msels}}
  // expected-note@+1 {{let packets that go to the same places use fewer combinations of outputs}}
  %core = aie.tile(0, 2)
  aie.packet_flow(0) { aie.packet_source<%core, South : 0> aie.packet_dest<%core, DMA : 0> }
  aie.packet_flow(1) { aie.packet_source<%core, South : 0> aie.packet_dest<%core, DMA : 0> aie.packet_dest<%core, DMA : 1> }
  aie.packet_flow(2) { aie.packet_source<%core, South : 0> aie.packet_dest<%core, DMA : 0> aie.packet_dest<%core, Core : 0> }
  aie.packet_flow(3) { aie.packet_source<%core, South : 1> aie.packet_dest<%core, DMA : 0> aie.packet_dest<%core, TileControl : 0> }
  // expected-note@+2 {{for packet 4 (0, 2) South:1 -> (0, 2) DMA:0}}
  // expected-note@+1 {{for packet 4 (0, 2) South:1 -> (0, 2) North:0}}
  aie.packet_flow(4) { aie.packet_source<%core, South : 1> aie.packet_dest<%core, DMA : 0> aie.packet_dest<%core, North : 0> }
}

// -----

// expected-error@+2 {{Unable to find a legal routing}}
// expected-note@+1 {{use another channel}}
aie.device(npu1) {
  %mem = aie.tile(0, 1)
  %core = aie.tile(0, 2)
  // expected-note@+1 {{packet 1 (0, 1) DMA:0 -> (0, 2) DMA:0}}
  aie.packet_flow(1) { aie.packet_source<%mem, DMA : 0> aie.packet_dest<%core, DMA : 0> }
  // expected-note@+1 {{no way for circuit (0, 1) DMA:0 -> (0, 2) DMA:1: it and the next one both need (0, 1) DMA:0}}
  aie.flow(%mem, DMA : 0, %core, DMA : 1)
}

// -----

aie.device(npu1) {
  %mem = aie.tile(0, 1)
  %core = aie.tile(0, 2)
  // expected-error@+1 {{packet id 32 exceeds the maximum of 31}}
  aie.packet_flow(32) { aie.packet_source<%mem, DMA : 0> aie.packet_dest<%core, DMA : 0> }
}
