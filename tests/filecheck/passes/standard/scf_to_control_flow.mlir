// RUN: tilewright opt --aie-scf-to-control-flow %s | filecheck %s

// A core runs branches; a runtime sequence has no such thing, so its loops are left to its own lowering.
// CHECK-LABEL: aie.device(npu1)
aie.device(npu1) {
  %tile = aie.tile(0, 2)
  func.func private @work(index)
  // CHECK:      aie.core
  // CHECK:        cf.br ^bb1(%c0 : index)
  // CHECK-NEXT: ^bb1(%[[I:.+]]: index):
  // CHECK-NEXT:   %[[MORE:.+]] = arith.cmpi slt, %[[I]], %c8 : index
  // CHECK-NEXT:   cf.cond_br %[[MORE]], ^bb2, ^bb3
  // CHECK-NEXT: ^bb2:
  // CHECK-NEXT:   func.call @work(%[[I]])
  // CHECK-NEXT:   %[[NEXT:.+]] = arith.addi %[[I]], %c1 : index
  // CHECK-NEXT:   cf.br ^bb1(%[[NEXT]] : index)
  // CHECK-NEXT: ^bb3:
  // CHECK-NEXT:   aie.end
  %core = aie.core(%tile) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    scf.for %i = %c0 to %c8 step %c1 {
      func.call @work(%i) : (index) -> ()
    }
    aie.end
  }
  // CHECK:      aie.runtime_sequence
  // CHECK:        scf.for
  // CHECK-NOT:    cf.br
  aie.runtime_sequence(%n: index) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    scf.for %i = %c0 to %n step %c1 {
    }
  }
}
