// RUN: tilewright opt --canonicalize %s | filecheck %s

air.channel @c []
air.channel @cascade [] {channel_type = "npu_cascade"}

// CHECK-LABEL: func.func @subview
// CHECK-SAME: (%arg0: memref<64x64xf32>, %arg1: memref<32x32xf32, 1>, %arg2: index)
func.func @subview(%m: memref<64x64xf32>, %t: memref<32x32xf32, 1>, %i: index) {
  // Where the view begins becomes the offset, its shape the sizes, its layout the strides.
  // CHECK-NEXT: air.dma_memcpy_nd (%arg1[] [] [], %arg0[%arg2, 8] [32, 32] [64, 1]) : (memref<32x32xf32, 1>, memref<64x64xf32>)
  %v = memref.subview %m[%i, 8] [32, 32] [1, 1] : memref<64x64xf32> to memref<32x32xf32, strided<[64, 1], offset: ?>>
  air.dma_memcpy_nd (%t[] [] [], %v[] [] []) {id = 1 : i32} : (memref<32x32xf32, 1>, memref<32x32xf32, strided<[64, 1], offset: ?>>)
  // An offset into the view is added to that of the view.
  // CHECK-NEXT: %0 = affine.apply #{{.+}}()[%arg2]
  // CHECK-NEXT: air.channel.put @c[] (%arg0[%0, 9] [2, 2] [64, 1]) : (memref<64x64xf32>)
  %c5 = arith.constant 5 : index
  air.channel.put @c[] (%v[%c5, 1] [2, 2] [64, 1]) : (memref<32x32xf32, strided<[64, 1], offset: ?>>)
  return
}

// A view that leaves a dimension out still begins at its place in it: the stride is that of the buffer.
// CHECK-LABEL: func.func @plane
// CHECK-NEXT: air.channel.put @c[] (%arg0[%arg1, 0, 0] [1, 8, 8] [256, 16, 1]) : (memref<4x16x16xf32>)
func.func @plane(%m: memref<4x16x16xf32>, %i: index) {
  %v = memref.subview %m[%i, 0, 0] [1, 8, 8] [1, 1, 1] : memref<4x16x16xf32> to memref<8x8xf32, strided<[16, 1], offset: ?>>
  air.channel.put @c[] (%v[] [] []) : (memref<8x8xf32, strided<[16, 1], offset: ?>>)
  return
}

// A step of two between elements cannot be said with offsets that count in the buffer: the view stays.
// CHECK-LABEL: func.func @steps
// CHECK: memref.subview
// CHECK-NEXT: air.channel.put @c[] (%{{.+}}[] [] [])
func.func @steps(%m: memref<64xf32>) {
  %v = memref.subview %m[1] [16] [2] : memref<64xf32> to memref<16xf32, strided<[2], offset: 1>>
  air.channel.put @c[] (%v[] [] []) : (memref<16xf32, strided<[2], offset: 1>>)
  return
}

// CHECK-LABEL: func.func @shapes
// CHECK-NEXT: air.channel.put @c[] (%arg0[0, 0] [64, 128] [1, 64]) : (memref<128x64xf32>)
// CHECK-NEXT: air.channel.put @c[] (%arg0[] [] []) : (memref<128x64xf32>)
// CHECK-NEXT: air.channel.put @c[] (%arg0[] [] []) : (memref<128x64xf32>)
func.func @shapes(%m: memref<128x64xf32>) {
  %t = memref.transpose %m (d0, d1) -> (d1, d0) : memref<128x64xf32> to memref<64x128xf32, strided<[1, 64]>>
  air.channel.put @c[] (%t[] [] []) : (memref<64x128xf32, strided<[1, 64]>>)
  %e = memref.expand_shape %m [[0], [1, 2]] output_shape [128, 8, 8] : memref<128x64xf32> into memref<128x8x8xf32>
  air.channel.put @c[] (%e[] [] []) : (memref<128x8x8xf32>)
  %k = memref.collapse_shape %m [[0, 1]] : memref<128x64xf32> into memref<8192xf32>
  air.channel.put @c[] (%k[] [] []) : (memref<8192xf32>)
  return
}

// All of a buffer in order needs no lists, however they say it; a part, or another order, does.
// CHECK-LABEL: func.func @whole
// CHECK-NEXT: air.channel.get @c[] (%arg0[] [] [])
// CHECK-NEXT: air.channel.get @c[] (%arg0[] [] [])
// CHECK-NEXT: air.channel.get @c[] (%arg0[0, 0] [8, 4] [1, 8])
// CHECK-NEXT: air.channel.get @c[] (%arg0[0, 0] [4, 4] [8, 1])
// CHECK-NEXT: air.channel.get @c[] (%arg0[0, 0] [4, 8] [8, 1]) {pad_after = array<i32: 0, 1>, pad_before = array<i32: 0, 0>}
func.func @whole(%m: memref<4x8xf32>) {
  %c8 = arith.constant 8 : index
  air.channel.get @c[] (%m[0, 0] [4, %c8] [%c8, 1]) : (memref<4x8xf32>)
  air.channel.get @c[] (%m[0, 0, 0] [1, 2, 16] [0, 16, 1]) : (memref<4x8xf32>)
  air.channel.get @c[] (%m[0, 0] [8, 4] [1, 8]) : (memref<4x8xf32>)
  air.channel.get @c[] (%m[0, 0] [4, 4] [8, 1]) : (memref<4x8xf32>)
  air.channel.get @c[] (%m[0, 0] [4, 8] [8, 1]) {pad_before = array<i32: 0, 0>, pad_after = array<i32: 0, 1>} : (memref<4x8xf32>)
  return
}

// A copy of a part onto itself takes no time, but not if the sides are on different ranks.
// CHECK-LABEL: func.func @onto_itself
// CHECK-NEXT: return %arg1
func.func @onto_itself(%m: memref<4x8xf32>, %t: !air.async.token) -> !air.async.token {
  %0 = air.dma_memcpy_nd async [%t] (%m[0, 0] [2, 2] [8, 1], %m[0, 0] [2, 2] [8, 1]) : (memref<4x8xf32>, memref<4x8xf32>)
  return %0 : !air.async.token
}

// Neighbours get whole buffers: nothing but a cast is looked through.
// CHECK-LABEL: func.func @cascades
// CHECK: air.channel.put @cascade[] (%arg0[] [] []) : (memref<4x8xf32>)
// CHECK: air.channel.put @cascade[] (%{{.+}}[] [] []) : (memref<4x4xf32, strided<[8, 1]>>)
func.func @cascades(%m: memref<4x8xf32>) {
  %a = memref.cast %m : memref<4x8xf32> to memref<?x8xf32>
  air.channel.put @cascade[] (%a[] [] []) : (memref<?x8xf32>)
  %b = memref.subview %m[0, 0] [4, 4] [1, 1] : memref<4x8xf32> to memref<4x4xf32, strided<[8, 1]>>
  air.channel.put @cascade[] (%b[] [] []) : (memref<4x4xf32, strided<[8, 1]>>)
  return
}
