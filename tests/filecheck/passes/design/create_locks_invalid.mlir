// RUN: tilewright opt --split-input-file --verify-diagnostics --aie-create-locks %s

aie.device(npu1) {
  %a = aie.tile(0, 2)
  %b = aie.tile(2, 4)
  aiex.token(0) {sym_name = "t"}
  %first = aie.core(%a) {
    aiex.useToken @t(Acquire, 0)
    // expected-note@+1 {{this one}}
    aiex.useToken @t(Release, 1)
    aie.end
  }
  %second = aie.core(%b) {
    // expected-error@+1 {{waits for a release in a tile that it shares no memory with}}
    aiex.useToken @t(Acquire, 1)
    aiex.useToken @t(Release, 2)
    aie.end
  }
}

// -----

aie.device(npu1) {
  %a = aie.tile(0, 2)
  aiex.token(0) {sym_name = "t"}
  %first = aie.core(%a) {
    // expected-error@+1 {{is followed by no release of this token: who waits for it would wait for ever}}
    aiex.useToken @t(Acquire, 0)
    aie.end
  }
}
