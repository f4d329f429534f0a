// RUN: tilewright opt --split-input-file --verify-diagnostics --aie-objectfifo-liveness %s | filecheck %s

// Three consumers of something that is sent eight times: 24 may be under way, 4 have room.
aie.device(npu2) {
  %shim = aie.tile(0, 0)
  %mem = aie.tile(0, 1)
  %a = aie.tile(0, 2)
  %b = aie.tile(0, 3)
  %c = aie.tile(0, 4)
  aie.objectfifo @in(%shim, {%mem}, 2 : i32) : !aie.objectfifo<memref<16xi32>>
  // expected-error@+1 {{objectFIFO @weights in a cyclic dependency requires depth >= 12 for deadlock-free execution; allocated depth = 2. (Coupled broadcast fan-out 3 x trip-count 8 = 24 outstanding tokens exceeds round-trip slack 2*depth = 4}}
  aie.objectfifo @weights(%mem, {%a, %b, %c}, 2 : i32) {repeat_count = 8 : i32} : !aie.objectfifo<memref<16xi32>>
}

// -----

// Sent once, it goes through, however many there are.
// CHECK-LABEL: aie.device(npu2) @once
aie.device(npu2) @once {
  %shim = aie.tile(0, 0)
  %mem = aie.tile(0, 1)
  %a = aie.tile(0, 2)
  %b = aie.tile(0, 3)
  %c = aie.tile(0, 4)
  aie.objectfifo @in(%shim, {%mem}, 1 : i32) : !aie.objectfifo<memref<16xi32>>
  aie.objectfifo @weights(%mem, {%a, %b, %c}, 1 : i32) : !aie.objectfifo<memref<16xi32>>
}

// -----

// Halves of one broadcast count together: they have one name but for a number, and different consumers.
aie.device(npu2) {
  %shim = aie.tile(0, 0)
  %mem = aie.tile(0, 1)
  %a = aie.tile(0, 2)
  %b = aie.tile(0, 3)
  %c = aie.tile(0, 4)
  %d = aie.tile(0, 5)
  aie.objectfifo @in(%shim, {%mem}, 2 : i32) : !aie.objectfifo<memref<16xi32>>
  // expected-error@+1 {{requires depth >= 4 for deadlock-free execution; allocated depth = 2. (Coupled broadcast fan-out 4 x trip-count 2 = 8}}
  aie.objectfifo @w_0(%mem, {%a, %b}, 2 : i32) {repeat_count = 2 : i32} : !aie.objectfifo<memref<16xi32>>
  aie.objectfifo @w_1(%mem, {%c, %d}, 2 : i32) {repeat_count = 2 : i32} : !aie.objectfifo<memref<16xi32>>
}
