// RUN: tilewright opt --convert-scf-to-cf %s | filecheck %s

func.func private @use(i32) -> i1

// The block that takes the counter decides whether the loop goes on; its arguments are the results.
// CHECK-LABEL: func.func @counted
func.func @counted(%begin: index, %end: index, %step: index, %x: i32) -> i32 {
  // CHECK:        cf.br ^bb1(%arg0, %arg3 : index, i32)
  // CHECK-NEXT: ^bb1(%[[I:.+]]: index, %[[X:.+]]: i32):
  // CHECK-NEXT:   %[[MORE:.+]] = arith.cmpi slt, %[[I]], %arg1 : index
  // CHECK-NEXT:   cf.cond_br %[[MORE]], ^bb2, ^bb3
  // CHECK-NEXT: ^bb2:
  // CHECK-NEXT:   %[[SUM:.+]] = arith.addi %[[X]], %[[X]] : i32
  // CHECK-NEXT:   %[[NEXT:.+]] = arith.addi %[[I]], %arg2 : index
  // CHECK-NEXT:   cf.br ^bb1(%[[NEXT]], %[[SUM]] : index, i32)
  // CHECK-NEXT: ^bb3:
  // CHECK-NEXT:   return %[[X]] : i32
  %result = scf.for %i = %begin to %end step %step iter_args(%value = %x) -> (i32) {
    %sum = arith.addi %value, %value : i32
    scf.yield %sum : i32
  }
  return %result : i32
}

// CHECK-LABEL: func.func @chosen
func.func @chosen(%which: index, %condition: i1, %x: i32) -> i32 {
  // CHECK:        %[[FLAG:.+]] = arith.index_cast %arg0 : index to i32
  // CHECK-NEXT:   cf.switch %[[FLAG]] : i32, [
  // CHECK-NEXT:     default: ^bb2,
  // CHECK-NEXT:     7: ^bb1
  // CHECK:      ^bb3(%[[CHOSEN:.+]]: i32):
  // CHECK-NEXT:   cf.cond_br %arg1, ^bb4, ^bb5
  %chosen = scf.index_switch %which -> i32
  case 7 {
    %double = arith.addi %x, %x : i32
    scf.yield %double : i32
  }
  default {
    scf.yield %x : i32
  }
  scf.if %condition {
    %0 = func.call @use(%chosen) : (i32) -> i1
  }
  %other = scf.if %condition -> (i32) {
    scf.yield %x : i32
  } else {
    scf.yield %chosen : i32
  }
  return %other : i32
}

// A loop whose second part does nothing needs no block for it.
// CHECK-LABEL: func.func @repeated
func.func @repeated(%x: i32) -> (i32, i32) {
  // CHECK:        cf.cond_br %{{.*}}, ^bb1(%{{.*}} : i32), ^bb2
  %first = scf.while (%value = %x) : (i32) -> i32 {
    %go_on = func.call @use(%value) : (i32) -> i1
    scf.condition(%go_on) %value : i32
  } do {
  ^bb0(%value: i32):
    scf.yield %value : i32
  }
  // CHECK:        cf.cond_br %{{.*}}, ^bb4(%{{.*}} : i32), ^bb5
  %second = scf.while (%value = %first) : (i32) -> i32 {
    %go_on = func.call @use(%value) : (i32) -> i1
    scf.condition(%go_on) %value : i32
  } do {
  ^bb0(%value: i32):
    %double = arith.addi %value, %value : i32
    scf.yield %double : i32
  }
  return %first, %second : i32, i32
}

// CHECK-LABEL: func.func @blocks
func.func @blocks(%condition: i1, %x: i32, %y: i32) -> i32 {
  // CHECK-NOT: scf.
  %result = scf.execute_region -> i32 {
    cf.cond_br %condition, ^one, ^other
  ^one:
    scf.yield %x : i32
  ^other:
    scf.yield %y : i32
  }
  return %result : i32
}

// Iterations in any order are done in one, and their values combined in it.
// CHECK-LABEL: func.func @parallel
func.func @parallel(%end: index, %data: memref<64xf32>, %zero: f32) -> f32 {
  %begin = arith.constant 0 : index
  %step = arith.constant 1 : index
  // CHECK:        cf.br ^bb1(%c0, %arg2 : index, f32)
  // CHECK-NEXT: ^bb1(%{{.*}}: index, %[[ROWS:.+]]: f32):
  // CHECK:      ^bb3(%[[J:.+]]: index, %[[SUM:.+]]: f32):
  // CHECK:        %[[VALUE:.+]] = memref.load %arg1[%[[J]]] : memref<64xf32>
  // CHECK-NEXT:   arith.addf %[[SUM]], %[[VALUE]] : f32
  // CHECK:        return %[[ROWS]] : f32
  %sum = scf.parallel (%i, %j) = (%begin, %begin) to (%end, %end) step (%step, %step) init (%zero) -> f32 {
    %value = memref.load %data[%j] : memref<64xf32>
    scf.reduce(%value : f32) {
    ^bb0(%so_far: f32, %new: f32):
      %both = arith.addf %so_far, %new : f32
      scf.reduce.return %both : f32
    }
  }
  return %sum : f32
}
