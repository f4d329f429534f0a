// RUN: tilewright opt --split-input-file --aie-objectfifo-allocate %s | filecheck %s
// RUN: tilewright opt --split-input-file --aie-objectfifo-allocate --aie-objectfifo-allocate %s | filecheck %s
// RUN: tilewright opt --split-input-file --aie-objectfifo-allocate=packet-sw-objFifos %s | filecheck %s --check-prefix=PACKETS

// A buffer for each object and two locks for each segment, below the tile; a channel for each endpoint, and a flow. Names
// are that of the pool without its ending. The host's end is found by a name that sequences use from now on.
// CHECK-LABEL: @halves
// CHECK:       %[[SHIM:.+]] = aie.tile(0, 0)
// CHECK-NEXT:  %[[MEM:.+]] = aie.tile(0, 1)
// CHECK-NEXT:  aie.buffer(%[[MEM]]) {sym_name = "of_buff_0"} : memref<8xi32>
// CHECK-NEXT:  aie.buffer(%[[MEM]]) {sym_name = "of_buff_1"} : memref<8xi32>
// CHECK-NEXT:  aie.lock(%[[MEM]]) {init = 2 : i32, sym_name = "of_prod_lock_0"}
// CHECK-NEXT:  aie.lock(%[[MEM]]) {init = 0 : i32, sym_name = "of_cons_lock_0"}
// CHECK-NEXT:  aie.lock(%[[MEM]]) {init = 2 : i32, sym_name = "of_prod_lock_1"}
// CHECK-NEXT:  aie.lock(%[[MEM]]) {init = 0 : i32, sym_name = "of_cons_lock_1"}
// CHECK-NEXT:  aie.objectfifo.pool @of_pool(%[[MEM]]) {buffers = [@of_buff_0, @of_buff_1], depth = 2 : i32, segments = [#aie.objectfifo_segment<offset = 0, size = 4, produceLock = @of_prod_lock_0, consumeLock = @of_cons_lock_0>, #aie.objectfifo_segment<offset = 4, size = 4, produceLock = @of_prod_lock_1, consumeLock = @of_cons_lock_1>]} : memref<8xi32>
// CHECK-NEXT:  aie.objectfifo.dangling_endpoint @host(%[[SHIM]]) DMA {channelIndex = 0 : i32, fifoName = "in"}
// CHECK-NEXT:  aie.objectfifo.dma_endpoint @fill(%[[MEM]]) fills @of_pool {channelIndex = 0 : i32, segments = array<i32: 0, 1>}
// CHECK-NEXT:  aie.flow(%[[SHIM]], DMA : 0, %[[MEM]], DMA : 0)
// CHECK-NEXT:  aie.runtime_sequence
// CHECK-NEXT:  metadata = @in_shim_alloc
// CHECK:       aie.shim_dma_allocation @in_shim_alloc(%[[SHIM]], MM2S, 0)
// CHECK-NOT:   aie.objectfifo.flow
// PACKETS-LABEL: @halves
// PACKETS:       aie.packet_flow(0) {
// PACKETS-NEXT:    aie.packet_source<%{{.+}}, DMA : 0>
// PACKETS-NEXT:    aie.packet_dest<%{{.+}}, DMA : 0>
aie.device(npu1) @halves {
  %shim = aie.tile(0, 0)
  %mem = aie.tile(0, 1)
  aie.objectfifo.pool @of_pool(%mem) {depth = 2 : i32, segments = [#aie.objectfifo_segment<offset = 0, size = 4>,
                                                                   #aie.objectfifo_segment<offset = 4, size = 4>]} : memref<8xi32>
  aie.objectfifo.dangling_endpoint @host(%shim) DMA {fifoName = "in"}
  aie.objectfifo.dma_endpoint @fill(%mem) fills @of_pool {segments = array<i32: 0, 1>}
  aie.objectfifo.flow from @host to [@fill]
  aie.runtime_sequence(%a: memref<8xi32>) {
    aiex.npu.dma_memcpy_nd(%a[0, 0, 0, 0][1, 1, 1, 8][0, 0, 0, 1]) {id = 0 : i64, metadata = @host} : memref<8xi32>
  }
}

// -----

// What is written down stays, and others take what is left: a channel, a packet id, buffers, locks. An object that is
// sent twice counts twice; one that begins full counts as full.
// CHECK-LABEL: @kept
// CHECK-NOT:   a_buff_0
// CHECK:       aie.lock(%{{.+}}) {init = 2 : i32, sym_name = "twice_prod_lock_0"}
// CHECK-NEXT:  aie.lock(%{{.+}}) {init = 2 : i32, sym_name = "twice_cons_lock_0"}
// CHECK:       aie.objectfifo.dma_endpoint @free(%{{.+}}) drains @twice {channelIndex = 0 : i32, packet = #aie.packet_info<pkt_type = 0, pkt_id = 1>}
// CHECK:       aie.objectfifo.dma_endpoint @pinned(%{{.+}}) drains @a {channelIndex = 1 : i32, packet = #aie.packet_info<pkt_type = 0, pkt_id = 0>}
// CHECK:       aie.packet_flow(0)
// CHECK:         aie.packet_source<%{{.+}}, DMA : 1>
// CHECK:       aie.packet_flow(1)
// CHECK:         aie.packet_source<%{{.+}}, DMA : 0>
aie.device(npu1) @kept {
  %core = aie.tile(0, 2)
  %other = aie.tile(0, 4)
  %buffer = aie.buffer(%core) {sym_name = "mine"} : memref<4xi32>
  %empty = aie.lock(%core) {init = 1 : i32, sym_name = "empty"}
  %full = aie.lock(%core) {init = 0 : i32, sym_name = "full"}
  aie.objectfifo.pool @a(%core) {depth = 1 : i32, buffers = [@mine],
    segments = [#aie.objectfifo_segment<offset = 0, size = 4, produceLock = @empty, consumeLock = @full>]} : memref<4xi32>
  aie.objectfifo.pool @twice(%core) {depth = 2 : i32, repeatCount = 2 : i32, initValues = [dense<1> : memref<4xi32>],
    segments = [#aie.objectfifo_segment<offset = 0, size = 4>]} : memref<4xi32>
  aie.objectfifo.pool @c(%other) {depth = 1 : i32} : memref<4xi32>
  aie.objectfifo.pool @d(%other) {depth = 1 : i32} : memref<4xi32>
  aie.objectfifo.dma_endpoint @free(%core) drains @twice
  aie.objectfifo.dma_endpoint @pinned(%core) drains @a {channelIndex = 1 : i32}
  aie.objectfifo.dma_endpoint @to_c(%other) fills @c
  aie.objectfifo.dma_endpoint @to_d(%other) fills @d
  aie.objectfifo.flow from @pinned to [@to_c] {packet, packet_id = 0 : i8}
  aie.objectfifo.flow from @free to [@to_d] {packet}
}

// -----

// A sequence that starts a FIFO again gets a record of its channels and locks.
// CHECK-LABEL: @rearmed
// CHECK:       aiex.dma_channel_reset_for(@of_rearm)
// CHECK:       aie.objectfifo_rearm_binding @of_rearm channels(%{{.+}} : index) locks(%{{.+}}, %{{.+}} : index, index)
aie.device(npu1) @rearmed {
  %shim = aie.tile(0, 0)
  %core = aie.tile(0, 2)
  aie.objectfifo.pool @of_pool(%core) {depth = 1 : i32, fifoName = "of",
    segments = [#aie.objectfifo_segment<offset = 0, size = 4>]} : memref<4xi32>
  aie.objectfifo.dma_endpoint @of_dma(%core) drains @of_pool {fifoName = "of"}
  aie.objectfifo.dangling_endpoint @host(%shim) DMA {fifoName = "of"}
  aie.objectfifo.flow from @of_dma to [@host]
  aie.runtime_sequence() {
    aiex.dma_channel_reset_for(@host)
  }
}
