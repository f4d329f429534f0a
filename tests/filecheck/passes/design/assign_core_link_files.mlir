// RUN: tilewright opt --split-input-file --verify-diagnostics --aie-assign-core-link-files %s | filecheck %s

// A core is linked with the files of the functions that it calls, each once, and merged with those that say so.
// CHECK-LABEL: aie.device(npu1) @called
aie.device(npu1) @called {
  %tile = aie.tile(0, 2)
  %other = aie.tile(0, 3)
  func.func private @add() attributes {link_with = "math.o"}
  func.func private @multiply() attributes {link_with = "math.o"}
  func.func private @scale() attributes {link_with = "scale.ll", link_with_mode = "merge"}
  // expected-warning@+1 {{func 'unused' has link_with but is never called from any core; its artifact will not be linked or merged}}
  func.func private @unused() attributes {link_with = "unused.o"}
  // CHECK:     aie.core(%tile_0_2) {
  // CHECK:     } {link_files = ["math.o"], link_merge_files = ["scale.ll"]}
  %core = aie.core(%tile) {
    func.call @add() : () -> ()
    func.call @multiply() : () -> ()
    func.call @scale() : () -> ()
    aie.end
  }
  // CHECK:     aie.core(%tile_0_3) {
  // CHECK:     } {link_files = ["old.o", "math.o"]}
  // expected-warning@+1 {{link_with on aie.core is deprecated; attach link_with to the func.func declaration instead}}
  %second = aie.core(%other) {
    func.call @add() : () -> ()
    aie.end
  } {link_with = "old.o"}
}

// -----

aie.device(npu1) {
  // expected-error@+1 {{func 'f' has link_with_mode but no link_with; link_with_mode only describes how the link_with artifact is linked}}
  func.func private @f() attributes {link_with_mode = "merge"}
  // expected-error@+1 {{func 'g' has unknown link_with_mode 'mix'; the only supported value is 'merge'}}
  func.func private @g() attributes {link_with = "g.o", link_with_mode = "mix"}
}

// -----

aie.device(npu1) {
  %tile = aie.tile(0, 2)
  %other = aie.tile(0, 3)
  func.func private @linked() attributes {link_with = "f.o"}
  func.func private @merged() attributes {link_with = "f.o", link_with_mode = "merge"}
  // expected-note@+1 {{artifact 'f.o' is object-linked here}}
  %core = aie.core(%tile) {
    func.call @linked() : () -> ()
    aie.end
  }
  // expected-error@+1 {{artifact 'f.o' is merged into an LLVM module here but object-linked in the same aie.device}}
  %second = aie.core(%other) {
    func.call @merged() : () -> ()
    aie.end
  }
}
