// The host writes into a core's memory, and releases its lock, by control packets: the tile has no other input.
aie.device(npu1_1col) {
  %shim = aie.tile(0, 0)
  %tile = aie.tile(0, 2)
  %number = aie.buffer(%tile) {address = 1024 : i32} : memref<4xi32>
  %result = aie.buffer(%tile) {address = 2048 : i32} : memref<4xi32>
  %given = aie.lock(%tile, 3) {init = 0 : i32}
  %done = aie.lock(%tile, 4) {init = 0 : i32}
  aie.packet_flow(6) {
    aie.packet_source<%shim, DMA : 0>
    aie.packet_dest<%tile, TileControl : 0>
  }
  aie.flow(%tile, DMA : 0, %shim, DMA : 0)
  aie.shim_dma_allocation @control(%shim, MM2S, 0)
  aie.shim_dma_allocation @out(%shim, S2MM, 0)
  %core = aie.core(%tile) {
    %c0 = arith.constant 0 : index
    %one = arith.constant 1 : i32
    aie.use_lock(%given, AcquireGreaterEqual, %one)
    %x = vector.load %number[%c0] : memref<4xi32>, vector<4xi32>
    %y = arith.addi %x, %x : vector<4xi32>
    vector.store %y, %result[%c0] : memref<4xi32>, vector<4xi32>
    aie.use_lock(%done, Release, %one)
    aie.end
  }
  %mem = aie.mem(%tile) {
    %send = aie.dma_start(MM2S, 0, ^result, ^end)
  ^result:
    %one = arith.constant 1 : i32
    aie.use_lock(%done, AcquireGreaterEqual, %one)
    aie.dma_bd(%result : memref<4xi32> offset = 0 len = 4)
    aie.next_bd ^end
  ^end:
    aie.end
  }
  aie.runtime_sequence @double(%control: memref<7xi32>, %out: memref<4xi32>) {
    aiex.npu.dma_memcpy_nd(%out[0, 0, 0, 0][1, 1, 1, 4][0, 0, 0, 1]) {id = 2 : i64, metadata = @out} : memref<4xi32>
    aiex.npu.dma_memcpy_nd(%control[0, 0, 0, 0][1, 1, 1, 5][0, 0, 0, 1], packet = <pkt_id = 6, pkt_type = 0>)
        {id = 0 : i64, metadata = @control} : memref<7xi32>
    aiex.npu.dma_memcpy_nd(%control[0, 0, 0, 5][1, 1, 1, 2][0, 0, 0, 1], packet = <pkt_id = 6, pkt_type = 0>)
        {id = 1 : i64, metadata = @control} : memref<7xi32>
    aiex.npu.dma_wait {symbol = @out}
  }
}
