// RUN: tilewright opt --aie-normalize-address-spaces %s | filecheck %s

// Types that differ in the memory space alone become one, wherever values of them go.
// CHECK-NOT: , 2
// CHECK:     memref.global "public" @data : memref<16xi32>
// CHECK:     func.func private @extern(memref<16xi32>) -> memref<16xi32>
// CHECK:     func.func @main(%{{.*}}: memref<4x4xi32, strided<[8, 1]>>)
// CHECK:     memref.get_global @data : memref<16xi32>
// CHECK:     call @extern({{.*}}) : (memref<16xi32>) -> memref<16xi32>
// CHECK:     scf.for {{.*}} -> (memref<16xi32>)
// CHECK:     memref.load {{.*}} : memref<4x4xi32, strided<[8, 1]>>
aie.device(npu1) {
  memref.global "public" @data : memref<16xi32, 2>
  func.func private @extern(memref<16xi32, 2>) -> memref<16xi32, 2>
  func.func @main(%view: memref<4x4xi32, strided<[8, 1]>, 2>) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %data = memref.get_global @data : memref<16xi32, 2>
    %other = func.call @extern(%data) : (memref<16xi32, 2>) -> memref<16xi32, 2>
    %last = scf.for %i = %c0 to %c1 step %c1 iter_args(%each = %other) -> (memref<16xi32, 2>) {
      scf.yield %each : memref<16xi32, 2>
    }
    %0 = memref.load %view[%c0, %c1] : memref<4x4xi32, strided<[8, 1]>, 2>
    return
  }
}
