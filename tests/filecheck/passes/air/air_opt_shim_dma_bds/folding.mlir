// RUN: tilewright opt --air-opt-shim-dma-bds=device=npu1 %s | filecheck %s

// A loop becomes a dimension: 4 rows of 8, 64 apart; a loop that moves nothing becomes a repeat count, outermost.
// CHECK-LABEL: func.func @dimension
// CHECK:      air.channel.put @c[] (%arg0[%c0, %c0] [%c4, %c8] [%c64, %c1])
// CHECK-NOT:  scf.for
func.func @dimension(%a: memref<256xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c64 = arith.constant 64 : index
  scf.for %i = %c0 to %c4 step %c1 {
    %row = arith.muli %i, %c64 : index
    air.channel.put @c[] (%a[%row] [%c8] [%c1]) : (memref<256xi32>)
  }
  return
}

// CHECK-LABEL: func.func @repeat
// CHECK:      air.channel.put @c[] (%arg0[%c0, %c0, %c0, %c0] [%c3, %c1, %c1, %c8] [%c0, %c0, %c0, %c1])
// CHECK-NOT:  scf.for
func.func @repeat(%a: memref<256xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c8 = arith.constant 8 : index
  scf.for %i = %c0 to %c3 step %c1 {
    air.channel.put @c[] (%a[%c0] [%c8] [%c1]) : (memref<256xi32>)
  }
  return
}

// All of a buffer, tile by tile in the order of memory, is the buffer.
// CHECK-LABEL: func.func @whole
// CHECK:      air.channel.get @c[] (%arg0[] [] [])
// CHECK-NOT:  scf.for
func.func @whole(%a: memref<4x64xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c64 = arith.constant 64 : index
  scf.for %i = %c0 to %c4 step %c1 {
    air.channel.get @c[] (%a[%i, %c0] [%c1, %c64] [%c64, %c1]) : (memref<4x64xi32>)
  }
  return
}

// Transfers on different channels get loops of their own, so that both fold; who waited for the loop waits for both.
// CHECK-LABEL: func.func @two_channels
// CHECK-DAG:  %[[A:.+]] = air.channel.put async [%{{.+}}] @a[] (%arg0[] [] [])
// CHECK-DAG:  %[[B:.+]] = air.channel.get async [%{{.+}}] @b[] (%arg1[] [] [])
// CHECK:      air.wait_all [%[[A]], %[[B]]] {air.launch_end}
func.func @two_channels(%a: memref<256xi32>, %b: memref<256xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c64 = arith.constant 64 : index
  %start = air.wait_all async
  %end = scf.for %i = %c0 to %c4 step %c1 iter_args(%t = %start) -> (!air.async.token) {
    %row = arith.muli %i, %c64 : index
    %0 = air.channel.put async [%t] @a[] (%a[%row] [%c64] [%c1]) : (memref<256xi32>)
    %1 = air.channel.get async [%t] @b[] (%b[%row] [%c64] [%c1]) : (memref<256xi32>)
    %2 = air.wait_all async [%0, %1]
    scf.yield %2 : !air.async.token
  }
  return
}

// A loop whose offset is not linear in its counter is written out.
// CHECK-LABEL: func.func @not_linear
// CHECK-COUNT-4: air.channel.put
// CHECK-NOT:  scf.for
func.func @not_linear(%a: memref<256xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  scf.for %i = %c0 to %c4 step %c1 {
    %half = affine.apply affine_map<(d0) -> ((d0 floordiv 2) * 64)>(%i)
    air.channel.put @c[] (%a[%half] [%c8] [%c1]) : (memref<256xi32>)
  }
  return
}

// The launch waits for what the branch that is chosen has started.
// CHECK-LABEL: func.func @branches
// CHECK:      %[[TOKEN:.+]] = scf.index_switch %{{.+}} -> !air.async.token
// CHECK:        %[[PUT:.+]] = air.channel.put async @a[]
// CHECK-NEXT:   scf.yield %[[PUT]]
// CHECK:      air.wait_all [%[[TOKEN]]] {air.launch_end}
func.func @branches(%a: memref<64xi32>, %mode: index) {
  %0 = air.launch async () in () args(%x=%a, %m=%mode) : memref<64xi32>, index {
    scf.index_switch %m
    case 0 {
      %1 = air.channel.put async @a[] (%x[] [] []) : (memref<64xi32>)
      scf.yield
    }
    default {
    }
  }
  return
}
