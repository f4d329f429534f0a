// Each block is cut in two for two cores; a mem tile puts their halves together again.
aie.device(npu1_1col) {
  %shim = aie.tile(0, 0)
  %mem = aie.tile(0, 1)
  %a = aie.tile(0, 2)
  %b = aie.tile(0, 3)
  aie.objectfifo @in(%shim, {%mem}, 2 : i32) : !aie.objectfifo<memref<16xi32>>
  aie.objectfifo @first(%mem, {%a}, 2 : i32) : !aie.objectfifo<memref<8xi32>>
  aie.objectfifo @second(%mem, {%b}, 2 : i32) : !aie.objectfifo<memref<8xi32>>
  aie.objectfifo.link [@in] -> [@first, @second]([] [0, 8])
  aie.objectfifo @first_done(%a, {%mem}, 2 : i32) : !aie.objectfifo<memref<8xi32>>
  aie.objectfifo @second_done(%b, {%mem}, 2 : i32) : !aie.objectfifo<memref<8xi32>>
  aie.objectfifo @out(%mem, {%shim}, 2 : i32) : !aie.objectfifo<memref<16xi32>>
  aie.objectfifo.link [@first_done, @second_done] -> [@out]([0, 8] [])
  %core_a = aie.core(%a) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    %k = arith.constant 1000 : i32
    %forever = arith.constant 9223372036854775807 : index
    scf.for %round = %c0 to %forever step %c1 {
      %source = aie.objectfifo.acquire @first(Consume, 1) : !aie.objectfifosubview<memref<8xi32>>
      %source0 = aie.objectfifo.subview.access %source[0] : !aie.objectfifosubview<memref<8xi32>> -> memref<8xi32>
      %result = aie.objectfifo.acquire @first_done(Produce, 1) : !aie.objectfifosubview<memref<8xi32>>
      %result0 = aie.objectfifo.subview.access %result[0] : !aie.objectfifosubview<memref<8xi32>> -> memref<8xi32>
      scf.for %i = %c0 to %c8 step %c1 {
        %x = memref.load %source0[%i] : memref<8xi32>
        %y = arith.addi %x, %k : i32
        memref.store %y, %result0[%i] : memref<8xi32>
      }
      aie.objectfifo.release @first(Consume, 1)
      aie.objectfifo.release @first_done(Produce, 1)
    }
    aie.end
  }
  %core_b = aie.core(%b) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    %k = arith.constant -1000 : i32
    %forever = arith.constant 9223372036854775807 : index
    scf.for %round = %c0 to %forever step %c1 {
      %source = aie.objectfifo.acquire @second(Consume, 1) : !aie.objectfifosubview<memref<8xi32>>
      %source0 = aie.objectfifo.subview.access %source[0] : !aie.objectfifosubview<memref<8xi32>> -> memref<8xi32>
      %result = aie.objectfifo.acquire @second_done(Produce, 1) : !aie.objectfifosubview<memref<8xi32>>
      %result0 = aie.objectfifo.subview.access %result[0] : !aie.objectfifosubview<memref<8xi32>> -> memref<8xi32>
      scf.for %i = %c0 to %c8 step %c1 {
        %x = memref.load %source0[%i] : memref<8xi32>
        %y = arith.addi %x, %k : i32
        memref.store %y, %result0[%i] : memref<8xi32>
      }
      aie.objectfifo.release @second(Consume, 1)
      aie.objectfifo.release @second_done(Produce, 1)
    }
    aie.end
  }
  aie.runtime_sequence @halves(%in: memref<64xi32>, %out: memref<64xi32>) {
    aiex.npu.dma_memcpy_nd(%out[0, 0, 0, 0][1, 1, 1, 64][0, 0, 0, 1]) {id = 1 : i64, metadata = @out} : memref<64xi32>
    aiex.npu.dma_memcpy_nd(%in[0, 0, 0, 0][1, 1, 1, 64][0, 0, 0, 1]) {id = 0 : i64, metadata = @in} : memref<64xi32>
    aiex.npu.dma_wait {symbol = @out}
  }
}
