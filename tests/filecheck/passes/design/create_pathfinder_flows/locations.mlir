// RUN: tilewright opt --aie-create-pathfinder-flows --mlir-print-debuginfo %s | filecheck %s

// What is in a switch is there because of a flow, a wire because of a tile.
aie.device(npu1_1col) {
  %mem = aie.tile(0, 1) loc("design.py":1:1)
  %core = aie.tile(0, 2) loc("design.py":2:1)
  aie.flow(%mem, DMA : 0, %core, DMA : 0) loc("design.py":3:1)
  aie.packet_flow(1) {
    aie.packet_source<%mem, DMA : 1>
    aie.packet_dest<%core, DMA : 1>
  } loc("design.py":4:1)
}
// CHECK:     aie.connect<DMA : 0, {{.*}}> loc(#[[FLOW:loc[0-9]+]])
// CHECK:     aie.amsel<0> (0) loc(#[[PACKETS:loc[0-9]+]])
// CHECK:     aie.masterset({{.*}}) loc(#[[PACKETS]])
// CHECK:       aie.rule({{.*}}) loc(#[[PACKETS]])
// CHECK:     } loc(#[[PACKETS]])
// CHECK:     aie.wire({{.*}}) loc(#[[TILE:loc[0-9]+]])
// CHECK-DAG: #[[FLOW]] = loc("design.py":3:1)
// CHECK-DAG: #[[PACKETS]] = loc("design.py":4:1)
// CHECK-DAG: #[[TILE]] = loc("design.py":1:1)
