// RUN: tilewright opt --split-input-file --aie-place-tiles="placer=sa_placer sa-seed=7" %s | filecheck %s

// Wishes are kept, and wires are short: the free core goes beside the pinned one, its shim tile into its column.
// CHECK-LABEL: module @wishes
// CHECK:         aie.objectfifo @in(%shim_noc_tile_[[COLUMN:[46]]]_0, {%tile_[[COLUMN]]_2}
// CHECK:         aie.objectfifo @across(%tile_[[COLUMN]]_2, {%tile_5_2}
module @wishes {
  aie.device(npu2) {
    %shim = aie.logical_tile<ShimNOCTile>(?, ?)
    %free = aie.logical_tile<CoreTile>(?, ?)
    %pinned = aie.logical_tile<CoreTile>(5, 2)
    aie.objectfifo @in(%shim, {%free}, 2 : i32) : !aie.objectfifo<memref<16xi32>>
    aie.objectfifo @across(%free, {%pinned}, 2 : i32) : !aie.objectfifo<memref<16xi32>>
  }
}

// -----

// A cascade goes one step east or south, whatever the wires would like.
// CHECK-LABEL: module @cascade
// CHECK:         aie.cascade_flow(%tile_3_4, %{{tile_4_4|tile_3_3}})
module @cascade {
  aie.device(npu2) {
    %shim = aie.logical_tile<ShimNOCTile>(7, ?)
    %source = aie.logical_tile<CoreTile>(3, 4)
    %dest = aie.logical_tile<CoreTile>(?, ?)
    aie.cascade_flow(%source, %dest)
    aie.objectfifo @out(%dest, {%shim}, 2 : i32) : !aie.objectfifo<memref<16xi32>>
  }
}

// -----

// 60 KiB of weights and three FIFOs of 3 KiB do not fit the 64 KiB of a core. Two of the FIFOs move to a neighbour.
// CHECK-LABEL: module @spill
// CHECK:         aie.objectfifo @a(%[[HERE:tile_.+]], {%[[HERE]]}
// CHECK-NEXT:    aie.objectfifo.allocate @a(%[[THERE:tile_.+]])
// CHECK:         aie.objectfifo @b(
// CHECK-NEXT:    aie.objectfifo.allocate @b(%tile_
// CHECK:         aie.objectfifo @c(
// CHECK-NOT:     allocate
module @spill {
  aie.device(npu2) {
    %core = aie.logical_tile<CoreTile>(?, ?)
    %weights = aie.buffer(%core) {sym_name = "weights"} : memref<15360xi32>
    aie.objectfifo @a(%core, {%core}, 3 : i32) : !aie.objectfifo<memref<1024xi8>>
    aie.objectfifo @b(%core, {%core}, 3 : i32) : !aie.objectfifo<memref<1024xi8>>
    aie.objectfifo @c(%core, {%core}, 2 : i32) : !aie.objectfifo<memref<1024xi8>>
    aie.core(%core) { aie.end }
  }
}

// -----

// A place that has a core is not given away again.
// CHECK-LABEL: module @occupied
// CHECK-DAG:     aie.tile(0, 2)
// CHECK-DAG:     aie.tile(0, {{[345]}})
module @occupied {
  aie.device(npu1_1col) {
    %taken = aie.tile(0, 2)
    aie.core(%taken) { aie.end }
    %core = aie.logical_tile<CoreTile>(?, ?)
    aie.core(%core) { aie.end }
  }
}
