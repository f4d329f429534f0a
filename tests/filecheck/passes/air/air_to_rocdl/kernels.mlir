// RUN: tilewright opt --allow-unregistered-dialect --air-to-rocdl %s | filecheck %s
// RUN: tilewright opt --allow-unregistered-dialect -air-to-rocdl='wave-size=32' %s | filecheck %s --check-prefix=WAVE32
// RUN: tilewright opt --allow-unregistered-dialect --air-to-rocdl=chip=gfx1100 %s | filecheck %s --check-prefix=WAVE32
// RUN: tilewright opt --allow-unregistered-dialect --air-to-nvvm %s | filecheck %s --check-prefixes=WAVE32,NVIDIA

// The grid is the space of the launch; a block has a wave for each processing element, and the memory of its segment.
// CHECK-LABEL: func.func @hierarchy
// CHECK:      gpu.launch blocks(%[[BX:[a-z0-9]+]], %[[BY:[a-z0-9]+]], %arg5) in (%arg9 = %arg1, %arg10 = %arg2, %arg11 = %c1)
// CHECK-SAME: threads(%[[TX:[a-z0-9]+]], %[[TY:[a-z0-9]+]], %arg8) in (%arg12 = %c256, %arg13 = %c2, %arg14 = %c1_0)
// CHECK-SAME: workgroup(%[[SHARED:[a-z0-9]+]] : memref<16xf32, 3>) private(%[[OWN:[a-z0-9]+]] : memref<4xf32, 5>) {
// WAVE32: threads(%arg6, %arg7, %arg8) in (%arg12 = %c128, %arg13 = %c2, %arg14 = %c1_0)
// NVIDIA-SAME: workgroup(%arg15 : memref<16xf32, #gpu.address_space<workgroup>>) private(%arg16 : memref<4xf32, #gpu.address_space<private>>) {
func.func @hierarchy(%m: memref<16xf32>, %gx: index, %gy: index) {
  air.launch (%bx, %by) in (%nx=%gx, %ny=%gy) args(%a=%m) : memref<16xf32> {
    air.segment args(%sx=%bx, %sy=%by) : index, index {
      %c4 = arith.constant 4 : index
      %c2 = arith.constant 2 : index
      %shared = memref.alloc() : memref<16xf32, 1>
      // CHECK:  %[[WAVE:.+]] = arith.divui %[[TX]], %c64
      // WAVE32: arith.divui %{{.+}}, %c32
      air.herd tile (%x, %y) in (%hx=%c4, %hy=%c2) args(%hs=%shared, %i=%sx, %j=%sy) : memref<16xf32, 1>, index, index {
        %own = memref.alloc() : memref<4xf32, 2>
        // The ids of all levels are there for any operation.
        // CHECK: "test.ids"(%[[WAVE]], %[[TY]], %[[BX]], %[[BY]])
        "test.ids"(%x, %y, %i, %j) : (index, index, index, index) -> ()
        // Views of a buffer are where the buffer is.
        // CHECK:      %[[VIEW:.+]] = memref.subview %[[SHARED]][0] [8] [1] : memref<16xf32, 3> to memref<8xf32, strided<[1]>, 3>
        // CHECK-NEXT: "test.use"(%[[VIEW]], %[[OWN]])
        %view = memref.subview %hs[0] [8] [1] : memref<16xf32, 1> to memref<8xf32, strided<[1]>, 1>
        "test.use"(%view, %own) : (memref<8xf32, strided<[1]>, 1>, memref<4xf32, 2>) -> ()
        memref.dealloc %own : memref<4xf32, 2>
      }
      // CHECK-NOT: memref.dealloc
      memref.dealloc %shared : memref<16xf32, 1>
    }
  }
  // CHECK: gpu.terminator
  return
}

// A copy outside of herds is shared by all threads; a barrier comes before the copy is used, and only one for two
// copies that have nothing to do with each other. A copy to the memory of a thread is made by each thread.
// CHECK-LABEL: func.func @copies
// CHECK:      %[[ROWS:.+]] = arith.muli %[[WIDTH:.+]], %[[TY:.+]] : index
// CHECK-NEXT: %[[NUMBER:.+]] = arith.addi %[[TX:.+]], %[[ROWS]] : index
// CHECK-NEXT: %[[COUNT:.+]] = arith.muli %[[WIDTH]], %{{.+}} : index
// CHECK-NEXT: scf.for %{{.+}} = %[[NUMBER]] to %c16 step %[[COUNT]]
// CHECK-NOT:  gpu.barrier
// CHECK:      scf.for
// CHECK:      gpu.barrier
// CHECK-NEXT: %c64
// CHECK:      scf.for %[[I:.+]] = %c0{{.*}} to %c4{{.*}} step %c1
// CHECK:        memref.store %{{.+}}, %{{.+}}[%[[I]]] : memref<4xf32, 5>
// CHECK-NOT:  gpu.barrier
// CHECK:      gpu.terminator
func.func @copies(%m: memref<16xf32>) {
  %c1 = arith.constant 1 : index
  air.launch (%b) in (%n=%c1) args(%a=%m) : memref<16xf32> {
    air.segment args(%sa=%a) : memref<16xf32> {
      %c2 = arith.constant 2 : index
      %one = arith.constant 1 : index
      %s = memref.alloc() : memref<16xf32, 1>
      %t = memref.alloc() : memref<16xf32, 1>
      air.dma_memcpy_nd (%s[] [] [], %sa[] [] []) : (memref<16xf32, 1>, memref<16xf32>)
      air.dma_memcpy_nd (%t[] [] [], %sa[] [] []) : (memref<16xf32, 1>, memref<16xf32>)
      air.herd tile (%x, %y) in (%hx=%c2, %hy=%one) args(%h=%t) : memref<16xf32, 1> {
        %own = memref.alloc() : memref<4xf32, 2>
        air.dma_memcpy_nd (%own[] [] [], %h[8] [4] [1]) : (memref<4xf32, 2>, memref<16xf32, 1>)
      }
    }
  }
  return
}

