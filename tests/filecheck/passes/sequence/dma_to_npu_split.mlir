// RUN: tilewright opt --split-input-file --verify-diagnostics --aie-dma-to-npu=guards=full %s | filecheck %s

// The generated code makes a size of d0 that is too long into two loops: it looks for the
// smallest number of parts that divides it and makes them short enough.
// CHECK-LABEL: @rows
// CHECK:      %[[LONG:.+]] = arith.cmpi sgt, %arg1, %{{.+}} : i64
// CHECK:      %[[PART:.+]] = scf.if %{{.+}} -> (i64) {
// CHECK:        %[[FOUND:.+]] = scf.while (%[[COUNT:.+]] = %{{.+}}) : (i64) -> i64 {
// CHECK:          %[[REST:.+]] = arith.remui %arg1, %[[COUNT]] : i64
// CHECK:          %[[NONE:.+]] = arith.cmpi ne, %[[REST]]
// CHECK:          scf.condition(%[[NONE]]) %[[COUNT]] : i64
// CHECK:        %[[LONGEST:.+]] = arith.divui %arg1, %[[FOUND]] : i64
// CHECK-NEXT:   scf.yield %[[LONGEST]] : i64
// CHECK:      aiex.npu.assert_range(%{{.+}}) {max = 1023 : i64, min = 1 : i64, subject = "d0 size, which the other dimensions leave no room to split,"} : i64
aie.device(npu1) {
  %shim = aie.tile(0, 0)
  aie.shim_dma_allocation @in(%shim, MM2S, 0)
  aie.runtime_sequence @rows(%a: memref<?xi32>, %n: i64) {
    aiex.npu.dma_memcpy_nd(%a[0, 0, 0, 0][1, 3, 5, %n][0, 99999, 9999, 1]) {id = 0 : i64, metadata = @in} : memref<?xi32>
  }
}

// -----

// What a bound excludes costs nothing, and neither does what has no room.
// CHECK-LABEL: @bounded
// CHECK-NOT: scf.
aie.device(npu1) {
  %shim = aie.tile(0, 0)
  aie.shim_dma_allocation @in(%shim, MM2S, 0)
  aie.runtime_sequence @bounded(%a: memref<?xi32>, %n: i64) {
    %most = arith.constant 512 : i64
    %bounded = arith.minsi %n, %most : i64
    aiex.npu.dma_memcpy_nd(%a[0, 0, 0, 0][1, 3, 5, %bounded][0, 99999, 9999, 1]) {id = 0 : i64, metadata = @in} : memref<?xi32>
    aiex.npu.dma_memcpy_nd(%a[0, 0, 0, 0][2, 3, 5, %n][0, 99999, 9999, 1]) {id = 1 : i64, metadata = @in} : memref<?xi32>
  }
}

// -----

// A constant beside runtime values is split while compiling: 2000 = 2 * 1000.
// CHECK-LABEL: @constant
// CHECK-NOT: scf.
aie.device(npu1) {
  %shim = aie.tile(0, 0)
  aie.shim_dma_allocation @in(%shim, MM2S, 0)
  aie.runtime_sequence @constant(%a: memref<?xi32>, %n: i64) {
    aiex.npu.dma_memcpy_nd(%a[0, 0, 0, %n][1, 1, 5, 2000][0, 0, 9999, 1]) {id = 0 : i64, metadata = @in} : memref<?xi32>
  }
}
