// RUN: tilewright opt --aie-lower-memcpy --split-input-file --verify-diagnostics %s

aie.device(npu2) {
  %shim = aie.tile(0, 0)
  %core = aie.tile(0, 2)
  %buffer = aie.buffer(%core) : memref<8xi32>
  aiex.token(0) {sym_name = "arrived"}
  aie.runtime_sequence @run(%a: memref<16xi32>) {
    // expected-error @+1 {{takes 64 bytes from its source, and 32 bytes go to its destination}}
    aiex.memcpy @arrived(0, 1) (%shim : <%a, 0, 16>, %core : <%buffer, 0, 8>) : (memref<16xi32>, memref<8xi32>)
  }
}

// -----

aie.device(npu2) {
  %shim = aie.tile(0, 0)
  %core = aie.tile(0, 2)
  %buffer = aie.buffer(%core) : memref<8xi32>
  aiex.token(0) {sym_name = "arrived"}
  aie.runtime_sequence @run(%a: memref<16xi32>) {
    // expected-error @+1 {{copies elements 4 to 11 of a buffer that has 8}}
    aiex.memcpy @arrived(0, 1) (%shim : <%a, 0, 8>, %core : <%buffer, 4, 8>) : (memref<16xi32>, memref<8xi32>)
  }
}

// -----

aie.device(npu2) {
  %shim = aie.tile(0, 0)
  %core = aie.tile(0, 2)
  %buffer = aie.buffer(%core) : memref<8xi8>
  aiex.token(0) {sym_name = "arrived"}
  aie.runtime_sequence @run(%a: memref<16xi8>) {
    // expected-error @+1 {{has a length of 6 elements of 1 bytes, which is not a number of 4-byte words}}
    aiex.memcpy @arrived(0, 1) (%shim : <%a, 0, 6>, %core : <%buffer, 0, 6>) : (memref<16xi8>, memref<8xi8>)
  }
}

// -----

aie.device(npu2) {
  %shim = aie.tile(0, 0)
  %core = aie.tile(0, 2)
  %buffer = aie.buffer(%core) : memref<8xi32>
  aiex.token(0) {sym_name = "arrived"}
  aie.runtime_sequence @run(%a: memref<8xi32>) {
    // expected-error @+1 {{waits for 1 of @arrived on tile (0, 2), which nobody gives}}
    aiex.memcpy @arrived(1, 0) (%shim : <%a, 0, 8>, %core : <%buffer, 0, 8>) : (memref<8xi32>, memref<8xi32>)
  }
}

// -----

aie.device(npu2) {
  %core = aie.tile(0, 2)
  aiex.token(0) {sym_name = "lonely"}
  aie.core(%core) {
    // expected-error @+1 {{uses @lonely, which no copy and no other core uses}}
    aiex.useToken @lonely(Acquire, 1)
    aie.end
  }
}

// -----

// Each core waits for what the other one sends after it.
aie.device(npu2) {
  %first = aie.tile(0, 2)
  %second = aie.tile(0, 4)
  %there = aie.buffer(%first) : memref<8xi32>
  %here = aie.buffer(%second) : memref<8xi32>
  aiex.token(0) {sym_name = "to"}
  aiex.token(0) {sym_name = "fro"}
  aie.core(%first) {
    aiex.useToken @fro(Acquire, 1)
    aiex.useToken @to(Release, 1)
    aie.end
  }
  aie.core(%second) {
    aiex.useToken @to(Acquire, 1)
    aiex.useToken @fro(Release, 1)
    aie.end
  }
  aie.runtime_sequence @run() {
    // expected-error @+1 {{never ends, because all who could go on wait for each other}}
    aiex.memcpy @to(1, 1) (%first : <%there, 0, 8>, %second : <%here, 0, 8>) : (memref<8xi32>, memref<8xi32>)
    aiex.memcpy @fro(1, 1) (%second : <%here, 0, 8>, %first : <%there, 0, 8>) : (memref<8xi32>, memref<8xi32>)
  }
}

// -----

