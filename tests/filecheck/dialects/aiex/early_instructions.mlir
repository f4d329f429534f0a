// RUN: tilewright opt %s | filecheck %s
// RUN: tilewright opt %s | tilewright opt | filecheck %s

// Names that instructions with runtime operands had for a while: each is read as what it has become, also in loops.
// Operands are of any width.

aie.device(npu1) {
  %shim = aie.tile(0, 0)
  aie.shim_dma_allocation @in(%shim, MM2S, 0)
  aie.runtime_sequence @early(%host: memref<2048xi32>, %n: index, %a: i32, %b: i8) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    scf.for %i = %c0 to %n step %c1 {
      aiex.npu.dyn_write32(%a, %i) : i32, index
      aiex.npu.dyn_maskwrite32(%a, %i, %b) {column = 1 : i32, row = 2 : i32} : i32, index, i8
      // Six operands have the order of today; four have the channel before the direction, and are for one token.
      aiex.npu.dyn_sync(%a, %b, %n, %i, %a, %a) : i32, i8, index, index, i32, i32
      aiex.npu.dyn_sync(%a, %b, %i, %n) : i32, i8, index, index
      aiex.npu.dyn_blockwrite(%a, %i, %b) : i32, index, i8
      aiex.npu.dyn_address_patch(%a, %b, %i) : i32, i8, index
      aiex.npu.dyn_push_queue(%a, %b, %b, %b, %b, %a, %i) : i32, i8, i8, i8, i8, i32, index
      aiex.npu.dyn_push_queue(%a, %b, %b, %b, %i) : i32, i8, i8, i8, index
      aiex.npu.dyn_writebd(%a, %b, %i, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a) {packet_id = 3 : i32} : i32, i8, index, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32
      // Inner dimensions only; the others run once.
      aiex.npu.dyn_dma_memcpy_nd(%host, [%i], [%n], [%c1], metadata = @in, id = 0) {issue_token = true} : memref<2048xi32>, [index], [index], [index]
      aiex.npu.dyn_dma_memcpy_nd(%host, %i, %a, %n, %n, %c1, %c1, packet = <pkt_type = 0, pkt_id = 2>) {metadata = @in, id = 1 : i64} : memref<2048xi32>, index, i32, index, index, index, index
      "aiex.npu.dyn_write32"(%a, %i) <{column = 0 : i32, row = 2 : i32}> : (i32, index) -> ()
      "aiex.npu.dyn_dma_memcpy_nd"(%host, %i, %n, %c1) <{id = 2 : i64, metadata = @in, operandSegmentSizes = array<i32: 1, 1, 1, 1>}> : (memref<2048xi32>, index, index, index) -> ()
    }
  }
}

// CHECK:      scf.for %[[I:.+]] = %c0 to %arg1 step %c1 {
// CHECK-NEXT: aiex.npu.write32(%arg2, %[[I]]) : i32, index
// CHECK-NEXT: aiex.npu.maskwrite32(%arg2, %[[I]], %arg3) {column = 1 : i32, row = 2 : i32} : i32, index, i8
// CHECK-NEXT: aiex.npu.sync(%arg2, %arg3, %arg1, %[[I]], %arg2, %arg2) : i32, i8, index, index, i32, i32
// CHECK-NEXT: %[[ONE:.+]] = arith.constant 1 : i32
// CHECK-NEXT: %[[OTHER:.+]] = arith.constant 1 : i32
// CHECK-NEXT: aiex.npu.sync(%arg2, %arg3, %arg1, %[[I]], %[[ONE]], %[[OTHER]]) : i32, i8, index, index, i32, i32
// CHECK-NEXT: aiex.npu.write_words(%arg2, %[[I]], %arg3) : i32, index, i8
// CHECK-NEXT: aiex.npu.address_patch(%[[I]] : index) addr %arg2 : i32 arg %arg3 : i8 {addr = 0 : ui32}
// CHECK-NEXT: aiex.npu.push_queue(%arg2, %arg3, %arg3 : %arg3) bd_id %[[I]] repeat %arg2 issue_token %arg3 : index, i32, i32, i8, i8, i8, i8
// CHECK-NEXT: %[[ZERO:.+]] = arith.constant 0 : i32
// CHECK-NEXT: aiex.npu.push_queue(%arg2, %arg3, %arg3 : %arg3) bd_id %[[I]] repeat %[[ZERO]] {issue_token = false} : index, i32, i32, i8, i8, i8
// CHECK-NEXT: aiex.npu.writebd values(column = %arg2 : i32, row = %arg3 : i8, bd_id = %[[I]] : index, buffer_length = %arg2 : i32, buffer_offset = %arg2 : i32, d0_size = %arg2 : i32, d0_stride = %arg2 : i32, d1_size = %arg2 : i32, d1_stride = %arg2 : i32, d2_size = %arg2 : i32, d2_stride = %arg2 : i32, iteration_size = %arg2 : i32, iteration_stride = %arg2 : i32) {packet_id = 3 : i32, valid_bd = 1 : i32}
// CHECK-NEXT: %[[OFFSET:.+]] = arith.index_cast %[[I]] : index to i64
// CHECK-NEXT: %[[SIZE:.+]] = arith.index_cast %arg1 : index to i64
// CHECK-NEXT: aiex.npu.dma_memcpy_nd(%arg0[0, 0, 0, %[[OFFSET]]][1, 1, 1, %[[SIZE]]][0, 0, 0, 1]) {id = 0 : i64, issue_token = true, metadata = @in} : memref<2048xi32>
// CHECK:      arith.extsi %arg2 : i32 to i64
// CHECK:      aiex.npu.dma_memcpy_nd(%arg0[0, 0, {{.+}}][1, 1, {{.+}}][0, 0, 1, 1], packet = <pkt_type = 0, pkt_id = 2>) {id = 1 : i64, metadata = @in} : memref<2048xi32>
// CHECK-NEXT: aiex.npu.write32(%arg2, %[[I]]) {column = 0 : i32, row = 2 : i32} : i32, index
// CHECK:      aiex.npu.dma_memcpy_nd(%arg0[0, 0, 0, {{.+}}][1, 1, 1, {{.+}}][0, 0, 0, 1]) {id = 2 : i64, metadata = @in} : memref<2048xi32>
