// RUN: tilewright opt --split-input-file --aie-register-objectFifos %s | filecheck %s

// Calls that use the FIFO alike become a loop, others follow each other; where nothing is acquired, nothing is called.
// CHECK-LABEL: module @pattern
// CHECK:       aie.core(%[[TILE:.+]]) {
// CHECK-NEXT:    %[[WINDOW:.+]] = aie.objectfifo.acquire @f(Produce, 1)
// CHECK-NEXT:    aie.objectfifo.subview.access %[[WINDOW]][0]
// CHECK-NEXT:    func.call @work() : () -> ()
// CHECK:         scf.for %{{.*}} = %c0{{.*}} to %c2{{.*}} step %c1{{.*}} {
// CHECK-NEXT:      %[[WINDOW:.+]] = aie.objectfifo.acquire @f(Produce, 2)
// CHECK-NEXT:      aie.objectfifo.subview.access %[[WINDOW]][0]
// CHECK-NEXT:      aie.objectfifo.subview.access %[[WINDOW]][1]
// CHECK-NEXT:      func.call @work() : () -> ()
// CHECK-NEXT:      aie.objectfifo.release @f(Produce, 1)
// CHECK-NEXT:    }
// CHECK-NEXT:    aie.objectfifo.release @f(Produce, 1)
// CHECK-NEXT:    aie.end
// CHECK-NOT:   register_process
module @pattern {
  aie.device(npu1) {
    %from = aie.tile(0, 2)
    %to = aie.tile(0, 3)
    aie.objectfifo @f(%from, {%to}, 3 : i32) : !aie.objectfifo<memref<16xi32>>
    %acquires = arith.constant dense<[1, 2, 2, 0]> : tensor<4xi32>
    %releases = arith.constant dense<[0, 1, 1, 1]> : tensor<4xi32>
    %length = arith.constant 4 : index
    func.func private @work()
    aie.objectfifo.register_process @f(Produce, %acquires : tensor<4xi32>, %releases : tensor<4xi32>, @work, %length)
  }
}

// -----

// Consumers take their processes in order. A pattern with one number stands for as many as the process is long.
// CHECK-LABEL: module @consumers
// CHECK-DAG:   %[[A:.+]] = aie.tile(0, 3)
// CHECK-DAG:   %[[B:.+]] = aie.tile(2, 3)
// CHECK:       aie.core(%[[A]]) {
// CHECK:         scf.for %{{.*}} to %c7{{.*}} step
// CHECK:       aie.core(%[[B]]) {
// CHECK:         aie.objectfifo.acquire @f(Consume, 1)
// CHECK:         func.call @work()
// CHECK-NEXT:    %[[WINDOW:.+]] = aie.objectfifo.acquire @f(Consume, 1)
// CHECK:         aie.objectfifo.release @f(Consume, 2)
module @consumers {
  aie.device(npu1) {
    %from = aie.tile(0, 2)
    %a = aie.tile(0, 3)
    %b = aie.tile(2, 3)
    aie.objectfifo @f(%from, {%a, %b}, 3 : i32) : !aie.objectfifo<memref<16xi32>>
    %one = arith.constant dense<1> : tensor<1xi32>
    %two = arith.constant dense<[0, 2]> : tensor<2xi32>
    %c7 = arith.constant 7 : index
    %c2 = arith.constant 2 : index
    func.func private @work()
    aie.objectfifo.register_process @f(Consume, %one : tensor<1xi32>, %one : tensor<1xi32>, @work, %c7)
    aie.objectfifo.register_process @f(Consume, %one : tensor<1xi32>, %two : tensor<2xi32>, @work, %c2)
  }
}
