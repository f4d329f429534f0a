// RUN: tilewright opt --verify-roundtrip %s | filecheck %s
// The host describes arrays to the copy engine: `tensor` is a box, and its type says how elements are read.
!bf16 = !nvgpu.tensormap.descriptor<tensor = memref<64x64xbf16, 3>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>
// In any order, as upstream reads it, and with sizes that only a run knows.
!tf32 = !nvgpu.tensormap.descriptor<interleave = none, oob = nan, l2promo = l2promo_256b, swizzle = none,
  tensor = memref<?x32xtf32, #gpu.address_space<workgroup>>>
func.func @describes(%any: memref<*xbf16>, %matrix: memref<?x?xf32>, %rows: index, %row: index) -> !bf16 {
  %map = nvgpu.tma.create.descriptor %any box[%rows, %row] : memref<*xbf16> -> !bf16
  %other = nvgpu.tma.create.descriptor %matrix box[%rows, %row] : memref<?x?xf32> -> !tf32
  return %map : !bf16
}
gpu.module @kernels {
  gpu.func @takes(%map: !bf16) kernel {
    %pointer = builtin.unrealized_conversion_cast %map : !bf16 to !llvm.ptr
    nvvm.prefetch tensormap, %pointer : !llvm.ptr
    gpu.return
  }
}
// CHECK-LABEL: func.func @describes
// CHECK-NEXT: nvgpu.tma.create.descriptor %arg0 box[%arg2, %arg3] : memref<*xbf16> -> !nvgpu.tensormap.descriptor<tensor = memref<64x64xbf16, 3{{.*}}>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>
// CHECK-NEXT: nvgpu.tma.create.descriptor %arg1 box[%arg2, %arg3] : memref<?x?xf32> -> !nvgpu.tensormap.descriptor<tensor = memref<?x32xtf32, #gpu.address_space<workgroup>>, swizzle = none, l2promo = l2promo_256b, oob = nan, interleave = none>
// CHECK-LABEL: gpu.func @takes
// CHECK-NEXT: %[[POINTER:.+]] = builtin.unrealized_conversion_cast %arg0 : !nvgpu.tensormap.descriptor<{{.+}}> to !llvm.ptr
// CHECK-NEXT: nvvm.prefetch tensormap, %[[POINTER]] : !llvm.ptr
