// A core works on vectors of floats: each block is scaled, and what is below zero becomes zero.
aie.device(npu2_1col) {
  %shim = aie.tile(0, 0)
  %a = aie.tile(0, 2)
  aie.objectfifo @in(%shim, {%a}, 2 : i32) : !aie.objectfifo<memref<16xf32>>
  aie.objectfifo @out(%a, {%shim}, 2 : i32) : !aie.objectfifo<memref<16xf32>>
  %core = aie.core(%a) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %forever = arith.constant 9223372036854775807 : index
    %scale = arith.constant dense<0.25> : vector<16xf32>
    %zero = arith.constant dense<0.0> : vector<16xf32>
    scf.for %round = %c0 to %forever step %c1 {
      %in = aie.objectfifo.acquire @in(Consume, 1) : !aie.objectfifosubview<memref<16xf32>>
      %in0 = aie.objectfifo.subview.access %in[0] : !aie.objectfifosubview<memref<16xf32>> -> memref<16xf32>
      %out = aie.objectfifo.acquire @out(Produce, 1) : !aie.objectfifosubview<memref<16xf32>>
      %out0 = aie.objectfifo.subview.access %out[0] : !aie.objectfifosubview<memref<16xf32>> -> memref<16xf32>
      %x = vector.load %in0[%c0] : memref<16xf32>, vector<16xf32>
      %scaled = arith.mulf %x, %scale : vector<16xf32>
      %y = arith.maximumf %scaled, %zero : vector<16xf32>
      vector.store %y, %out0[%c0] : memref<16xf32>, vector<16xf32>
      aie.objectfifo.release @in(Consume, 1)
      aie.objectfifo.release @out(Produce, 1)
    }
    aie.end
  }
  aie.runtime_sequence @rectify(%in: memref<64xf32>, %out: memref<64xf32>) {
    aiex.npu.dma_memcpy_nd(%out[0, 0, 0, 0][1, 1, 1, 64][0, 0, 0, 1]) {id = 1 : i64, metadata = @out} : memref<64xf32>
    aiex.npu.dma_memcpy_nd(%in[0, 0, 0, 0][1, 1, 1, 64][0, 0, 0, 1]) {id = 0 : i64, metadata = @in} : memref<64xf32>
    aiex.npu.dma_wait {symbol = @out}
  }
}
