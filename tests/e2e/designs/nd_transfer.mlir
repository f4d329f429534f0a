// The shim reads every second column of a matrix and writes the columns side by side: strides on both ends.
aie.device(npu1_1col) {
  %shim = aie.tile(0, 0)
  %a = aie.tile(0, 2)
  aie.objectfifo @in(%shim, {%a}, 2 : i32) : !aie.objectfifo<memref<8xi32>>
  aie.objectfifo @out(%a, {%shim}, 2 : i32) : !aie.objectfifo<memref<8xi32>>
  %core_a = aie.core(%a) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    %k = arith.constant 1 : i32
    %forever = arith.constant 9223372036854775807 : index
    scf.for %round = %c0 to %forever step %c1 {
      %source = aie.objectfifo.acquire @in(Consume, 1) : !aie.objectfifosubview<memref<8xi32>>
      %source0 = aie.objectfifo.subview.access %source[0] : !aie.objectfifosubview<memref<8xi32>> -> memref<8xi32>
      %result = aie.objectfifo.acquire @out(Produce, 1) : !aie.objectfifosubview<memref<8xi32>>
      %result0 = aie.objectfifo.subview.access %result[0] : !aie.objectfifosubview<memref<8xi32>> -> memref<8xi32>
      scf.for %i = %c0 to %c8 step %c1 {
        %x = memref.load %source0[%i] : memref<8xi32>
        %y = arith.addi %x, %k : i32
        memref.store %y, %result0[%i] : memref<8xi32>
      }
      aie.objectfifo.release @in(Consume, 1)
      aie.objectfifo.release @out(Produce, 1)
    }
    aie.end
  }
  aie.runtime_sequence @every_second(%in: memref<128xi32>, %out: memref<64xi32>) {
    aiex.npu.dma_memcpy_nd(%out[0, 0, 0, 0][1, 1, 8, 8][0, 0, 1, 8]) {id = 1 : i64, metadata = @out} : memref<64xi32>
    aiex.npu.dma_memcpy_nd(%in[0, 0, 0, 0][1, 1, 8, 8][0, 0, 16, 2]) {id = 0 : i64, metadata = @in} : memref<128xi32>
    aiex.npu.dma_wait {symbol = @out}
  }
}
