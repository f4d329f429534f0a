// A number that the core multiplies by is written into its memory by the sequence, which then lets it begin.
aie.device(npu1_1col) {
  %shim = aie.tile(0, 0)
  %a = aie.tile(0, 2)
  %factor = aie.buffer(%a) {sym_name = "factor"} : memref<2xi32>
  %go = aie.lock(%a, 15) {sym_name = "go", init = 0 : i32}
  aie.objectfifo @in(%shim, {%a}, 2 : i32) : !aie.objectfifo<memref<8xi32>>
  aie.objectfifo @out(%a, {%shim}, 2 : i32) : !aie.objectfifo<memref<8xi32>>
  %core = aie.core(%a) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %c8 = arith.constant 8 : index
    %forever = arith.constant 9223372036854775807 : index
    %one = arith.constant 1 : i32
    scf.for %round = %c0 to %forever step %c1 {
      aie.use_lock(%go, AcquireGreaterEqual, %one)
      %times = memref.load %factor[%c0] : memref<2xi32>
      %plus = memref.load %factor[%c1] : memref<2xi32>
      scf.for %block = %c0 to %c4 step %c1 {
        %in = aie.objectfifo.acquire @in(Consume, 1) : !aie.objectfifosubview<memref<8xi32>>
        %in0 = aie.objectfifo.subview.access %in[0] : !aie.objectfifosubview<memref<8xi32>> -> memref<8xi32>
        %out = aie.objectfifo.acquire @out(Produce, 1) : !aie.objectfifosubview<memref<8xi32>>
        %out0 = aie.objectfifo.subview.access %out[0] : !aie.objectfifosubview<memref<8xi32>> -> memref<8xi32>
        scf.for %i = %c0 to %c8 step %c1 {
          %x = memref.load %in0[%i] : memref<8xi32>
          %product = arith.muli %x, %times : i32
          %y = arith.addi %product, %plus : i32
          memref.store %y, %out0[%i] : memref<8xi32>
        }
        aie.objectfifo.release @in(Consume, 1)
        aie.objectfifo.release @out(Produce, 1)
      }
    }
    aie.end
  }
  aie.runtime_sequence @scale(%in: memref<32xi32>, %out: memref<32xi32>, %times: i32, %plus: i32) {
    aiex.npu.rtp_write(@factor, 0, %times) : i32
    aiex.npu.rtp_write(@factor, 1, %plus) : i32
    aiex.set_lock(%go, 1)
    aiex.npu.dma_memcpy_nd(%out[0, 0, 0, 0][1, 1, 1, 32][0, 0, 0, 1]) {id = 1 : i64, metadata = @out} : memref<32xi32>
    aiex.npu.dma_memcpy_nd(%in[0, 0, 0, 0][1, 1, 1, 32][0, 0, 0, 1]) {id = 0 : i64, metadata = @in} : memref<32xi32>
    aiex.npu.dma_wait {symbol = @out}
  }
}
