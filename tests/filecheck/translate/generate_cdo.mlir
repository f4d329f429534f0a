// RUN: tilewright translate --aie-generate-cdo --cdo-debug --work-dir-path=%T %s | filecheck %s
// RUN: tilewright translate --aie-generate-cdo --cdo-debug --cdo-unified --cdo-enable-cores=false --work-dir-path=%T %s | filecheck %s --check-prefix=ONE

// The configuration of a device as three files: programs, settings, the start of cores. Commands that do nothing keep
// blocks at multiples of 16 bytes: header and first command are 6 words, the block's own 3 words make 9, and 3 more 12.
// CHECK:      Generating: {{.*}}/main_aie_cdo_elfs.bin
// CHECK-NEXT: (NOP Command): Payload Length: 0
// CHECK-NEXT: Generating: {{.*}}/main_aie_cdo_init.bin
// CHECK-NEXT: (NOP Command): Payload Length: 0
// CHECK-NEXT: (NOP Command): Payload Length: 2
// CHECK-NEXT: (BlockWrite-DMAWriteCmd): Start Address: 0x0000000000100400  Size: 2
// CHECK-NEXT:     Address: 0x0000000000100400  Data@ 0x30 is: 0x00000001
// CHECK-NEXT:     Address: 0x0000000000100404  Data@ 0x34 is: 0xFFFFFFFE
// CHECK-EMPTY:
// CHECK-NEXT: (Write64): Address:  0x000000000023F004 Data:  0x80000005
// CHECK-NEXT: (Write64): Address:  0x000000000023F114 Data:  0x80000000
// CHECK-NEXT: (MaskWrite64): Address: 0x000000000001F000  Mask: 0x00000C00  Data: 0x00000400
// CHECK-NEXT: Generating: {{.*}}/main_aie_cdo_enable.bin
// CHECK-NEXT: (NOP Command): Payload Length: 0

// ONE:      Generating: {{.*}}/main_aie_cdo.bin
// ONE-NEXT: (NOP Command): Payload Length: 0
// ONE-NEXT: (NOP Command): Payload Length: 2
// ONE-NEXT: (BlockWrite-DMAWriteCmd)
// ONE-NOT:  Generating
aie.device(npu1_1col) {
  %shim = aie.tile(0, 0)
  %mem = aie.tile(0, 1)
  %core = aie.tile(0, 2)
  %b = aie.buffer(%mem) {address = 1024 : i32} : memref<2xi32> = dense<[1, -2]>
  aie.switchbox(%core) { aie.connect<South : 0, DMA : 0> }
  aie.shim_mux(%shim) { aie.connect<DMA : 0, North : 3> }
}
