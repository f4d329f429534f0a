// RUN: tilewright opt --split-input-file --verify-diagnostics --aie-npu-to-cert %s

// expected-error@+1 {{no device found matching --device-name "main"}}
module {
  aie.device(npu2) @other {
  }
}

// -----

aie.device(npu2) {
  aie.runtime_sequence(%n: i32) {
    %address = arith.constant 0 : i32
    // expected-error@+3 {{'aiex.npu.write32' op cannot lower to cert.write32 with non-constant address or value}}
    // expected-note@+2 {{only sequences without arguments that are numbers can be made control code}}
    // expected-error@+1 {{failed to legalize operation 'aiex.npu.write32' that was explicitly marked illegal}}
    aiex.npu.write32(%address, %n) : i32, i32
  }
}

// -----

aie.device(npu2) {
  aie.runtime_sequence() {
    %address = arith.constant 0x4200010 : i32
    %zero = arith.constant 0 : i32
    // expected-warning@+1 {{address upper bits (0x4200000) don't match row=2 col=1 computed bits (0x2200000)}}
    aiex.npu.write32(%address, %zero) {column = 1 : i32, row = 2 : i32} : i32, i32
  }
}

// -----

aie.device(npu2) {
  aie.runtime_sequence() {
    %zero = arith.constant 0 : i32
    %two = arith.constant 2 : i32
    %one = arith.constant 1 : i32
    // expected-error@+3 {{invalid DMA channel 1 for MM2S direction in NpuSyncToCertWaitTCTS conversion}}
    // expected-note@+2 {{such a tile has 1 of them}}
    // expected-error@+1 {{failed to legalize operation}}
    aiex.npu.sync(%zero, %two, %one, %one, %one, %one) : i32, i32, i32, i32, i32, i32
  }
}

// -----

aie.device(npu2) {
  aie.runtime_sequence(%a: memref<8xi32>) {
    %zero = arith.constant 0 : i32
    // expected-error@+2 {{needs a blockwrite of the descriptor at this address right before it}}
    // expected-error@+1 {{failed to legalize operation}}
    aiex.npu.address_patch(%zero : i32) {addr = 118788 : ui32, arg_idx = 0 : i32}
  }
}

// -----

module {
  aie.device(npu2) {
    aie.runtime_sequence(%a: memref<8xi32>) {
      // expected-warning@+1 {{loading 'other' does nothing: it has no runtime sequence 'configure'}}
      aiex.configure @other {
        // expected-error@+1 {{number of run op arguments (1) does not match number of callee runtime sequence arguments (0)}}
        aiex.run @work(%a) : (memref<8xi32>)
      }
    }
  }
  // expected-note@+1 {{--convert-aie-to-transaction adds one}}
  aie.device(npu2) @other {
    aie.runtime_sequence @work() {
    }
  }
}

// -----

aie.device(npu2) {
  aie.runtime_sequence() {
    %address = arith.constant 16 : i32
    %zero = arith.constant 0 : i32
    // expected-error@+2 {{has no address in 32 bits}}
    // expected-error@+1 {{failed to legalize operation 'aiex.npu.write32' that was explicitly marked illegal}}
    aiex.npu.write32(%address, %zero) {column = -1 : i32, row = 6 : i32} : i32, i32
  }
}

// -----

aie.device(npu2) {
  aie.runtime_sequence() {
    %zero = arith.constant 0 : i32
    // expected-error@+3 {{'aiex.npu.maskpoll' op cannot be made control code, which has no polls}}
    // expected-note@+2 {{wait for a token with aiex.npu.sync}}
    // expected-error@+1 {{failed to legalize operation 'aiex.npu.maskpoll' that was explicitly marked illegal}}
    aiex.npu.maskpoll(%zero, %zero, %zero) : i32, i32, i32
  }
}
