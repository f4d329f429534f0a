// Without a flow to a shim DMA its multiplexer is not set, and nothing can reach the host.
// RAISES: hang
// GIVES: b == a + 1
aie.device(npu1_1col) {
  %shim = aie.tile(0, 0)
  %tile = aie.tile(0, 2)
  %in = aie.buffer(%tile) {sym_name = "in"} : memref<16xi32>
  %out = aie.buffer(%tile) {sym_name = "out"} : memref<16xi32>
  %in_free = aie.lock(%tile, 0) {init = 1 : i32}
  %in_full = aie.lock(%tile, 1) {init = 0 : i32}
  %out_free = aie.lock(%tile, 2) {init = 1 : i32}
  %out_full = aie.lock(%tile, 3) {init = 0 : i32}
  aie.flow(%shim, DMA : 0, %tile, DMA : 0)
  aie.flow(%tile, DMA : 0, %shim, DMA : 0)  // FIX
  aie.shim_dma_allocation @a(%shim, MM2S, 0)
  aie.shim_dma_allocation @b(%shim, S2MM, 0)
  aie.core(%tile) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
    %rounds = arith.constant 4 : index
    %one = arith.constant 1 : i32
    scf.for %round = %c0 to %rounds step %c1 {
      aie.use_lock(%in_full, AcquireGreaterEqual, 1)
      aie.use_lock(%out_free, AcquireGreaterEqual, 1)
      scf.for %i = %c0 to %c16 step %c1 {
        %x = memref.load %in[%i] : memref<16xi32>
        %y = arith.addi %x, %one : i32
        memref.store %y, %out[%i] : memref<16xi32>
      }
      aie.use_lock(%in_free, Release, 1)
      aie.use_lock(%out_full, Release, 1)
    }
    aie.end
  }
  aie.mem(%tile) {
    aie.dma_start(S2MM, 0, ^in, ^next)
  ^in:
    aie.use_lock(%in_free, AcquireGreaterEqual, 1)
    aie.dma_bd(%in : memref<16xi32>, 0, 16)
    aie.use_lock(%in_full, Release, 1)
    aie.next_bd ^in
  ^next:
    aie.dma_start(MM2S, 0, ^out, ^end)
  ^out:
    aie.use_lock(%out_full, AcquireGreaterEqual, 1)
    aie.dma_bd(%out : memref<16xi32>, 0, 16)
    aie.use_lock(%out_free, Release, 1)
    aie.next_bd ^out
  ^end:
    aie.end
  }
  aie.runtime_sequence @add(%a: memref<64xi32>, %b: memref<64xi32>) {
    aiex.npu.dma_memcpy_nd(%a[0, 0, 0, 0][1, 1, 1, 64][0, 0, 0, 1]) {id = 0 : i64, metadata = @a} : memref<64xi32>
    aiex.npu.dma_memcpy_nd(%b[0, 0, 0, 0][1, 1, 1, 64][0, 0, 0, 1]) {id = 1 : i64, metadata = @b} : memref<64xi32>
    // SAYS note: BD 1 on S2MM 0 of tile (0, 0) has no stream: the joint of S2MM 0 of tile (0, 0) with South 2 of its switch is not made
    // SAYS note: most likely cause: the shim tile's multiplexer does not join S2MM 0 of tile (0, 0) to South 2: the design needs a flow there
    aiex.npu.dma_wait {symbol = @b}
  }
}
