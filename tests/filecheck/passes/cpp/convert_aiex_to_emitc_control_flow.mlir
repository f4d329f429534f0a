// RUN: tilewright opt --split-input-file --convert-aiex-to-emitc %s | filecheck %s
// Loops and branches stay what they are; operations are counted while the function runs.

// CHECK-LABEL: emitc.func @generate_txn_main_loop(%arg0: !emitc.size_t, %arg1: i32)
// CHECK:      verbatim "uint32_t __opcount = 0;"
// CHECK-NEXT: %[[COUNTER:.+]] = literal "__opcount" : ui32
// A negative bound is a large number in C++: such a loop must not run.
// CHECK:      %[[RUNS:.+]] = cmp gt, %{{.+}}, %{{.+}} : (!emitc.ptrdiff_t, !emitc.ptrdiff_t) -> i1
// CHECK-NEXT: %[[END:.+]] = conditional %[[RUNS]], %arg0, %[[START:.+]] : !emitc.size_t
// CHECK-NEXT: %[[SUM:.+]] = "emitc.variable"() <{value = #emitc.opaque<"">}> : () -> !emitc.lvalue<i32>
// CHECK-NEXT: assign %arg1 : i32 to %[[SUM]] : <i32>
// CHECK-NEXT: for %{{.+}} = %[[START]] to %[[END]] step %{{.+}}  : !emitc.size_t {
// CHECK-NEXT:   %[[NOW:.+]] = load %[[SUM]] : <i32>
// CHECK:        call_opaque "aie_runtime::txn_append_write32"(%{{.+}}, %{{.+}}, %[[NOW]])
// CHECK-NEXT:   verbatim "++{};" args %[[COUNTER]] : ui32
// CHECK:        assign %{{.+}} : i32 to %[[SUM]] : <i32>
// CHECK-NEXT: }
// CHECK-NEXT: %[[LAST:.+]] = load %[[SUM]] : <i32>
// CHECK:      verbatim "aie_runtime::txn_prepend_header(txn, __opcount, {0, 1, 3, 6, 4, 1});"
aie.device(npu1) {
  aie.runtime_sequence @loop(%n: index, %first: i32) {
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    %register = arith.constant 64 : i32
    %sum = scf.for %i = %zero to %n step %one iter_args(%now = %first) -> (i32) {
      aiex.npu.write32(%register, %now) : i32, i32
      %next = arith.addi %now, %first : i32
      scf.yield %next : i32
    }
    aiex.npu.write32(%register, %sum) : i32, i32
  }
}

// -----

// A loop over 32-bit numbers counts in 64 bits, unless in steps of 1: stepping over the last must not overflow. A step
// that is only known at run time must lead somewhere.
// CHECK-LABEL: emitc.func @generate_txn_main_narrow(%arg0: i32, %arg1: i32)
// CHECK:      verbatim "if ({} <= 0) return std::nullopt;" args %arg1 : i32
// CHECK:      for %[[WIDE:.+]] = %{{.+}} to %{{.+}} step %{{.+}}  : i64 {
// CHECK-NEXT:   %[[NARROW:.+]] = cast %[[WIDE]] : i64 to i32
// CHECK:        call_opaque "aie_runtime::txn_append_write32"(%{{.+}}, %{{.+}}, %[[NARROW]])
aie.device(npu1) {
  aie.runtime_sequence @narrow(%n: i32, %step: i32) {
    %zero = arith.constant 0 : i32
    %register = arith.constant 64 : i32
    scf.for %i = %zero to %n step %step : i32 {
      aiex.npu.write32(%register, %i) : i32, i32
    }
  }
}

// -----

// CHECK-LABEL: emitc.func @generate_txn_main_ones(%arg0: i32)
// CHECK:      for %[[NUMBER:.+]] = %{{.+}} to %arg0 step %{{.+}}  : i32 {
// CHECK:        call_opaque "aie_runtime::txn_append_write32"(%{{.+}}, %{{.+}}, %[[NUMBER]])
aie.device(npu1) {
  aie.runtime_sequence @ones(%n: i32) {
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %register = arith.constant 64 : i32
    scf.for %i = %zero to %n step %one : i32 {
      aiex.npu.write32(%register, %i) : i32, i32
    }
  }
}

// -----

// CHECK-LABEL: emitc.func @generate_txn_main_branch(%arg0: i1, %arg1: i32)
// CHECK:      %[[CHOSEN:.+]] = "emitc.variable"() <{value = #emitc.opaque<"">}> : () -> !emitc.lvalue<i32>
// CHECK-NEXT: if %arg0 {
// CHECK:        assign %arg1 : i32 to %[[CHOSEN]] : <i32>
// CHECK-NEXT: } else {
// CHECK-NEXT:   assign %{{.+}} : i32 to %[[CHOSEN]] : <i32>
// CHECK-NEXT: }
// CHECK-NEXT: load %[[CHOSEN]] : <i32>
aie.device(npu1) {
  aie.runtime_sequence @branch(%condition: i1, %a: i32) {
    %seven = arith.constant 7 : i32
    %register = arith.constant 64 : i32
    %chosen = scf.if %condition -> (i32) {
      aiex.npu.write32(%register, %a) : i32, i32
      scf.yield %a : i32
    } else {
      scf.yield %seven : i32
    }
    aiex.npu.write32(%register, %chosen) : i32, i32
  }
}

// -----

// A loop with a condition is left from inside, between what comes before the condition and what comes after it. What is
// handed on unchanged needs no second variable.
// CHECK-LABEL: emitc.func @generate_txn_main_while(%arg0: i32)
// CHECK:      %[[CARRIED:.+]] = "emitc.variable"() <{value = #emitc.opaque<"">}> : () -> !emitc.lvalue<i32>
// CHECK:      do {
// CHECK-NEXT:   %[[NOW:.+]] = load %[[CARRIED]] : <i32>
// CHECK-NEXT:   %[[GOES_ON:.+]] = cmp lt, %[[NOW]], %arg0 : (i32, i32) -> i1
// CHECK-NEXT:   verbatim "if (!{}) break;" args %[[GOES_ON]] : i1
// CHECK:        call_opaque "aie_runtime::txn_append_write32"
// CHECK:        assign %{{.+}} : i32 to %[[CARRIED]] : <i32>
// CHECK-NEXT: } while {
// CHECK:        "emitc.constant"() <{value = true}> : () -> i1
// CHECK:      }
// CHECK:      load %[[CARRIED]] : <i32>
aie.device(npu1) {
  aie.runtime_sequence @while(%end: i32) {
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %register = arith.constant 64 : i32
    %last = scf.while (%now = %zero) : (i32) -> i32 {
      %goes_on = arith.cmpi slt, %now, %end : i32
      scf.condition(%goes_on) %now : i32
    } do {
    ^bb0(%passed: i32):
      aiex.npu.write32(%register, %passed) : i32, i32
      %next = arith.addi %passed, %one : i32
      scf.yield %next : i32
    }
    aiex.npu.write32(%register, %last) : i32, i32
  }
}
