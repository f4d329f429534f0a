// RUN: tilewright opt --air-gpu-channel-to-cacheline %s | filecheck %s
// RUN: tilewright opt --air-gpu-channel-to-cacheline=protocol=line %s | filecheck %s

// Protocol "line": five floats and a flag in one line of 128 bytes. The flag is the number of the message, so none is
// left behind; two messages may be on their way.
air.channel @C [2] {channel_type = "gpu_symmetric_heap", protocol = "line", buffer_resources = 2 : i64}
// CHECK-LABEL: func.func @exchange
// Counters and two lines.
// CHECK: arith.constant 768 : i64
func.func @exchange(%in: memref<5xf32>, %out: memref<5xf32>) {
  %c2 = arith.constant 2 : index
  air.rank (%me) in (%ranks=%c2) args(%ri=%in, %ro=%out) : memref<5xf32>, memref<5xf32> {
    %one = arith.constant 1 : index
    air.herd tile (%x) in (%n=%one) args(%i=%ri, %o=%ro, %m=%me) : memref<5xf32>, memref<5xf32>, index {
      %c1 = arith.constant 1 : index
      %other = arith.xori %m, %c1 : index
      // CHECK:      air.translate
      // CHECK:      %[[LANE:.+]] = gpu.lane_id
      // CHECK:      %[[SENT:.+]] = llvm.load %{{.+}} : !llvm.ptr -> i64
      // CHECK:      scf.while
      // CHECK:        arith.cmpi uge, %{{.+}}, %c2_i64
      // The two lines take turns.
      // CHECK:      arith.remui %[[SENT]], %c2_i64
      // CHECK:      %[[IS_FLAG:.+]] = arith.cmpi eq, %[[LANE]], %c31
      // CHECK-NEXT: %[[WORD:.+]] = scf.if %[[IS_FLAG]] -> (i32) {
      // CHECK:        %[[NUMBER:.+]] = arith.addi %[[SENT]], %c1_i64
      // CHECK-NEXT:   %[[FLAG:.+]] = arith.trunci %[[NUMBER]] : i64 to i32
      // CHECK-NEXT:   scf.yield %[[FLAG]]
      // CHECK-NEXT: } else {
      // CHECK:        arith.cmpi ult, %[[LANE]], %c5
      // CHECK:        arith.bitcast %{{.+}} : f32 to i32
      // All lanes are here before any of them stores.
      // CHECK:      llvm.fence syncscope("wavefront") acq_rel
      // CHECK:      llvm.store %[[WORD]], %{{.+}} atomic monotonic {alignment = 4 : i64} : i32, !llvm.ptr
      air.channel.put @C[%other] (%i[] [] []) : (memref<5xf32>)
      // What is loaded together with the right flag is the payload.
      // CHECK:      air.translate
      // CHECK:      %[[GOT:.+]] = scf.while : () -> i32 {
      // CHECK:        %[[LOADED:.+]] = scf.if
      // CHECK:          llvm.load %{{.+}} atomic monotonic {alignment = 4 : i64} : !llvm.ptr -> i32
      // CHECK:        %[[SEEN:.+]], %{{.+}} = gpu.shuffle idx %[[LOADED]], %c31_i32
      // CHECK-NEXT:   %[[OLD:.+]] = arith.cmpi ne, %[[SEEN]]
      // CHECK-NEXT:   scf.condition(%[[OLD]]) %[[LOADED]] : i32
      // The line is in registers, so the sender may have it back at once.
      // CHECK:      llvm.store {{.+}} atomic monotonic {alignment = 8 : i64} : i64, !llvm.ptr
      // CHECK:      gpu.shuffle idx %[[GOT]]
      // CHECK:      arith.bitcast %{{.+}} : i32 to f32
      // CHECK:      memref.store
      air.channel.get @C[%m] (%o[] [] []) : (memref<5xf32>)
    }
  }
  return
}
