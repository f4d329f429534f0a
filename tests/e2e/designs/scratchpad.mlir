// The host leaves two numbers in the firmware's scratchpad, which hands them to the core: y = times * x + plus.
module {
  aiex.scratchpad_parameter @times : i32
  aiex.scratchpad_parameter @plus : i32
  aie.device(npu2_1col) {
    %shim = aie.tile(0, 0)
    %a = aie.tile(0, 2)
    aie.objectfifo @in(%shim, {%a}, 2 : i32) : !aie.objectfifo<memref<16xi32>>
    aie.objectfifo @out(%a, {%shim}, 2 : i32) : !aie.objectfifo<memref<16xi32>>
    %core = aie.core(%a) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c16 = arith.constant 16 : index
      %times = aiex.read_scratchpad_parameter @times : i32
      %plus = aiex.read_scratchpad_parameter @plus : i32
      %in = aie.objectfifo.acquire @in(Consume, 1) : !aie.objectfifosubview<memref<16xi32>>
      %in0 = aie.objectfifo.subview.access %in[0] : !aie.objectfifosubview<memref<16xi32>> -> memref<16xi32>
      %out = aie.objectfifo.acquire @out(Produce, 1) : !aie.objectfifosubview<memref<16xi32>>
      %out0 = aie.objectfifo.subview.access %out[0] : !aie.objectfifosubview<memref<16xi32>> -> memref<16xi32>
      scf.for %i = %c0 to %c16 step %c1 {
        %x = memref.load %in0[%i] : memref<16xi32>
        %product = arith.muli %x, %times : i32
        %y = arith.addi %product, %plus : i32
        memref.store %y, %out0[%i] : memref<16xi32>
      }
      aie.objectfifo.release @in(Consume, 1)
      aie.objectfifo.release @out(Produce, 1)
      aie.end
    }
    aie.runtime_sequence @scale(%in: memref<16xi32>, %out: memref<16xi32>) {
      aiex.sync_scratchpad_parameters_from_host
      aiex.npu.dma_memcpy_nd(%out[0, 0, 0, 0][1, 1, 1, 16][0, 0, 0, 1])
          {id = 1 : i64, metadata = @out} : memref<16xi32>
      aiex.npu.dma_memcpy_nd(%in[0, 0, 0, 0][1, 1, 1, 16][0, 0, 0, 1])
          {id = 0 : i64, metadata = @in} : memref<16xi32>
      aiex.npu.dma_wait {symbol = @out}
    }
  }
}
