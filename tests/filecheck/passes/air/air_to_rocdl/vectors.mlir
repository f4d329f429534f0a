// RUN: tilewright opt --air-to-rocdl="vector-bytes=16" %s | filecheck %s
// Copies move 16 bytes at a time where sizes and places are multiples of that, and arrays begin so.

// CHECK-LABEL: func.func @anywhere
// Where an argument begins only a run knows: there is a kernel for each case.
// CHECK:       %[[POINTER:.+]] = memref.extract_aligned_pointer_as_index %arg0 : memref<64x64xf32> -> index
// CHECK:       %[[REST:.+]] = arith.andi %[[POINTER]]
// CHECK:       %[[ALIGNED:.+]] = arith.cmpi eq, %[[REST]]
// CHECK:       scf.if %[[ALIGNED]] {
// CHECK:       gpu.launch
// CHECK:       vector.load {{.*}} {alignment = 16 : i64} : memref<64x64xf32>, vector<4xf32>
// CHECK:       } else {
// CHECK:       gpu.launch
// CHECK-NOT:   vector.load
// CHECK:       memref.load {{.*}} : memref<64x64xf32>
// CHECK:       return
func.func @anywhere(%A: memref<64x64xf32>) {
  %c1 = arith.constant 1 : index
  air.launch (%x) in (%nx=%c1) args(%a=%A) : memref<64x64xf32> {
    air.segment args(%sa=%a) : memref<64x64xf32> {
      %tile = memref.alloc() : memref<64x64xf32, 1>
      air.dma_memcpy_nd (%tile[] [] [], %sa[] [] []) : (memref<64x64xf32, 1>, memref<64x64xf32>)
      %c2 = arith.constant 2 : index
      air.herd tile (%i, %j) in (%ni=%c2, %nj=%c2) {
      }
    }
  }
  return
}

// CHECK-LABEL: func.func @allocated
// What a GPU allocates begins at multiples of 256 bytes.
// CHECK-NOT:   scf.if
// CHECK:       vector.load {{.*}} {alignment = 16 : i64} : memref<64x64xf32>, vector<4xf32>
func.func @allocated() {
  %c1 = arith.constant 1 : index
  %A = gpu.alloc () : memref<64x64xf32>
  air.launch (%x) in (%nx=%c1) args(%a=%A) : memref<64x64xf32> {
    air.segment args(%sa=%a) : memref<64x64xf32> {
      %tile = memref.alloc() : memref<64x64xf32, 1>
      air.dma_memcpy_nd (%tile[] [] [], %sa[] [] []) : (memref<64x64xf32, 1>, memref<64x64xf32>)
      %c2 = arith.constant 2 : index
      air.herd tile (%i, %j) in (%ni=%c2, %nj=%c2) {
      }
    }
  }
  return
}

// CHECK-LABEL: func.func @odd
// Rows of 63 elements do not begin at multiples of 16 bytes: there is one kernel.
// CHECK-NOT:   scf.if
// CHECK-NOT:   vector.load
// CHECK:       return
func.func @odd(%A: memref<64x63xf32>) {
  %c1 = arith.constant 1 : index
  air.launch (%x) in (%nx=%c1) args(%a=%A) : memref<64x63xf32> {
    air.segment args(%sa=%a) : memref<64x63xf32> {
      %tile = memref.alloc() : memref<64x63xf32, 1>
      air.dma_memcpy_nd (%tile[] [] [], %sa[] [] []) : (memref<64x63xf32, 1>, memref<64x63xf32>)
      %c2 = arith.constant 2 : index
      air.herd tile (%i, %j) in (%ni=%c2, %nj=%c2) {
      }
    }
  }
  return
}
