// RUN: tilewright opt --split-input-file --verify-diagnostics %s

aie.device(npu2) {
  %tile = aie.tile(0, 2)
  aie.objectfifo.pool @p(%tile) {depth = 2 : i32} : memref<8xi32>
  aie.objectfifo.core_endpoint @e(%tile) fills @p
  %core = aie.core(%tile) {
    // expected-error@+1 {{port is implied by the endpoint's role}}
    aie.objectfifo.release @e(Produce, 1)
    aie.end
  }
}

// -----

aie.device(npu2) {
  %tile = aie.tile(0, 2)
  %other = aie.tile(0, 3)
  aie.objectfifo.pool @p(%tile) {depth = 2 : i32} : memref<8xi32>
  aie.objectfifo.core_endpoint @e(%tile) fills @p
  // expected-error@+1 {{objectFifo endpoint accessed by core running on another tile}}
  %core = aie.core(%other) {
    %object = aie.objectfifo.acquire @e(1) : memref<8xi32>
    aie.end
  }
}

// -----

aie.device(npu2) {
  %tile = aie.tile(0, 2)
  aie.objectfifo.pool @p(%tile) {depth = 2 : i32} : memref<8xi32>
  aie.objectfifo.core_endpoint @e(%tile) fills @p
  %core = aie.core(%tile) {
    // expected-error@+1 {{acquired object type memref<4xi32> does not match the objectFifo's memref<8xi32>}}
    %object = aie.objectfifo.acquire @e(1) : memref<4xi32>
    aie.end
  }
}

// -----

aie.device(npu2) {
  %a = aie.tile(0, 2)
  %b = aie.tile(0, 3)
  aie.objectfifo @f(%a, {%b}, [2, 1]) : !aie.objectfifo<memref<8xi32>>
  %core = aie.core(%b) {
    // expected-error@+1 {{acquires 2 objects from an objectFifo that holds 1}}
    %objects:2 = aie.objectfifo.acquire @f(Consume, 2) : memref<8xi32>, memref<8xi32>
    aie.end
  }
}

// -----

aie.device(npu2) {
  %a = aie.tile(0, 2)
  %b = aie.tile(0, 3)
  aie.objectfifo @f(%a, {%b}, 2 : i32) : !aie.objectfifo<memref<8xi32>>
  %core = aie.core(%b) {
    // expected-error@+1 {{port is required when accessing an objectFifo}}
    aie.objectfifo.release @f(1)
    aie.end
  }
}

// -----

aie.device(npu2) {
  %a = aie.tile(0, 2)
  %b = aie.tile(0, 3)
  aie.objectfifo @f(%a, {%b}, 2 : i32) : !aie.objectfifo<memref<8xi32>>
  %core = aie.core(%b) {
    // expected-error@+1 {{acquires 2 objects but names 1 of them}}
    %object = aie.objectfifo.acquire @f(Consume, 2) : memref<8xi32>
    aie.end
  }
}

// -----

aie.device(npu2) {
  %tile = aie.tile(0, 2)
  aie.objectfifo.pool @p(%tile) {depth = 2 : i32, segments = [#aie.objectfifo_segment<offset = 0, size = 4>, #aie.objectfifo_segment<offset = 4, size = 4>]} : memref<2x4xi32>
  // expected-error@+1 {{a core reaches a part of an object only if objects have one dimension}}
  aie.objectfifo.core_endpoint @e(%tile) fills @p {segments = array<i32: 0>}
}
