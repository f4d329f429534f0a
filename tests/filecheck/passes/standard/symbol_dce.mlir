// RUN: tilewright opt --symbol-dce --allow-unregistered-dialect %s | filecheck %s

// What is private lives as long as something that lives refers to it, also through arrays and nested modules.
func.func private @unused()
func.func private @called()
func.func private @mentioned()
func.func private @only_from_unused()
func.func private @unused_too() {
  call @only_from_unused() : () -> ()
  return
}
func.func @public() {
  call @called() : () -> ()
  "test.use"() {symbols = [@mentioned, {inner = @nested::@kept}]} : () -> ()
  return
}
module @nested {
  func.func private @unreachable()
  func.func nested @kept() {
    return
  }
}
// CHECK-NOT:   @unused
// CHECK:       func.func private @called()
// CHECK-NEXT:  func.func private @mentioned()
// CHECK-NEXT:  func.func @public() {
// CHECK-NOT:   @unreachable
// CHECK:       func.func nested @kept()
