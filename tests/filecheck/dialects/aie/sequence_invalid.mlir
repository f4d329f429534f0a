// RUN: tilewright opt --split-input-file --verify-diagnostics %s

module {
  // expected-error@+1 {{'aie.runtime_sequence' op expects parent op 'aie.device'}}
  aie.runtime_sequence() {
  }
}

// -----

aie.device(npu1) {
  aie.runtime_sequence @twice() {
  }
  // expected-error@+1 {{redefinition of symbol named 'twice'}}
  aie.runtime_sequence @twice() {
  }
}
