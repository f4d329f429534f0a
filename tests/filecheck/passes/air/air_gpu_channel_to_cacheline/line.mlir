// RUN: tilewright opt --air-gpu-channel-to-cacheline %s | filecheck %s
// RUN: tilewright opt --air-gpu-channel-to-cacheline=chip=sm_90 %s | filecheck %s --check-prefix=NVIDIA
// RUN: tilewright opt --air-gpu-channel-to-cacheline=wave-size=32 %s | filecheck %s --check-prefix=NVIDIA

// NVIDIA: %c32_i32 = arith.constant 32 : i32
// NVIDIA-NEXT: gpu.shuffle idx %{{.+}}, %c31_i32, %c32_i32 : i32

// CHECK-NOT: air.channel
air.channel @C [1] {channel_type = "gpu_symmetric_heap"}
// CHECK-LABEL: func.func @pair
func.func @pair(%line: memref<32xi32, #air.symmetric_heap>, %heaps: memref<?xindex, #air.symmetric_heap>) {
  %c2 = arith.constant 2 : index
  air.rank (%me) in (%world=%c2) args(%data=%line, %bases=%heaps) : memref<32xi32, #air.symmetric_heap>, memref<?xindex, #air.symmetric_heap> {
    %c0 = arith.constant 0 : index
    %one = arith.constant 1 : index
    %first = arith.cmpi eq, %me, %c0 : index
    scf.if %first {
      // CHECK: air.herd tile (%{{.+}}) in {{.+}} args(%[[OWN:.+]]=%{{.+}}, %[[BASES:.+]]=%{{.+}})
      air.herd tile (%x) in (%n=%one) args(%d=%data, %b=%bases) : memref<32xi32, #air.symmetric_heap>, memref<?xindex, #air.symmetric_heap> {
        %i = arith.constant 0 : index
        // The sender waits while its last message has not been read, then stores all words of the line at once, the
        // last of them being the flag.
        // CHECK:      %[[PEER:.+]] = air.translate %[[OWN]], %{{.+}}, %{{.+}}, %[[BASES]]
        // CHECK-NEXT: %[[LANE:.+]] = gpu.lane_id
        // CHECK:      scf.while
        // CHECK:        %[[WORD:.+]] = scf.if
        // CHECK:          memref.atomic_rmw addi %{{.+}}, %[[OWN]][%[[LANE]]]
        // CHECK:        %[[FLAG:.+]], %{{.+}} = gpu.shuffle idx %[[WORD]], %c31_i32, %c64_i32 : i32
        // CHECK-NEXT:   %[[WAITING:.+]] = arith.cmpi eq, %[[FLAG]], %c-2147483648_i32
        // CHECK-NEXT:   scf.condition(%[[WAITING]])
        // CHECK:      memref.atomic_rmw assign %c-2147483648_i32{{.*}}, %[[OWN]][%[[LANE]]]
        // CHECK:      %[[PAYLOAD:.+]] = memref.load %[[OWN]][%[[LANE]]]
        // CHECK:      %[[SENT:.+]] = arith.select %{{.+}}, %c2_i32, %[[PAYLOAD]] : i32
        // CHECK-NEXT: memref.store %[[SENT]], %[[PEER]][%[[LANE]]]
        air.channel.put @C[%i] (%d[] [] []) : (memref<32xi32, #air.symmetric_heap>)
      }
    } else {
      // CHECK: air.herd tile (%{{.+}}) in {{.+}} args(%[[OWN:.+]]=%{{.+}}, %[[BASES:.+]]=%{{.+}})
      air.herd tile (%x) in (%n=%one) args(%d=%data, %b=%bases) : memref<32xi32, #air.symmetric_heap>, memref<?xindex, #air.symmetric_heap> {
        %i = arith.constant 0 : index
        // A message that was received before is done with: the line is emptied, and then the sender may send.
        // CHECK:      %[[PEER:.+]] = air.translate %[[OWN]], %c1{{.*}}, %c0{{.*}}, %[[BASES]]
        // CHECK:      memref.atomic_rmw assign %{{.+}}, %[[OWN]]
        // CHECK:      memref.atomic_rmw assign %{{.+}}, %[[PEER]]
        // CHECK:      scf.while
        // CHECK:        arith.cmpi ne, %{{.+}}, %c2_i32
        // CHECK:      memref.atomic_rmw assign %c1_i32{{.*}}, %[[OWN]]
        air.channel.get @C[%i] (%d[] [] []) : (memref<32xi32, #air.symmetric_heap>)
      }
    }
  }
  return
}
