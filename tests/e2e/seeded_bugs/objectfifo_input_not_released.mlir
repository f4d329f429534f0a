// A core that never gives an object back acquires the same one again: it works on old data, and the rest never comes in.
// RAISES: left-over
// LEVEL: left-over=fault
// GIVES: b == a
aie.device(npu1_1col) {
  %shim = aie.tile(0, 0)
  %tile = aie.tile(0, 2)
  aie.objectfifo @in(%shim, {%tile}, 2 : i32) : !aie.objectfifo<memref<16xi32>>
  aie.objectfifo @out(%tile, {%shim}, 2 : i32) : !aie.objectfifo<memref<16xi32>>
  aie.core(%tile) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
    %max = arith.constant 4294967295 : index
    scf.for %round = %c0 to %max step %c1 {
      %in = aie.objectfifo.acquire @in(Consume, 1) : !aie.objectfifosubview<memref<16xi32>>
      %i = aie.objectfifo.subview.access %in[0] : !aie.objectfifosubview<memref<16xi32>> -> memref<16xi32>
      %out = aie.objectfifo.acquire @out(Produce, 1) : !aie.objectfifosubview<memref<16xi32>>
      %o = aie.objectfifo.subview.access %out[0] : !aie.objectfifosubview<memref<16xi32>> -> memref<16xi32>
      scf.for %n = %c0 to %c16 step %c1 {
        %x = memref.load %i[%n] : memref<16xi32>
        memref.store %x, %o[%n] : memref<16xi32>
      }
      aie.objectfifo.release @out(Produce, 1)
      aie.objectfifo.release @in(Consume, 1)  // FIX
    }
    aie.end
  }
  aie.runtime_sequence @copy(%a: memref<64xi32>, %b: memref<64xi32>) {
    aiex.npu.dma_memcpy_nd(%a[0, 0, 0, 0][1, 1, 1, 64][0, 0, 0, 1]) {id = 0 : i64, metadata = @in} : memref<64xi32>
    // SAYS error: the task that starts with BD 0 on MM2S 0 of tile (0, 0) is not done at the end of the run
    // SAYS note: it is at BD 0, of which 54 of 64 words are sent
    // SAYS note: nobody has taken the rest: send only what is taken, or wait for it
    aiex.npu.dma_memcpy_nd(%b[0, 0, 0, 0][1, 1, 1, 64][0, 0, 0, 1]) {id = 1 : i64, metadata = @out} : memref<64xi32>
    aiex.npu.dma_wait {symbol = @out}
  }
}
