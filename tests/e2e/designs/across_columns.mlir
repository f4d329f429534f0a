// The columns are crossed: what comes in through one leaves through the other.
aie.device(npu2_2col) {
  %shim = aie.tile(0, 0)
  %shim1 = aie.tile(1, 0)
  %a = aie.tile(0, 2)
  %d = aie.tile(1, 2)
  aie.objectfifo @in(%shim, {%d}, 2 : i32) : !aie.objectfifo<memref<8xi32>>
  aie.objectfifo @out(%a, {%shim1}, 2 : i32) : !aie.objectfifo<memref<8xi32>>
  aie.objectfifo @over(%d, {%a}, 2 : i32) {via_DMA = true} : !aie.objectfifo<memref<8xi32>>
  %core_d = aie.core(%d) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    %k = arith.constant 30 : i32
    %forever = arith.constant 9223372036854775807 : index
    scf.for %round = %c0 to %forever step %c1 {
      %source = aie.objectfifo.acquire @in(Consume, 1) : !aie.objectfifosubview<memref<8xi32>>
      %source0 = aie.objectfifo.subview.access %source[0] : !aie.objectfifosubview<memref<8xi32>> -> memref<8xi32>
      %result = aie.objectfifo.acquire @over(Produce, 1) : !aie.objectfifosubview<memref<8xi32>>
      %result0 = aie.objectfifo.subview.access %result[0] : !aie.objectfifosubview<memref<8xi32>> -> memref<8xi32>
      scf.for %i = %c0 to %c8 step %c1 {
        %x = memref.load %source0[%i] : memref<8xi32>
        %y = arith.addi %x, %k : i32
        memref.store %y, %result0[%i] : memref<8xi32>
      }
      aie.objectfifo.release @in(Consume, 1)
      aie.objectfifo.release @over(Produce, 1)
    }
    aie.end
  }
  %core_a = aie.core(%a) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    %k = arith.constant 12 : i32
    %forever = arith.constant 9223372036854775807 : index
    scf.for %round = %c0 to %forever step %c1 {
      %source = aie.objectfifo.acquire @over(Consume, 1) : !aie.objectfifosubview<memref<8xi32>>
      %source0 = aie.objectfifo.subview.access %source[0] : !aie.objectfifosubview<memref<8xi32>> -> memref<8xi32>
      %result = aie.objectfifo.acquire @out(Produce, 1) : !aie.objectfifosubview<memref<8xi32>>
      %result0 = aie.objectfifo.subview.access %result[0] : !aie.objectfifosubview<memref<8xi32>> -> memref<8xi32>
      scf.for %i = %c0 to %c8 step %c1 {
        %x = memref.load %source0[%i] : memref<8xi32>
        %y = arith.addi %x, %k : i32
        memref.store %y, %result0[%i] : memref<8xi32>
      }
      aie.objectfifo.release @over(Consume, 1)
      aie.objectfifo.release @out(Produce, 1)
    }
    aie.end
  }
  aie.runtime_sequence @cross(%in: memref<32xi32>, %out: memref<32xi32>) {
    aiex.npu.dma_memcpy_nd(%out[0, 0, 0, 0][1, 1, 1, 32][0, 0, 0, 1]) {id = 1 : i64, metadata = @out} : memref<32xi32>
    aiex.npu.dma_memcpy_nd(%in[0, 0, 0, 0][1, 1, 1, 32][0, 0, 0, 1]) {id = 0 : i64, metadata = @in} : memref<32xi32>
    aiex.npu.dma_wait {symbol = @out}
  }
}
