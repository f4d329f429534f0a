// RUN: tilewright opt %s | filecheck %s
// RUN: tilewright opt --mlir-print-op-generic %s | tilewright opt | filecheck %s

// A pool has buffers that take turns, each divided into segments; endpoints fill and drain them, flows connect those.
aie.device(npu2) {
  %shim = aie.tile(0, 0)
  %mem = aie.tile(0, 1)
  %core = aie.tile(0, 2)
  aie.objectfifo.pool @plain(%core) {depth = 2 : i32} : memref<4x4xi32>
  aie.objectfifo.pool @parts(%mem) {fifoName = "of", depth = 3 : i32, repeatCount = 2 : i32, buffers = [@a, @b, @c],
    segments = [#aie.objectfifo_segment<size = 16, offset = 0, consumeLock = @full, produceLock = @empty>,
                #aie.objectfifo_segment<offset = 16, size = 20>]} : memref<36xi32>
  aie.objectfifo.core_endpoint @writer(%core) fills @plain
  aie.objectfifo.dma_endpoint @out(%core) drains @plain {channelIndex = 1 : i32, iterCount = 4 : i32}
  aie.objectfifo.dma_endpoint @in(%mem) fills @parts {segments = array<i32: 0, 1>}
  aie.objectfifo.dma_endpoint @padded(%mem) drains @parts {segments = array<i32: 1>, padValue = 7 : i32,
    dimensions = #aie<bd_dim_layout_array_array[[<size = 5, stride = 4>, <size = 4, stride = 1>]]>,
    padDimensions = #aie<bd_pad_layout_array_array[[<const_pad_before = 0, const_pad_after = 0>,
                                                    <const_pad_before = 1, const_pad_after = 2>]]>}
  aie.objectfifo.dma_endpoint @bare(%mem) drains @parts {segments = array<i32: 0>}
  aie.objectfifo.dangling_endpoint @host(%shim) DMA {fifoName = "host"}
  aie.objectfifo.dangling_endpoint @stream(%core) Core {channelIndex = 0 : i32}
  aie.objectfifo.flow from @out to [@in]
  aie.objectfifo.flow from @padded to [@host, @stream] {packet, packet_id = 3 : i8}
}

// CHECK:      aie.objectfifo.pool @plain(%{{.+}}) {depth = 2 : i32} : memref<4x4xi32>
// CHECK-NEXT: aie.objectfifo.pool @parts(%{{.+}}) {buffers = [@a, @b, @c], depth = 3 : i32, fifoName = "of", repeatCount = 2 : i32, segments = [#aie.objectfifo_segment<offset = 0, size = 16, produceLock = @empty, consumeLock = @full>, #aie.objectfifo_segment<offset = 16, size = 20>]} : memref<36xi32>
// CHECK-NEXT: aie.objectfifo.core_endpoint @writer(%{{.+}}) fills @plain
// CHECK-NEXT: aie.objectfifo.dma_endpoint @out(%{{.+}}) drains @plain {channelIndex = 1 : i32, iterCount = 4 : i32}
// CHECK-NEXT: aie.objectfifo.dma_endpoint @in(%{{.+}}) fills @parts {segments = array<i32: 0, 1>}
// CHECK-NEXT: aie.objectfifo.dma_endpoint @padded(%{{.+}}) drains @parts {dimensions = #aie<bd_dim_layout_array_array{{\[\[}}<size = 5, stride = 4>, <size = 4, stride = 1>{{\]\]}}>, padDimensions = #aie<bd_pad_layout_array_array{{\[\[}}<const_pad_before = 0, const_pad_after = 0>, <const_pad_before = 1, const_pad_after = 2>{{\]\]}}>, padValue = 7 : i32, segments = array<i32: 1>}
// CHECK-NEXT: aie.objectfifo.dma_endpoint @bare
// CHECK-NEXT: aie.objectfifo.dangling_endpoint @host(%{{.+}}) DMA {fifoName = "host"}
// CHECK-NEXT: aie.objectfifo.dangling_endpoint @stream(%{{.+}}) Core {channelIndex = 0 : i32}
// CHECK-NEXT: aie.objectfifo.flow from @out to [@in]
// CHECK-NEXT: aie.objectfifo.flow from @padded to [@host, @stream] {packet, packet_id = 3 : i8}
