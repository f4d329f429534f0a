// RUN: tilewright opt --air-shim-endpoints=device=npu1 %s | filecheck %s

// Each channel of the program gets one of a shim tile, two for each direction in a column, and a mem tile's on the other
// side that plays a descriptor again and again.
// CHECK:       aie.device(npu1) @endpoints {
// CHECK:         aie.flow(%[[SHIM:.+]], DMA : 0, %[[MEM:.+]], DMA : 0)
// CHECK-NEXT:    aie.shim_dma_allocation @shim_0_mm2s_0(%[[SHIM]], MM2S, 0)
// CHECK-NEXT:    aie.flow(%[[MEM]], DMA : 0, %[[SHIM]], DMA : 0)
// CHECK-NEXT:    aie.shim_dma_allocation @shim_0_s2mm_0(%[[SHIM]], S2MM, 0)
// CHECK:         aie.memtile_dma(%[[MEM]])
// CHECK:           aie.dma_start(S2MM, 0, ^[[SINK:.+]], ^{{.+}})
// CHECK:           aie.next_bd ^[[SINK]]
// CHECK-LABEL: func.func @host
// CHECK:         airrt.segment_load "endpoints"
// CHECK:         air.channel.put @a[] (%arg0[] [] []) {metadata = @shim_0_mm2s_0}
// CHECK:         air.channel.get @b[] (%arg0[] [] []) {metadata = @shim_0_s2mm_0}
func.func @host(%a: memref<64xi32>) {
  air.channel.put @a[] (%a[] [] []) : (memref<64xi32>)
  air.channel.get @b[] (%a[] [] []) : (memref<64xi32>)
  return
}
