// RUN: tilewright opt --air-opt-shim-dma-bds --split-input-file --verify-diagnostics %s | filecheck %s

// Parallel loops in one another are copied for each point of both, the inner ones first.
// CHECK-LABEL: func.func @nested
// CHECK-COUNT-4: air.channel.put @c
// CHECK-NOT:     air.channel.put
air.channel @c [1, 1]
func.func @nested(%a: memref<64xi32>) {
  %c1 = arith.constant 1 : index
  air.launch (%i) in (%n=%c1) args(%x=%a) : memref<64xi32> {
    %c0 = arith.constant 0 : index
    %one = arith.constant 1 : index
    %two = arith.constant 2 : index
    scf.parallel (%p) = (%c0) to (%two) step (%one) {
      scf.parallel (%q) = (%c0) to (%two) step (%one) {
        air.channel.put @c[%c0, %c0] (%x[%p] [%one] [%one]) : (memref<64xi32>)
        scf.reduce
      }
      scf.reduce
    }
  }
  return
}

// -----

// A space of more points than any sequence has tasks is refused before it is copied.
air.channel @c [1, 1]
func.func @endless(%a: memref<64xi32>) {
  %c1 = arith.constant 1 : index
  air.launch (%i) in (%n=%c1) args(%x=%a) : memref<64xi32> {
    %c0 = arith.constant 0 : index
    %one = arith.constant 1 : index
    %many = arith.constant 1000000000000 : index
    // expected-error @below {{runs its body 1000000000000 times, which would be copied; at most 100000 copies are made}}
    scf.parallel (%p) = (%c0) to (%many) step (%one) {
      air.channel.put @c[%c0, %c0] (%x[%p] [%one] [%one]) : (memref<64xi32>)
      scf.reduce
    }
  }
  return
}

// -----

// Lists of different lengths are left as they are: what they mean is not known here.
// CHECK-LABEL: func.func @uneven
// CHECK: air.channel.put @c[] (%{{.*}}[%{{.*}}, %{{.*}}] [4] [1])
air.channel @c []
func.func @uneven(%a: memref<8x8xi32>) {
  %c1 = arith.constant 1 : index
  air.launch (%i) in (%n=%c1) args(%x=%a) : memref<8x8xi32> {
    %c0 = arith.constant 0 : index
    air.channel.put @c[] (%x[%c0, %c0] [4] [1]) : (memref<8x8xi32>)
  }
  return
}
