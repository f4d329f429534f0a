// RUN: tilewright opt --aie-expand-load-pdi=keep-programs --tilewright-number-pdis %s | filecheck %s
// RUN: tilewright opt --aie-expand-load-pdi %s | filecheck %s --check-prefix=WITHOUT

// No write brings the program of a core that names no ELF file: the image that resets the array has it then. Such
// images have numbers behind those of the five devices, equal ones for equal images.
// CHECK:      aiex.npu.load_pdi {device_ref = @empty_0, expand_mode = 0 : i32, id = 6 : i32, tilewright.programs = @computes}
// CHECK:      aiex.npu.load_pdi {device_ref = @empty_1, expand_mode = 0 : i32, id = 1 : i32}
// CHECK:      aiex.npu.load_pdi {device_ref = @empty_0, expand_mode = 0 : i32, id = 6 : i32, tilewright.programs = @computes}
// CHECK:      aiex.npu.load_pdi {device_ref = @empty_1, expand_mode = 0 : i32, id = 7 : i32, tilewright.programs = @computes}
// WITHOUT-NOT: tilewright.programs
aie.device(npu2_1col) {
  aie.runtime_sequence() {
    aiex.npu.load_pdi {device_ref = @computes}
    aiex.npu.load_pdi {device_ref = @switched}
    aiex.npu.load_pdi {device_ref = @computes}
    aiex.npu.load_pdi {device_ref = @computes}
  }
}
aie.device(npu2_1col) @computes {
  %tile = aie.tile(0, 2)
  %core = aie.core(%tile) {
    aie.end
  }
}
aie.device(npu2_1col) @switched {
  %tile = aie.tile(0, 2)
  aie.switchbox(%tile) {
    aie.connect<South : 0, Core : 0>
  }
}
