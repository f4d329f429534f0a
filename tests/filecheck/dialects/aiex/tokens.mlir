// RUN: tilewright opt %s | filecheck %s
// RUN: tilewright opt --mlir-print-op-generic %s | tilewright opt | filecheck %s

aie.device(xcvc1902) {
  %a = aie.tile(1, 1)
  %b = aie.tile(2, 1)
  %from = aie.buffer(%a) {sym_name = "from"} : memref<64xi32>
  %to = aie.buffer(%b) {sym_name = "to"} : memref<64xi32>
  aiex.token(0) {sym_name = "t"}
  %core = aie.core(%a) {
    aiex.useToken @t(Acquire, 0)
    aiex.useToken @t(Release, 1)
    aie.end
  }
  aiex.memcpy @t(1, 2) (%a : <%from, 0, 64>, %b : <%to, 8, 32>) : (memref<64xi32>, memref<64xi32>)
  aiex.multicast(%a, DMA : 0) {
    aiex.multi_dest<%b, DMA : 1>
  }
  aiex.broadcast_packet(%a, "DMA" : 0) {
    aiex.bp_id(0xA) {
      aiex.bp_dest<%b, Core : 0>
    }
  }
}

// CHECK:      aiex.token(0) {sym_name = "t"}
// CHECK:      aiex.useToken @t(Acquire, 0)
// CHECK-NEXT: aiex.useToken @t(Release, 1)
// CHECK:      aiex.memcpy @t(1, 2) (%tile_1_1 : <%from, 0, 64>, %tile_2_1 : <%to, 8, 32>) : (memref<64xi32>, memref<64xi32>)
// CHECK-NEXT: aiex.multicast(%tile_1_1, DMA : 0) {
// CHECK-NEXT:   aiex.multi_dest<%tile_2_1, DMA : 1>
// CHECK-NEXT: }
// CHECK-NEXT: aiex.broadcast_packet(%tile_1_1, DMA : 0) {
// CHECK-NEXT:   aiex.bp_id(10) {
// CHECK-NEXT:     aiex.bp_dest<%tile_2_1, Core : 0>
// CHECK-NEXT:   }
// CHECK-NEXT: }
