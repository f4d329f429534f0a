// The core calls a function that is not part of the design: it sorts each block in place of the host.
aie.device(npu2_1col) {
  %shim = aie.tile(0, 0)
  %a = aie.tile(0, 2)
  aie.objectfifo @in(%shim, {%a}, 2 : i32) : !aie.objectfifo<memref<16xi16>>
  aie.objectfifo @out(%a, {%shim}, 2 : i32) : !aie.objectfifo<memref<16xi16>>
  func.func private @sort(memref<16xi16>, memref<16xi16>, i32)
  %core = aie.core(%a) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %forever = arith.constant 9223372036854775807 : index
    %count = arith.constant 16 : i32
    scf.for %round = %c0 to %forever step %c1 {
      %in = aie.objectfifo.acquire @in(Consume, 1) : !aie.objectfifosubview<memref<16xi16>>
      %in0 = aie.objectfifo.subview.access %in[0] : !aie.objectfifosubview<memref<16xi16>> -> memref<16xi16>
      %out = aie.objectfifo.acquire @out(Produce, 1) : !aie.objectfifosubview<memref<16xi16>>
      %out0 = aie.objectfifo.subview.access %out[0] : !aie.objectfifosubview<memref<16xi16>> -> memref<16xi16>
      func.call @sort(%in0, %out0, %count) : (memref<16xi16>, memref<16xi16>, i32) -> ()
      aie.objectfifo.release @in(Consume, 1)
      aie.objectfifo.release @out(Produce, 1)
    }
    aie.end
  }
  aie.runtime_sequence @sort_blocks(%in: memref<64xi16>, %out: memref<64xi16>) {
    aiex.npu.dma_memcpy_nd(%out[0, 0, 0, 0][1, 1, 1, 64][0, 0, 0, 1]) {id = 1 : i64, metadata = @out} : memref<64xi16>
    aiex.npu.dma_memcpy_nd(%in[0, 0, 0, 0][1, 1, 1, 64][0, 0, 0, 1]) {id = 0 : i64, metadata = @in} : memref<64xi16>
    aiex.npu.dma_wait {symbol = @out}
  }
}
