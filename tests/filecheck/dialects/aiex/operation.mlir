// RUN: tilewright opt %s | filecheck %s
// RUN: tilewright opt --mlir-print-op-generic %s | tilewright opt | filecheck %s
// RUN: tilewright opt --convert-aiex-to-emitc %s | filecheck %s --check-prefix=CPP

// Operations of a stream field by field: what is left out is 0, the size follows from the payload.
aie.device(npu2) {
  aie.runtime_sequence @fields(%a: i32) {
    aiex.npu.operation RECORD_TIMER
    aiex.npu.operation MASKPOLL(op_row = 252, address = %a, value = 1, mask = 4294967295) payload [0]
    aiex.npu.operation BLOCKWRITE(word0 = %a, address = 118784) payload [1, %a, 3] {note = "kept"}
  }
} {tilewright.txn_header = array<i64: 0, 1, 4, 6, 5, 1, 0>}

// CHECK:      aiex.npu.operation RECORD_TIMER
// CHECK-NEXT: aiex.npu.operation MASKPOLL(op_row = 252, address = %arg0, value = 1, mask = 4294967295) payload [0]
// CHECK-NEXT: aiex.npu.operation BLOCKWRITE(word0 = %arg0, address = 118784) payload [1, %arg0, 3] {note = "kept"}
// CPP:        txn_append_operation
// CPP:        {0, 1, 4, 6, 5, 1}
