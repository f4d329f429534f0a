// RUN: tilewright opt --split-input-file --aie-objectfifo-split %s | filecheck %s

// A pool at each end of what needs a DMA, with an endpoint for the core and one for the DMA; cores reach their objects
// through theirs, one by one. The pool of a core has one object more than it acquires.
// CHECK-LABEL: @far
// CHECK:       aie.objectfifo.pool @f_pool(%[[A:.+]]) {depth = 2 : i32, fifoName = "f", segments = [#aie.objectfifo_segment<offset = 0, size = 16>]} : memref<16xi32>
// CHECK-NEXT:  aie.objectfifo.core_endpoint @f_prod(%[[A]]) fills @f_pool
// CHECK-NEXT:  aie.objectfifo.dma_endpoint @f_prod_dma(%[[A]]) drains @f_pool {channelIndex = 1 : i32, fifoName = "f"}
// CHECK-NEXT:  aie.objectfifo.pool @f_cons_pool(%[[B:.+]]) {depth = 3 : i32, fifoName = "f", segments = [#aie.objectfifo_segment<offset = 0, size = 16>]} : memref<16xi32>
// CHECK-NEXT:  aie.objectfifo.core_endpoint @f_cons(%[[B]]) drains @f_cons_pool
// CHECK-NEXT:  aie.objectfifo.dma_endpoint @f_cons_dma(%[[B]]) fills @f_cons_pool {dimensions = #aie<bd_dim_layout_array_array{{.*}}>, fifoName = "f"}
// CHECK-NEXT:  aie.objectfifo.flow from @f_prod_dma to [@f_cons_dma]
// CHECK-NOT:   aie.objectfifo @
// CHECK:       aie.core(%[[A]])
// CHECK:         %[[OBJECT:.+]] = aie.objectfifo.acquire @f_prod(1) : memref<16xi32>
// CHECK-NEXT:    func.call @use(%[[OBJECT]])
// CHECK-NEXT:    aie.objectfifo.release @f_prod(1)
// CHECK:       aie.core(%[[B]])
// CHECK:         %[[OBJECTS:.+]]:2 = aie.objectfifo.acquire @f_cons(2) : memref<16xi32>, memref<16xi32>
// CHECK-NEXT:    func.call @use(%[[OBJECTS]]#1)
aie.device(npu2) @far {
  func.func private @use(memref<16xi32>)
  %a = aie.tile(0, 2)
  %b = aie.tile(3, 3)
  aie.objectfifo @f(%a, {%b dimensionsFromStream [<size = 4, stride = 1>, <size = 4, stride = 4>]}, 4 : i32)
    {prod_dma_channel = 1 : i32} : !aie.objectfifo<memref<16xi32>>
  %core_a = aie.core(%a) {
    %window = aie.objectfifo.acquire @f(Produce, 1) : !aie.objectfifosubview<memref<16xi32>>
    %object = aie.objectfifo.subview.access %window[0] : !aie.objectfifosubview<memref<16xi32>> -> memref<16xi32>
    func.call @use(%object) : (memref<16xi32>) -> ()
    aie.objectfifo.release @f(Produce, 1)
    aie.end
  }
  %core_b = aie.core(%b) {
    %first, %second = aie.objectfifo.acquire @f(Consume, 2) : memref<16xi32>, memref<16xi32>
    func.call @use(%second) : (memref<16xi32>) -> ()
    aie.objectfifo.release @f(Consume, 1)
    aie.end
  }
}

// -----

// Neighbours share one pool, where the program wants it. What a link joins fills parts of one pool; the runtime
// sequence means the end at the shim.
// CHECK-LABEL: @near
// CHECK:       aie.objectfifo.pool @near_pool(%[[C:.+]]) {depth = 4 : i32, disableSynchronization = true, fifoName = "near"
// CHECK-NOT:   aie.objectfifo.flow
// CHECK:       aie.objectfifo.pool @left_pool
// CHECK:       aie.objectfifo.dma_endpoint @left_prod_dma(%{{.+}}) drains @left_pool {fifoName = "left"}
// CHECK-NEXT:  aie.objectfifo.dma_endpoint @left_cons_dma(%[[MEM:.+]]) fills @both_pool {fifoName = "left", segments = array<i32: 0>}
// CHECK-NEXT:  aie.objectfifo.flow from @left_prod_dma to [@left_cons_dma]
// CHECK:       aie.objectfifo.dma_endpoint @right_cons_dma(%[[MEM]]) fills @both_pool {fifoName = "right", segments = array<i32: 1>}
// CHECK:       aie.objectfifo.pool @both_pool(%[[MEM]]) {depth = 2 : i32, fifoName = "both", repeatCount = 3 : i32, segments = [#aie.objectfifo_segment<offset = 0, size = 4>, #aie.objectfifo_segment<offset = 4, size = 8>]} : memref<12xi32>
// CHECK-NEXT:  aie.objectfifo.dma_endpoint @both_prod_dma(%[[MEM]]) drains @both_pool {fifoName = "both", segments = array<i32: 0, 1>}
// CHECK-NEXT:  aie.objectfifo.dangling_endpoint @both_cons_dma(%{{.+}}) DMA {fifoName = "both"}
// CHECK:       aiex.npu.dma_wait {symbol = @both_cons_dma}
aie.device(npu2) @near {
  %shim = aie.tile(0, 0)
  %mem = aie.tile(0, 1)
  %a = aie.tile(0, 2)
  %b = aie.tile(0, 3)
  aie.objectfifo @near(%a, {%b}, 4 : i32) {disable_synchronization = true} : !aie.objectfifo<memref<16xi32>>
  aie.objectfifo.allocate @near(%b)
  aie.objectfifo @left(%a, {%mem}, 2 : i32) : !aie.objectfifo<memref<4xi32>>
  aie.objectfifo @right(%b, {%mem}, 2 : i32) : !aie.objectfifo<memref<8xi32>>
  aie.objectfifo @both(%mem, {%shim}, 2 : i32) {repeat_count = 3 : i32} : !aie.objectfifo<memref<12xi32>>
  aie.objectfifo.link [@left, @right] -> [@both] ([0, 4] [])
  aie.runtime_sequence() {
    aiex.npu.dma_wait {symbol = @both}
  }
}

// -----

// A port of a core takes the place of a DMA. Rounds at the end that receives make up for what is sent again.
// CHECK-LABEL: @streams
// CHECK:       aie.objectfifo.dangling_endpoint @s_prod_dma(%{{.+}}) Core {channelIndex = 1 : i32, fifoName = "s"}
// CHECK-NEXT:  aie.objectfifo.pool @s_cons_pool
// CHECK:       aie.objectfifo.dma_endpoint @r_prod_dma(%{{.+}}) drains @r_pool {fifoName = "r", iterCount = 5 : i32}
// CHECK:       aie.objectfifo.dma_endpoint @r_0_cons_dma(%{{.+}}) fills @r_0_cons_pool {fifoName = "r", iterCount = 10 : i32}
// CHECK:       aie.objectfifo.flow from @r_prod_dma to [@r_0_cons_dma, @r_1_cons_dma]
aie.device(npu2) @streams {
  %mem = aie.tile(0, 1)
  %a = aie.tile(0, 2)
  %b = aie.tile(2, 3)
  aie.objectfifo @s(%a, {%b}, 2 : i32) {aie_stream = 0 : i32, aie_stream_port = 1 : i32} : !aie.objectfifo<memref<8xi32>>
  aie.objectfifo @r(%mem, {%a, %b}, 2 : i32) {iter_count = 5 : i32, repeat_count = 2 : i32} : !aie.objectfifo<memref<8xi32>>
}
