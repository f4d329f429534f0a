// RUN: tilewright opt --allow-unregistered-dialect --split-input-file --verify-diagnostics %s
// Numbers that do not fit where they stand, however long they are.

// expected-error@+1 {{integer constant out of range for attribute}}
"test.op"() {a = 99999999999999999999999 : i32} : () -> ()

// -----

// expected-error@+1 {{invalid dimension}}
"test.op"() {a = tensor<4 x 99999999999999999999999 x i32>} : () -> ()

// -----

// expected-error@+1 {{invalid integer width}}
"test.op"() {a = i99999999999} : () -> ()

// -----

// expected-error@+1 {{integer bitwidth is limited to 16777215 bits}}
"test.op"() {a = i16777216} : () -> ()

// -----

// expected-error@+1 {{constant too large for index}}
"test.op"() {a = affine_map<(d0) -> (d0 + 99999999999999999999)>} : () -> ()

// -----

// expected-error@+1 {{expected integer line number in FileLineColRange}}
"test.op"() : () -> () loc("a":99999999999:1)

// -----

func.func @f(%a: memref<4xi32>) {
  // expected-error@+1 {{custom op 'memref.subview' integer value too large}}
  %0 = memref.subview %a[99999999999999999999][1][1] : memref<4xi32> to memref<1xi32>
  return
}

// -----

aie.device(npu1) {
  // expected-error@+1 {{custom op 'aie.logical_tile' integer constant out of range for attribute}}
  %tile = aie.logical_tile<CoreTile>(4294967296, ?)
}

// -----

aie.device(npu1) {
  %tile = aie.tile(0, 2)
  %buffer = aie.buffer(%tile) : memref<4xi32>
  %dma = aie.mem(%tile) {
    // expected-error@+1 {{custom op 'aie.dma_bd' integer constant out of range for attribute}}
    aie.dma_bd(%buffer : memref<4xi32> offset = 4294967296 len = 4)
    aie.end
  }
}
