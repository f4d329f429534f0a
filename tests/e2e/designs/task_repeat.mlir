// A task of a mem tile's DMA runs its descriptor three times over, once for each block that a lock lets through.
aie.device(npu1_1col) {
  %shim = aie.tile(0, 0)
  %mem = aie.tile(0, 1)
  %buffer = aie.buffer(%mem) : memref<16xi32>
  %full = aie.lock(%mem) {init = 0 : i32}
  aie.flow(%shim, DMA : 0, %mem, DMA : 0)
  aie.flow(%mem, DMA : 0, %shim, DMA : 0)
  aie.shim_dma_allocation @in(%shim, MM2S, 0)
  aie.shim_dma_allocation @out(%shim, S2MM, 0)
  %dma = aie.memtile_dma(%mem) {
    %receive = aie.dma_start(S2MM, 0, ^fill, ^sender)
  ^fill:
    aie.dma_bd(%buffer : memref<16xi32> offset = 0 len = 16)
    %three = arith.constant 3 : i32
    aie.use_lock(%full, Release, %three)
    aie.next_bd ^end
  ^sender:
    %send = aie.dma_start(MM2S, 0, ^drain, ^end, repeat_count = 2)
  ^drain:
    %one = arith.constant 1 : i32
    aie.use_lock(%full, AcquireGreaterEqual, %one)
    aie.dma_bd(%buffer : memref<16xi32> offset = 0 len = 16)
    aie.next_bd ^end
  ^end:
    aie.end
  }
  aie.runtime_sequence @thrice(%in: memref<16xi32>, %out: memref<48xi32>) {
    aiex.npu.dma_memcpy_nd(%out[0, 0, 0, 0][1, 1, 1, 48][0, 0, 0, 1]) {id = 1 : i64, metadata = @out} : memref<48xi32>
    aiex.npu.dma_memcpy_nd(%in[0, 0, 0, 0][1, 1, 1, 16][0, 0, 0, 1]) {id = 0 : i64, metadata = @in} : memref<16xi32>
    aiex.npu.dma_wait {symbol = @out}
  }
}
