// The core sees three blocks at a time and lets go of one: a window that slides over what comes in.
aie.device(npu1_1col) {
  %shim = aie.tile(0, 0)
  %a = aie.tile(0, 2)
  aie.objectfifo @in(%shim, {%a}, 4 : i32) : !aie.objectfifo<memref<8xi32>>
  aie.objectfifo @out(%a, {%shim}, 2 : i32) : !aie.objectfifo<memref<8xi32>>
  %core_a = aie.core(%a) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    %windows = arith.constant 6 : index
    scf.for %round = %c0 to %windows step %c1 {
      %window = aie.objectfifo.acquire @in(Consume, 3) : !aie.objectfifosubview<memref<8xi32>>
      %window0 = aie.objectfifo.subview.access %window[0] : !aie.objectfifosubview<memref<8xi32>> -> memref<8xi32>
      %window1 = aie.objectfifo.subview.access %window[1] : !aie.objectfifosubview<memref<8xi32>> -> memref<8xi32>
      %window2 = aie.objectfifo.subview.access %window[2] : !aie.objectfifosubview<memref<8xi32>> -> memref<8xi32>
      %result = aie.objectfifo.acquire @out(Produce, 1) : !aie.objectfifosubview<memref<8xi32>>
      %result0 = aie.objectfifo.subview.access %result[0] : !aie.objectfifosubview<memref<8xi32>> -> memref<8xi32>
      scf.for %i = %c0 to %c8 step %c1 {
        %x = memref.load %window0[%i] : memref<8xi32>
        %y = memref.load %window1[%i] : memref<8xi32>
        %z = memref.load %window2[%i] : memref<8xi32>
        %xy = arith.addi %x, %y : i32
        %sum = arith.addi %xy, %z : i32
        memref.store %sum, %result0[%i] : memref<8xi32>
      }
      aie.objectfifo.release @in(Consume, 1)
      aie.objectfifo.release @out(Produce, 1)
    }
    aie.end
  }
  aie.runtime_sequence @sums(%in: memref<64xi32>, %out: memref<48xi32>) {
    aiex.npu.dma_memcpy_nd(%out[0, 0, 0, 0][1, 1, 1, 48][0, 0, 0, 1]) {id = 1 : i64, metadata = @out} : memref<48xi32>
    aiex.npu.dma_memcpy_nd(%in[0, 0, 0, 0][1, 1, 1, 64][0, 0, 0, 1]) {id = 0 : i64, metadata = @in} : memref<64xi32>
    aiex.npu.dma_wait {symbol = @out}
  }
}
