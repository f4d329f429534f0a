// RUN: tilewright opt --air-to-std %s | filecheck %s

// What the host moves becomes transfers of the runtime, in four dimensions; tokens become events; what a segment does is
// its design's.
// CHECK-LABEL: func.func @host
// CHECK-NOT:     air.
// CHECK:         %{{.+}} = airrt.segment_load "segment" : i64
// CHECK:         %[[SENT:.+]] = airrt.dma_memcpy_nd(%{{.+}}, %{{.+}}, %{{.+}}, %arg0[0, 0, 0, 8], [1, 1, 4, 8], [0, 0, 16, 1]) {metadata = @in}
// CHECK:         %[[GOT:.+]] = airrt.dma_memcpy_nd(%{{.+}}, %{{.+}}, %{{.+}}, %arg1[0, 0, 0, 0], [1, 1, 1, 64], [0, 0, 0, 1])
// CHECK:         airrt.wait_all %[[SENT]], %[[GOT]] {air.launch_end}
air.channel @c [1]
func.func @host(%a: memref<64xi32>, %b: memref<64xi32>) {
  %0 = air.launch async () in () args(%x=%a, %y=%b) : memref<64xi32>, memref<64xi32> {
    %1 = air.segment @segment async {
      %l2 = memref.alloc() : memref<64xi32, 1>
      %2 = air.channel.get async @c[] (%l2[] [] []) : (memref<64xi32, 1>)
    }
    %3 = air.channel.put async @c[] (%x[0, 8] [4, 8] [16, 1]) {id = 3 : i32, metadata = @in} : (memref<64xi32>)
    %4 = air.channel.get async [%3] @d[] (%y[] [] []) : (memref<64xi32>)
    air.wait_all [%3, %4] {air.launch_end}
  }
  return
}
