// RUN: tilewright opt --air-symmetric-alloc-to-mgpu --split-input-file --verify-diagnostics %s

func.func @bits() {
  // expected-error @+1 {{'memref.alloc' op memref.alloc with #air.symmetric_heap memory_space requires a static-shape memref with byte-aligned element type}}
  %0 = memref.alloc() : memref<8xi1, #air.symmetric_heap>
  return
}

// -----

func.func @layout() {
  // expected-error @+1 {{'memref.alloc' op memref.alloc with #air.symmetric_heap memory_space requires an identity layout (row-major, no offset); strided/affine layouts are not supported}}
  %0 = memref.alloc() : memref<4x4xf32, strided<[1, 4]>, #air.symmetric_heap>
  return
}
