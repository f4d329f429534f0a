// The cascade between two cores holds little: a core that puts more into it than its neighbour takes stops.
// RAISES: hang
// GIVES: b == 7
aie.device(npu1_1col) {
  %shim = aie.tile(0, 0)
  %tile2 = aie.tile(0, 2)
  %tile3 = aie.tile(0, 3)
  %out = aie.buffer(%tile3) {sym_name = "out"} : memref<16xi32> = dense<7>
  %done = aie.lock(%tile3, 0) {init = 0 : i32}
  aie.cascade_flow(%tile3, %tile2)
  aie.flow(%tile3, DMA : 0, %shim, DMA : 0)
  aie.shim_dma_allocation @b(%shim, S2MM, 0)
  aie.core(%tile3) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    %sum = arith.constant dense<1> : vector<16xi32>
    scf.for %i = %c0 to %c8 step %c1 {
      aie.put_cascade(%sum : vector<16xi32>)
      // SAYS note: the core of tile (0, 3) cannot go on: the cascade from tile (0, 3) to tile (0, 2) is full
      // SAYS note: most likely cause: the core of tile (0, 2) has ended, and only it takes from the cascade
    }
    aie.use_lock(%done, Release, 1)
    aie.end
  }
  aie.core(%tile2) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %count = arith.constant 4 : index  // BUG
    %count = arith.constant 8 : index  // FIX
    scf.for %i = %c0 to %count step %c1 {
      %sum = aie.get_cascade() : vector<16xi32>
    }
    aie.end
  }
  aie.mem(%tile3) {
    aie.dma_start(MM2S, 0, ^out, ^end)
  ^out:
    aie.use_lock(%done, AcquireGreaterEqual, 1)
    aie.dma_bd(%out : memref<16xi32>, 0, 16)
    aie.next_bd ^out
  ^end:
    aie.end
  }
  aie.runtime_sequence @get(%a: memref<16xi32>, %b: memref<16xi32>) {
    aiex.npu.dma_memcpy_nd(%b[0, 0, 0, 0][1, 1, 1, 16][0, 0, 0, 1]) {id = 1 : i64, metadata = @b} : memref<16xi32>
    aiex.npu.dma_wait {symbol = @b}
  }
}
