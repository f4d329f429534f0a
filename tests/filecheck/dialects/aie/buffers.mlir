// RUN: tilewright opt %s | filecheck %s --match-full-lines --strict-whitespace
// RUN: tilewright opt --mlir-print-op-generic %s | tilewright opt | filecheck %s --match-full-lines --strict-whitespace
// RUN: tilewright opt --mlir-print-op-generic %s | filecheck %s --check-prefix=GENERIC

// A space follows the type, where the contents would be.
//      CHECK:    %buffer_0_2 = aie.buffer(%tile_0_2) : memref<16xi32> 
// CHECK-NEXT:    %weights = aie.buffer(%tile_0_2) {address = 1024 : i32, mem_bank = 1 : i32, sym_name = "weights"} : memref<2x2xi16> = dense<{{\[\[}}1, 2], [3, 4]]>
// CHECK-NEXT:    %buffer_0_2_0 = aie.buffer(%tile_0_2) {aligned = false} : memref<4xf32> = dense<1.500000e+00>
// CHECK-NEXT:    %0 = aie.buffer(%logical_mem) : memref<8xi8> 
// CHECK-NEXT:    %host = aie.external_buffer {address = 4096 : i64, sym_name = "host"} : memref<1024xi32>
// CHECK-NEXT:    %1 = aie.external_buffer : memref<?xi32>
aie.device(npu1) {
  %tile = aie.tile(0, 2)
  %any = aie.logical_tile<MemTile>(?, ?)
  %a = aie.buffer(%tile) : memref<16xi32>
  %b = aie.buffer(%tile) {sym_name = "weights", mem_bank = 1 : i32, address = 0x400 : i32} : memref<2x2xi16> = dense<[[1, 2], [3, 4]]>
  %c = aie.buffer(%tile) {aligned = false} : memref<4xf32> = dense<1.5>
  %d = aie.buffer(%any) : memref<8xi8>
  %e = aie.external_buffer {sym_name = "host", address = 4096} : memref<1024xi32>
  %f = aie.external_buffer : memref<?xi32>
}
// GENERIC: "aie.buffer"(%0) <{address = 1024 : i32, aligned = true, initial_value = dense<{{\[\[}}1, 2], [3, 4]]> : tensor<2x2xi16>, mem_bank = 1 : i32, sym_name = "weights"}> : (index) -> memref<2x2xi16>
// GENERIC: "aie.external_buffer"() <{address = 4096 : i64, sym_name = "host"}> : () -> memref<1024xi32>
