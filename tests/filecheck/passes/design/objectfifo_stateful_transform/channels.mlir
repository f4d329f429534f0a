// RUN: tilewright opt --split-input-file --aie-objectFifo-stateful-transform %s | filecheck %s

// Channels that the program asks for come first, the others take what is left: what DMA programs and named shim channels
// use is not.
// CHECK-LABEL: module @pinned
// CHECK:       aie.flow(%{{.*}}, DMA : 1, %{{.*}}, DMA : 1)
// CHECK:       aie.flow(%{{.*}}, DMA : 0, %{{.*}}, DMA : 0)
// CHECK:       aie.shim_dma_allocation @taken(%{{.*}}, MM2S, 0)
// CHECK:       aie.shim_dma_allocation @from_shim_shim_alloc(%{{.*}}, MM2S, 1)
module @pinned {
  aie.device(npu1) {
    %shim = aie.tile(0, 0)
    %from = aie.tile(0, 2)
    %to = aie.tile(3, 5)
    aie.objectfifo @any(%from, {%to}, 1 : i32) : !aie.objectfifo<memref<16xi32>>
    aie.objectfifo @first(%from, {%to}, 1 : i32) {prod_dma_channel = 0 : i32, cons_dma_channels = array<i32: 0>}
        : !aie.objectfifo<memref<16xi32>>
    aie.shim_dma_allocation @taken(%shim, MM2S, 0)
    aie.objectfifo @from_shim(%shim, {%from}, 1 : i32) : !aie.objectfifo<memref<16xi32>>
  }
}

// -----

// A core that streams needs no DMA, buffers or locks at its end; the other end is as usual.
// CHECK-LABEL: module @stream
// CHECK-NOT:   f_cons_buff
// CHECK:       aie.buffer(%{{.*}}) {sym_name = "f_buff_0"}
// CHECK:       aie.flow(%{{.*}}, DMA : 0, %{{.*}}, Core : 0)
// CHECK:       aie.mem(
// CHECK-NOT:   aie.mem(
module @stream {
  aie.device(npu1) {
    %from = aie.tile(0, 2)
    %to = aie.tile(3, 5)
    aie.objectfifo @f(%from, {%to}, 1 : i32) {aie_stream = 1 : i32, aie_stream_port = 0 : i32}
        : !aie.objectfifo<memref<16xi32>>
  }
}

// -----

// A FIFO with an end in the programmable logic.
// CHECK-LABEL: module @logic
// CHECK:       aie.flow(%{{.*}}, PLIO : 0, %{{.*}}, DMA : 0)
// CHECK:       aie.shim_dma_allocation @f_shim_alloc(%{{.*}}, MM2S, 0) {plio = true}
module @logic {
  aie.device(xcve2302) {
    %shim = aie.tile(2, 0)
    %core = aie.tile(2, 3)
    aie.objectfifo @f(%shim, {%core}, 1 : i32) {plio = true} : !aie.objectfifo<memref<16xi32>>
  }
}

// -----

// A mem tile that is full puts buffers into the neighbour with more room, here one that the program does not mention.
// Such buffers are reached from channels 0 to 3 only, which are given out first.
// CHECK-LABEL: module @overflow
// CHECK:       %[[MEM:.+]] = aie.tile(1, 1)
// CHECK:       %big_buff_0 = aie.buffer(%[[MEM]])
// CHECK-NEXT:  aie.tile(2, 1)
// CHECK-NEXT:  %[[NEIGHBOUR:.+]] = aie.tile(0, 1)
// CHECK:       %big_buff_1 = aie.buffer(%[[NEIGHBOUR]])
// CHECK-NEXT:  aie.lock(%[[MEM]]) {init = 2 : i32, sym_name = "big_prod_lock_0"}
// CHECK:       aie.flow(%[[MEM]], DMA : 1, %{{.*}}, DMA : 0)
// CHECK:       aie.flow(%[[MEM]], DMA : 0, %{{.*}}, DMA : 0)
module @overflow {
  aie.device(npu1) {
    %a = aie.tile(1, 4)
    %shim = aie.tile(2, 0)
    %mem = aie.tile(1, 1)
    aie.objectfifo @small(%mem, {%a}, 1 : i32) : !aie.objectfifo<memref<16xi32>>
    aie.objectfifo @big(%mem, {%shim}, 2 : i32) : !aie.objectfifo<memref<80000xi32>>
  }
}
