// RUN: tilewright opt --split-input-file --verify-diagnostics %s

aie.device(npu1) {
  %tile = aie.tile(0, 0)
  // expected-error@+1 {{'aie.buffer' op failed to verify that op exists in a tile with local memory}}
  %a = aie.buffer(%tile) : memref<16xi32>
}

// -----

aie.device(npu1) {
  %tile = aie.tile(0, 2)
  // expected-error@+1 {{type should be static shaped memref, but got 'memref<?xi32>'}}
  %a = aie.buffer(%tile) : memref<?xi32>
}

// -----

aie.device(npu1) {
  %tile = aie.tile(0, 2)
  // expected-error@+1 {{initial value should be an elements attribute}}
  %a = aie.buffer(%tile) : memref<4xi32> = 7 : i32
}

// -----

// The memory of the east neighbour is out of a core's reach, that of the west one is not.
aie.device(npu1) {
  %here = aie.tile(1, 3)
  %east = aie.tile(2, 3)
  %west = aie.tile(0, 3)
  // expected-error@+1 {{'aie.buffer' op in Column 2 and Row 3 is accessed from an unreachable tile in Column 1 and Row 3}}
  %a = aie.buffer(%east) : memref<4xi32>
  %b = aie.buffer(%west) : memref<4xi32>
  %core = aie.core(%here) {
    %i = arith.constant 0 : index
    // expected-note@+1 {{user}}
    %x = memref.load %a[%i] : memref<4xi32>
    %y = memref.load %b[%i] : memref<4xi32>
    aie.end
  }
}

// -----

aie.device(npu1) {
  %tile = aie.tile(1, 3)
  // expected-error@+1 {{'aie.buffer' op is accessed outside of a tile}}
  %a = aie.buffer(%tile) : memref<4xi32>
  aie.runtime_sequence() {
    %i = arith.constant 0 : index
    // expected-note@+1 {{user}}
    %x = memref.load %a[%i] : memref<4xi32>
  }
}
