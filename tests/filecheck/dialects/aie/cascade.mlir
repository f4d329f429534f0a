// RUN: tilewright opt %s | filecheck %s
// RUN: tilewright opt --mlir-print-op-generic %s | tilewright opt | filecheck %s

aie.device(npu1) {
  %west = aie.tile(0, 3)
  %east = aie.tile(1, 3)
  %somewhere = aie.logical_tile<CoreTile>(?, ?)

  aie.cascade_flow(%west, %east)
  aie.cascade_flow(%somewhere, %west)
  aie.configure_cascade(%east, West, South)

  aie.core(%east) {
    %channel = arith.constant 0 : i32
    %accumulator = aie.get_cascade() : vector<16xi32>
    aie.put_cascade(%accumulator : vector<16xi32>)
    %word = aie.get_stream(%channel : i32) : f32
    aie.put_stream(%channel : i32, %word : f32)
    %line = aie.get_stream(%channel : i32) : i128
    aie.event(1)
    aie.end
  }
}

// CHECK:      aie.cascade_flow(%tile_0_3, %tile_1_3)
// CHECK-NEXT: aie.cascade_flow(%logical_core, %tile_0_3)
// CHECK-NEXT: aie.configure_cascade(%tile_1_3, West, South)
// CHECK-NEXT: %core_1_3 = aie.core(%tile_1_3) {
// CHECK-NEXT:   %c0_i32 = arith.constant 0 : i32
// CHECK-NEXT:   %[[#VALUE:]] = aie.get_cascade() : vector<16xi32>
// CHECK-NEXT:   aie.put_cascade(%[[#VALUE]] : vector<16xi32>)
// CHECK-NEXT:   %[[#WORD:]] = aie.get_stream(%c0_i32 : i32) : f32
// CHECK-NEXT:   aie.put_stream(%c0_i32 : i32, %[[#WORD]] : f32)
// CHECK-NEXT:   %{{.+}} = aie.get_stream(%c0_i32 : i32) : i128
// CHECK-NEXT:   aie.event(1)
// CHECK-NEXT:   aie.end