// In a kernel there is nothing to wait for; who waits for the launch waits for nothing any more.
// CHECK-LABEL: func.func @tokens
// CHECK:      air.wait_all [%arg1]
// CHECK:      gpu.launch
// CHECK-NOT:  async
// CHECK-NOT:  air.wait_all
// CHECK:        "test.use"(%c5)
// CHECK:      gpu.terminator
// CHECK:      %[[ENDED:.+]] = air.wait_all async
// CHECK-NEXT: return %[[ENDED]]
func.func @tokens(%m: memref<16xf32>, %t: !air.async.token) -> !air.async.token {
  %c1 = arith.constant 1 : index
  %end = air.launch async [%t] (%b) in (%n=%c1) args(%a=%m) : memref<16xf32> {
    %u = air.segment async args(%sa=%a) : memref<16xf32> {
      %one = arith.constant 1 : index
      %v, %five = air.execute -> (index) {
        %c5 = arith.constant 5 : index
        air.execute_terminator %c5 : index
      }
      %w = air.herd async [%v] tile (%x) in (%hx=%one) args(%h=%five) : index {
        "test.use"(%h) : (index) -> ()
      }
      air.wait_all [%w]
    }
  }
  return %end : !air.async.token
}

// Loops and branches carry values on and tokens no more.
// CHECK-LABEL: func.func @carried_tokens
// CHECK:      gpu.launch
// CHECK:        %[[SUM:.+]] = scf.for %{{.+}} = %{{.+}} to %{{.+}} step %{{.+}} iter_args(%[[SO_FAR:.+]] = %{{.+}}) -> (index) {
// CHECK:          scf.if
// CHECK-NEXT:       "test.use"(%[[SO_FAR]])
// CHECK-NEXT:     }
// CHECK:          %[[MORE:.+]] = arith.addi %[[SO_FAR]]
// CHECK-NEXT:     scf.yield %[[MORE]] : index
// CHECK:        "test.use"(%[[SUM]])
// CHECK-NOT:  !air.async.token
func.func @carried_tokens(%which: i1) {
  air.launch () in () args(%w=%which) : i1 {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %t = air.wait_all async
    %end, %sum = scf.for %i = %c0 to %c4 step %c1 iter_args(%u = %t, %so_far = %c0) -> (!air.async.token, index) {
      %v = scf.if %w -> (!air.async.token) {
        %x = air.execute [%u] { "test.use"(%so_far) : (index) -> () }
        scf.yield %x : !air.async.token
      } else {
        scf.yield %u : !air.async.token
      }
      %more = arith.addi %so_far, %i : index
      scf.yield %v, %more : !air.async.token, index
    }
    air.wait_all [%end]
    "test.use"(%sum) : (index) -> ()
  }
  return
}

// Other loops carry the fact that what they stood for has ended.
// CHECK-LABEL: func.func @reduced_token
// CHECK:      gpu.launch
// CHECK:        scf.parallel {{.+}} -> i1 {
// CHECK:          "test.use"
// CHECK:          scf.reduce(%{{.+}} : i1)
// CHECK-NOT:  !air.async.token
func.func @reduced_token() {
  air.launch () in () {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %t = air.wait_all async
    %u = scf.parallel (%i) = (%c0) to (%c1) step (%c1) init (%t) -> !air.async.token {
      %e = air.execute [%t] { "test.use"(%i) : (index) -> () }
      scf.reduce(%e : !air.async.token) {
      ^bb0(%a: !air.async.token, %b: !air.async.token):
        %c = air.wait_all async [%a, %b]
        scf.reduce.return %c : !air.async.token
      }
    }
    air.wait_all [%u]
  }
  return
}

// The size of a herd may be computed inside, as long as it is the same for all blocks.
// CHECK-LABEL: func.func @sizes
// CHECK:      %[[TWICE:.+]] = arith.addi %arg0, %arg0 : index
// CHECK:      %[[THREADS:.+]] = arith.muli %[[TWICE]], %c64 : index
// CHECK:      gpu.launch blocks({{.+}}) in (%{{.+}} = %arg0, {{.+}}) threads({{.+}}) in (%{{.+}} = %[[THREADS]],
func.func @sizes(%n: index) {
  air.launch (%b) in (%size=%n) args(%a=%n) : index {
    air.segment args(%sa=%a) : index {
      %twice = arith.addi %sa, %sa : index
      air.herd tile (%x) in (%nx=%twice) {
        "test.use"(%x) : (index) -> ()
      }
    }
  }
  return
}
