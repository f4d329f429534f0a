// RUN: tilewright opt --split-input-file --verify-diagnostics %s

aie.device(npu1) {
  %a = aie.tile(0, 3)
  %b = aie.tile(1, 4)
  // expected-error@+1 {{'aie.cascade_flow' op tiles must be adjacent}}
  aie.cascade_flow(%a, %b)
}

// -----

aie.device(npu1) {
  %a = aie.tile(0, 2)
  %b = aie.tile(0, 1)
  // expected-error@+1 {{'aie.cascade_flow' op memTile row has no cascade stream interface}}
  aie.cascade_flow(%a, %b)
}

// -----

aie.device(npu1) {
  %a = aie.tile(0, 0)
  // expected-error@+1 {{'aie.configure_cascade' op shimTile row has no cascade stream interface}}
  aie.configure_cascade(%a, North, South)
}

// -----

aie.device(npu2) {
  %a = aie.tile(0, 3)
  // expected-error@+1 {{'aie.configure_cascade' op input direction of cascade must be North or West on AIE2p}}
  aie.configure_cascade(%a, South, South)
}

// -----

aie.device(npu1) {
  %a = aie.tile(0, 3)
  // expected-error@+1 {{'aie.configure_cascade' op output direction of cascade must be South or East on AIE2}}
  aie.configure_cascade(%a, West, North)
}

// -----

aie.device(xcvc1902) {
  %a = aie.tile(2, 3)
  // expected-error@+1 {{'aie.configure_cascade' op cascade not supported in AIE1}}
  aie.configure_cascade(%a, West, East)
}

// -----

aie.device(npu1) {
  %a = aie.logical_tile<CoreTile>(0, 3)
  // expected-error@+1 {{'aie.configure_cascade' op requires a placed tile (aie.tile), not a logical tile}}
  aie.configure_cascade(%a, West, East)
}

// -----

// An accumulator of the first generation has 384 bits.
aie.device(xcvc1902) {
  %t = aie.tile(2, 3)
  aie.core(%t) {
    %fits = aie.get_cascade() : vector<8xi48>
    // expected-error@+1 {{'aie.get_cascade' op must be a 384-bit type}}
    %wide = aie.get_cascade() : i512
    aie.end
  }
}

// -----

aie.device(npu1) {
  %t = aie.tile(0, 3)
  aie.core(%t) {
    %value = arith.constant 0 : i32
    // expected-error@+1 {{'aie.put_cascade' op type must match architecture cascade width (512 bits in AIE2)}}
    aie.put_cascade(%value : i32)
    aie.end
  }
}

// -----

aie.device(npu1) {
  %t = aie.tile(0, 3)
  aie.core(%t) {
    // expected-error@+1 {{'aie.event' op attribute 'val' failed to satisfy constraint: 32-bit signless integer attribute whose minimum value is 0 whose maximum value is 1}}
    aie.event(2)
    aie.end
  }
}
