// RUN: tilewright opt --pass-pipeline='builtin.module(gpu.module(convert-gpu-to-rocdl))' --split-input-file --verify-diagnostics %s

gpu.module @m {
  gpu.func @doubles(%v: f64, %o: i32) kernel {
    // expected-error @+1 {{'gpu.shuffle' op has no counterpart on AMD GPUs that this pass knows}}
    %0, %1 = gpu.shuffle idx %v, %o, %o : f64
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error @+1 {{'gpu.func' op hands on several values, an index or a buffer}}
  gpu.func @results(%n: index) -> index {
    gpu.return %n : index
  }
}
