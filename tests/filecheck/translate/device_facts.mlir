// RUN: tilewright translate --aie-generate-target-arch %s | filecheck --check-prefix=ARCH %s
// RUN: tilewright translate --aie-generate-target-arch --aie-device-name=none %s | filecheck --check-prefix=FIRST %s
// RUN: tilewright translate --aie-generate-json %s | filecheck --check-prefix=JSON %s
// RUN: not tilewright translate %s 2>&1 | filecheck --check-prefix=NOTHING %s
// RUN: not tilewright translate --aie-npu-to-binery %s 2>&1 | filecheck --check-prefix=NEAR %s

// ARCH:  {{^AIE2p$}}
// FIRST: {{^AIE$}}
// JSON:      {
// JSON-NEXT:   "in": {
// JSON-NEXT:     "channelDir": 1,
// JSON-NEXT:     "channelIndex": 1,
// JSON-NEXT:     "col": 3
// JSON-NEXT:   },
// JSON-NEXT:   "out": {
// JSON-NEXT:     "channelDir": 0,
// NOTHING: say what to translate to, one of:
// NEAR: Did you mean '--aie-npu-to-binary'?
aie.device(npu2) {
  %tile = aie.tile(3, 0)
  aie.shim_dma_allocation @out (%tile, S2MM, 0)
  aie.shim_dma_allocation @in (%tile, MM2S, 1)
}
