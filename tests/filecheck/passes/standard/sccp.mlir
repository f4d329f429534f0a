// RUN: tilewright opt --sccp %s | filecheck %s

func.func private @use(i32)

// What every iteration leaves as it found it is known in the loop, and after it.
// CHECK-LABEL: func.func @kept_by_a_loop
func.func @kept_by_a_loop(%count: index) -> i32 {
  %zero = arith.constant 0 : i32
  %two = arith.constant 2 : i32
  %begin = arith.constant 0 : index
  %step = arith.constant 1 : index
  // CHECK:      scf.for
  // CHECK-NEXT:   func.call @use(%[[ZERO:.+]]) : (i32) -> ()
  // CHECK-NEXT:   scf.yield %[[ZERO]] : i32
  %result = scf.for %i = %begin to %count step %step iter_args(%turn = %zero) -> (i32) {
    func.call @use(%turn) : (i32) -> ()
    %next = arith.addi %turn, %two : i32
    %back = arith.remsi %next, %two : i32
    scf.yield %back : i32
  }
  // CHECK:      return %[[ZERO]] : i32
  return %result : i32
}

// What one iteration changes is not.
// CHECK-LABEL: func.func @changed_by_a_loop
func.func @changed_by_a_loop(%count: index) -> i32 {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %begin = arith.constant 0 : index
  %step = arith.constant 1 : index
  // CHECK:      %[[RESULT:.+]] = scf.for {{.*}} iter_args(%[[TURN:.+]] = {{.*}}) -> (i32) {
  // CHECK-NEXT:   func.call @use(%[[TURN]]) : (i32) -> ()
  %result = scf.for %i = %begin to %count step %step iter_args(%turn = %zero) -> (i32) {
    func.call @use(%turn) : (i32) -> ()
    scf.yield %one : i32
  }
  // CHECK:      return %[[RESULT]] : i32
  return %result : i32
}

// A branch that is never taken does not count.
// CHECK-LABEL: func.func @taken
func.func @taken(%other: i32) -> i32 {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : i32
  %chosen = scf.index_switch %zero -> i32
  case 0 {
    scf.yield %one : i32
  }
  default {
    scf.yield %other : i32
  }
  // CHECK:      %[[TWO:.+]] = arith.constant 2 : i32
  // CHECK:      return %[[TWO]] : i32
  %sum = arith.addi %chosen, %one : i32
  return %sum : i32
}

// Nor does one to a block, even where the block is in a circle with itself.
// CHECK-LABEL: func.func @blocks
func.func @blocks(%other: i32) -> i32 {
  %true = arith.constant true
  %one = arith.constant 1 : i32
  cf.cond_br %true, ^loop(%one : i32), ^never
^loop(%value: i32):
  %go_on = arith.cmpi eq, %value, %other : i32
  cf.cond_br %go_on, ^loop(%value : i32), ^end
^never:
  cf.br ^loop(%other : i32)
^end:
  // CHECK:      return %c1_i32 : i32
  return %value : i32
}
