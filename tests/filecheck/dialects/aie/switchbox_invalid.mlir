// RUN: tilewright opt --split-input-file --verify-diagnostics %s

aie.device(npu1) {
  %t = aie.tile(0, 2)
  aie.switchbox(%t) {
    // expected-error@+1 {{'aie.connect' op index 2 for source bundle DMA must be less than 2}}
    aie.connect<DMA : 2, North : 0>
  }
}

// -----

aie.device(npu1) {
  %t = aie.tile(0, 1)
  aie.switchbox(%t) {
    // expected-error@+1 {{'aie.connect' op dest bundle East not supported; index: 0, bound: 0}}
    aie.connect<DMA : 2, East : 0>
  }
}

// -----

aie.device(npu1) {
  %t = aie.tile(0, 2)
  aie.switchbox(%t) {
    // expected-error@+1 {{'aie.connect' op dest index cannot be less than zero}}
    aie.connect<DMA : 1, North : -1>
  }
}

// -----

// The wires of a mem tile go straight up and down.
aie.device(npu1) {
  %t = aie.tile(0, 1)
  aie.switchbox(%t) {
    aie.connect<South : 1, North : 1>
    // expected-error@+1 {{'aie.connect' op illegal stream switch connection}}
    aie.connect<South : 1, North : 2>
  }
}

// -----

aie.device(npu1) {
  %t = aie.tile(0, 1)
  aie.switchbox(%t) {
    // expected-error@+1 {{'aie.amsel' op illegal stream switch connection}}
    %a = aie.amsel<0>(0)
    aie.masterset(North : 2, %a)
    aie.packet_rules(South : 1) {
      aie.rule(31, 1, %a)
    }
  }
}

// -----

aie.device(npu1) {
  %t = aie.tile(0, 2)
  aie.switchbox(%t) {
    aie.connect<South : 0, DMA : 0>
    aie.connect<South : 1, DMA : 1>
    // expected-error@+1 {{'aie.connect' op ; connecting (North: 0) to (DMA: 0) on TileID(0, 2) targets same dst as another connect op; existing destinations: (DMA: 0), (DMA: 1)}}
    aie.connect<North : 0, DMA : 0>
  }
}

// -----

aie.device(npu1) {
  %t = aie.tile(0, 2)
  aie.switchbox(%t) {
    aie.connect<South : 0, DMA : 0>
    %a = aie.amsel<0>(0)
    // expected-error@+1 {{'aie.masterset' op targets same destination DMA: 0 as another connect or masterset operation}}
    aie.masterset(DMA : 0, %a)
  }
}

// -----

aie.device(npu1) {
  %t = aie.tile(0, 2)
  aie.switchbox(%t) {
    %a = aie.amsel<0>(0)
    %b = aie.amsel<1>(0)
    // expected-error@+1 {{'aie.masterset' op a master port can only be tied to one arbiter}}
    aie.masterset(DMA : 0, %a, %b)
  }
}

// -----

aie.device(npu1) {
  %t = aie.tile(0, 2)
  aie.switchbox(%t) {
    %a = aie.amsel<0>(0)
    aie.connect<South : 0, DMA : 0>
    // expected-error@+1 {{'aie.packet_rules' op packet switched source South0 cannot match another connect or masterset operation}}
    aie.packet_rules(South : 0) {
      aie.rule(31, 1, %a)
    }
  }
}

// -----

aie.device(npu1) {
  %t = aie.tile(0, 2)
  aie.switchbox(%t) {
    // expected-error@+1 {{'aie.amsel' op attribute 'arbiterID' failed to satisfy constraint: 8-bit signless integer attribute whose minimum value is 0 whose maximum value is 5}}
    %a = aie.amsel<6>(0)
  }
}

// -----

aie.device(npu1) {
  %t = aie.tile(0, 0)
  aie.shim_mux(%t) {
    aie.connect<DMA : 0, North : 3>
    // expected-error@+1 {{'aie.connect' op targets same destination North: 3 as another connect operation}}
    aie.connect<DMA : 1, North : 3>
  }
}

// -----

aie.device(npu1) {
  %t = aie.tile(0, 1)
  // expected-error@+1 {{'aie.shim_mux' op failed to verify that op exists in a shim tile}}
  aie.shim_mux(%t) {
    aie.connect<DMA : 0, North : 3>
  }
}

// -----

aie.device(npu1) {
  // expected-error@+1 {{'aie.connect' op expects parent op to be one of 'aie.switchbox, aie.shim_mux'}}
  aie.connect<DMA : 0, North : 3>
}
