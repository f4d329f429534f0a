// RUN: tilewright opt --split-input-file %s | filecheck %s
// RUN: tilewright opt --split-input-file --output-split-marker="// next" %s | filecheck %s --check-prefix=MARKER
// Parts are separate programs, and a marker counts only alone on its line.

// CHECK:       func.func @first() attributes {text = "// -----"}
func.func @first() attributes {text = "// -----"} {
  return
}

// -----

// CHECK:       // -----
// CHECK-NEXT:  module
// CHECK-NEXT:    func.func @first()
// MARKER:      // next
func.func @first() {
  // ----- nothing is split here
  return
}
