// RUN: tilewright opt --air-translate-to-llvm --split-input-file --verify-diagnostics %s | filecheck %s

// Where the buffer is in the heap of one rank, it is in that of the other.
// CHECK-LABEL: func.func @moved
// CHECK-NEXT: %[[ADDRESS:.+]] = memref.extract_aligned_pointer_as_index %arg0
// CHECK-NEXT: %[[FROM:.+]] = memref.load %arg3[%arg1] : memref<?xindex>
// CHECK-NEXT: %[[TO:.+]] = memref.load %arg3[%arg2] : memref<?xindex>
// CHECK-NEXT: %[[DISTANCE:.+]] = arith.subi %[[TO]], %[[FROM]] : index
// CHECK-NEXT: %[[MOVED:.+]] = arith.addi %[[ADDRESS]], %[[DISTANCE]] : index
// CHECK-NEXT: %[[NUMBER:.+]] = arith.index_cast %[[MOVED]] : index to i64
// CHECK-NEXT: llvm.inttoptr %[[NUMBER]] : i64 to !llvm.ptr
// CHECK:      %[[THERE:.+]] = builtin.unrealized_conversion_cast %{{.+}} to memref<8xf32>
// CHECK-NEXT: return %[[THERE]]
func.func @moved(%m: memref<8xf32>, %from: index, %to: index, %bases: memref<?xindex>) -> memref<8xf32> {
  %0 = air.translate %m, %from, %to, %bases : memref<8xf32>, memref<?xindex>
  return %0 : memref<8xf32>
}

// -----

// The descriptor has the strides and the offset of the view, not those of a buffer of that shape.
// CHECK-LABEL: func.func @view
// CHECK: llvm.mlir.constant(5 : i64)
// CHECK: [2] : !llvm.struct
// CHECK: llvm.mlir.constant(16 : i64)
// CHECK: [4, 0] : !llvm.struct
func.func @view(%m: memref<4x4xf32, strided<[16, 1], offset: 5>>, %r: index, %bases: memref<2xindex>) {
  %0 = air.translate %m, %r, %r, %bases : memref<4x4xf32, strided<[16, 1], offset: 5>>, memref<2xindex>
  return
}

// -----

// Sizes that only a run knows are those of the buffer here, and strides follow from them.
// CHECK-LABEL: func.func @runtime_sizes
// CHECK:      %[[ROWS:.+]] = memref.dim %arg0, %c0
// CHECK-NEXT: %[[N:.+]] = arith.index_cast %[[ROWS]] : index to i64
// CHECK:      %[[COLUMNS:.+]] = memref.dim %arg0, %c1
// CHECK-NEXT: %[[M:.+]] = arith.index_cast %[[COLUMNS]] : index to i64
// CHECK:      llvm.insertvalue %[[N]], %{{.+}}[3, 0]
// CHECK-NEXT: llvm.insertvalue %[[M]], %{{.+}}[4, 0]
// CHECK-NEXT: llvm.insertvalue %[[M]], %{{.+}}[3, 1]
func.func @runtime_sizes(%m: memref<?x?xf32>, %r: index, %bases: memref<?xindex>) {
  %0 = air.translate %m, %r, %r, %bases : memref<?x?xf32>, memref<?xindex>
  return
}

// -----

func.func @unknown_place(%m: memref<4xf32, strided<[1], offset: ?>>, %r: index, %bases: memref<?xindex>) {
  // expected-error @+1 {{'air.translate' op air.translate requires a source memref whose strides and offset are known}}
  %0 = air.translate %m, %r, %r, %bases : memref<4xf32, strided<[1], offset: ?>>, memref<?xindex>
  return
}
