// RUN: tilewright opt --split-input-file --aie-expand-load-pdi %s | filecheck %s

// A load becomes a load of an empty device, which resets the array, and the writes that configure what was meant. Two
// empty devices take turns: the firmware skips a load of what it loaded last. Data has the number of its load.
// CHECK:       aie.device(npu2_1col) @empty_1 {
// CHECK-NEXT:  }
// CHECK-NEXT:  aie.device(npu2_1col) @empty_0 {
// CHECK-NEXT:  }
// CHECK:       aie.device(npu2_1col) @filled
aie.device(npu2_1col) @filled {
  %core = aie.tile(0, 2)
  %b = aie.buffer(%core) {address = 4096 : i32} : memref<2xi32> = dense<[5, 6]>
}
aie.device(npu2_1col) @switched {
  %core = aie.tile(0, 2)
  aie.switchbox(%core) { aie.connect<South : 0, Core : 0> }
}
// CHECK-LABEL: aie.device(npu2_1col) {
// CHECK-NEXT:    memref.global "private" constant @loadpdi_20 : memref<2xi32> = dense<[5, 6]>
// CHECK-NEXT:    memref.global "private" constant @loadpdi_00 : memref<2xi32> = dense<[5, 6]>
// CHECK-NEXT:    aie.runtime_sequence() {
// CHECK-NEXT:      aiex.npu.load_pdi {device_ref = @empty_0, expand_mode = 0 : i32, id = 4 : i32}
// CHECK-NEXT:      %[[FIRST:.+]] = memref.get_global @loadpdi_00 : memref<2xi32>
// CHECK-NEXT:      aiex.npu.blockwrite(%[[FIRST]]) {address = 2101248 : ui32} : memref<2xi32>
// CHECK-NEXT:      aiex.npu.load_pdi {device_ref = @empty_1, expand_mode = 0 : i32}
// CHECK-NEXT:      arith.constant 2355200 : i32
// CHECK-NEXT:      arith.constant -2147483643 : i32
// CHECK-NEXT:      aiex.npu.write32
// CHECK-NEXT:      arith.constant 2355476 : i32
// CHECK-NEXT:      arith.constant -2147483648 : i32
// CHECK-NEXT:      aiex.npu.write32
// CHECK-NEXT:      aiex.npu.load_pdi {device_ref = @switched, expand_mode = 0 : i32}
// CHECK-NEXT:      aiex.npu.load_pdi {device_ref = @empty_1, expand_mode = 0 : i32}
// CHECK-NEXT:      %[[SECOND:.+]] = memref.get_global @loadpdi_20 : memref<2xi32>
// CHECK-NEXT:      aiex.npu.blockwrite(%[[SECOND]]) {address = 2101248 : ui32} : memref<2xi32>
// CHECK-NEXT:    }
aie.device(npu2_1col) {
  aie.runtime_sequence() {
    aiex.npu.load_pdi {device_ref = @filled, id = 4 : i32}
    aiex.npu.load_pdi {device_ref = @switched}
    aiex.npu.load_pdi {device_ref = @switched, expand_mode = 0 : i32}
    aiex.npu.load_pdi {device_ref = @filled}
  }
}
