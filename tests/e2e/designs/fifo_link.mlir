// Blocks pass through a mem tile on their way in and on their way out: two linked FIFOs each way.
aie.device(npu1_1col) {
  %shim = aie.tile(0, 0)
  %mem = aie.tile(0, 1)
  %a = aie.tile(0, 2)
  aie.objectfifo @in(%shim, {%mem}, 2 : i32) : !aie.objectfifo<memref<16xi32>>
  aie.objectfifo @to_core(%mem, {%a}, 2 : i32) : !aie.objectfifo<memref<8xi32>>
  aie.objectfifo.link [@in] -> [@to_core]([] [])
  aie.objectfifo @from_core(%a, {%mem}, 2 : i32) : !aie.objectfifo<memref<8xi32>>
  aie.objectfifo @out(%mem, {%shim}, 2 : i32) : !aie.objectfifo<memref<16xi32>>
  aie.objectfifo.link [@from_core] -> [@out]([] [])
  %core_a = aie.core(%a) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    %k = arith.constant 5 : i32
    %forever = arith.constant 9223372036854775807 : index
    scf.for %round = %c0 to %forever step %c1 {
      %source = aie.objectfifo.acquire @to_core(Consume, 1) : !aie.objectfifosubview<memref<8xi32>>
      %source0 = aie.objectfifo.subview.access %source[0] : !aie.objectfifosubview<memref<8xi32>> -> memref<8xi32>
      %result = aie.objectfifo.acquire @from_core(Produce, 1) : !aie.objectfifosubview<memref<8xi32>>
      %result0 = aie.objectfifo.subview.access %result[0] : !aie.objectfifosubview<memref<8xi32>> -> memref<8xi32>
      scf.for %i = %c0 to %c8 step %c1 {
        %x = memref.load %source0[%i] : memref<8xi32>
        %y = arith.addi %x, %k : i32
        memref.store %y, %result0[%i] : memref<8xi32>
      }
      aie.objectfifo.release @to_core(Consume, 1)
      aie.objectfifo.release @from_core(Produce, 1)
    }
    aie.end
  }
  aie.runtime_sequence @add_five(%in: memref<64xi32>, %out: memref<64xi32>) {
    aiex.npu.dma_memcpy_nd(%out[0, 0, 0, 0][1, 1, 1, 64][0, 0, 0, 1]) {id = 1 : i64, metadata = @out} : memref<64xi32>
    aiex.npu.dma_memcpy_nd(%in[0, 0, 0, 0][1, 1, 1, 64][0, 0, 0, 1]) {id = 0 : i64, metadata = @in} : memref<64xi32>
    aiex.npu.dma_wait {symbol = @out}
  }
}
