// RUN: tilewright opt --air-gpu-channel-to-cacheline %s | filecheck %s
// RUN: tilewright opt --air-gpu-channel-to-cacheline=protocol=ordered %s | filecheck %s

// A message of ten floats from rank 0 to rank 1. The program allocates nothing for it: the lowering takes memory for the
// channel from the symmetric heap, clears it on all ranks before anybody sends, and passes it to the kernels together
// with the addresses of the heaps and the number of the rank.

// CHECK-NOT: air.channel
air.channel @C [] {channel_type = "gpu_symmetric_heap"}
// CHECK-LABEL: func.func @pair
// CHECK:      %[[WORLD:.+]] = call @mgpuGetWorldSize
// CHECK:      %[[TABLE:.+]] = call @mgpuMemAlloc
// CHECK:      %[[HEAPS:.+]] = call @mgpuGetHeapBases
// CHECK-NEXT: call @mgpuMemcpy(%[[TABLE]], %[[HEAPS]]
// CHECK:      %[[BASES:.+]] = builtin.unrealized_conversion_cast {{.+}} to memref<?xindex, #air.symmetric_heap>
// Four counters, and places for a message on its way and the one before it, each in lines of its own.
// CHECK:      %[[SIZE:.+]] = arith.constant 768 : i64
// CHECK-NEXT: %[[MEMORY:.+]] = call @mgpuSymmetricAlloc(%[[SIZE]]
// CHECK:      call @mgpuMemset32(%[[MEMORY]], %c0_i32, %c192_i64
// CHECK-NEXT: call @mgpuStreamSynchronize
// CHECK-NEXT: call @mgpuBarrier
// CHECK:      %[[MAIL:.+]] = builtin.unrealized_conversion_cast {{.+}} to memref<768xi8, #air.symmetric_heap>
func.func @pair(%in: memref<10xf32>, %out: memref<10xf32>) {
  %c2 = arith.constant 2 : index
  // CHECK: air.rank (%[[ME:.+]]) in {{.+}} args(%{{.+}}, %[[RANK_MAIL:.+]]=%[[MAIL]], %[[RANK_BASES:.+]]=%[[BASES]])
  air.rank (%me) in (%ranks=%c2) args(%ri=%in, %ro=%out) : memref<10xf32>, memref<10xf32> {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %first = arith.cmpi eq, %me, %c0 : index
    scf.if %first {
      // CHECK: air.herd {{.+}} args(%[[DATA:.+]]=%{{.+}}, %[[HERE:.+]]=%[[ME]], %[[OWN:.+]]=%[[RANK_MAIL]], %[[B:.+]]=%[[RANK_BASES]])
      air.herd tile (%x) in (%n=%c1) args(%i=%ri) : memref<10xf32> {
        // CHECK:      %[[PEER:.+]] = air.translate %[[OWN]], %[[HERE]], %c1{{.*}}, %[[B]]
        // CHECK:      %[[MINE:.+]] = memref.extract_aligned_pointer_as_index %[[OWN]]
        // CHECK:      %[[THERE:.+]] = memref.extract_aligned_pointer_as_index %[[PEER]]
        // How many were sent is in the fourth line.
        // CHECK:      %[[AT:.+]] = arith.addi %[[MINE]], %c384
        // CHECK:      %[[SENT:.+]] = llvm.load %{{.+}} : !llvm.ptr -> i64
        // Wait until the receiver has emptied the place: it counts in the third line here.
        // CHECK:      scf.while
        // CHECK:        arith.addi %[[MINE]], %c256
        // CHECK:        %[[EMPTIED:.+]] = llvm.load %{{.+}} atomic acquire {alignment = 8 : i64} : !llvm.ptr -> i64
        // CHECK-NEXT:   %[[OPEN:.+]] = arith.subi %[[SENT]], %[[EMPTIED]]
        // CHECK-NEXT:   %[[FULL:.+]] = arith.cmpi uge, %[[OPEN]], %c2_i64
        // CHECK-NEXT:   scf.condition(%[[FULL]])
        // The places take turns.
        // CHECK:      arith.remui %[[SENT]], %c2_i64
        // The lanes share the work, and meet before one of them tells the receiver.
        // CHECK:      %[[LANE:.+]] = gpu.lane_id
        // CHECK:      scf.for %[[K:.+]] = %[[LANE]] to %c10 step %c64
        // CHECK:        %[[V:.+]] = memref.load %[[DATA]][%[[K]]]
        // CHECK:        arith.addi %[[THERE]]
        // CHECK:        llvm.store %[[V]], %{{.+}} : f32, !llvm.ptr
        // CHECK:      llvm.fence syncscope("wavefront") acq_rel
        // CHECK:      scf.if
        // CHECK:        %[[NOW:.+]] = arith.addi %[[SENT]]
        // CHECK-NEXT:   %[[FLAG:.+]] = arith.index_cast %[[THERE]]
        // CHECK-NEXT:   %[[P:.+]] = llvm.inttoptr %[[FLAG]]
        // CHECK-NEXT:   llvm.store %[[NOW]], %[[P]] atomic release {alignment = 8 : i64} : i64, !llvm.ptr
        air.channel.put @C[] (%i[] [] []) : (memref<10xf32>)
      }
    } else {
      // CHECK: air.herd {{.+}} args(%[[DATA:.+]]=%{{.+}}, %[[HERE:.+]]=%[[ME]], %[[OWN:.+]]=%[[RANK_MAIL]], %[[B:.+]]=%[[RANK_BASES]])
      air.herd tile (%x) in (%n=%c1) args(%o=%ro) : memref<10xf32> {
        // CHECK:      air.translate %[[OWN]], %[[HERE]], %c0{{.*}}, %[[B]]
        // CHECK:      %[[RECEIVED:.+]] = llvm.load %{{.+}} : !llvm.ptr -> i64
        // Whatever was received before is done with now.
        // CHECK:      scf.if
        // CHECK:        llvm.store %[[RECEIVED]], %{{.+}} atomic release {alignment = 8 : i64} : i64, !llvm.ptr
        // CHECK:      scf.while
        // CHECK:        %[[FILLED:.+]] = llvm.load %{{.+}} atomic acquire {alignment = 8 : i64} : !llvm.ptr -> i64
        // CHECK-NEXT:   %[[EMPTY:.+]] = arith.cmpi eq, %[[FILLED]], %[[RECEIVED]]
        // CHECK-NEXT:   scf.condition(%[[EMPTY]])
        // CHECK:      scf.for
        // CHECK:        %[[V:.+]] = llvm.load %{{.+}} : !llvm.ptr -> f32
        // CHECK:        memref.store %[[V]], %[[DATA]]
        // CHECK:      llvm.fence syncscope("wavefront") acq_rel
        // CHECK:      %[[COUNT:.+]] = arith.addi %[[RECEIVED]]
        // CHECK:      llvm.store %[[COUNT]], %{{.+}} : i64, !llvm.ptr
        air.channel.get @C[] (%o[] [] []) : (memref<10xf32>)
      }
    }
  }
  // Nobody gives its memory back while another rank may still write there.
  // CHECK:      call @mgpuBarrier
  // CHECK:      call @mgpuSymmetricFree(%[[MEMORY]]
  // CHECK:      call @mgpuMemFree(%[[TABLE]]
  // CHECK-NEXT: return
  return
}

