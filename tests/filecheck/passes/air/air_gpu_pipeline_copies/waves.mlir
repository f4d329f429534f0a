// RUN: tilewright opt --air-gpu-pipeline-copies %s | filecheck %s
// RUN: tilewright opt --air-gpu-pipeline-copies="buffers=2" %s | filecheck %s --check-prefix=TWO
// A wave that has its tiles for itself meets at fences; they are kept, like barriers.
func.func @waves(%a: memref<64xf32>) {
  %c1 = arith.constant 1 : index
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1) threads(%tx, %ty, %tz) in (%nx = %c1, %ny = %c1, %nz = %c1) workgroup(%tile : memref<1xf32, 3>, %other : memref<1xf32, 3>) {
    %c0 = arith.constant 0 : index
    %c8 = arith.constant 8 : index
    %c64 = arith.constant 64 : index
    scf.for %k = %c0 to %c64 step %c8 {
      %value = memref.load %a[%k] : memref<64xf32>
      llvm.fence syncscope("wavefront") acq_rel
      memref.store %value, %tile[%c0] : memref<1xf32, 3>
      llvm.fence syncscope("wavefront") acq_rel
      %mine = memref.load %tile[%c0] : memref<1xf32, 3>
    }
    // A fence for the whole GPU may be for what others store: it is no place to meet.
    scf.for %k = %c0 to %c64 step %c8 {
      %value = memref.load %a[%k] : memref<64xf32>
      llvm.fence syncscope("agent") acq_rel
      memref.store %value, %other[%c0] : memref<1xf32, 3>
      gpu.barrier
      %mine = memref.load %other[%c0] : memref<1xf32, 3>
      gpu.barrier
    }
    gpu.terminator
  }
  return
}
// CHECK:      memref.load
// CHECK-NEXT: llvm.fence syncscope("wavefront") acq_rel
// CHECK-NEXT: memref.store
// CHECK-NEXT: scf.for
// CHECK-NEXT:   llvm.fence syncscope("wavefront") acq_rel
// CHECK:        %[[NEXT:.+]] = memref.load %arg0
// CHECK-NEXT:   memref.load
// CHECK-NEXT:   llvm.fence syncscope("wavefront") acq_rel
// CHECK-NEXT:   memref.store %[[NEXT]]
// CHECK-NEXT: }
// CHECK-NEXT: llvm.fence syncscope("wavefront") acq_rel
// CHECK-NEXT: scf.for
// CHECK-NEXT:   memref.load
// CHECK-NEXT:   llvm.fence syncscope("agent") acq_rel

// TWO:      scf.for
// TWO-NEXT:   llvm.fence syncscope("wavefront") acq_rel
// TWO-NOT:    llvm.fence
// TWO:      }
// TWO-NEXT: llvm.fence syncscope("wavefront") acq_rel
