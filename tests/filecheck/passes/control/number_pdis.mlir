// RUN: tilewright opt --tilewright-number-pdis %s | filecheck %s
// Devices are numbered from one in the order of the module; a number that is given stays.

aie.device(npu2) @main {
  aie.runtime_sequence() {
    aiex.npu.load_pdi {device_ref = @second}
    aiex.npu.load_pdi {device_ref = @first}
    aiex.npu.load_pdi {device_ref = @first, id = 9 : i32}
    aiex.npu.load_pdi {id = 7 : i32}
  }
}
aie.device(npu2) @first {
}
aie.device(npu2) @second {
}

// CHECK:      aiex.npu.load_pdi {device_ref = @second, id = 3 : i32}
// CHECK-NEXT: aiex.npu.load_pdi {device_ref = @first, id = 2 : i32}
// CHECK-NEXT: aiex.npu.load_pdi {device_ref = @first, id = 9 : i32}
// CHECK-NEXT: aiex.npu.load_pdi {id = 7 : i32}
