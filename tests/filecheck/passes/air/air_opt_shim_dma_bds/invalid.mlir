// RUN: tilewright opt --split-input-file --verify-diagnostics --air-opt-shim-dma-bds="device=npu1 empty-tile=auto" %s

// The design itself uses 15 of the 16 descriptors of the shim tile: one is left for two channels.
aie.device(npu1) {
  %shim = aie.tile(0, 0)
  aie.shim_dma_allocation @in(%shim, MM2S, 0)
  aie.shim_dma_allocation @out(%shim, S2MM, 0)
  %buffer = aie.external_buffer : memref<16xi32>
  %dma = aie.shim_dma(%shim) {
    %0 = aie.dma_start(MM2S, 1, ^b0, ^end)
  ^b0:
    aie.dma_bd(%buffer : memref<16xi32> offset = 0 len = 16)
    aie.next_bd ^b1
  ^b1:
    aie.dma_bd(%buffer : memref<16xi32> offset = 0 len = 16)
    aie.next_bd ^b2
  ^b2:
    aie.dma_bd(%buffer : memref<16xi32> offset = 0 len = 16)
    aie.next_bd ^b3
  ^b3:
    aie.dma_bd(%buffer : memref<16xi32> offset = 0 len = 16)
    aie.next_bd ^b4
  ^b4:
    aie.dma_bd(%buffer : memref<16xi32> offset = 0 len = 16)
    aie.next_bd ^b5
  ^b5:
    aie.dma_bd(%buffer : memref<16xi32> offset = 0 len = 16)
    aie.next_bd ^b6
  ^b6:
    aie.dma_bd(%buffer : memref<16xi32> offset = 0 len = 16)
    aie.next_bd ^b7
  ^b7:
    aie.dma_bd(%buffer : memref<16xi32> offset = 0 len = 16)
    aie.next_bd ^b8
  ^b8:
    aie.dma_bd(%buffer : memref<16xi32> offset = 0 len = 16)
    aie.next_bd ^b9
  ^b9:
    aie.dma_bd(%buffer : memref<16xi32> offset = 0 len = 16)
    aie.next_bd ^b10
  ^b10:
    aie.dma_bd(%buffer : memref<16xi32> offset = 0 len = 16)
    aie.next_bd ^b11
  ^b11:
    aie.dma_bd(%buffer : memref<16xi32> offset = 0 len = 16)
    aie.next_bd ^b12
  ^b12:
    aie.dma_bd(%buffer : memref<16xi32> offset = 0 len = 16)
    aie.next_bd ^b13
  ^b13:
    aie.dma_bd(%buffer : memref<16xi32> offset = 0 len = 16)
    aie.next_bd ^b14
  ^b14:
    aie.dma_bd(%buffer : memref<16xi32> offset = 0 len = 16)
    aie.next_bd ^b0
  ^end:
    aie.end
  }
}
func.func @host(%a: memref<64xi32>) {
  %0 = air.channel.put async @a[] (%a[] [] []) {metadata = @in} : (memref<64xi32>)
  // expected-error @+1 {{S2MM 0 of shim tile (0, 0) needs 1 descriptors}}
  %1 = air.channel.get async @b[] (%a[] [] []) {metadata = @out} : (memref<64xi32>)
  return
}

// -----

// No divisor of a prime number of rows fits into a wrap.
func.func @host(%a: memref<1031x64xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %rows = arith.constant 1031 : index
  // expected-error @+1 {{cannot tile dim 2 of size 1031 into shim-legal chunks}}
  air.channel.put @a[] (%a[%c0, %c0] [%rows, %c32] [%c64, %c1]) : (memref<1031x64xi32>)
  return
}
