// RUN: tilewright opt --verify-roundtrip %s | filecheck %s
// What a launch has to do with those before and behind it.
func.func @meet() {
  nvvm.griddepcontrol launch_dependents
  nvvm.griddepcontrol wait
  return
}
// CHECK:      nvvm.griddepcontrol  launch_dependents
// CHECK-NEXT: nvvm.griddepcontrol  wait
