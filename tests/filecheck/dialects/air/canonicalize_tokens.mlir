// RUN: tilewright opt --canonicalize --split-input-file --allow-unregistered-dialect %s | filecheck %s

// A join of nothing is nothing, a join of one is that one, and who waits for a join waits for its parts.
// CHECK-LABEL: func.func @joins
// CHECK-SAME: (%arg0: !air.async.token, %arg1: !air.async.token)
// CHECK-NEXT: air.wait_all [%arg1, %arg0]
// CHECK-NEXT: return %arg0
func.func @joins(%a: !air.async.token, %b: !air.async.token) -> !air.async.token {
  air.wait_all
  %unused = air.wait_all async
  %one = air.wait_all async [%a]
  %both = air.wait_all async [%a, %b]
  air.wait_all [%both]
  return %one : !air.async.token
}

// -----

// Two reads of one buffer need not wait for each other; a read waits for the write before it.
air.channel @x []
air.channel @y []
air.channel @z []
// CHECK-LABEL: func.func @hazards
// CHECK:      %0 = air.channel.get async @x[] (%arg0[] [] [])
// CHECK-NEXT: %1 = air.channel.put async [%0] @y[] (%arg0[] [] [])
// CHECK-NEXT: %2 = air.channel.put async @z[] (%arg0[] [] [])
// CHECK-NEXT: %3 = air.channel.put async [%1] @y[] (%arg0[] [] [])
// CHECK-NEXT: return %2, %3
func.func @hazards(%a: memref<8xf32>) -> (!air.async.token, !air.async.token) {
  %0 = air.channel.get async @x[] (%a[] [] []) : (memref<8xf32>)
  %1 = air.channel.put async [%0] @y[] (%a[] [] []) : (memref<8xf32>)
  %2 = air.channel.put async [%1] @z[] (%a[] [] []) : (memref<8xf32>)
  // The same channel: messages stay in order although the buffer is only read.
  %3 = air.channel.put async [%1] @y[] (%a[] [] []) : (memref<8xf32>)
  return %2, %3 : !air.async.token, !air.async.token
}

// -----

// What a dependency waits for is waited for.
// CHECK-LABEL: func.func @indirect
// CHECK:      %0 = air.dma_memcpy_nd async
// CHECK-NEXT: %1 = air.dma_memcpy_nd async [%0]
// CHECK-NEXT: air.dma_memcpy_nd [%1] (%arg1
func.func @indirect(%a: memref<8xf32>, %b: memref<8xf32>, %c: memref<8xf32>) {
  %0 = air.dma_memcpy_nd async (%a[] [] [], %b[] [] []) : (memref<8xf32>, memref<8xf32>)
  %1 = air.dma_memcpy_nd async [%0] (%b[] [] [], %a[] [] []) : (memref<8xf32>, memref<8xf32>)
  air.dma_memcpy_nd [%0, %1] (%b[] [] [], %c[] [] []) : (memref<8xf32>, memref<8xf32>)
  return
}

// -----

// A loop that carries a token starts when all that it uses from outside is there.
// CHECK-LABEL: func.func @loops
// CHECK:      air.segment {
// CHECK:        %[[A:.+]], %[[BUFFER:.+]] = air.execute
// CHECK:        %[[B:.+]] = air.execute [%[[A]]]
// CHECK:        scf.for %{{.+}} iter_args(%[[TOKEN:.+]] = %[[B]]) -> (!air.async.token) {
// CHECK-NEXT:     air.execute [%[[TOKEN]]]
func.func @loops() {
  air.segment {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %cst = arith.constant 0.0 : f32
    %a, %buffer = air.execute -> (memref<8xf32, 1>) {
      %alloc = memref.alloc() : memref<8xf32, 1>
      air.execute_terminator %alloc : memref<8xf32, 1>
    }
    %b = air.execute [%a] {
      memref.store %cst, %buffer[%c0] : memref<8xf32, 1>
    }
    %end = scf.for %i = %c0 to %c4 step %c1 iter_args(%t = %a) -> (!air.async.token) {
      %next = air.execute [%t, %b] {
        memref.store %cst, %buffer[%i] : memref<8xf32, 1>
      }
      scf.yield %next : !air.async.token
    }
    air.wait_all [%end]
  }
  return
}

// -----

// What a body hands on and does not compute is taken past it; a body without effect that nobody needs goes.
// CHECK-LABEL: func.func @bodies
// CHECK-SAME: (%arg0: index, %arg1: memref<8xf32>)
// CHECK-NEXT: %c4 = arith.constant 4 : index
// CHECK-NEXT: %async_token = air.execute {
// CHECK-NEXT:   memref.dealloc %arg1
// CHECK-NEXT: }
// CHECK-NEXT: return %c4, %arg0 : index, index
func.func @bodies(%n: index, %m: memref<8xf32>) -> (index, index) {
  %t, %v:2 = air.execute -> (index, index) {
    %c4 = arith.constant 4 : index
    air.execute_terminator %c4, %n : index, index
  }
  %u, %w = air.execute -> (f32) {
    %x = memref.load %m[%n] : memref<8xf32>
    air.execute_terminator %x : f32
  }
  %d = air.execute { memref.dealloc %m : memref<8xf32> }
  return %v#0, %v#1 : index, index
}

// -----

// Arguments that a body does not use are not passed; ids and sizes stay.
// CHECK-LABEL: func.func @arguments
// CHECK: air.launch (%arg2) in (%arg3=%arg0) args(%arg4=%arg0) : index attributes {foo} {
func.func @arguments(%n: index, %m: memref<8xf32>) {
  air.launch (%i) in (%size=%n) args(%unused=%m, %used=%n) : memref<8xf32>, index attributes {foo} {
    "test.use"(%used) : (index) -> ()
  }
  return
}

// -----

// CHECK-NOT: @unused
// CHECK: air.channel @used []
air.channel @unused []
air.channel @used []
func.func @put(%m: memref<8xf32>) {
  air.channel.put @used[] (%m[] [] []) : (memref<8xf32>)
  return
}

// -----

// CHECK-LABEL: func.func @own_rank
// CHECK-NEXT: return %arg0
func.func @own_rank(%m: memref<8xf32>, %r: index, %bases: memref<?xindex>) -> memref<8xf32> {
  %c1 = arith.constant 1 : index
  %c1_again = arith.constant 1 : index
  %a = air.translate %m, %r, %r, %bases : memref<8xf32>, memref<?xindex>
  %b = air.translate %a, %c1, %c1_again, %bases : memref<8xf32>, memref<?xindex>
  return %b : memref<8xf32>
}
