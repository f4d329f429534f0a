// RUN: tilewright opt --air-gpu-outlining --split-input-file --verify-diagnostics %s | filecheck %s

// What a kernel calls comes along, with what that calls; the host keeps its own.
// CHECK:      func.func @main
// CHECK:      gpu.module @main_module {
// CHECK-NEXT:   gpu.func @main_module() kernel
// CHECK:          func.call @twice
// CHECK:        func.func @twice(%arg0: index) -> index {
// CHECK-NEXT:     %0 = call @once(%arg0) : (index) -> index
// CHECK:        func.func private @once(index) -> index
func.func private @once(index) -> index
func.func @twice(%n: index) -> index {
  %0 = call @once(%n) : (index) -> index
  %1 = call @once(%0) : (index) -> index
  return %1 : index
}
func.func @main() {
  %c1 = arith.constant 1 : index
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1) threads(%tx, %ty, %tz) in (%sx = %c1, %sy = %c1, %sz = %c1) {
    %0 = func.call @twice(%tx) : (index) -> index
    gpu.terminator
  }
  return
}

// -----

func.func @too_early() {
  // expected-error @+1 {{'air.launch' op is left; kernels are taken out of programs that have no more of it}}
  air.launch () in () { }
  return
}
