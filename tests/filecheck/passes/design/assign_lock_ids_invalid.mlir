// RUN: tilewright opt --split-input-file --verify-diagnostics --aie-assign-lock-ids %s

aie.device(npu1) {
  // expected-note@+1 {{tile has lock ops assigned to same lock.}}
  %tile = aie.tile(0, 2)
  // expected-note@+1 {{the other one is here; leave out one number to have a free one found}}
  %a = aie.lock(%tile, 3)
  // expected-error@+1 {{is assigned to the same lock (3) as another op.}}
  %b = aie.lock(%tile, 3)
}

// -----

aie.device(npu1) {
  // expected-note@+1 {{because only 16 locks available in this tile.}}
  %tile = aie.tile(0, 2)
  %0 = aie.lock(%tile)
  %1 = aie.lock(%tile)
  %2 = aie.lock(%tile)
  %3 = aie.lock(%tile)
  %4 = aie.lock(%tile)
  %5 = aie.lock(%tile)
  %6 = aie.lock(%tile)
  %7 = aie.lock(%tile)
  %8 = aie.lock(%tile)
  %9 = aie.lock(%tile)
  %10 = aie.lock(%tile)
  %11 = aie.lock(%tile)
  %12 = aie.lock(%tile)
  %13 = aie.lock(%tile)
  %14 = aie.lock(%tile)
  %15 = aie.lock(%tile, 7)
  // expected-error@+1 {{not allocated a lock.}}
  %16 = aie.lock(%tile)
}

// -----

aie.device(npu1) {
  %tile = aie.logical_tile<CoreTile>(?, ?)
  // expected-error@+1 {{is on a tile that is not placed; run --aie-place-tiles first}}
  %0 = aie.lock(%tile)
}
