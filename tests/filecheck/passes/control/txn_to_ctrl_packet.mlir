// RUN: tilewright opt --split-input-file --verify-diagnostics --aie-txn-to-ctrl-packet %s | filecheck %s

// A block write becomes a packet with the words of its global, for the address that it means.
// CHECK:      aiex.control_packet {address = 118784 : ui32, data = array<i32: 1, -1>, opcode = 0 : i32, stream_id = 0 : i32}
// CHECK-NEXT: aiex.control_packet {address = 35770376 : ui32, data = array<i32: 1, -1>, opcode = 0 : i32, stream_id = 0 : i32}
aie.device(npu2) {
  memref.global "private" constant @words : memref<2xi32> = dense<[1, 0xFFFFFFFF]>
  aie.runtime_sequence() {
    %words = memref.get_global @words : memref<2xi32>
    aiex.npu.blockwrite(%words) {address = 118784 : ui32} : memref<2xi32>
    aiex.npu.blockwrite(%words) {address = 0x1D008 : ui32, column = 1 : i32, row = 2 : i32} : memref<2xi32>
  }
}

// -----

aie.device(npu2) {
  memref.global "private" @words : memref<2xi32>
  aie.runtime_sequence() {
    %words = memref.get_global @words : memref<2xi32>
    // expected-error@+2 {{Global symbol has no initial value}}
    // expected-error@+1 {{failed to legalize operation}}
    aiex.npu.blockwrite(%words) {address = 118784 : ui32} : memref<2xi32>
  }
}

// -----

aie.device(npu2) {
  aie.runtime_sequence(%words: memref<2xi32>) {
    // expected-error@+2 {{Only MemRefs from memref.get_global are supported}}
    // expected-error@+1 {{failed to legalize operation}}
    aiex.npu.blockwrite(%words) {address = 118784 : ui32} : memref<2xi32>
  }
}
