// RUN: tilewright opt %s | filecheck %s
// RUN: tilewright opt --mlir-print-op-generic %s | tilewright opt | filecheck %s
// Contents that stand at the end of the file; their type is the buffer's.

aie.device(npu1) {
  %tile = aie.tile(0, 2)
  %buffer = aie.buffer(%tile) {sym_name = "table"} : memref<2xi32> = dense_resource<values>
}

{-#
  dialect_resources: {
    builtin: {
      values: "0x040000000100000002000000"
    }
  }
#-}

// CHECK:      %table = aie.buffer(%tile_0_2) {sym_name = "table"} : memref<2xi32> = dense_resource<values>
// CHECK:      dialect_resources: {
// CHECK-NEXT:   builtin: {
// CHECK-NEXT:     values: "0x040000000100000002000000"
