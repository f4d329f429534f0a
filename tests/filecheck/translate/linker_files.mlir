// RUN: tilewright translate --aie-generate-mmap %s | filecheck %s --check-prefix=MAP
// RUN: tilewright translate --aie-generate-ldscript --tilecol=1 --tilerow=3 %s | filecheck %s --check-prefix=SCRIPT
// RUN: tilewright translate --aie-generate-bcf --tilecol=1 --tilerow=3 %s | filecheck %s --check-prefix=BCF
// RUN: tilewright translate --aie-generate-corelist %s | filecheck %s --check-prefix=LIST

// A core of an AIE2 device sees its south neighbour's memory at 0x40000, west at 0x50000, north at 0x60000 and its own
// at 0x70000.
// MAP:       // Tile(0, 3)
// MAP-NEXT:  // Memory map: name base_address num_bytes
// MAP-NEXT:  _symbol west 0x70800 32
// MAP-NEXT:  // Tile(1, 3)
// MAP-NEXT:  // Memory map: name base_address num_bytes
// MAP-NEXT:  _symbol west 0x50800 32
// MAP-NEXT:  _symbol north 0x60400 16
// MAP-NEXT:  _symbol own 0x71000 64
// MAP-NEXT:  _symbol filled 0x72000 4
// MAP-NEXT:  // Tile(1, 4)
// MAP-NEXT:  // Memory map: name base_address num_bytes
// MAP-NEXT:  _symbol own 0x41000 64
// MAP-NEXT:  _symbol filled 0x42000 4
// MAP-NEXT:  _symbol north 0x70400 16

// What a program has besides goes into the longest gap that stack and buffers leave: from 0x72004 to 0x80000.
// SCRIPT:      program (RX) : ORIGIN = 0, LENGTH = 0x0020000
// SCRIPT-NEXT: data (!RX) : ORIGIN = 0x72004, LENGTH = 0xDFFC
// SCRIPT:      . = 0x70000;
// SCRIPT-NEXT: _sp_start_value_DM_stack = .;
// SCRIPT-NEXT: . += 0x800; /* stack */
// SCRIPT-NEXT: . = 0x50800;
// SCRIPT-NEXT: west = .;
// SCRIPT-NEXT: . += 0x20;
// SCRIPT-NEXT: . = 0x60400;
// SCRIPT-NEXT: north = .;
// SCRIPT-NEXT: . += 0x10;
// SCRIPT-NEXT: . = 0x71000;
// SCRIPT-NEXT: own = .;
// SCRIPT-NEXT: . += 0x40;
// SCRIPT-NEXT: . = 0x72000;
// SCRIPT-NEXT: filled = .;
// SCRIPT-NEXT: . += 0x4;
// SCRIPT-NEXT:   .bss : { *(.bss*) } > data
// SCRIPT-NEXT: }
// SCRIPT-NEXT: INPUT(kernel.o)
// SCRIPT-NEXT: PROVIDE(main = core_1_3);

// A buffer with a value is the linker's to fill in the tile that has it, and nobody's elsewhere.
// BCF:      _symbol core_1_3 _after _main_init
// BCF:      _reserved DMb 0x00000 0x40000 // Don't put data in code memory
// BCF-NEXT: _stack DM_stack 0x70000 0x800 // stack for core
// BCF:      // west -------------------------------------------------
// BCF-NEXT: _reserved DMb 0x50000 0x10000  // Don't allocate variables in west neighbor
// BCF:      _symbol west 0x50800 32
// BCF-NEXT: _extern west
// BCF-NEXT: _reserved DMb 0x50800 32
// BCF:      // skip initialization of north which is initialized in the neighboring tile
// BCF:      _symbol own 0x71000 64
// BCF:      _overlay filled 0x72000 // 4 bytes
// BCF:      _reserved DMb 0x80000 0x80000 // And everything else the core can't see
// BCF-NEXT: _include _file kernel.o
// BCF-NEXT: _resolve _main core_1_3

// LIST: [(1,3,None),(1,4,"north.elf"),]
aie.device(npu1) {
  %here = aie.tile(1, 3)
  %west = aie.tile(0, 3)
  %north = aie.tile(1, 4)
  %a = aie.buffer(%here) {sym_name = "own", address = 4096 : i32} : memref<16xi32>
  %b = aie.buffer(%here) {sym_name = "filled", address = 8192 : i32} : memref<1xi32> = dense<1>
  %c = aie.buffer(%west) {sym_name = "west", address = 2048 : i32} : memref<8xi32>
  %d = aie.buffer(%north) {sym_name = "north", address = 1024 : i32} : memref<4xi32> = dense<0>
  aie.core(%here) { aie.end } {stack_size = 2048 : i32, link_files = ["kernel.o"]}
  aie.core(%north) { aie.end } {elf_file = "north.elf"}
}
