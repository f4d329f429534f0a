// RUN: tilewright opt --verify-roundtrip %s | filecheck %s
// Copies with several tokens and destinations, patterns, and numbers that only a run knows; uses of tokens in loops.

// CHECK:      scf.for
// CHECK-NEXT:   aiex.useToken @full(AcquireGreaterEqual, 2)
// CHECK:      aie.runtime_sequence(%arg0: memref<64xi32>, %arg1: i32, %arg2: index)
// CHECK-NEXT:   aiex.memcpy @empty(2, 0), @full(0, 1) (%[[SHIM:.+]] : <%arg0, 0, 32>, %[[A:.+]] : <%a, 0, 32>, %[[B:.+]] : <%b, 8, 32>) : (memref<64xi32>, memref<64xi32>, memref<8x8xi32>)
// CHECK-NEXT:   aiex.memcpy @full(1, 0) (%[[B]] : <%b, 0, 16 sizes = [2, 8] strides = [32, 1]>, %[[SHIM]] : <%arg0, %arg1, 16>) : (memref<8x8xi32>, memref<64xi32>, i32)
// CHECK-NEXT:   aiex.memcpy @full(1, 0) (%[[B]] : <%b, %arg2, %arg1 sizes = [%arg2, 8] strides = [%arg1, 1]>, %[[SHIM]] : <%arg0, 0, %arg1>) {note = "why"} : (memref<8x8xi32>, memref<64xi32>, index, i32, index, i32, i32)

aie.device(npu2) {
  %shim = aie.tile(0, 0)
  %first = aie.tile(0, 2)
  %second = aie.tile(0, 3)
  %a = aie.buffer(%first) {sym_name = "a"} : memref<64xi32>
  %b = aie.buffer(%second) {sym_name = "b"} : memref<8x8xi32>
  aiex.token(2) {sym_name = "empty"}
  aiex.token(0) {sym_name = "full"}
  aie.core(%first) {
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    scf.for %i = %zero to %one step %one {
      aiex.useToken @full(AcquireGreaterEqual, 2)
    }
    aie.end
  }
  aie.runtime_sequence(%host: memref<64xi32>, %n: i32, %m: index) {
    aiex.memcpy @empty(2, 0), @full(0, 1) (%shim : <%host, 0, 32>, %first : <%a, 0, 32>, %second : <%b, 8, 32>) : (memref<64xi32>, memref<64xi32>, memref<8x8xi32>)
    aiex.memcpy @full(1, 0) (%second : <%b, 0, 16 sizes = [2, 8] strides = [32, 1]>, %shim : <%host, %n, 16>) : (memref<8x8xi32>, memref<64xi32>, i32)
    aiex.memcpy @full(1, 0) (%second : <%b, %m, %n sizes = [%m, 8] strides = [%n, 1]>, %shim : <%host, 0, %n>) {note = "why"} : (memref<8x8xi32>, memref<64xi32>, index, i32, index, i32, i32)
  }
}
