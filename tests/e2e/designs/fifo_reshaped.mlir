// A FIFO rearranges blocks on both of its ends: a mem tile sends tiles of 2 by 4 of a matrix, in four dimensions, and
// the core's tile puts the words of each where their transpose has them.
aie.device(npu1_1col) {
  %shim = aie.tile(0, 0)
  %mem = aie.tile(0, 1)
  %a = aie.tile(0, 2)
  aie.objectfifo @in(%shim, {%mem}, 2 : i32) : !aie.objectfifo<memref<6x8xi32>>
  aie.objectfifo @tiles(
      %mem dimensionsToStream [
          <size = 3, stride = 16>, <size = 2, stride = 4>, <size = 2, stride = 8>, <size = 4, stride = 1>],
      {%a dimensionsFromStream [<size = 6, stride = 8>, <size = 2, stride = 1>, <size = 4, stride = 2>]}, 2 : i32)
      : !aie.objectfifo<memref<6x8xi32>>
  aie.objectfifo.link [@in] -> [@tiles]([] [])
  aie.objectfifo @out(%a, {%shim}, 2 : i32) : !aie.objectfifo<memref<6x8xi32>>
  %core = aie.core(%a) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c6 = arith.constant 6 : index
    %c8 = arith.constant 8 : index
    %forever = arith.constant 9223372036854775807 : index
    scf.for %round = %c0 to %forever step %c1 {
      %in = aie.objectfifo.acquire @tiles(Consume, 1) : !aie.objectfifosubview<memref<6x8xi32>>
      %in0 = aie.objectfifo.subview.access %in[0] : !aie.objectfifosubview<memref<6x8xi32>> -> memref<6x8xi32>
      %out = aie.objectfifo.acquire @out(Produce, 1) : !aie.objectfifosubview<memref<6x8xi32>>
      %out0 = aie.objectfifo.subview.access %out[0] : !aie.objectfifosubview<memref<6x8xi32>> -> memref<6x8xi32>
      scf.for %i = %c0 to %c6 step %c1 {
        scf.for %j = %c0 to %c8 step %c1 {
          %x = memref.load %in0[%i, %j] : memref<6x8xi32>
          memref.store %x, %out0[%i, %j] : memref<6x8xi32>
        }
      }
      aie.objectfifo.release @tiles(Consume, 1)
      aie.objectfifo.release @out(Produce, 1)
    }
    aie.end
  }
  aie.runtime_sequence @tile(%in: memref<96xi32>, %out: memref<96xi32>) {
    aiex.npu.dma_memcpy_nd(%out[0, 0, 0, 0][1, 1, 1, 96][0, 0, 0, 1]) {id = 1 : i64, metadata = @out} : memref<96xi32>
    aiex.npu.dma_memcpy_nd(%in[0, 0, 0, 0][1, 1, 1, 96][0, 0, 0, 1]) {id = 0 : i64, metadata = @in} : memref<96xi32>
    aiex.npu.dma_wait {symbol = @out}
  }
}
