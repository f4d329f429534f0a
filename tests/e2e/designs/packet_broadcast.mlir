// One packet goes to two mem tiles at once: its way forks, and waits for whoever is slower.
aie.device(npu2_2col) {
  %shim = aie.tile(0, 0)
  %shim1 = aie.tile(1, 0)
  %west = aie.tile(0, 1)
  %east = aie.tile(1, 1)
  aie.packet_flow(3) {
    aie.packet_source<%shim, DMA : 0>
    aie.packet_dest<%west, DMA : 0>
    aie.packet_dest<%east, DMA : 0>
  }
  aie.flow(%west, DMA : 0, %shim, DMA : 0)
  aie.flow(%east, DMA : 0, %shim1, DMA : 0)
  aie.shim_dma_allocation @in(%shim, MM2S, 0)
  aie.shim_dma_allocation @out_west(%shim, S2MM, 0)
  aie.shim_dma_allocation @out_east(%shim1, S2MM, 0)
  %buffer_west = aie.buffer(%west) : memref<24xi32>
  %empty_west = aie.lock(%west) {init = 1 : i32}
  %full_west = aie.lock(%west) {init = 0 : i32}
  %dma_west = aie.memtile_dma(%west) {
    %receive = aie.dma(S2MM, 0) [{
      %one = arith.constant 1 : i32
      aie.use_lock(%empty_west, AcquireGreaterEqual, %one)
      aie.dma_bd(%buffer_west : memref<24xi32> offset = 0 len = 24)
      aie.use_lock(%full_west, Release, %one)
    }]
    %send = aie.dma(MM2S, 0) [{
      %one = arith.constant 1 : i32
      aie.use_lock(%full_west, AcquireGreaterEqual, %one)
      aie.dma_bd(%buffer_west : memref<24xi32> offset = 0 len = 24)
      aie.use_lock(%empty_west, Release, %one)
    }]
    aie.end
  }
  %buffer_east = aie.buffer(%east) : memref<24xi32>
  %empty_east = aie.lock(%east) {init = 1 : i32}
  %full_east = aie.lock(%east) {init = 0 : i32}
  %dma_east = aie.memtile_dma(%east) {
    %receive = aie.dma(S2MM, 0) [{
      %one = arith.constant 1 : i32
      aie.use_lock(%empty_east, AcquireGreaterEqual, %one)
      aie.dma_bd(%buffer_east : memref<24xi32> offset = 0 len = 24)
      aie.use_lock(%full_east, Release, %one)
    }]
    %send = aie.dma(MM2S, 0) [{
      %one = arith.constant 1 : i32
      aie.use_lock(%full_east, AcquireGreaterEqual, %one)
      aie.dma_bd(%buffer_east : memref<24xi32> offset = 0 len = 24 sizes = [8, 3] strides = [1, 8])
      aie.use_lock(%empty_east, Release, %one)
    }]
    aie.end
  }
  aie.runtime_sequence @both(%in: memref<48xi32>, %out_west: memref<48xi32>, %out_east: memref<48xi32>) {
    aiex.npu.dma_memcpy_nd(%in[0, 0, 0, 0][1, 1, 1, 48][0, 0, 0, 1], packet = <pkt_id = 3, pkt_type = 0>)
        {id = 0 : i64, metadata = @in} : memref<48xi32>
    aiex.npu.dma_memcpy_nd(%out_west[0, 0, 0, 0][1, 1, 1, 48][0, 0, 0, 1])
        {id = 1 : i64, metadata = @out_west} : memref<48xi32>
    aiex.npu.dma_memcpy_nd(%out_east[0, 0, 0, 0][1, 1, 1, 48][0, 0, 0, 1])
        {id = 1 : i64, metadata = @out_east} : memref<48xi32>
    aiex.npu.dma_wait {symbol = @out_west}
    aiex.npu.dma_wait {symbol = @out_east}
  }
}
