// RUN: tilewright opt --aie-objectFifo-stateful-transform="packet-sw-objFifos=true" %s | filecheck %s

// The data of a FIFO goes to all its consumers in packets of one id, which its descriptors put in front; ids go on from
// those in use. A shim channel is told its packet.
// CHECK-LABEL: aie.device(npu1)
// CHECK:       aie.packet_flow(5) {
// CHECK:       aie.packet_flow(6) {
// CHECK-NEXT:    aie.packet_source<%[[FROM:.+]], DMA : 0>
// CHECK-NEXT:    aie.packet_dest<%[[B:.+]], DMA : 0>
// CHECK-NEXT:    aie.packet_dest<%[[A:.+]], DMA : 0>
// CHECK-NEXT:  }
// CHECK-NEXT:  aie.packet_flow(7) {
// CHECK-NOT:   aie.flow
// CHECK:       aie.mem(%[[FROM]])
// CHECK:         aie.use_lock(%f_cons_lock_0, AcquireGreaterEqual
// CHECK-NEXT:    aie.dma_bd_packet(0, 6)
// CHECK-NEXT:    aie.dma_bd(%f_buff_0
// CHECK:       aie.mem(%[[A]])
// CHECK-NOT:     aie.dma_bd_packet
// CHECK:       aie.shim_dma_allocation @g_shim_alloc(%{{.*}}, MM2S, 0, <pkt_type = 0, pkt_id = 7>)
aie.device(npu1) {
  %shim = aie.tile(0, 0)
  %from = aie.tile(0, 2)
  %a = aie.tile(0, 4)
  %b = aie.tile(2, 4)
  aie.packet_flow(5) {
    aie.packet_source<%a, DMA : 1>
    aie.packet_dest<%shim, DMA : 1>
  }
  aie.objectfifo @f(%from, {%a, %b}, 1 : i32) : !aie.objectfifo<memref<16xi32>>
  aie.objectfifo @g(%shim, {%from}, 1 : i32) : !aie.objectfifo<memref<16xi32>>
}
