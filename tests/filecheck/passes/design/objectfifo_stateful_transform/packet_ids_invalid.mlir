// RUN: tilewright opt --aie-objectFifo-stateful-transform --split-input-file --verify-diagnostics %s

aie.device(npu2) {
  %a = aie.tile(1, 2)
  %b = aie.tile(3, 2)
  // expected-error@+1 {{'aie.objectfifo' op packet_id 32 is out of range (max 31)}}
  aie.objectfifo @one(%a, {%b}, 2 : i32) {packet, packet_id = 32 : i8} : !aie.objectfifo<memref<16xi32>>
}

// -----

aie.device(npu2) {
  %a = aie.tile(1, 2)
  %b = aie.tile(3, 2)
  // expected-error@+1 {{'aie.objectfifo' op packet_id is only meaningful with packet}}
  aie.objectfifo @one(%a, {%b}, 2 : i32) {packet_id = 3 : i8} : !aie.objectfifo<memref<16xi32>>
}
