// RUN: tilewright opt --air-symmetric-alloc-to-mgpu %s | filecheck %s

// CHECK:      func.func private @mgpuBarrier()
// CHECK-NEXT: func.func private @mgpuSymmetricFree(!llvm.ptr, !llvm.ptr)
// CHECK-NEXT: func.func private @mgpuSymmetricAlloc(i64, !llvm.ptr) -> !llvm.ptr

// 2 * 3 * 2 bytes, and a descriptor with pointers, offset, sizes and row-major strides.
// CHECK-LABEL: func.func @matrix
// CHECK-NEXT: %c12_i64 = arith.constant 12 : i64
// CHECK-NEXT: %[[NULL:.+]] = llvm.mlir.zero : !llvm.ptr
// CHECK-NEXT: %[[POINTER:.+]] = call @mgpuSymmetricAlloc(%c12_i64, %[[NULL]]) : (i64, !llvm.ptr) -> !llvm.ptr
// CHECK-NEXT: %[[D0:.+]] = llvm.mlir.poison : !llvm.struct<(ptr, ptr, i64, array<2 x i64>, array<2 x i64>)>
// CHECK-NEXT: %[[D1:.+]] = llvm.insertvalue %[[POINTER]], %[[D0]][0]
// CHECK-NEXT: %[[D2:.+]] = llvm.insertvalue %[[POINTER]], %[[D1]][1]
// CHECK-NEXT: %[[ZERO:.+]] = llvm.mlir.constant(0 : i64) : i64
// CHECK-NEXT: %[[D3:.+]] = llvm.insertvalue %[[ZERO]], %[[D2]][2]
// CHECK-NEXT: %[[N0:.+]] = llvm.mlir.constant(2 : i64) : i64
// CHECK-NEXT: %[[D4:.+]] = llvm.insertvalue %[[N0]], %[[D3]][3, 0]
// CHECK-NEXT: %[[S0:.+]] = llvm.mlir.constant(3 : i64) : i64
// CHECK-NEXT: %[[D5:.+]] = llvm.insertvalue %[[S0]], %[[D4]][4, 0]
// CHECK-NEXT: llvm.mlir.constant(3 : i64)
// CHECK-NEXT: [3, 1]
// CHECK-NEXT: llvm.mlir.constant(1 : i64)
// CHECK-NEXT: [4, 1]
// CHECK-NEXT: builtin.unrealized_conversion_cast %{{.+}} to memref<2x3xf16, #air.symmetric_heap>
// CHECK-NEXT: %[[STREAM:.+]] = llvm.mlir.zero : !llvm.ptr
// CHECK-NEXT: call @mgpuSymmetricFree(%[[POINTER]], %[[STREAM]]) : (!llvm.ptr, !llvm.ptr) -> ()
// CHECK-NEXT: return
func.func @matrix() {
  %m = memref.alloc() : memref<2x3xf16, #air.symmetric_heap>
  memref.dealloc %m : memref<2x3xf16, #air.symmetric_heap>
  return
}

// An index takes eight bytes, a number without dimensions has no sizes; other memory is left alone.
// CHECK-LABEL: func.func @others
// CHECK: arith.constant 32 : i64
// CHECK: to memref<4xindex, #air.symmetric_heap>
// CHECK: arith.constant 4 : i64
// CHECK: llvm.mlir.poison : !llvm.struct<(ptr, ptr, i64)>
// CHECK: memref.alloc() : memref<8xf32>
func.func @others() {
  %a = memref.alloc() : memref<4xindex, #air.symmetric_heap>
  %b = memref.alloc() : memref<f32, #air.symmetric_heap>
  %c = memref.alloc() : memref<8xf32>
  return
}

// Sizes that only a run knows: negative ones and products that wrap stop the program, and ranks meet where they ask, to
// compare. Strides are products of sizes.
// CHECK-LABEL: func.func @runtime_sizes
// CHECK:      %[[N:.+]] = arith.index_cast %arg0 : index to i64
// CHECK:      %[[M:.+]] = arith.index_cast %arg1 : index to i64
// CHECK:      %[[MOST:.+]] = arith.divui %{{.+}}, %{{.+}} : i64
// CHECK:      %[[FITS:.+]] = arith.cmpi ule, %[[N]], %[[MOST]] : i64
// CHECK:      cf.assert %[[FITS]], "asks the symmetric heap for a negative size
// CHECK:      %[[ROWS:.+]] = arith.muli %{{.+}}, %[[N]] : i64
// CHECK:      %[[BYTES:.+]] = arith.muli %[[ROWS]], %[[M]] : i64
// CHECK:      call @mgpuSymmetricAlloc(%[[BYTES]], %{{.+}}) : (i64, !llvm.ptr) -> !llvm.ptr
// CHECK-NEXT: call @mgpuBarrier() : () -> ()
// CHECK:      %[[FIVE:.+]] = arith.constant 5 : i64
// CHECK:      %[[ROW:.+]] = arith.muli %[[FIVE]], %[[M]] : i64
// CHECK:      llvm.insertvalue %[[N]], %{{.+}}[3, 0]
// CHECK:      llvm.insertvalue %[[ROW]], %{{.+}}[4, 0]
// CHECK:      llvm.insertvalue %[[M]], %{{.+}}[3, 1]
// CHECK:      to memref<?x?x5xf32, #air.symmetric_heap>
func.func @runtime_sizes(%n: index, %m: index) {
  %a = memref.alloc(%n, %m) : memref<?x?x5xf32, #air.symmetric_heap>
  return
}
