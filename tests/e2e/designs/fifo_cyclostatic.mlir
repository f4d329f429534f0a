// In turn the core takes one block, then two at once: the amounts change, in a cycle.
aie.device(npu2_1col) {
  %shim = aie.tile(0, 0)
  %a = aie.tile(0, 2)
  aie.objectfifo @in(%shim, {%a}, 3 : i32) : !aie.objectfifo<memref<8xi32>>
  aie.objectfifo @out(%a, {%shim}, 2 : i32) : !aie.objectfifo<memref<8xi32>>
  %core_a = aie.core(%a) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    %k = arith.constant 100 : i32
    %rounds = arith.constant 4 : index
    scf.for %round = %c0 to %rounds step %c1 {
      %head = aie.objectfifo.acquire @in(Consume, 1) : !aie.objectfifosubview<memref<8xi32>>
      %head0 = aie.objectfifo.subview.access %head[0] : !aie.objectfifosubview<memref<8xi32>> -> memref<8xi32>
      %first = aie.objectfifo.acquire @out(Produce, 1) : !aie.objectfifosubview<memref<8xi32>>
      %first0 = aie.objectfifo.subview.access %first[0] : !aie.objectfifosubview<memref<8xi32>> -> memref<8xi32>
      scf.for %i = %c0 to %c8 step %c1 {
        %x = memref.load %head0[%i] : memref<8xi32>
        %y = arith.addi %x, %k : i32
        memref.store %y, %first0[%i] : memref<8xi32>
      }
      aie.objectfifo.release @in(Consume, 1)
      aie.objectfifo.release @out(Produce, 1)
      %pair = aie.objectfifo.acquire @in(Consume, 2) : !aie.objectfifosubview<memref<8xi32>>
      %pair0 = aie.objectfifo.subview.access %pair[0] : !aie.objectfifosubview<memref<8xi32>> -> memref<8xi32>
      %pair1 = aie.objectfifo.subview.access %pair[1] : !aie.objectfifosubview<memref<8xi32>> -> memref<8xi32>
      %second = aie.objectfifo.acquire @out(Produce, 1) : !aie.objectfifosubview<memref<8xi32>>
      %second0 = aie.objectfifo.subview.access %second[0] : !aie.objectfifosubview<memref<8xi32>> -> memref<8xi32>
      scf.for %i = %c0 to %c8 step %c1 {
        %x = memref.load %pair0[%i] : memref<8xi32>
        %y = memref.load %pair1[%i] : memref<8xi32>
        %z = arith.subi %x, %y : i32
        memref.store %z, %second0[%i] : memref<8xi32>
      }
      aie.objectfifo.release @in(Consume, 2)
      aie.objectfifo.release @out(Produce, 1)
    }
    aie.end
  }
  aie.runtime_sequence @one_two(%in: memref<96xi32>, %out: memref<64xi32>) {
    aiex.npu.dma_memcpy_nd(%out[0, 0, 0, 0][1, 1, 1, 64][0, 0, 0, 1]) {id = 1 : i64, metadata = @out} : memref<64xi32>
    aiex.npu.dma_memcpy_nd(%in[0, 0, 0, 0][1, 1, 1, 96][0, 0, 0, 1]) {id = 0 : i64, metadata = @in} : memref<96xi32>
    aiex.npu.dma_wait {symbol = @out}
  }
}
