// RUN: tilewright translate --split-input-file --verify-diagnostics --aie-generate-ldscript --tilecol=0 --tilerow=2 %s

// expected-error@+2 {{'aie.device' op has no core at (0, 2)}}
// expected-note@+1 {{say which core to link with --tilecol and --tilerow}}
aie.device(npu1) {}

// -----

aie.device(npu1) {
  %tile = aie.tile(0, 2)
  // expected-error@+2 {{'aie.buffer' op has no name that a linker could use}}
  // expected-note@+1 {{give it a sym_name}}
  %b = aie.buffer(%tile) {address = 0 : i32} : memref<1xi32>
  aie.core(%tile) { aie.end }
}

// -----

aie.device(npu1) {
  %tile = aie.tile(0, 2)
  // expected-error@+2 {{'aie.buffer' op must have address assigned}}
  // expected-note@+1 {{run --aie-assign-buffer-addresses first}}
  %b = aie.buffer(%tile) {sym_name = "b"} : memref<1xi32>
  aie.core(%tile) { aie.end }
}
