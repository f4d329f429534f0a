// RUN: tilewright opt --air-gpu-channel-to-cacheline %s | filecheck %s
// Who moves a message: all waves of a herd together, each wave for itself, or all threads of a block.

air.channel @together [2] {channel_type = "gpu_symmetric_heap"}
air.channel @each [2, 4] {channel_type = "gpu_symmetric_heap"}
air.channel @block [2] {channel_type = "gpu_symmetric_heap"}
// CHECK-LABEL: func.func @groups
func.func @groups(%buffer: memref<4x100xi8>) {
  %c2 = arith.constant 2 : index
  air.rank (%me) in (%ranks=%c2) args(%r=%buffer) : memref<4x100xi8> {
    %c1 = arith.constant 1 : index
    air.launch (%b) in (%bs=%c1) args(%lm=%me, %l=%r) : index, memref<4x100xi8> {
      air.segment args(%sm=%lm, %s=%l) : index, memref<4x100xi8> {
        %c4 = arith.constant 4 : index
        // CHECK: air.herd tile (%[[X:[^)]+]]) in
        air.herd tile (%x) in (%nx=%c4) args(%hm=%sm, %h=%s) : index, memref<4x100xi8> {
          %one = arith.constant 1 : index
          %other = arith.xori %hm, %one : index
          // Four waves of 64 lanes: each takes every 256th element, and all of them meet before one tells the peer.
          // CHECK:      gpu.barrier
          // CHECK:      %[[FIRST:.+]] = arith.muli %[[X]], %c64
          // CHECK-NEXT: %[[LANE:.+]] = gpu.lane_id
          // CHECK-NEXT: %[[NUMBER:.+]] = arith.addi %[[FIRST]], %[[LANE]]
          // CHECK:      scf.for %{{.+}} = %[[NUMBER]] to %c400{{.*}} step %c256
          // CHECK:      gpu.barrier
          // CHECK:      llvm.store {{.+}} atomic release
          air.channel.put @together[%other] (%h[] [] []) : (memref<4x100xi8>)
          air.channel.get @together[%hm] (%h[] [] []) : (memref<4x100xi8>)
          // Each wave has a channel of its own, so there is nobody to wait for.
          // CHECK:      llvm.fence syncscope("wavefront") acq_rel
          // CHECK-NOT:  gpu.barrier
          // CHECK:      %[[LANE:.+]] = gpu.lane_id
          // CHECK:      scf.for %{{.+}} = %[[LANE]] to %c100{{.*}} step %c64
          air.channel.put @each[%other, %x] (%h[%x, 0] [1, 100] [100, 1]) : (memref<4x100xi8>)
          air.channel.get @each[%hm, %x] (%h[%x, 0] [1, 100] [100, 1]) : (memref<4x100xi8>)
        }
        // Outside of herds a block has threads and no waves.
        %one = arith.constant 1 : index
        %other = arith.xori %sm, %one : index
        // CHECK:      gpu.barrier
        // CHECK:      gpu.thread_id  x
        // CHECK:      gpu.block_dim  x
        // CHECK:      gpu.barrier
        // CHECK:      llvm.store {{.+}} atomic release
        air.channel.put @block[%other] (%s[] [] []) : (memref<4x100xi8>)
        air.channel.get @block[%sm] (%s[] [] []) : (memref<4x100xi8>)
      }
    }
  }
  return
}
