// RUN: tilewright opt --canonicalize --allow-unregistered-dialect %s | filecheck %s

// Loops that never run are gone, loops that run once are their body; one that runs longer stays.
func.func @trip_counts(%m: memref<8xi32>, %v: i32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c7 = arith.constant 7 : index
  scf.for %i = %c7 to %c0 step %c1 {
    memref.store %v, %m[%i] : memref<8xi32>
  }
  scf.for %i = %c1 to %c7 step %c7 {
    memref.store %v, %m[%i] : memref<8xi32>
  }
  scf.for %i = %c0 to %c7 step %c1 {
    memref.store %v, %m[%i] : memref<8xi32>
  }
  return
}
// CHECK-LABEL: func.func @trip_counts
// CHECK-NEXT:    %c0 = arith.constant 0 : index
// CHECK-NEXT:    %c1 = arith.constant 1 : index
// CHECK-NEXT:    %c7 = arith.constant 7 : index
// CHECK-NEXT:    memref.store %arg1, %arg0[%c1] : memref<8xi32>
// CHECK-NEXT:    scf.for %arg2 = %c0 to %c7 step %c1 {
// CHECK-NEXT:      memref.store %arg1, %arg0[%arg2] : memref<8xi32>
// CHECK-NEXT:    }
// CHECK-NEXT:    return

// Of what a loop carries, only what changes and what is used stays.
func.func @carried(%n: index, %a: i32, %b: i32) -> (i32, i32, i32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r:4 = scf.for %i = %c0 to %n step %c1 iter_args(%x = %a, %same = %b, %copy = %a, %dead = %b) -> (i32, i32, i32, i32) {
    %next = "test.next"(%x, %same, %copy) : (i32, i32, i32) -> i32
    scf.yield %next, %same, %next, %next : i32, i32, i32, i32
  }
  return %r#0, %r#1, %r#2 : i32, i32, i32
}
// CHECK-LABEL: func.func @carried
// CHECK:         %0 = scf.for %arg3 = %c0 to %arg0 step %c1 iter_args(%arg4 = %arg1) -> (i32) {
// CHECK-NEXT:      %1 = "test.next"(%arg4, %arg2, %arg4) : (i32, i32, i32) -> i32
// CHECK-NEXT:      scf.yield %1 : i32
// CHECK-NEXT:    }
// CHECK-NEXT:    return %0, %arg2, %0 : i32, i32, i32

// Branches that only choose become selects, and inside a branch its condition is known.
func.func @branches(%c: i1, %a: i32, %b: i32) -> (i32, i32) {
  %0:2 = scf.if %c -> (i32, i32) {
    "test.use"(%c) : (i1) -> ()
    %1 = "test.make"() : () -> i32
    scf.yield %a, %1 : i32, i32
  } else {
    scf.yield %b, %b : i32, i32
  }
  scf.if %c {
  } else {
  }
  return %0#0, %0#1 : i32, i32
}
// CHECK-LABEL: func.func @branches
// CHECK-NEXT:    %true = arith.constant true
// CHECK-NEXT:    %0 = arith.select %arg0, %arg1, %arg2 : i32
// CHECK-NEXT:    %1 = scf.if %arg0 -> (i32) {
// CHECK-NEXT:      "test.use"(%true) : (i1) -> ()
// CHECK-NEXT:      %2 = "test.make"() : () -> i32
// CHECK-NEXT:      scf.yield %2 : i32
// CHECK-NEXT:    } else {
// CHECK-NEXT:      scf.yield %arg2 : i32
// CHECK-NEXT:    }
// CHECK-NEXT:    return %0, %1 : i32, i32

// The condition of a while holds in its body, and what never changes is not carried.
func.func @while(%a: i32, %limit: i32) -> i32 {
  %r:2 = scf.while (%x = %a, %l = %limit) : (i32, i32) -> (i32, i32) {
    %more = arith.cmpi slt, %x, %l : i32
    scf.condition(%more) %x, %l : i32, i32
  } do {
  ^bb0(%x: i32, %l: i32):
    %again = arith.cmpi slt, %x, %l : i32
    %next = "test.next"(%x, %again) : (i32, i1) -> i32
    scf.yield %next, %l : i32, i32
  }
  return %r#0 : i32
}
// CHECK-LABEL: func.func @while
// CHECK-NEXT:    %true = arith.constant true
// CHECK-NEXT:    %0 = scf.while (%arg2 = %arg0) : (i32) -> i32 {
// CHECK-NEXT:      %1 = arith.cmpi slt, %arg2, %arg1 : i32
// CHECK-NEXT:      scf.condition(%1) %arg2 : i32
// CHECK-NEXT:    } do {
// CHECK-NEXT:    ^bb0(%arg2: i32):
// CHECK-NEXT:      %1 = "test.next"(%arg2, %true) : (i32, i1) -> i32
// CHECK-NEXT:      scf.yield %1 : i32
// CHECK-NEXT:    }
// CHECK-NEXT:    return %0 : i32

// A switch on a constant is one of its cases.
func.func @switch() -> i32 {
  %c2 = arith.constant 2 : index
  %0 = scf.index_switch %c2 -> i32
  case 1 {
    %1 = "test.one"() : () -> i32
    scf.yield %1 : i32
  }
  case 2 {
    %1 = "test.two"() : () -> i32
    scf.yield %1 : i32
  }
  default {
    %1 = "test.other"() : () -> i32
    scf.yield %1 : i32
  }
  return %0 : i32
}
// CHECK-LABEL: func.func @switch
// CHECK-NEXT:    %0 = "test.two"() : () -> i32
// CHECK-NEXT:    return %0 : i32
