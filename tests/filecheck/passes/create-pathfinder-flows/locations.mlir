// RUN: tilewright opt --aie-create-pathfinder-flows --mlir-print-debuginfo %s | filecheck %s

// A connection is there because of a flow, a wire because of a tile.
aie.device(npu1_1col) {
  %mem = aie.tile(0, 1) loc("design.py":1:1)
  %core = aie.tile(0, 2) loc("design.py":2:1)
  aie.flow(%mem, DMA : 0, %core, DMA : 0) loc("design.py":3:1)
}
// CHECK:     aie.connect<DMA : 0, {{.*}}> loc(#[[FLOW:loc[0-9]+]])
// CHECK:     aie.connect<{{.*}}, DMA : 0> loc(#[[FLOW]])
// CHECK:     aie.wire({{.*}}) loc(#[[TILE:loc[0-9]+]])
// CHECK-DAG: #[[FLOW]] = loc("design.py":3:1)
// CHECK-DAG: #[[TILE]] = loc("design.py":1:1)
