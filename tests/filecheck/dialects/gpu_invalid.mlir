// RUN: tilewright opt --split-input-file --verify-diagnostics %s

gpu.module @m {
  // expected-error @+1 {{'gpu.func' op expected void return type for kernel function}}
  gpu.func @k(%a: i32) -> i32 kernel {
    gpu.return %a : i32
  }
}

// -----

gpu.module @m {
  gpu.func @f(%a: i32) -> i32 {
    // expected-error @+1 {{'gpu.return' op expected 1 result operands}}
    gpu.return
  }
}

// -----

// expected-error @+1 {{'gpu.func' op expects parent op 'gpu.module'}}
gpu.func @alone() kernel {
  gpu.return
}

// -----

func.func @no_container(%n: index) {
  // expected-error @+1 {{'gpu.launch_func' op expected the closest surrounding module to have the 'gpu.container_module' attribute}}
  gpu.launch_func @m::@k blocks in (%n, %n, %n) threads in (%n, %n, %n)
  return
}

// -----

module attributes {gpu.container_module} {
  gpu.module @m {
    gpu.func @k(%a: i32) kernel {
      gpu.return
    }
    gpu.func @helper() {
      gpu.return
    }
  }
  func.func @no_module(%n: index) {
    // expected-error @+1 {{'gpu.launch_func' op kernel module 'other' is undefined}}
    gpu.launch_func @other::@k blocks in (%n, %n, %n) threads in (%n, %n, %n)
    return
  }
  func.func @operands(%n: index) {
    // expected-error @+1 {{'gpu.launch_func' op type of function argument 0 does not match}}
    gpu.launch_func @m::@k blocks in (%n, %n, %n) threads in (%n, %n, %n) args(%n : index)
    return
  }
  func.func @not_a_kernel(%n: index) {
    // expected-error @+1 {{'gpu.launch_func' op kernel function is missing the 'gpu.kernel' attribute}}
    gpu.launch_func @m::@helper blocks in (%n, %n, %n) threads in (%n, %n, %n)
    return
  }
}

// -----

func.func @lanes(%v: i32) {
  // expected-error @+1 {{expected string or keyword containing one of the following enum values for attribute 'mode' [xor, up, down, idx]}}
  %0, %1 = gpu.shuffle around %v, %v, %v : i32
  return
}

// -----

func.func @sizes(%n: index) {
  // expected-error @+1 {{'gpu.alloc' op dimension operand count does not equal memref dynamic dimension count}}
  %0 = gpu.alloc (%n) : memref<4xf32>
  return
}

// -----

gpu.module @m {
  // expected-error @+1 {{'gpu.func' op expected memref type in attribution}}
  gpu.func @k() workgroup(%w : f32) kernel {
    gpu.return
  }
}
