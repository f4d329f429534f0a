// RUN: tilewright opt --split-input-file --verify-diagnostics %s

func.func @deep(%a: memref<*xf16>, %n: index) {
  // expected-error @+1 {{'nvgpu.tma.create.descriptor' op Maximum 5 dimensional box is supported, but got 6}}
  %map = nvgpu.tma.create.descriptor %a box[%n, %n, %n, %n, %n, %n] : memref<*xf16>
    -> !nvgpu.tensormap.descriptor<tensor = memref<8x8xf16, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
  return
}

// -----

func.func @interleaved(%a: memref<*xf16>, %n: index) {
  // expected-error @+1 {{'nvgpu.tma.create.descriptor' op Interleave options are not supported yet.}}
  %map = nvgpu.tma.create.descriptor %a box[%n, %n] : memref<*xf16>
    -> !nvgpu.tensormap.descriptor<tensor = memref<8x8xf16, 3>, swizzle = none, l2promo = none, oob = zero, interleave = interleave_16b>
  return
}

// -----

func.func @elsewhere(%a: memref<*xf16>, %n: index) {
  // expected-error @+1 {{the tensor map descriptor has incorrect address space, it must be shared memory address space.}}
  %map = nvgpu.tma.create.descriptor %a box[%n, %n] : memref<*xf16>
    -> !nvgpu.tensormap.descriptor<tensor = memref<8x8xf16>, swizzle = none, l2promo = none, oob = zero, interleave = none>
  return
}

// -----

func.func @large(%a: memref<*xf16>, %n: index) {
  // expected-error @+1 {{the tensor map descriptor must have dimensions between 1 and 256 but it is 512}}
  %map = nvgpu.tma.create.descriptor %a box[%n, %n] : memref<*xf16>
    -> !nvgpu.tensormap.descriptor<tensor = memref<512x8xf16, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
  return
}

// -----

func.func @wide(%a: memref<*xf16>, %n: index) {
  // expected-error @+1 {{the tensormap descriptor must have last dimension of 128 bytes but it is 256 bytes}}
  %map = nvgpu.tma.create.descriptor %a box[%n, %n] : memref<*xf16>
    -> !nvgpu.tensormap.descriptor<tensor = memref<8x128xf16, 3>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>
  return
}

// -----

func.func @narrow(%a: memref<*xf16>, %n: index) {
  // expected-error @+1 {{reads elements of 2 bytes as f32, which has 4}}
  %map = nvgpu.tma.create.descriptor %a box[%n, %n] : memref<*xf16>
    -> !nvgpu.tensormap.descriptor<tensor = memref<8x8xf32, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
  return
}

// -----

func.func @unknown(%a: memref<*xi1>, %n: index) {
  // expected-error @+1 {{has elements that the copy engine does not know: i1}}
  %map = nvgpu.tma.create.descriptor %a box[%n, %n] : memref<*xi1>
    -> !nvgpu.tensormap.descriptor<tensor = memref<8x8xi1, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
  return
}

// -----

func.func @flat(%a: memref<?xf16>, %n: index) {
  // expected-error @+1 {{describes an array of 1 dimensions by 2}}
  %map = nvgpu.tma.create.descriptor %a box[%n, %n] : memref<?xf16>
    -> !nvgpu.tensormap.descriptor<tensor = memref<8x8xf16, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
  return
}

// -----

// expected-error @+1 {{expected one of swizzle, oob, interleave}}
func.func private @twice(!nvgpu.tensormap.descriptor<tensor = memref<8x8xf16, 3>, l2promo = none, tensor = memref<8x8xf16, 3>>)
