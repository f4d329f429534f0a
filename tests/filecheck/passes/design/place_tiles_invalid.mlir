// RUN: tilewright opt --split-input-file --verify-diagnostics --aie-place-tiles %s

aie.device(xcvc1902) {
  // expected-error@+1 {{DMA channel-based SequentialPlacer does not support unplaced ShimPLTiles (no DMAs).}}
  %shim = aie.logical_tile<ShimPLTile>(?, ?)
}

// -----

aie.device(npu1_1col) {
  // expected-note@+1 {{cascade source peer placed at (0, 2)}}
  %source = aie.logical_tile<CoreTile>(0, 2)
  // expected-error@+1 {{no available compute tiles for placement (cascade adjacency unsatisfiable)}}
  %dest = aie.logical_tile<CoreTile>(?, ?)
  aie.cascade_flow(%source, %dest)
}

// -----

aie.device(npu1) {
  %shim = aie.logical_tile<ShimNOCTile>(?, ?)
  // expected-error@+2 {{tile (0, 3) requires 3 input/0 output DMA channels, but only 2 input/2 output available}}
  // expected-note@+1 {{placer selected this tile; to fix, pin this LTO to a tile with more spare DMA capacity, or reduce the LTO's DMA fanin (e.g. via memtile staging)}}
  %core = aie.logical_tile<CoreTile>(?, ?)
  aie.objectfifo @f0(%shim, {%core}, 2 : i32) : !aie.objectfifo<memref<8xi32>>
  aie.objectfifo @f1(%shim, {%core}, 2 : i32) : !aie.objectfifo<memref<8xi32>>
  aie.objectfifo @f2(%shim, {%core}, 2 : i32) : !aie.objectfifo<memref<8xi32>>
}

// -----

aie.device(npu1) {
  %core = aie.tile(1, 2)
  // expected-error@+2 {{no ShimNOCTile has sufficient DMA capacity for 0 input/3 output channels near centroid column 1}}
  // expected-note@+1 {{to fix, pin this ShimNOCTile to a column with available DMA budget, or rebalance compute peers so the centroid lands on a less-busy column}}
  %shim = aie.logical_tile<ShimNOCTile>(?, ?)
  aie.flow(%shim, DMA : 0, %core, DMA : 0)
  aie.flow(%shim, DMA : 1, %core, DMA : 1)
  aie.flow(%shim, DMA : 2, %core, Core : 0)
}
