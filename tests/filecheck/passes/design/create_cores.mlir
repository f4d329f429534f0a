// RUN: tilewright opt --aie-create-cores %s | filecheck %s
// A call with a place becomes the core there: its tile is made if need be, its arguments become buffers of the tile, a
// scalar one of one element that the core loads.

// CHECK:      %[[TILE:.+]] = aie.tile(3, 2)
// CHECK-NEXT: %[[DATA:.+]] = aie.buffer(%[[TILE]]) : memref<4xi32>
// CHECK-NEXT: %[[SCALAR:.+]] = aie.buffer(%[[TILE]]) : memref<1xi32>
// CHECK-NEXT: aie.mem(%[[TILE]]) {
// CHECK-NEXT:   aie.end
// CHECK:      func.func @elsewhere()
// CHECK-NOT:  func.func @here
// CHECK:      aie.core(%[[TILE]]) {
// CHECK-NEXT:   %[[ZERO:.+]] = arith.constant 0 : index
// CHECK-NEXT:   %[[VALUE:.+]] = memref.load %[[SCALAR]][%[[ZERO]]] : memref<1xi32>
// CHECK-NEXT:   %[[AT:.+]] = arith.constant 2 : index
// CHECK-NEXT:   memref.store %[[VALUE]], %[[DATA]][%[[AT]]] : memref<4xi32>
// CHECK-NEXT:   aie.end
// CHECK-NEXT: }
// CHECK-NEXT: func.call @elsewhere() : () -> ()
// CHECK-NOT:  func.call

aie.device(xcvc1902) {
  %data = memref.alloc() : memref<4xi32>
  func.func @here(%to: memref<4xi32>, %value: i32) {
    %at = arith.constant 2 : index
    memref.store %value, %to[%at] : memref<4xi32>
    return
  }
  func.func @elsewhere() {
    return
  }
  %value = arith.constant 7 : i32
  func.call @here(%data, %value) {aie.x = 3, aie.y = 2} : (memref<4xi32>, i32) -> ()
  func.call @elsewhere() : () -> ()
}
