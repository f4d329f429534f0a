// RUN: tilewright opt --split-input-file --tilewright-find-open-arguments %s | filecheck %s

// A number of the run says how much of a buffer goes through an ObjectFifo, or for one object from where: in a task, in
// transfers, and for a part of rows that are a number of the run apart. The last one is moved as it is.
// CHECK-LABEL: aie.runtime_sequence @problems
// CHECK-SAME: attributes {tilewright.open_arguments = array<i64: 0, 1, 2, 3>}
aie.device(npu1) {
  %shim = aie.tile(0, 0)
  %core = aie.tile(0, 2)
  aie.objectfifo @in(%shim, {%core}, 2 : i32) : !aie.objectfifo<memref<4x16xi32>>
  aie.objectfifo @out(%core, {%shim}, 2 : i32) : !aie.objectfifo<memref<256xi8>>
  aie.runtime_sequence @problems(%a: memref<64xi32>, %b: memref<64xi32>, %c: memref<640xi32>, %d: memref<640xi32>, %whole: memref<64xi32>, %n: i64) {
    %task = aiex.dma_configure_task_for @in {
      aie.dma_bd(%a : memref<64xi32> offset = 0 sizes = [1, 1, 1, %n] strides = [0, 0, 0, 1])
      aie.end
    }
    aiex.dma_start_task(%task)
    %two = arith.constant 2 : i64
    %doubled = arith.muli %n, %two : i64
    aiex.npu.dma_memcpy_nd(%b[0, 0, 0, %doubled][1, 1, 1, 64][0, 0, 0, 1]) {id = 0 : i64, metadata = @out} : memref<64xi32>
    aiex.npu.dma_memcpy_nd(%c[0, 0, 0, 0][1, 1, %n, 64][0, 0, 64, 1]) {id = 2 : i64, metadata = @out} : memref<640xi32>
    aiex.npu.dma_memcpy_nd(%d[0, 0, 0, 0][1, 1, 4, 16][0, 0, %n, 1]) {id = 3 : i64, metadata = @out} : memref<640xi32>
    aiex.npu.dma_memcpy_nd(%whole[0, 0, 0, 0][1, 1, 1, 64][0, 0, 0, 1]) {id = 1 : i64, metadata = @out} : memref<64xi32>
  }
}

// -----

// Bounds: of a buffer that is more than an object, a number of the run only says which part; of the next
// two all numbers are known; and the last does not go through an ObjectFifo.
// CHECK-LABEL: aie.runtime_sequence @bounds
// CHECK-NOT: open_arguments
aie.device(npu1) {
  %shim = aie.tile(0, 0)
  %core = aie.tile(0, 2)
  aie.objectfifo @in(%shim, {%core}, 2 : i32) : !aie.objectfifo<memref<64xi32>>
  aie.shim_dma_allocation @plain(%shim, MM2S, 1)
  aie.runtime_sequence @bounds(%a: memref<128xi32>, %b: memref<128xi32>, %c: memref<64xi32>, %d: memref<64xi32>, %n: i64) {
    aiex.npu.dma_memcpy_nd(%a[0, 0, 0, %n][1, 1, 1, 64][0, 0, 0, 1]) {id = 0 : i64, metadata = @in} : memref<128xi32>
    %task = aiex.dma_configure_task_for @in {
      aie.dma_bd(%b : memref<128xi32> offset = 64 len = 64)
      aie.end
    }
    aiex.dma_start_task(%task)
    %all = arith.constant 64 : i64
    aiex.npu.dma_memcpy_nd(%c[0, 0, 0, 0][1, 1, 1, %all][0, 0, 0, 1]) {id = 2 : i64, metadata = @in} : memref<64xi32>
    aiex.npu.dma_memcpy_nd(%d[0, 0, 0, 0][1, 1, 1, %n][0, 0, 0, 1]) {id = 3 : i64, metadata = @plain} : memref<64xi32>
  }
}
