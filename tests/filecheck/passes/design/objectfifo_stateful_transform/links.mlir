// RUN: tilewright opt --split-input-file --aie-objectFifo-stateful-transform %s | filecheck %s

// What passes through a mem tile stays in one set of buffers, those of the bigger elements: they are filled by one
// channel and emptied by another.
// CHECK-LABEL: module @plain
// CHECK-NOT:   out_buff
// CHECK:       %[[B:.+]] = aie.buffer(%{{.*}}) {sym_name = "in_cons_buff_0"} : memref<16xi32>
// CHECK:       %[[EMPTY:.+]] = aie.lock(%{{.*}}) {init = 1 : i32, sym_name = "in_cons_prod_lock_0"}
// CHECK:       %[[FULL:.+]] = aie.lock(%{{.*}}) {init = 0 : i32, sym_name = "in_cons_cons_lock_0"}
// CHECK:       aie.memtile_dma(
// CHECK:         aie.dma_start(S2MM, 0, ^bb1, ^bb2)
// CHECK:         aie.use_lock(%[[EMPTY]], AcquireGreaterEqual
// CHECK:         aie.dma_bd(%[[B]] : memref<16xi32> offset = 0 len = 16)
// CHECK:         aie.use_lock(%[[FULL]], Release
// CHECK:         aie.dma_start(MM2S, 0, ^bb3, ^bb4)
// CHECK:         aie.use_lock(%[[FULL]], AcquireGreaterEqual
// CHECK:         aie.dma_bd(%[[B]] : memref<16xi32> offset = 0 len = 16)
// CHECK:         aie.use_lock(%[[EMPTY]], Release
module @plain {
  aie.device(npu1) {
    %shim = aie.tile(0, 0)
    %mem = aie.tile(0, 1)
    %core = aie.tile(0, 2)
    aie.objectfifo @in(%shim, {%mem}, 1 : i32) : !aie.objectfifo<memref<16xi32>>
    aie.objectfifo @out(%mem, {%core}, 1 : i32) : !aie.objectfifo<memref<8xi32>>
    aie.objectfifo.link [@in] -> [@out]([] [])
  }
}

// -----

// One in, several out: each branch empties its part of each buffer and has locks of its own, so that the input fills the
// parts one by one.
// CHECK-LABEL: module @distribute
// CHECK:       aie.lock(%{{.*}}) {init = 2 : i32, sym_name = "in_cons_prod_lock_0"}
// CHECK-NEXT:  aie.lock(%{{.*}}) {init = 0 : i32, sym_name = "in_cons_cons_lock_0"}
// CHECK-NEXT:  aie.lock(%{{.*}}) {init = 2 : i32, sym_name = "in_cons_prod_lock_1"}
// CHECK-NEXT:  aie.lock(%{{.*}}) {init = 0 : i32, sym_name = "in_cons_cons_lock_1"}
// CHECK:       aie.memtile_dma(
// CHECK:         aie.dma_start(S2MM, 0, ^bb1, ^bb5)
// CHECK:         aie.use_lock(%in_cons_prod_lock_0, AcquireGreaterEqual
// CHECK:         aie.dma_bd(%in_cons_buff_0 : memref<24xi32> offset = 0 len = 16)
// CHECK:         aie.use_lock(%in_cons_cons_lock_0, Release
// CHECK:         aie.use_lock(%in_cons_prod_lock_1, AcquireGreaterEqual
// CHECK:         aie.dma_bd(%in_cons_buff_0 : memref<24xi32> offset = 16 len = 8)
// CHECK:         aie.use_lock(%in_cons_cons_lock_1, Release
// CHECK:         aie.dma_bd(%in_cons_buff_1 : memref<24xi32> offset = 0 len = 16)
// CHECK:         aie.dma_bd(%in_cons_buff_1 : memref<24xi32> offset = 16 len = 8)
// CHECK:         aie.next_bd ^bb1
// CHECK:         aie.dma_start(MM2S, 0, ^bb6, ^bb8)
// CHECK:         aie.dma_bd(%in_cons_buff_0 : memref<24xi32> offset = 0 len = 16)
// CHECK:         aie.dma_bd(%in_cons_buff_1 : memref<24xi32> offset = 0 len = 16)
// CHECK:         aie.dma_start(MM2S, 1, ^bb9, ^bb11)
// CHECK:         aie.use_lock(%in_cons_cons_lock_1, AcquireGreaterEqual
// CHECK:         aie.dma_bd(%in_cons_buff_0 : memref<24xi32> offset = 16 len = 8)
// CHECK:         aie.use_lock(%in_cons_prod_lock_1, Release
module @distribute {
  aie.device(npu1) {
    %shim = aie.tile(0, 0)
    %mem = aie.tile(0, 1)
    %a = aie.tile(0, 2)
    %b = aie.tile(0, 3)
    aie.objectfifo @in(%shim, {%mem}, 2 : i32) : !aie.objectfifo<memref<24xi32>>
    aie.objectfifo @out0(%mem, {%a}, 2 : i32) : !aie.objectfifo<memref<16xi32>>
    aie.objectfifo @out1(%mem, {%b}, 2 : i32) : !aie.objectfifo<memref<8xi32>>
    aie.objectfifo.link [@in] -> [@out0, @out1]([] [0, 16])
  }
}

// -----

