// RUN: tilewright opt %s | tilewright opt | filecheck %s

// A function that is registered to a FIFO, with what it acquires and releases each time.
// CHECK:      aie.objectfifo.register_process @f(Produce, %[[ACQUIRES:.+]] : tensor<4xi32>, %[[RELEASES:.+]] : tensor<1xi32>, @work, %[[LENGTH:.+]])
aie.device(npu1) {
  %from = aie.tile(0, 2)
  %to = aie.tile(0, 3)
  aie.objectfifo @f(%from, {%to}, 3 : i32) : !aie.objectfifo<memref<16xi32>>
  %acquires = arith.constant dense<[1, 2, 2, 1]> : tensor<4xi32>
  %releases = arith.constant dense<1> : tensor<1xi32>
  %length = arith.constant 4 : index
  func.func private @work()
  aie.objectfifo.register_process @f(Produce, %acquires : tensor<4xi32>, %releases : tensor<1xi32>, @work, %length)
}
