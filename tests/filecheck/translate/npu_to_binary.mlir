// RUN: tilewright translate --aie-npu-to-binary --aie-output-binary=false %s | filecheck %s
// RUN: tilewright translate --aie-npu-to-binary -o %t.bin %s && tilewright txn dis %t.bin | filecheck --check-prefix=DIS %s
// RUN: tilewright translate --loc %s | filecheck --check-prefix=LOC %s
// RUN: tilewright translate --aie-npu-to-binary --aie-npu-emit-locmap=%t.json -o %t.bin %s && filecheck --check-prefix=MAP --input-file %t.json %s
// The words of a sequence whose values are all known, loops included.

// CHECK:      06040100
// CHECK-NEXT: 00000108
// CHECK-NEXT: 00000004
// CHECK-NEXT: 00000068
// CHECK-NEXT: 00000000
// CHECK-NEXT: 00000000
// CHECK-NEXT: 00020400
// CHECK-NEXT: 00000000
// CHECK-NEXT: 00000007
// CHECK-NEXT: 00000018
// CHECK-NEXT: 00000000
// CHECK-NEXT: 00000000
// CHECK-NEXT: 00020404
// CHECK-NEXT: 00000000
// CHECK-NEXT: 00000007
// CHECK-NEXT: 00000018
// CHECK-NEXT: 00000080
// CHECK-NEXT: 00000010
// CHECK-NEXT: 00000001
// CHECK-NEXT: 00010100
// CHECK-NEXT: 00000000
// CHECK-NEXT: 00000000
// CHECK-NEXT: 00014000
// CHECK-NEXT: 00000000
// CHECK-NEXT: 00000002
// CHECK-NEXT: 00000018

// DIS:      txn 0.1 generation 4 columns 8 rows 6 mem_tile_rows 1
// DIS-NEXT: write {{.*}} = 0x00000007
// DIS-NEXT: write {{.*}} = 0x00000007
// DIS-NEXT: sync

// LOC:      words  operation  register         source
// LOC-NEXT: 4-9    WRITE32    shim(0,0) +0x20400 {{.*}}npu_to_binary.mlir:{{[0-9]+}}:7
// LOC-NEXT: 10-15  WRITE32    shim(0,0) +0x20404 {{.*}}npu_to_binary.mlir:{{[0-9]+}}:7
// LOC-NEXT: 16-19  TCT        {{.*}}npu_to_binary.mlir:{{[0-9]+}}:5
// LOC-NEXT: 20-25  WRITE32    shim(0,0) Lock0 {{.*}}host.py:7:3

// MAP:      "address": "0x14000",
// MAP-NEXT: "byte_offset": 80,
// MAP-NEXT: "byte_size": 24,
// MAP-NEXT: "loc": {
// MAP:        "child": {
// MAP:          "file": "host.py",
// MAP-NEXT:     "kind": "file",
// MAP-NEXT:     "line": 7
// MAP:        "kind": "name",
// MAP-NEXT:   "name": "set_lock"
// MAP:      "opcode": "WRITE32",
// MAP-NEXT: "register": "Lock0_value",
// MAP-NEXT: "register_module": "shim",
// MAP-NEXT: "source_op": "aiex.npu.write32"
aie.device(npu2) {
  aie.runtime_sequence(%buffer: memref<8xi32>, %unused: i32) {
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %two = arith.constant 2 : i32
    %seven = arith.constant 7 : i32
    scf.for %i = %zero to %two step %one : i32 {
      %four = arith.constant 4 : i32
      %offset = arith.muli %i, %four : i32
      %base = arith.constant 0x20400 : i32
      %register = arith.addi %base, %offset : i32
      aiex.npu.write32(%register, %seven) : i32, i32
    }
    %lock = arith.constant 0x14000 : i32
    aiex.npu.sync(%zero, %zero, %one, %zero, %one, %one) : i32, i32, i32, i32, i32, i32
    aiex.npu.write32(%lock, %two) : i32, i32 loc("set_lock"("host.py":7:3))
  }
}
