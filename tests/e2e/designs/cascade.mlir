// Accumulators go down a column from core to core; each adds its own share, the last one sends the sum to the host.
aie.device(npu1_1col) {
  %shim = aie.tile(0, 0)
  %low = aie.tile(0, 2)
  %middle = aie.tile(0, 3)
  %high = aie.tile(0, 4)
  %share_high = aie.buffer(%high) : memref<16xi32> = dense<100>
  %share_middle = aie.buffer(%middle) : memref<16xi32> = dense<[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]>
  aie.cascade_flow(%high, %middle)
  aie.cascade_flow(%middle, %low)
  aie.objectfifo @in(%shim, {%low}, 2 : i32) : !aie.objectfifo<memref<16xi32>>
  aie.objectfifo @out(%low, {%shim}, 2 : i32) : !aie.objectfifo<memref<16xi32>>
  %core_high = aie.core(%high) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %rounds = arith.constant 4 : index
    scf.for %round = %c0 to %rounds step %c1 {
      %share = vector.load %share_high[%c0] : memref<16xi32>, vector<16xi32>
      aie.put_cascade(%share : vector<16xi32>)
    }
    aie.end
  }
  %core_middle = aie.core(%middle) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %rounds = arith.constant 4 : index
    scf.for %round = %c0 to %rounds step %c1 {
      %above = aie.get_cascade() : vector<16xi32>
      %share = vector.load %share_middle[%c0] : memref<16xi32>, vector<16xi32>
      %sum = arith.addi %above, %share : vector<16xi32>
      aie.put_cascade(%sum : vector<16xi32>)
    }
    aie.end
  }
  %core_low = aie.core(%low) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %rounds = arith.constant 4 : index
    scf.for %round = %c0 to %rounds step %c1 {
      %in = aie.objectfifo.acquire @in(Consume, 1) : !aie.objectfifosubview<memref<16xi32>>
      %in0 = aie.objectfifo.subview.access %in[0] : !aie.objectfifosubview<memref<16xi32>> -> memref<16xi32>
      %out = aie.objectfifo.acquire @out(Produce, 1) : !aie.objectfifosubview<memref<16xi32>>
      %out0 = aie.objectfifo.subview.access %out[0] : !aie.objectfifosubview<memref<16xi32>> -> memref<16xi32>
      %above = aie.get_cascade() : vector<16xi32>
      %share = vector.load %in0[%c0] : memref<16xi32>, vector<16xi32>
      %sum = arith.addi %above, %share : vector<16xi32>
      vector.store %sum, %out0[%c0] : memref<16xi32>, vector<16xi32>
      aie.objectfifo.release @in(Consume, 1)
      aie.objectfifo.release @out(Produce, 1)
    }
    aie.end
  }
  aie.runtime_sequence @sum(%in: memref<64xi32>, %out: memref<64xi32>) {
    aiex.npu.dma_memcpy_nd(%out[0, 0, 0, 0][1, 1, 1, 64][0, 0, 0, 1]) {id = 1 : i64, metadata = @out} : memref<64xi32>
    aiex.npu.dma_memcpy_nd(%in[0, 0, 0, 0][1, 1, 1, 64][0, 0, 0, 1]) {id = 0 : i64, metadata = @in} : memref<64xi32>
    aiex.npu.dma_wait {symbol = @out}
  }
}
