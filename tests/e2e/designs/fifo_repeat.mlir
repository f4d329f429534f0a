// A mem tile sends each block three times; the core adds a number each time.
aie.device(npu1_1col) {
  %shim = aie.tile(0, 0)
  %mem = aie.tile(0, 1)
  %a = aie.tile(0, 2)
  aie.objectfifo @in(%shim, {%mem}, 2 : i32) : !aie.objectfifo<memref<8xi32>>
  aie.objectfifo @again(%mem, {%a}, 2 : i32) {repeat_count = 3 : i32} : !aie.objectfifo<memref<8xi32>>
  aie.objectfifo.link [@in] -> [@again]([] [])
  aie.objectfifo @out(%a, {%shim}, 2 : i32) : !aie.objectfifo<memref<8xi32>>
  %core_a = aie.core(%a) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    %k = arith.constant 7 : i32
    %forever = arith.constant 9223372036854775807 : index
    scf.for %round = %c0 to %forever step %c1 {
      %source = aie.objectfifo.acquire @again(Consume, 1) : !aie.objectfifosubview<memref<8xi32>>
      %source0 = aie.objectfifo.subview.access %source[0] : !aie.objectfifosubview<memref<8xi32>> -> memref<8xi32>
      %result = aie.objectfifo.acquire @out(Produce, 1) : !aie.objectfifosubview<memref<8xi32>>
      %result0 = aie.objectfifo.subview.access %result[0] : !aie.objectfifosubview<memref<8xi32>> -> memref<8xi32>
      scf.for %i = %c0 to %c8 step %c1 {
        %x = memref.load %source0[%i] : memref<8xi32>
        %y = arith.addi %x, %k : i32
        memref.store %y, %result0[%i] : memref<8xi32>
      }
      aie.objectfifo.release @again(Consume, 1)
      aie.objectfifo.release @out(Produce, 1)
    }
    aie.end
  }
  aie.runtime_sequence @thrice(%in: memref<16xi32>, %out: memref<48xi32>) {
    aiex.npu.dma_memcpy_nd(%out[0, 0, 0, 0][1, 1, 1, 48][0, 0, 0, 1]) {id = 1 : i64, metadata = @out} : memref<48xi32>
    aiex.npu.dma_memcpy_nd(%in[0, 0, 0, 0][1, 1, 1, 16][0, 0, 0, 1]) {id = 0 : i64, metadata = @in} : memref<16xi32>
    aiex.npu.dma_wait {symbol = @out}
  }
}
