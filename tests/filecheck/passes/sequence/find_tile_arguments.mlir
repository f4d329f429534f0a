// RUN: tilewright opt --split-input-file --tilewright-find-tile-arguments %s | filecheck %s

// Buffers of one object, of which a number of the run says how much is moved, or from where: a task's, and one of a
// transfer. The last one is moved as it is.
// CHECK-LABEL: aie.runtime_sequence @tiles
// CHECK-SAME: attributes {tilewright.tile_arguments = array<i64: 0, 1>}
aie.device(npu1) {
  %shim = aie.tile(0, 0)
  %core = aie.tile(0, 2)
  aie.objectfifo @in(%shim, {%core}, 2 : i32) : !aie.objectfifo<memref<4x16xi32>>
  aie.objectfifo @out(%core, {%shim}, 2 : i32) : !aie.objectfifo<memref<256xi8>>
  aie.runtime_sequence @tiles(%a: memref<64xi32>, %b: memref<64xi32>, %whole: memref<64xi32>, %n: i64) {
    %task = aiex.dma_configure_task_for @in {
      aie.dma_bd(%a : memref<64xi32> offset = 0 sizes = [1, 1, 1, %n] strides = [0, 0, 0, 1])
      aie.end
    }
    aiex.dma_start_task(%task)
    %two = arith.constant 2 : i64
    %doubled = arith.muli %n, %two : i64
    aiex.npu.dma_memcpy_nd(%b[0, 0, 0, %doubled][1, 1, 1, 64][0, 0, 0, 1]) {id = 0 : i64, metadata = @out} : memref<64xi32>
    aiex.npu.dma_memcpy_nd(%whole[0, 0, 0, 0][1, 1, 1, 64][0, 0, 0, 1]) {id = 1 : i64, metadata = @out} : memref<64xi32>
  }
}

// -----

// Bounds: buffers of two objects, of an open size, and of an object where all numbers are known.
// CHECK-LABEL: aie.runtime_sequence @bounds
// CHECK-NOT: tile_arguments
aie.device(npu1) {
  %shim = aie.tile(0, 0)
  %core = aie.tile(0, 2)
  aie.objectfifo @in(%shim, {%core}, 2 : i32) : !aie.objectfifo<memref<64xi32>>
  aie.shim_dma_allocation @plain(%shim, MM2S, 1)
  aie.runtime_sequence @bounds(%a: memref<128xi32>, %b: memref<?xi32>, %c: memref<64xi32>, %d: memref<64xi32>, %n: i64) {
    aiex.npu.dma_memcpy_nd(%a[0, 0, 0, 0][1, 1, 1, %n][0, 0, 0, 1]) {id = 0 : i64, metadata = @in} : memref<128xi32>
    aiex.npu.dma_memcpy_nd(%b[0, 0, 0, 0][1, 1, 1, %n][0, 0, 0, 1]) {id = 1 : i64, metadata = @in} : memref<?xi32>
    %all = arith.constant 64 : i64
    aiex.npu.dma_memcpy_nd(%c[0, 0, 0, 0][1, 1, 1, %all][0, 0, 0, 1]) {id = 2 : i64, metadata = @in} : memref<64xi32>
    aiex.npu.dma_memcpy_nd(%d[0, 0, 0, 0][1, 1, 1, %n][0, 0, 0, 1]) {id = 3 : i64, metadata = @plain} : memref<64xi32>
  }
}
