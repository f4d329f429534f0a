// RUN: tilewright opt --split-input-file --verify-diagnostics --allow-unregistered-dialect %s
// What tensor operations refuse, in upstream's words.

func.func @f(%n: index, %v: f32) {
  // expected-error @+1 {{'tensor.generate' op incorrect number of dynamic sizes, has 1, expected 2}}
  %12 = tensor.generate %n { ^bb0(%a: index, %b: index): tensor.yield %v : f32 } : tensor<?x?xf32>
  return
}

// -----

func.func @f(%n: index, %v: f32) {
  // expected-error @+1 {{'tensor.generate' op body must be terminated with a `yield` operation of the tensor element type}}
  %12 = tensor.generate %n { ^bb0(%b: index): tensor.yield %n : index } : tensor<?xf32>
  return
}

// -----

func.func @f(%n: index, %v: f32) {
  // expected-error @+1 {{must have one body argument per input dimension}}
  %12 = tensor.generate %n { ^bb0(%a: index, %b: index): tensor.yield %v : f32 } : tensor<?xf32>
  return
}

// -----

func.func @f(%n: index, %v: tensor<4xf32>) {
  // expected-error @+1 {{'tensor.bitcast' op operand type 'tensor<4xf32>' and result type 'tensor<5xf32>' are cast incompatible}}
  %12 = tensor.bitcast %v : tensor<4xf32> to tensor<5xf32>
  return
}
