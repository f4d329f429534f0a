// RUN: tilewright opt %s | filecheck %s
// RUN: tilewright opt --mlir-print-op-generic %s | tilewright opt | filecheck %s
// RUN: tilewright opt --mlir-print-op-generic %s | filecheck %s --check-prefix=GENERIC

aie.device(npu2) {
  %shim = aie.tile(0, 0)
  %mem = aie.tile(0, 1)
  %a = aie.tile(0, 2)
  %b = aie.tile(0, 3)

  aie.objectfifo @plain (%a, {%b}, 2 : i32) : !aie.objectfifo<memref<16xi32>>

  // One depth for each end; layouts at either; values from the beginning.
  aie.objectfifo @rich(%mem dimensionsToStream [<size = 4, stride = 4>, <size = 4, stride = 1>],
                       {%a dimensionsFromStream [<stride = 2, size = 8>], %b}, [2, 3, 1])
      {via_DMA = true, plio = false, repeat_count = 2 : i32, cons_dma_channels = array<i32: -1, 0>}
      : !aie.objectfifo<memref<16xi32>> = [dense<0> : memref<16xi32>, dense<1> : memref<16xi32>]

  // The consumer takes the producer's buffer in pieces.
  aie.objectfifo @split(%shim, {%mem}, 2 : i32) : !aie.objectfifo<memref<32xi32>> -> !aie.objectfifo<memref<8xi32>>
  aie.objectfifo @padded(%mem, {%a}, 2 : i32) {padDimensions = #aie<bd_pad_layout_array[<const_pad_before = 1, const_pad_after = 0>]>, padValue = 7 : i32} : !aie.objectfifo<memref<16xi32>>

  aie.objectfifo @left(%mem, {%a}, 2 : i32) : !aie.objectfifo<memref<8xi32>>
  aie.objectfifo @right(%mem, {%b}, 2 : i32) : !aie.objectfifo<memref<24xi32>>
  aie.objectfifo.link [@split] -> [@left, @right]([] [0, 8])
  aie.objectfifo.allocate @plain (%b)

  %host = aie.external_buffer : memref<64xi32>
  aie.objectfifo.register_external_buffers @split (%shim, {%host}) : (memref<64xi32>)

  %full = aie.lock(%a, 1) {init = 0 : i32}
  aie.objectfifo_rearm_binding @left_rearm channels(%a : index) locks(%full : index) {channel_dirs = array<i32: 0>, channel_indices = array<i32: 1>, lock_inits = array<i32: 0>, head_bd_ids = array<i32: 4>, repeat_counts = array<i32: 0>}
  aie.objectfifo_rearm_binding @nothing channels() locks() {channel_dirs = array<i32>, channel_indices = array<i32>, lock_inits = array<i32>}

  aie.core(%b) {
    %window = aie.objectfifo.acquire @plain (Consume, 2) : !aie.objectfifosubview<memref<16xi32>>
    %second = aie.objectfifo.subview.access %window[1] : !aie.objectfifosubview<memref<16xi32>> -> memref<16xi32>
    aie.objectfifo.release @plain (Consume, 2)
    aie.end
  }
}

// CHECK:      aie.objectfifo @plain(%tile_0_2, {%tile_0_3}, 2 : i32) : !aie.objectfifo<memref<16xi32>>
// CHECK-NEXT: aie.objectfifo @rich(%mem_tile_0_1 dimensionsToStream [<size = 4, stride = 4>, <size = 4, stride = 1>], {%tile_0_2 dimensionsFromStream [<size = 8, stride = 2>], %tile_0_3}, [2, 3, 1]) {cons_dma_channels = array<i32: -1, 0>, repeat_count = 2 : i32, via_DMA = true} : !aie.objectfifo<memref<16xi32>> = [dense<0> : memref<16xi32>, dense<1> : memref<16xi32>]
// CHECK-NEXT: aie.objectfifo @split(%shim_noc_tile_0_0, {%mem_tile_0_1}, 2 : i32) : !aie.objectfifo<memref<32xi32>> -> !aie.objectfifo<memref<8xi32>>
// CHECK-NEXT: aie.objectfifo @padded(%mem_tile_0_1, {%tile_0_2}, 2 : i32) {padDimensions = #aie<bd_pad_layout_array[<const_pad_before = 1, const_pad_after = 0>]>, padValue = 7 : i32} : !aie.objectfifo<memref<16xi32>>
// CHECK:      aie.objectfifo.link [@split] -> [@left, @right]([] [0, 8])
// CHECK-NEXT: aie.objectfifo.allocate @plain(%tile_0_3)
// CHECK:      aie.objectfifo.register_external_buffers @split(%shim_noc_tile_0_0, {%{{.+}}}) : (memref<64xi32>)
// CHECK:      aie.objectfifo_rearm_binding @left_rearm channels(%tile_0_2 : index) locks(%lock_0_2 : index) {channel_dirs = array<i32: 0>, channel_indices = array<i32: 1>, head_bd_ids = array<i32: 4>, lock_inits = array<i32: 0>, repeat_counts = array<i32: 0>}
// CHECK-NEXT: aie.objectfifo_rearm_binding @nothing channels() locks() {channel_dirs = array<i32>, channel_indices = array<i32>, lock_inits = array<i32>}
// CHECK:      %[[#WINDOW:]] = aie.objectfifo.acquire @plain(Consume, 2) : !aie.objectfifosubview<memref<16xi32>>
// CHECK-NEXT: %{{.+}} = aie.objectfifo.subview.access %[[#WINDOW]][1] : !aie.objectfifosubview<memref<16xi32>> -> memref<16xi32>
// CHECK-NEXT: aie.objectfifo.release @plain(Consume, 2)

// GENERIC: "aie.objectfifo"(%2, %3) <{dimensionsFromStreamPerConsumer = #aie<bd_dim_layout_array_array[[]]>, dimensionsToStream = #aie<bd_dim_layout_array[]>, disable_synchronization = false, elemNumber = 2 : i32, elemType = !aie.objectfifo<memref<16xi32>>, plio = false, sym_name = "plain", via_DMA = false}> : (index, index) -> ()
// GENERIC: "aie.objectfifo.link"() <{dst_offsets = [0, 8], fifoIns = [@split], fifoOuts = [@left, @right], src_offsets = []}> : () -> ()
// GENERIC: "aie.objectfifo.acquire"() <{objFifo_name = @plain, port = 1 : i32, size = 2 : i32}> : () -> !aie.objectfifosubview<memref<16xi32>>
