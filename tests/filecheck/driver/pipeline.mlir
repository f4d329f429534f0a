// RUN: tilewright opt %s --cse | filecheck %s --check-prefix=EVERYWHERE
// RUN: tilewright opt %s --pass-pipeline='builtin.module(func.func(cse))' | filecheck %s --check-prefix=FUNCTIONS
// RUN: tilewright opt %s --pass-pipeline='any(aie.device(cse))' | filecheck %s --check-prefix=DEVICES
// RUN: tilewright opt %s --cse --mlir-print-ir-after-all -o %t 2>&1 | filecheck %s --check-prefix=DUMP
// RUN: not tilewright opt %s --pass-pipeline='builtin.module(nothing-like-it)' 2>&1 | filecheck %s --check-prefix=UNKNOWN
// RUN: not tilewright opt %s --pass-pipeline='func.func(cse)' 2>&1 | filecheck %s --check-prefix=ANCHOR
// A pass runs where the pipeline stands: on the module, or on each operation of a name that is directly in it.

// EVERYWHERE-LABEL: func.func @f
// EVERYWHERE:         arith.addi
// EVERYWHERE-NOT:     arith.addi
// EVERYWHERE:         aie.core
// EVERYWHERE:           arith.addi
// EVERYWHERE-NOT:       arith.addi

// FUNCTIONS-LABEL:  func.func @f
// FUNCTIONS:          arith.addi
// FUNCTIONS-NOT:      arith.addi
// FUNCTIONS:          aie.core
// FUNCTIONS:            arith.addi
// FUNCTIONS:            arith.addi

// DEVICES-LABEL:    func.func @f
// DEVICES:            arith.addi
// DEVICES:            arith.addi
// DEVICES:            aie.core
// DEVICES:              arith.addi
// DEVICES-NOT:          arith.addi

// DUMP:             // -----// IR Dump After {{.*}} (cse) //----- //
// DUMP-NEXT:        module {

// UNKNOWN:          'nothing-like-it' does not refer to a registered pass or pass pipeline
// ANCHOR:           can't run 'func.func' pass manager on 'builtin.module' op

func.func @f(%a: i32) -> (i32, i32) {
  %x = arith.addi %a, %a : i32
  %y = arith.addi %a, %a : i32
  return %x, %y : i32, i32
}

aie.device(npu1) {
  %tile = aie.tile(0, 2)
  %buffer = aie.buffer(%tile) : memref<2xi32>
  aie.core(%tile) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %a = memref.load %buffer[%c0] : memref<2xi32>
    %x = arith.addi %a, %a : i32
    %y = arith.addi %a, %a : i32
    memref.store %x, %buffer[%c0] : memref<2xi32>
    memref.store %y, %buffer[%c1] : memref<2xi32>
    aie.end
  }
}
