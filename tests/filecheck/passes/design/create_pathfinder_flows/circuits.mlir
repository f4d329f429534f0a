// RUN: tilewright opt --split-input-file --aie-create-pathfinder-flows %s | filecheck %s

// From the host to a core and back: the DMA of a shim is behind a multiplexer, DMA:0 going in through South:3 of the
// switch and coming out of South:2. A mem tile leads on only by the channel that data came in by.
aie.device(npu1_1col) {
  %shim = aie.tile(0, 0)
  %core = aie.tile(0, 2)
  aie.flow(%shim, DMA : 0, %core, DMA : 1)
  aie.flow(%core, DMA : 0, %shim, DMA : 0)
}
// CHECK:      %switchbox_0_0 = aie.switchbox(%shim_noc_tile_0_0) {
// CHECK-NEXT:   aie.connect<South : 3, North : [[UP:[0-5]]]>
// CHECK-NEXT:   aie.connect<North : [[DOWN:[0-3]]], South : 2>
// CHECK-NEXT: }
// CHECK:      %shim_mux_0_0 = aie.shim_mux(%shim_noc_tile_0_0) {
// CHECK-NEXT:   aie.connect<DMA : 0, North : 3>
// CHECK-NEXT:   aie.connect<North : 2, DMA : 0>
// CHECK-NEXT: }
// CHECK:      %switchbox_0_1 = aie.switchbox(%mem_tile_0_1) {
// CHECK-NEXT:   aie.connect<South : [[UP]], North : [[UP]]>
// CHECK-NEXT:   aie.connect<North : [[DOWN]], South : [[DOWN]]>
// CHECK-NEXT: }
// CHECK:      %switchbox_0_2 = aie.switchbox(%tile_0_2) {
// CHECK-NEXT:   aie.connect<South : [[UP]], DMA : 1>
// CHECK-NEXT:   aie.connect<DMA : 0, South : [[DOWN]]>
// CHECK-NEXT: }
// CHECK-NOT:  aie.flow
// CHECK:      aie.wire(%shim_mux_0_0 : North, %switchbox_0_0 : South)
// CHECK-NEXT: aie.wire(%shim_noc_tile_0_0 : DMA, %shim_mux_0_0 : DMA)
// CHECK-NEXT: aie.wire(%mem_tile_0_1 : Core, %switchbox_0_1 : Core)
// CHECK-NEXT: aie.wire(%mem_tile_0_1 : DMA, %switchbox_0_1 : DMA)
// CHECK-NEXT: aie.wire(%switchbox_0_0 : North, %switchbox_0_1 : South)

// -----

// One source with several destinations is one tree: it leaves its tile once.
aie.device(npu1) {
  %mem = aie.tile(1, 1)
  %near = aie.tile(1, 2)
  %far = aie.tile(1, 3)
  aie.flow(%mem, DMA : 0, %near, DMA : 0)
  aie.flow(%mem, DMA : 0, %far, DMA : 0)
}
// CHECK:      aie.switchbox(%mem_tile_1_1) {
// CHECK-NEXT:   aie.connect<DMA : 0, North : [[UP:[0-5]]]>
// CHECK-NEXT: }
// CHECK:      aie.switchbox(%tile_1_2) {
// CHECK-NEXT:   aie.connect<South : [[UP]], DMA : 0>
// CHECK-NEXT:   aie.connect<South : [[UP]], North : [[ON:[0-5]]]>
// CHECK-NEXT: }
// CHECK:      aie.switchbox(%tile_1_3) {
// CHECK-NEXT:   aie.connect<South : [[ON]], DMA : 0>

// -----

// Settings that a design has already stay, and their ports are left alone.
aie.device(npu1) {
  %mem = aie.tile(0, 1)
  %core = aie.tile(0, 2)
  %settings = aie.switchbox(%mem) {
    aie.connect<DMA : 0, North : 0>
    aie.connect<DMA : 1, North : 1>
    aie.connect<DMA : 2, North : 2>
    aie.connect<DMA : 3, North : 3>
    aie.connect<DMA : 4, North : 4>
  }
  aie.flow(%mem, DMA : 5, %core, Core : 0)
}
// CHECK:        aie.connect<DMA : 4, North : 4>
// CHECK-NEXT:   aie.connect<DMA : 5, North : 5>
// CHECK:      aie.switchbox(%tile_0_2) {
// CHECK-NEXT:   aie.connect<South : 5, Core : 0>
// CHECK-NEXT: }

// -----

// DMA:0 of a tile cannot be connected to DMA:1 in its own switch. Upstream's router takes a port south for a way out
// and straight back in; the real way leads through another tile.
aie.device(npu1_1col) {
  %core = aie.tile(0, 2)
  aie.flow(%core, DMA : 0, %core, DMA : 1)
}
// CHECK:      aie.switchbox(%mem_tile_0_1) {
// CHECK-NEXT:   aie.connect<North : 0, North : 0>
// CHECK-NEXT: }
// CHECK:      aie.switchbox(%tile_0_2) {
// CHECK-NEXT:   aie.connect<South : 0, DMA : 1>
// CHECK-NEXT:   aie.connect<DMA : 0, South : 0>
// CHECK-NEXT: }
