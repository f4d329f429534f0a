// One channel of the host feeds two tiles: the id in each packet's header says where it goes.
aie.device(npu1_1col) {
  %shim = aie.tile(0, 0)
  %a = aie.tile(0, 2)
  %b = aie.tile(0, 3)
  %in_a = aie.buffer(%a) : memref<8xi32>
  %in_b = aie.buffer(%b) : memref<8xi32>
  %empty_a = aie.lock(%a) {init = 1 : i32}
  %full_a = aie.lock(%a) {init = 0 : i32}
  %empty_b = aie.lock(%b) {init = 1 : i32}
  %full_b = aie.lock(%b) {init = 0 : i32}
  aie.packet_flow(4) {
    aie.packet_source<%shim, DMA : 0>
    aie.packet_dest<%a, DMA : 0>
  }
  aie.packet_flow(5) {
    aie.packet_source<%shim, DMA : 0>
    aie.packet_dest<%b, DMA : 0>
  }
  aie.flow(%a, DMA : 0, %shim, DMA : 0)
  aie.flow(%b, DMA : 0, %shim, DMA : 1)
  aie.shim_dma_allocation @in(%shim, MM2S, 0)
  aie.shim_dma_allocation @out_a(%shim, S2MM, 0)
  aie.shim_dma_allocation @out_b(%shim, S2MM, 1)
  %mem_a = aie.mem(%a) {
    %receive = aie.dma(S2MM, 0) [{
      %one = arith.constant 1 : i32
      aie.use_lock(%empty_a, AcquireGreaterEqual, %one)
      aie.dma_bd(%in_a : memref<8xi32> offset = 0 len = 8)
      aie.use_lock(%full_a, Release, %one)
    }]
    %send = aie.dma(MM2S, 0) [{
      %one = arith.constant 1 : i32
      aie.use_lock(%full_a, AcquireGreaterEqual, %one)
      aie.dma_bd(%in_a : memref<8xi32> offset = 0 len = 8)
      aie.use_lock(%empty_a, Release, %one)
    }]
    aie.end
  }
  %mem_b = aie.mem(%b) {
    %receive = aie.dma(S2MM, 0) [{
      %one = arith.constant 1 : i32
      aie.use_lock(%empty_b, AcquireGreaterEqual, %one)
      aie.dma_bd(%in_b : memref<8xi32> offset = 0 len = 8)
      aie.use_lock(%full_b, Release, %one)
    }]
    %send = aie.dma(MM2S, 0) [{
      %one = arith.constant 1 : i32
      aie.use_lock(%full_b, AcquireGreaterEqual, %one)
      aie.dma_bd(%in_b : memref<8xi32> offset = 0 len = 8)
      aie.use_lock(%empty_b, Release, %one)
    }]
    aie.end
  }
  aie.runtime_sequence @split(%in: memref<32xi32>, %out_a: memref<16xi32>, %out_b: memref<16xi32>) {
    aiex.npu.dma_memcpy_nd(%out_a[0, 0, 0, 0][1, 1, 1, 16][0, 0, 0, 1])
        {id = 2 : i64, metadata = @out_a} : memref<16xi32>
    aiex.npu.dma_memcpy_nd(%out_b[0, 0, 0, 0][1, 1, 1, 16][0, 0, 0, 1])
        {id = 3 : i64, metadata = @out_b} : memref<16xi32>
    aiex.npu.dma_memcpy_nd(%in[0, 0, 0, 0][1, 1, 1, 16][0, 0, 0, 1], packet = <pkt_id = 5, pkt_type = 0>)
        {id = 0 : i64, metadata = @in} : memref<32xi32>
    aiex.npu.dma_memcpy_nd(%in[0, 0, 0, 16][1, 1, 1, 16][0, 0, 0, 1], packet = <pkt_id = 4, pkt_type = 0>)
        {id = 1 : i64, metadata = @in} : memref<32xi32>
    aiex.npu.dma_wait {symbol = @out_a}
    aiex.npu.dma_wait {symbol = @out_b}
  }
}
