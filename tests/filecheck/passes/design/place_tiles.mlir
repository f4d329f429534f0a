// RUN: tilewright opt --split-input-file --aie-place-tiles %s | filecheck %s

// Cores fill a column before the next one; what is pinned comes first, whatever the order in the program.
// CHECK-LABEL: @cores
// CHECK-NEXT:  aie.device
// CHECK-NEXT:  %[[C:.+]] = aie.tile(0, 4)
// CHECK-NEXT:  %[[PINNED:.+]] = aie.tile(0, 3)
// CHECK-NEXT:  %[[A:.+]] = aie.tile(0, 2)
// CHECK-NEXT:  %{{.+}} = aie.core(%[[A]])
// CHECK:       aie.core(%[[PINNED]])
// CHECK:       aie.core(%[[C]])
module @cores {
  aie.device(npu1) {
    %a = aie.logical_tile<CoreTile>(?, ?)
    %pinned = aie.logical_tile<CoreTile>(0, 3)
    %c = aie.logical_tile<CoreTile>(?, ?)
    aie.core(%a) { aie.end }
    aie.core(%pinned) { aie.end }
    aie.core(%c) { aie.end }
  }
}

// -----

// A tile that is there already is used, and keeps the wishes of the logical one.
// CHECK-LABEL: @existing
// CHECK-NEXT:  aie.device
// CHECK-NEXT:  %[[T:.+]] = aie.tile(1, 2) {allocation_scheme = "bank-aware"}
// CHECK-NEXT:  %{{.+}} = aie.core(%[[T]])
module @existing {
  aie.device(npu1) {
    %there = aie.tile(1, 2)
    %wanted = aie.logical_tile<CoreTile>(1, 2) {allocation_scheme = "bank-aware"}
    aie.core(%wanted) { aie.end }
  }
}

// -----

// Mem and shim tiles go below the cores they serve: the shim by way of the mem tile.
// CHECK-LABEL: @column
// CHECK-DAG:   aie.tile(2, 0)
// CHECK-DAG:   aie.tile(2, 1)
// CHECK-DAG:   aie.tile(2, 2)
module @column {
  aie.device(npu1) {
    %shim = aie.logical_tile<ShimNOCTile>(?, ?)
    %mem = aie.logical_tile<MemTile>(?, ?)
    %core = aie.logical_tile<CoreTile>(2, ?)
    aie.objectfifo @in(%shim, {%mem}, 2 : i32) : !aie.objectfifo<memref<8xi32>>
    aie.objectfifo @on(%mem, {%core}, 2 : i32) : !aie.objectfifo<memref<8xi32>>
    aie.objectfifo.link [@in] -> [@on]([] [])
    aie.core(%core) { aie.end }
  }
}

// -----

// Two logical shim tiles with one channel each fit into one tile. A third channel does not.
// CHECK-LABEL: @shared
// CHECK-DAG:   aie.flow(%shim_noc_tile_0_0, DMA : 0, %tile_0_2, DMA : 0)
// CHECK-DAG:   aie.flow(%shim_noc_tile_0_0, DMA : 0, %tile_0_2, DMA : 1)
// CHECK-DAG:   aie.flow(%shim_noc_tile_1_0, DMA : 0, %tile_0_3, DMA : 0)
module @shared {
  aie.device(npu1) {
    %core = aie.logical_tile<CoreTile>(?, ?)
    %other = aie.logical_tile<CoreTile>(?, ?)
    %first = aie.logical_tile<ShimNOCTile>(?, ?)
    %second = aie.logical_tile<ShimNOCTile>(?, ?)
    %third = aie.logical_tile<ShimNOCTile>(?, ?)
    aie.flow(%first, DMA : 0, %core, DMA : 0)
    aie.flow(%second, DMA : 0, %core, DMA : 1)
    aie.flow(%third, DMA : 0, %other, DMA : 0)
  }
}

// -----

// A core with FIFOs from four others has channels for two: it goes where it has neighbours, and two of its peers become
// those neighbours. The core that came first in the program is none of their business and makes way.
// CHECK-LABEL: @gather
// CHECK-DAG:   aie.objectfifo @f0(%tile_0_2, {%tile_0_3}, 2 : i32)
// CHECK-DAG:   aie.objectfifo @f1(%tile_0_4, {%tile_0_3}, 2 : i32)
// CHECK-DAG:   aie.objectfifo @f2(%tile_0_5, {%tile_0_3}, 2 : i32)
// CHECK-DAG:   aie.objectfifo @f3(%tile_1_2, {%tile_0_3}, 2 : i32)
// CHECK-DAG:   aie.core(%tile_1_3)
module @gather {
  aie.device(npu1) {
    %stranger = aie.logical_tile<CoreTile>(?, ?)
    %p0 = aie.logical_tile<CoreTile>(?, ?)
    %p1 = aie.logical_tile<CoreTile>(?, ?)
    %p2 = aie.logical_tile<CoreTile>(?, ?)
    %p3 = aie.logical_tile<CoreTile>(?, ?)
    %sum = aie.logical_tile<CoreTile>(?, ?)
    aie.objectfifo @f0(%p0, {%sum}, 2 : i32) : !aie.objectfifo<memref<8xi32>>
    aie.objectfifo @f1(%p1, {%sum}, 2 : i32) : !aie.objectfifo<memref<8xi32>>
    aie.objectfifo @f2(%p2, {%sum}, 2 : i32) : !aie.objectfifo<memref<8xi32>>
    aie.objectfifo @f3(%p3, {%sum}, 2 : i32) : !aie.objectfifo<memref<8xi32>>
    aie.core(%stranger) { aie.end }
  }
}

// -----

// Cascades run down and to the right; a program next to someone else's buffer must reach it.
// CHECK-LABEL: @close
// CHECK-DAG:   aie.cascade_flow(%tile_1_4, %tile_1_3)
// CHECK-DAG:   %[[BUFFER:.+]] = aie.buffer(%tile_3_3)
// CHECK-DAG:   aie.core(%tile_3_2)
module @close {
  aie.device(npu1) {
    %source = aie.logical_tile<CoreTile>(1, 4)
    %dest = aie.logical_tile<CoreTile>(1, ?)
    aie.cascade_flow(%source, %dest)
    %owner = aie.logical_tile<CoreTile>(3, 3)
    %reader = aie.logical_tile<CoreTile>(?, ?)
    %buffer = aie.buffer(%owner) : memref<8xi32>
    aie.core(%reader) {
      %zero = arith.constant 0 : index
      %view = memref.cast %buffer : memref<8xi32> to memref<?xi32>
      %value = memref.load %view[%zero] : memref<?xi32>
      aie.end
    }
  }
}
