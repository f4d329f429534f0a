// RUN: tilewright opt --split-input-file --verify-diagnostics --aie-place-tiles=placer=sa_placer %s

aie.device(npu1_1col) {
  %a = aie.logical_tile<CoreTile>(0, 2)
  // expected-error@+2 {{no available physical tile for placement}}
  // expected-note@+1 {{the 1 places it may have are taken by other cores}}
  %b = aie.logical_tile<CoreTile>(0, 2)
}

// -----

aie.device(npu1) {
  // expected-error@+2 {{found no placement that satisfies cascade adjacency}}
  // expected-note@+1 {{another sa-seed may help, or fewer wishes for columns and rows}}
  %source = aie.logical_tile<CoreTile>(0, 2)
  // expected-note@+1 {{this tile has to be next to it}}
  %dest = aie.logical_tile<CoreTile>(3, ?)
  aie.cascade_flow(%source, %dest)
}

// -----

aie.device(npu1_1col) {
  %mem = aie.logical_tile<MemTile>(?, ?)
  // expected-error@+2 {{found no placement with enough DMA channels: tile (0, 2) would need 3 input/0 output channels}}
  // expected-note@+1 {{another sa-seed may help, or fewer FIFOs and flows at this tile}}
  %core = aie.logical_tile<CoreTile>(0, 2)
  aie.objectfifo @a(%mem, {%core}, 2 : i32) : !aie.objectfifo<memref<16xi32>>
  aie.objectfifo @b(%mem, {%core}, 2 : i32) : !aie.objectfifo<memref<16xi32>>
  aie.objectfifo @c(%mem, {%core}, 2 : i32) : !aie.objectfifo<memref<16xi32>>
}
