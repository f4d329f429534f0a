// RUN: tilewright opt --split-input-file --verify-diagnostics --aie-register-objectFifos %s

aie.device(npu1) {
  %from = aie.tile(0, 2)
  %to = aie.tile(0, 3)
  aie.objectfifo @f(%from, {%to}, 3 : i32) : !aie.objectfifo<memref<16xi32>>
  %one = arith.constant dense<1> : tensor<1xi32>
  %three = arith.constant dense<[0, 1, 2]> : tensor<3xi32>
  %length = arith.constant 4 : index
  func.func private @work()
  // expected-error@+1 {{Acquire and Release patterns must be of equal length, or longest length of one must be equal to process length of the other}}
  aie.objectfifo.register_process @f(Produce, %one : tensor<1xi32>, %three : tensor<3xi32>, @work, %length)
}

// -----

aie.device(npu1) {
  %from = aie.tile(0, 2)
  %to = aie.tile(0, 3)
  aie.objectfifo @f(%from, {%to}, 3 : i32) : !aie.objectfifo<memref<16xi32>>
  %one = arith.constant dense<1> : tensor<1xi32>
  %length = arith.constant 4 : index
  func.func private @work()
  aie.objectfifo.register_process @f(Consume, %one : tensor<1xi32>, %one : tensor<1xi32>, @work, %length)
  // expected-error@+1 {{No more available consumer tiles for process.}}
  aie.objectfifo.register_process @f(Consume, %one : tensor<1xi32>, %one : tensor<1xi32>, @work, %length)
}

// -----

aie.device(npu1) {
  %from = aie.tile(0, 2)
  %to = aie.tile(0, 3)
  aie.objectfifo @f(%from, {%to}, 3 : i32) : !aie.objectfifo<memref<16xi32>>
  %one = arith.constant dense<1> : tensor<1xi32>
  %length = arith.constant 4 : index
  func.func private @work(i32)
  // expected-error@+1 {{@work must be a function of this device without arguments and results}}
  aie.objectfifo.register_process @f(Produce, %one : tensor<1xi32>, %one : tensor<1xi32>, @work, %length)
}
