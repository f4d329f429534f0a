// RUN: tilewright opt --aie-objectFifo-stateful-transform %s | filecheck %s
// RUN: tilewright opt --aie-objectfifo-split %s | filecheck %s --check-prefix=SPLIT
// Each FIFO says for itself whether its data goes in packets: one with the id that it asks for, others with free ones.

// CHECK: aie.flow(%[[A:.+]], DMA : 0, %{{.+}}, DMA : 0)
// CHECK: aie.packet_flow(1) {
// CHECK-NEXT: aie.packet_source<%[[C:.+]], DMA : 0>
// CHECK: aie.packet_flow(0) {
// CHECK-NEXT: aie.packet_source<%[[B:.+]], DMA : 0>
// CHECK: aie.mem(%[[A]])
// CHECK-NOT: aie.dma_bd_packet
// CHECK: aie.mem(%[[B]])
// CHECK: aie.dma_bd_packet(0, 0)
// CHECK: aie.mem(%[[C]])
// CHECK: aie.dma_bd_packet(0, 1)

// SPLIT: aie.objectfifo.flow from @circuit_prod_dma to [@circuit_cons_dma]{{$}}
// SPLIT: aie.objectfifo.flow from @packets_prod_dma to [@packets_cons_dma] {packet}
// SPLIT: aie.objectfifo.flow from @chosen_prod_dma to [@chosen_cons_dma] {packet, packet_id = 0 : i8}
aie.device(npu2) {
  %a = aie.tile(1, 2)
  %b = aie.tile(3, 2)
  %c = aie.tile(1, 3)
  %d = aie.tile(3, 3)
  aie.objectfifo @circuit(%a, {%b}, 2 : i32) : !aie.objectfifo<memref<16xi32>>
  aie.objectfifo @packets(%c, {%d}, 2 : i32) {packet} : !aie.objectfifo<memref<16xi32>>
  aie.objectfifo @chosen(%b, {%c}, 2 : i32) {packet, packet_id = 0 : i8} : !aie.objectfifo<memref<16xi32>>
}
