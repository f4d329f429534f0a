// RUN: tilewright opt --canonicalize --allow-unregistered-dialect %s | filecheck %s

// Sizes that are known become part of the type, and dimensions of it are constants.
func.func @sizes(%n: index) -> (index, index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %a = memref.alloc(%c16, %n) : memref<?x?xi32>
  "test.use"(%a) : (memref<?x?xi32>) -> ()
  %0 = memref.dim %a, %c0 : memref<?x?xi32>
  %1 = memref.dim %a, %c1 : memref<?x?xi32>
  return %0, %1 : index, index
}
// CHECK-LABEL: func.func @sizes
// CHECK-NEXT:    %c16 = arith.constant 16 : index
// CHECK-NEXT:    %alloc = memref.alloc(%arg0) : memref<16x?xi32>
// CHECK-NEXT:    %cast = memref.cast %alloc : memref<16x?xi32> to memref<?x?xi32>
// CHECK-NEXT:    "test.use"(%cast) : (memref<?x?xi32>) -> ()
// CHECK-NEXT:    return %c16, %arg0 : index, index

// A buffer that is only written need not exist.
func.func @unread(%v: i32, %i: index) {
  %a = memref.alloc() : memref<4xi32>
  memref.store %v, %a[%i] : memref<4xi32>
  memref.dealloc %a : memref<4xi32>
  return
}
// CHECK-LABEL: func.func @unread
// CHECK-NEXT:    return

// Loads and stores look through casts; a copy to itself is nothing; the whole of a buffer is the buffer.
func.func @views(%m: memref<4x8xi32>, %i: index) -> (i32, memref<4x8xi32>, memref<2x4xi32, strided<[8, 1], offset: ?>>) {
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %cast = memref.cast %m : memref<4x8xi32> to memref<?x?xi32>
  %0 = memref.load %cast[%i, %i] : memref<?x?xi32>
  memref.copy %m, %m : memref<4x8xi32> to memref<4x8xi32>
  %whole = memref.subview %m[0, 0] [4, 8] [1, 1] : memref<4x8xi32> to memref<4x8xi32, strided<[8, 1]>>
  %same = memref.cast %whole : memref<4x8xi32, strided<[8, 1]>> to memref<4x8xi32>
  %part = memref.subview %m[%i, 0] [2, %c4] [1, %c1] : memref<4x8xi32> to memref<2x?xi32, strided<[8, ?], offset: ?>>
  %known = memref.cast %part : memref<2x?xi32, strided<[8, ?], offset: ?>> to memref<2x4xi32, strided<[8, 1], offset: ?>>
  return %0, %same, %known : i32, memref<4x8xi32>, memref<2x4xi32, strided<[8, 1], offset: ?>>
}
// CHECK-LABEL: func.func @views
// CHECK-NEXT:    %0 = memref.load %arg0[%arg1, %arg1] : memref<4x8xi32>
// CHECK-NEXT:    %subview = memref.subview %arg0[%arg1, 0] [2, 4] [1, 1] : memref<4x8xi32> to memref<2x4xi32, strided<[8, 1], offset: ?>>
// CHECK-NEXT:    return %0, %arg0, %subview
