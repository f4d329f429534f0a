// RUN: tilewright opt --allow-unregistered-dialect --air-gpu-outlining %s | filecheck %s

// Launches block by now: host code runs in its order, which is one that all tokens allow.
// CHECK-LABEL: func.func @host(%arg0: memref<8xi32>)
// CHECK:         %[[BUFFER:.+]] = memref.alloc
// CHECK-NOT:     air.
// CHECK-NOT:     !air.async.token
// CHECK:         memref.store %{{.+}}, %[[BUFFER]]
// CHECK:         %[[COPIED:.+]] = memref.load %[[BUFFER]]
// CHECK:         memref.store %[[COPIED]], %arg0
// CHECK:         memref.dealloc %[[BUFFER]]
// CHECK:         return
func.func @host(%m: memref<8xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %t, %buffer = air.execute -> (memref<8xi32>) {
    %new = memref.alloc() : memref<8xi32>
    air.execute_terminator %new : memref<8xi32>
  }
  %filled = scf.for %i = %c0 to %c8 step %c1 iter_args(%before = %t) -> (!air.async.token) {
    %stored = air.execute [%before] {
      %v = arith.index_cast %i : index to i32
      memref.store %v, %buffer[%i] : memref<8xi32>
    }
    scf.yield %stored : !air.async.token
  }
  %copied = air.dma_memcpy_nd async [%filled] (%m[] [] [], %buffer[] [] []) : (memref<8xi32>, memref<8xi32>)
  %freed = air.execute [%copied] {
    memref.dealloc %buffer : memref<8xi32>
  }
  air.wait_all [%copied, %freed]
  return
}

// Functions that pass tokens on pass on that they have ended.
// CHECK-LABEL: func.func @step(%arg0: i1) -> i1
// CHECK:         return %{{.+}} : i1
// CHECK-LABEL: func.func @steps
// CHECK:         call @step(%{{.+}}) : (i1) -> i1
func.func @step(%t: !air.async.token) -> !air.async.token {
  %u = air.execute [%t] { "test.step"() : () -> () }
  return %u : !air.async.token
}
func.func @steps() {
  %t = air.wait_all async
  %u = call @step(%t) : (!air.async.token) -> !air.async.token
  air.wait_all [%u]
  return
}
