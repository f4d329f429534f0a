// RUN: tilewright opt --air-opt-shim-dma-bds="device=npu2 shim-dma-tile-sizes=4" %s | filecheck %s --check-prefix=FOUR
// RUN: tilewright opt --air-opt-shim-dma-bds="device=npu2 empty-tile=one" %s | filecheck %s --check-prefix=ONE
// RUN: tilewright opt --air-opt-shim-dma-bds="device=npu2 shim-dma-tile-sizes=5" %s | filecheck %s --check-prefix=FIVE

// Eight iterations in tiles of four: two transfers of four rows, and a wait after each. Five does not divide eight: four
// is the largest size below that does.
// FOUR-LABEL: func.func @rows
// FOUR:       %[[A:.+]] = air.channel.put async [%{{.+}}] @c[] (%arg0[%c0, %c0] [%c4, %c8] [%c32, %c1])
// FOUR:       air.wait_all [%[[A]]] {air.launch_end}
// FOUR:       %[[B:.+]] = air.channel.put async [%{{.+}}] @c[] (%arg0[%c0, %c128] [%c4, %c8] [%c32, %c1])
// FOUR:       air.wait_all [%[[B]]] {air.launch_end}
// FOUR-NOT:   air.channel.put
// FOUR:       return
// FIVE-LABEL: func.func @rows
// FIVE-COUNT-2: {air.launch_end}
// FIVE-NOT:   {air.launch_end}
// FIVE:       return

// ONE-LABEL:   func.func @rows
// ONE-COUNT-8: {air.launch_end}
// ONE-NOT:     {air.launch_end}
// ONE:         return
func.func @rows(%a: memref<256xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c32 = arith.constant 32 : index
  %start = air.wait_all async
  %end = scf.for %i = %c0 to %c8 step %c1 iter_args(%t = %start) -> (!air.async.token) {
    %row = arith.muli %i, %c32 : index
    %0 = air.channel.put async [%t] @c[] (%a[%row] [%c8] [%c1]) : (memref<256xi32>)
    scf.yield %0 : !air.async.token
  }
  return
}

// Two patterns on one channel cannot fold: 16 transfers in the first launch. In the second launch the loop folds into one.
// ONE-LABEL:    func.func @launches
// ONE-COUNT-16: air.channel.put async {{.*}}@cascade
// ONE-NOT:      @cascade
// ONE:          air.wait_all [{{.+}}] {air.launch_end}
// ONE:          air.channel.put async {{.*}}@single
// ONE-NOT:      @single
// ONE:          air.wait_all [{{.+}}] {air.launch_end}
func.func @launches(%a: memref<512xi32>, %b: memref<512xi32>) {
  %c1 = arith.constant 1 : index
  %first = air.launch async (%i) in (%n=%c1) args(%x=%a, %y=%b) : memref<512xi32>, memref<512xi32> {
    %c0 = arith.constant 0 : index
    %one = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    %c64 = arith.constant 64 : index
    %start = air.wait_all async
    %end = scf.for %j = %c0 to %c8 step %one iter_args(%t = %start) -> (!air.async.token) {
      %0 = air.channel.put async [%t] @cascade[] (%x[%j, %c0] [%one, %c64] [%c64, %one]) : (memref<512xi32>)
      %1 = air.channel.put async [%0] @cascade[] (%y[%j, %c0] [%one, %c64] [%c64, %one]) : (memref<512xi32>)
      scf.yield %1 : !air.async.token
    }
  }
  %second = air.launch async [%first] (%i) in (%n=%c1) args(%x=%a) : memref<512xi32> {
    %c0 = arith.constant 0 : index
    %one = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    %c64 = arith.constant 64 : index
    %start = air.wait_all async
    %end = scf.for %j = %c0 to %c8 step %one iter_args(%t = %start) -> (!air.async.token) {
      %0 = air.channel.put async [%t] @single[] (%x[%j, %c0] [%one, %c64] [%c64, %one]) : (memref<512xi32>)
      scf.yield %0 : !air.async.token
    }
  }
  return
}