// Several in, one out: the buffers are the output's. Elements that it sends three times count three times for all who
// fill them.
// CHECK-LABEL: module @join
// CHECK:       aie.lock(%{{.*}}) {init = 3 : i32, sym_name = "out_prod_lock_0"}
// CHECK:       aie.lock(%{{.*}}) {init = 3 : i32, sym_name = "out_prod_lock_1"}
// CHECK:       aie.memtile_dma(
// CHECK:         aie.dma_start(S2MM, 0
// CHECK:         %[[THREE:.+]] = arith.constant 3 : i32
// CHECK-NEXT:    aie.use_lock(%out_prod_lock_0, AcquireGreaterEqual, %[[THREE]])
// CHECK-NEXT:    aie.dma_bd(%out_buff_0 : memref<24xi32> offset = 0 len = 16)
// CHECK:         aie.dma_start(S2MM, 1
// CHECK:         %[[THREE:.+]] = arith.constant 3 : i32
// CHECK-NEXT:    aie.use_lock(%out_prod_lock_1, AcquireGreaterEqual, %[[THREE]])
// CHECK-NEXT:    aie.dma_bd(%out_buff_0 : memref<24xi32> offset = 16 len = 8)
// CHECK:         aie.dma_start(MM2S, 0
// CHECK-COUNT-3: aie.dma_bd(%out_buff_0 : memref<24xi32> offset = 0 len = 16)
// CHECK-NOT:     repeat_count
module @join {
  aie.device(npu1) {
    %shim = aie.tile(0, 0)
    %mem = aie.tile(0, 1)
    %a = aie.tile(0, 2)
    %b = aie.tile(0, 3)
    aie.objectfifo @in0(%a, {%mem}, 1 : i32) : !aie.objectfifo<memref<16xi32>>
    aie.objectfifo @in1(%b, {%mem}, 1 : i32) : !aie.objectfifo<memref<8xi32>>
    aie.objectfifo @out(%mem, {%shim}, 1 : i32) {repeat_count = 3 : i32} : !aie.objectfifo<memref<24xi32>>
    aie.objectfifo.link [@in0, @in1] -> [@out]([0, 16] [])
  }
}

// -----

// Padding is added on the way out: the buffers have the size of what comes in, the descriptors that of what goes out.
// CHECK-LABEL: module @padded
// CHECK:       aie.buffer(%{{.*}}) {sym_name = "in_cons_buff_0"} : memref<4x4xi32>
// CHECK:       aie.dma_start(MM2S, 0, ^bb3, ^bb4) {pad_value = 9 : i32}
// CHECK:       aie.dma_bd(%in_cons_buff_0 : memref<4x4xi32> offset = 0 len = 24 sizes = [4, 4] strides = [4, 1]
// CHECK-SAME:    pad [<const_pad_before = 0, const_pad_after = 0>, <const_pad_before = 1, const_pad_after = 1>])
module @padded {
  aie.device(npu2) {
    %shim = aie.tile(0, 0)
    %mem = aie.tile(0, 1)
    %core = aie.tile(0, 2)
    aie.objectfifo @in(%shim, {%mem}, 1 : i32) : !aie.objectfifo<memref<4x4xi32>>
    aie.objectfifo @out(%mem dimensionsToStream [<size = 4, stride = 4>, <size = 4, stride = 1>], {%core}, 1 : i32)
        {padDimensions = #aie<bd_pad_layout_array[<const_pad_before = 0, const_pad_after = 0>,
                                                  <const_pad_before = 1, const_pad_after = 1>]>, padValue = 9 : i32}
        : !aie.objectfifo<memref<4x6xi32>>
    aie.objectfifo.link [@in] -> [@out]([] [])
  }
}

// -----

// Only the consumer at the tile of the link passes its data on; the other one of the broadcast has an end of its own.
// CHECK-LABEL: module @broadcast
// CHECK-DAG:   %[[MEM:.+]] = aie.tile(0, 1)
// CHECK-DAG:   %[[CORE:.+]] = aie.tile(0, 3)
// CHECK:       aie.buffer(%[[MEM]]) {sym_name = "in_0_cons_buff_0"}
// CHECK:       aie.buffer(%[[CORE]]) {sym_name = "in_1_cons_buff_0"}
// CHECK:       aie.memtile_dma(%[[MEM]])
// CHECK:         aie.dma_start(MM2S, 0
// CHECK:         aie.dma_bd(%in_0_cons_buff_0
module @broadcast {
  aie.device(npu1) {
    %shim = aie.tile(0, 0)
    %mem = aie.tile(0, 1)
    %core = aie.tile(0, 3)
    aie.objectfifo @in(%shim, {%mem, %core}, 1 : i32) : !aie.objectfifo<memref<16xi32>>
    aie.objectfifo @out(%mem, {%core}, 1 : i32) : !aie.objectfifo<memref<16xi32>>
    aie.objectfifo.link [@in] -> [@out]([] [])
  }
}

// -----

// In a core tile too the DMA goes round the shared buffers, whatever depth the other end asks for.
// CHECK-LABEL: module @in_core_tile
// CHECK:       aie.mem(
// CHECK:         aie.dma_start(S2MM, 0, ^bb1, ^bb3)
// CHECK:         aie.dma_start(MM2S, 0, ^bb4, ^bb6)
// CHECK:       ^bb5:
// CHECK:         aie.dma_bd(%in_cons_buff_1
// CHECK:         aie.next_bd ^bb4
module @in_core_tile {
  aie.device(npu1) {
    %from = aie.tile(0, 5)
    %through = aie.tile(1, 3)
    %to = aie.tile(3, 5)
    aie.objectfifo @in(%from, {%through}, 2 : i32) : !aie.objectfifo<memref<16xi32>>
    aie.objectfifo @out(%through, {%to}, 3 : i32) : !aie.objectfifo<memref<16xi32>>
    aie.objectfifo.link [@in] -> [@out]([] [])
  }
}
