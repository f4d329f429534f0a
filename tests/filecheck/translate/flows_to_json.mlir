// RUN: tilewright opt --aie-create-pathfinder-flows --aie-find-flows %s | tilewright translate --aie-flows-to-json | filecheck %s

// From the shim up to a mem tile and on to two cores: three links, the way into the switch from below not being one.
aie.device(npu1_1col) {
  %shim = aie.tile(0, 0)
  %core = aie.tile(0, 2)
  %other = aie.tile(0, 3)
  aie.flow(%shim, DMA : 0, %core, DMA : 0)
  aie.flow(%shim, DMA : 0, %other, DMA : 0)
}
// CHECK:      "switchbox00": {
// CHECK-NEXT: "col": 0,
// CHECK-NEXT: "row": 0,
// CHECK-NEXT: "source_count": 2,
// CHECK-NEXT: "destination_count": 0,
// CHECK-NEXT: "northbound": 1,
// CHECK-NEXT: "eastbound": 0,
// CHECK-NEXT: "southbound": 0,
// CHECK-NEXT: "westbound": 0
// CHECK-NEXT: },
// CHECK:      "total_path_length": 3,
// CHECK-NEXT: "route0": {{.+}}[0, 0], ["North"]], {{.+}}[0, 1], ["North"]], {{.+}}[0, 2], ["DMA", "North"]], {{.+}}[0, 3], ["DMA"]], [] ],
// CHECK-NEXT: "route_all": [],
