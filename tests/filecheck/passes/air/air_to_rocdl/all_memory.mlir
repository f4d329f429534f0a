// RUN: tilewright opt --air-to-rocdl %s | filecheck %s
// RUN: not tilewright opt %s 2>&1 | filecheck %s --check-prefix=CORES
// Elements of a GPU load from all memories: a program that is to become kernels need not say that it is one for GPUs.

// CHECK-LABEL: func.func @double
// CHECK: gpu.launch
// CHECK: memref.load %{{.+}} : memref<16xf32>
// CHECK: memref.store %{{.+}} : memref<16xf32>
// CORES: all_memory.mlir:15:17: error: 'memref.load' op inside 'air.herd' accesses memref with memory_space L3
func.func @double(%data: memref<16xf32>) {
  %one = arith.constant 1 : index
  air.launch (%i) in (%n=%one) args(%all=%data) : memref<16xf32> {
    %four = arith.constant 4 : index
    air.herd tile (%x) in (%count=%four) args(%part=%all) : memref<16xf32> {
      %number = memref.load %part[%x] : memref<16xf32>
      %twice = arith.addf %number, %number : f32
      memref.store %twice, %part[%x] : memref<16xf32>
    }
  }
  return
}