// A large message has no place to spare: its memory is given back at the end of the get. A lane loads eight elements
// before it stores the first; 2048 elements are four times 64 lanes with eight each.
air.channel @large [2] {channel_type = "gpu_symmetric_heap"}
// CHECK-LABEL: func.func @large_pair
// CHECK:       arith.constant 8704 : i64
func.func @large_pair(%m: memref<2048xf32>) {
  %c2 = arith.constant 2 : index
  air.rank (%r) in (%ranks=%c2) args(%rm=%m) : memref<2048xf32> {
    %one = arith.constant 1 : index
    air.herd tile (%x) in (%n=%one) args(%me=%r, %h=%rm) : index, memref<2048xf32> {
      // CHECK:           scf.for %[[K:.+]] = %{{.+}} to %{{.+}} step %c512
      // CHECK-COUNT-8:     memref.load
      // CHECK-COUNT-8:     llvm.store {{.+}} : f32, !llvm.ptr
      // CHECK:           llvm.store {{.+}} atomic release
      air.channel.put @large[%me] (%h[] [] []) : (memref<2048xf32>)
      // CHECK:      air.translate
      // CHECK-NOT:  atomic release
      // CHECK:      memref.store
      // CHECK:      llvm.fence
      // CHECK:      llvm.store {{.+}} atomic release
      air.channel.get @large[%me] (%h[] [] []) : (memref<2048xf32>)
    }
  }
  return
}
