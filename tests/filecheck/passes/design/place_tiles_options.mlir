// RUN: tilewright opt --aie-place-tiles=cores-per-col=1 %s | filecheck %s --check-prefix=SPREAD
// RUN: tilewright opt --aie-place-tiles=merge-logical-tiles=false %s | filecheck %s --check-prefix=APART
// RUN: not tilewright opt --aie-place-tiles=cores-per-col=5 %s 2>&1 | filecheck %s --check-prefix=TOO-MANY
// RUN: not tilewright opt --aie-place-tiles=placer=best %s 2>&1 | filecheck %s --check-prefix=UNKNOWN

// SPREAD-DAG: aie.flow(%shim_noc_tile_0_0, DMA : 0, %tile_0_2, DMA : 0)
// SPREAD-DAG: aie.flow(%shim_noc_tile_1_0, DMA : 0, %tile_1_2, DMA : 0)
// SPREAD-DAG: aie.flow(%shim_noc_tile_0_0, DMA : 1, %tile_0_2, DMA : 1)

// APART-DAG: aie.flow(%shim_noc_tile_0_0, DMA : 0, %tile_0_2, DMA : 0)
// APART-DAG: aie.flow(%shim_noc_tile_1_0, DMA : 0, %tile_0_3, DMA : 0)
// APART-DAG: aie.flow(%shim_noc_tile_2_0, DMA : 1, %tile_0_2, DMA : 1)

// TOO-MANY: error: requested cores-per-col (5) exceeds device capacity (4 cores per column)
// UNKNOWN: for the --placer option: Cannot find option named 'best'!
aie.device(npu1) {
  %core = aie.logical_tile<CoreTile>(?, ?)
  %other = aie.logical_tile<CoreTile>(?, ?)
  %first = aie.logical_tile<ShimNOCTile>(?, ?)
  %second = aie.logical_tile<ShimNOCTile>(?, ?)
  %third = aie.logical_tile<ShimNOCTile>(?, ?)
  aie.flow(%first, DMA : 0, %core, DMA : 0)
  aie.flow(%second, DMA : 0, %other, DMA : 0)
  aie.flow(%third, DMA : 1, %core, DMA : 1)
}