aie.device(npu2) {
  %shim = aie.tile(0, 0)
  %core = aie.tile(0, 2)
  %buffer = aie.buffer(%core) : memref<8xi32>
  aiex.token(1) {sym_name = "one"}
  aiex.token(1) {sym_name = "two"}
  aie.runtime_sequence @run(%a: memref<8xi32>) {
    // expected-error @+1 {{takes 2 tokens on tile (0, 2) (@one, @two), whose descriptors have one lock for that}}
    aiex.memcpy @one(1, 0), @two(1, 0) (%shim : <%a, 0, 8>, %core : <%buffer, 0, 8>) : (memref<8xi32>, memref<8xi32>)
  }
}

// -----

aie.device(npu2) {
  %shim = aie.tile(0, 0)
  %core = aie.tile(0, 2)
  %buffer = aie.buffer(%core) : memref<16xi32>
  aiex.token(0) {sym_name = "arrived"}
  aie.runtime_sequence @run(%a: memref<16xi32>) {
    // expected-error @+1 {{walks 4 dimensions, but the DMA of CoreTile walks at most 3}}
    aiex.memcpy @arrived(0, 1) (%shim : <%a, 0, 16>, %core : <%buffer, 0, 16 sizes = [2, 2, 2, 2] strides = [8, 2, 4, 1]>) : (memref<16xi32>, memref<16xi32>)
  }
}

// -----

aie.device(npu2) {
  %shim = aie.tile(0, 0)
  %core = aie.tile(0, 2)
  %other = aie.tile(0, 3)
  %buffer = aie.buffer(%other) : memref<8xi32>
  aiex.token(0) {sym_name = "arrived"}
  aie.runtime_sequence @run(%a: memref<8xi32>) {
    // expected-error @+1 {{copies between tile (0, 2) and a buffer that is not in its memory}}
    aiex.memcpy @arrived(0, 1) (%shim : <%a, 0, 8>, %core : <%buffer, 0, 8>) : (memref<8xi32>, memref<8xi32>)
  }
}

// -----

// What the first run takes nobody gives back.
aie.device(npu2) {
  %shim = aie.tile(0, 0)
  %core = aie.tile(0, 2)
  %buffer = aie.buffer(%core) : memref<8xi32>
  aiex.token(1) {sym_name = "once"}
  aie.runtime_sequence @run(%a: memref<8xi32>) {
    // expected-warning @+1 {{ends in the first run of its sequence, but not in a second}}
    aiex.memcpy @once(1, 0) (%shim : <%a, 0, 8>, %core : <%buffer, 0, 8>) : (memref<8xi32>, memref<8xi32>)
  }
}

// -----

// Both the core and the second copy wait for the token that the first copy gives.
aie.device(npu2) {
  %shim = aie.tile(0, 0)
  %core = aie.tile(0, 2)
  %buffer = aie.buffer(%core) : memref<8xi32>
  aiex.token(0) {sym_name = "ready"}
  aie.core(%core) {
    aiex.useToken @ready(Acquire, 1)
    aiex.useToken @ready(Release, 1)
    aie.end
  }
  aie.runtime_sequence @run(%a: memref<8xi32>) {
    aiex.memcpy @ready(0, 1) (%shim : <%a, 0, 8>, %core : <%buffer, 0, 8>) : (memref<8xi32>, memref<8xi32>)
    // expected-warning @+1 {{takes @ready on tile (0, 2), and so does a core: whoever comes first}}
    aiex.memcpy @ready(1, 0) (%core : <%buffer, 0, 8>, %shim : <%a, 0, 8>) : (memref<8xi32>, memref<8xi32>)
  }
}

// -----

// The core takes what the first run gives, and nothing after that.
aie.device(npu2) {
  %shim = aie.tile(0, 0)
  %core = aie.tile(0, 2)
  %buffer = aie.buffer(%core) : memref<8xi32>
  // expected-warning @+1 {{each run of the sequence changes @arrived by +1 on tile (0, 2)}}
  aiex.token(0) {sym_name = "arrived"}
  aie.core(%core) {
    aiex.useToken @arrived(Acquire, 1)
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    %forever = arith.constant 9223372036854775807 : index
    scf.for %i = %zero to %forever step %one {
    }
    aie.end
  }
  aie.runtime_sequence @run(%a: memref<8xi32>) {
    aiex.memcpy @arrived(0, 1) (%shim : <%a, 0, 8>, %core : <%buffer, 0, 8>) : (memref<8xi32>, memref<8xi32>)
  }
}
