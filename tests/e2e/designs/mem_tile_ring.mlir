// A mem tile holds three blocks between its two channels: a ring of three descriptors on each side.
aie.device(npu1_1col) {
  %shim = aie.tile(0, 0)
  %mem = aie.tile(0, 1)
  %a = aie.buffer(%mem) : memref<8xi32>
  %b = aie.buffer(%mem) : memref<8xi32>
  %c = aie.buffer(%mem) : memref<8xi32>
  %empty = aie.lock(%mem) {init = 3 : i32}
  %full = aie.lock(%mem) {init = 0 : i32}
  aie.flow(%shim, DMA : 0, %mem, DMA : 0)
  aie.flow(%mem, DMA : 0, %shim, DMA : 0)
  aie.shim_dma_allocation @in(%shim, MM2S, 0)
  aie.shim_dma_allocation @out(%shim, S2MM, 0)
  %dma = aie.memtile_dma(%mem) {
    %one = arith.constant 1 : i32
    %receive = aie.dma_start(S2MM, 0, ^fill_a, ^sender)
  ^fill_a:
    aie.use_lock(%empty, AcquireGreaterEqual, %one)
    aie.dma_bd(%a : memref<8xi32> offset = 0 len = 8)
    aie.use_lock(%full, Release, %one)
    aie.next_bd ^fill_b
  ^fill_b:
    aie.use_lock(%empty, AcquireGreaterEqual, %one)
    aie.dma_bd(%b : memref<8xi32> offset = 0 len = 8)
    aie.use_lock(%full, Release, %one)
    aie.next_bd ^fill_c
  ^fill_c:
    aie.use_lock(%empty, AcquireGreaterEqual, %one)
    aie.dma_bd(%c : memref<8xi32> offset = 0 len = 8)
    aie.use_lock(%full, Release, %one)
    aie.next_bd ^fill_a
  ^sender:
    %send = aie.dma_start(MM2S, 0, ^drain_a, ^end)
  ^drain_a:
    aie.use_lock(%full, AcquireGreaterEqual, %one)
    aie.dma_bd(%a : memref<8xi32> offset = 0 len = 8)
    aie.use_lock(%empty, Release, %one)
    aie.next_bd ^drain_b
  ^drain_b:
    aie.use_lock(%full, AcquireGreaterEqual, %one)
    aie.dma_bd(%b : memref<8xi32> offset = 0 len = 8)
    aie.use_lock(%empty, Release, %one)
    aie.next_bd ^drain_c
  ^drain_c:
    aie.use_lock(%full, AcquireGreaterEqual, %one)
    aie.dma_bd(%c : memref<8xi32> offset = 0 len = 8)
    aie.use_lock(%empty, Release, %one)
    aie.next_bd ^drain_a
  ^end:
    aie.end
  }
  aie.runtime_sequence @copy(%in: memref<64xi32>, %out: memref<64xi32>) {
    aiex.npu.dma_memcpy_nd(%out[0, 0, 0, 0][1, 1, 1, 64][0, 0, 0, 1]) {id = 1 : i64, metadata = @out} : memref<64xi32>
    aiex.npu.dma_memcpy_nd(%in[0, 0, 0, 0][1, 1, 1, 64][0, 0, 0, 1]) {id = 0 : i64, metadata = @in} : memref<64xi32>
    aiex.npu.dma_wait {symbol = @out}
  }
}
