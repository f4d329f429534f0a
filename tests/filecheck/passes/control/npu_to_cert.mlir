// RUN: tilewright opt --split-input-file --aie-npu-to-cert %s | filecheck %s

// A sequence becomes a job in a page. Addresses are absolute; what is on a tile gets the tile's: (1, 2) is at 0x2200000.
// Blocks are played by the microcontroller's DMA. A token of the shim tile in column 2 comes from tile 2 << 5; its
// second MM2S channel is actor 7.
// CHECK:      memref.global "private" constant @words
// CHECK-NEXT: aiex.cert.uc_dma_chain @chain_0 {
// CHECK-NEXT:   aiex.cert.uc_dma_bd @words, 4096, 3, false
// CHECK-NEXT: }
// CHECK-NEXT: aiex.cert.page {
// CHECK-NEXT:   aiex.cert.job(2) {
// CHECK-NEXT:     aiex.cert.write32(35651600, 4294967295)
// CHECK-NEXT:     aiex.cert.maskwrite32(8, 255, 1)
// CHECK-NEXT:     aiex.cert.uc_dma_write_des_sync(@chain_0)
// CHECK-NEXT:     aiex.cert.wait_tcts(64, 7, 1)
// CHECK-NEXT:   }
// CHECK-NEXT: }
aie.device(npu2) {
  memref.global "private" constant @words : memref<3xi32> = dense<[1, 2, 3]>
  aie.runtime_sequence @run(%unused: memref<8xi32>) {
    %register = arith.constant 16 : i32
    %ones = arith.constant -1 : i32
    aiex.npu.write32(%register, %ones) {column = 1 : i32, row = 2 : i32} : i32, i32
    %address = arith.constant 8 : i32
    %one = arith.constant 1 : i32
    %mask = arith.constant 255 : i32
    aiex.npu.maskwrite32(%address, %one, %mask) : i32, i32, i32
    %data = memref.get_global @words : memref<3xi32>
    aiex.npu.blockwrite(%data) {address = 4096 : ui32} : memref<3xi32>
    %two = arith.constant 2 : i32
    %zero = arith.constant 0 : i32
    aiex.npu.sync(%two, %zero, %one, %one, %one, %one) : i32, i32, i32, i32, i32, i32
  }
}

// -----

// The address of an argument is added to a descriptor before it is written. What else is to be added to the address, 16
// here, is in the words; others may use the same words, so these are new ones.
// CHECK-LABEL: module @patches
// CHECK:         memref.global "private" constant @bd : memref<8xi32> = dense<[64, 4, 0, 0, 0, 0, 0, 0]>
// CHECK-NEXT:    memref.global "private" constant @bd_at_16_0 : memref<8xi32> = dense<[64, 20, 0, 0, 0, 0, 0, 0]>
// CHECK-NEXT:    aiex.cert.uc_dma_chain @chain_0 {
// CHECK-NEXT:      aiex.cert.uc_dma_bd @bd, 118784, 8, false
// CHECK-NEXT:    }
// CHECK-NEXT:    aiex.cert.uc_dma_chain @chain_1 {
// CHECK-NEXT:      aiex.cert.uc_dma_bd @bd_at_16_0, 118816, 8, false
// CHECK-NEXT:    }
// CHECK:           aiex.cert.apply_offset_57(@bd, 1, 0)
// CHECK-NEXT:      aiex.cert.uc_dma_write_des_sync(@chain_0)
// CHECK-NEXT:      aiex.cert.apply_offset_57(@bd_at_16_0, 1, 1)
// CHECK-NEXT:      aiex.cert.uc_dma_write_des_sync(@chain_1)
module @patches {
  aie.device(npu2) {
    memref.global "private" constant @bd : memref<8xi32> = dense<[64, 4, 0, 0, 0, 0, 0, 0]>
    aie.runtime_sequence(%a: memref<64xi32>, %b: memref<64xi32>) {
      %bd = memref.get_global @bd : memref<8xi32>
      %zero = arith.constant 0 : i32
      %offset = arith.constant 16 : i32
      aiex.npu.blockwrite(%bd) {address = 118784 : ui32} : memref<8xi32>
      aiex.npu.address_patch(%zero : i32) {addr = 118788 : ui32, arg_idx = 0 : i32}
      aiex.npu.blockwrite(%bd) {address = 118816 : ui32} : memref<8xi32>
      aiex.npu.address_patch(%offset : i32) {addr = 118820 : ui32, arg_idx = 1 : i32}
    }
  }
}

// -----

// Chains that are played one right after the other become one, unless another job plays them as well.
// CHECK-LABEL: module @chains
// CHECK:         aiex.cert.uc_dma_chain @chain_2 {
// CHECK-NEXT:      aiex.cert.uc_dma_bd @a, 16, 1, true
// CHECK-NEXT:      aiex.cert.uc_dma_bd @b, 32, 2, true
// CHECK-NEXT:      aiex.cert.uc_dma_bd @a, 48, 1, false
// CHECK-NEXT:    }
// CHECK:         aiex.cert.job(1) {
// CHECK-NEXT:      aiex.cert.uc_dma_write_des_sync(@chain_2)
// CHECK-NEXT:      aiex.cert.write32(64, 0)
// CHECK-NEXT:      aiex.cert.uc_dma_write_des_sync(@chain_3)
// CHECK-NEXT:    }
module @chains {
  aie.device(npu2) {
    memref.global "private" constant @a : memref<1xi32> = dense<1>
    memref.global "private" constant @b : memref<2xi32> = dense<[2, 3]>
    aie.runtime_sequence @configure() {
      %a = memref.get_global @a : memref<1xi32>
      %b = memref.get_global @b : memref<2xi32>
      aiex.npu.blockwrite(%a) {address = 16 : ui32} : memref<1xi32>
      aiex.npu.blockwrite(%b) {address = 32 : ui32} : memref<2xi32>
      aiex.npu.blockwrite(%a) {address = 48 : ui32} : memref<1xi32>
      %address = arith.constant 64 : i32
      %zero = arith.constant 0 : i32
      aiex.npu.write32(%address, %zero) : i32, i32
      aiex.npu.blockwrite(%a) {address = 80 : ui32} : memref<1xi32>
    }
  }
}

// -----

// A block that fits no page is halved as often as it takes.
// CHECK-LABEL: module @big
// CHECK:         memref.global "private" constant @big_split_0 : memref<1000xi32> = dense<7>
// CHECK-NEXT:    memref.global "private" constant @big_split_1 : memref<1001xi32> = dense<7>
// CHECK:         aiex.cert.uc_dma_bd @big_split_0, 4096, 1000, false
// CHECK:         aiex.cert.uc_dma_bd @big_split_1, 8096, 1001, false
module @big {
  aie.device(npu2) {
    memref.global "private" constant @big : memref<2001xi32> = dense<7>
    aie.runtime_sequence @configure() {
      %big = memref.get_global @big : memref<2001xi32>
      aiex.npu.blockwrite(%big) {address = 4096 : ui32} : memref<2001xi32>
    }
  }
}

// -----

// A device that is loaded becomes a section: what its sequence `configure` does, with the data for it. What is run on it
// follows in place, and nothing else is left of the device.
// CHECK-LABEL: module @sections
// CHECK-NEXT:    aie.device(npu2) {
// CHECK:           memref.global "private" constant @data : memref<1xi32> = dense<1>
// CHECK:           memref.global "private" constant @data_0 : memref<1xi32> = dense<2>
// CHECK:           aiex.cert.uc_dma_bd @data_0, 16, 1, false
// CHECK:           aiex.cert.page {
// CHECK-NEXT:        aiex.cert.job(2) {
// CHECK-NEXT:          aiex.cert.load_pdi(1, @other)
// CHECK-NEXT:          aiex.cert.write32(32, 3)
// CHECK-NEXT:          aiex.cert.load_pdi(1, @other)
// CHECK-NEXT:        }
// CHECK-NEXT:      }
// CHECK-NEXT:      aiex.cert.section @other {
// CHECK-NEXT:        aiex.cert.page {
// CHECK-NEXT:          aiex.cert.job(1) {
// CHECK-NEXT:            aiex.cert.uc_dma_write_des_sync(@chain_0)
// CHECK-NEXT:          }
// CHECK-NEXT:        }
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:  }
module @sections {
  aie.device(npu2) {
    memref.global "private" constant @data : memref<1xi32> = dense<1>
    aie.runtime_sequence @go(%a: memref<8xi32>) {
      aiex.configure @other {
        aiex.run @work(%a) : (memref<8xi32>)
      }
      aiex.npu.load_pdi {device_ref = @other}
    }
  }
  aie.device(npu2) @other {
    memref.global "private" constant @data : memref<1xi32> = dense<2>
    aie.runtime_sequence @configure() {
      %data = memref.get_global @data : memref<1xi32>
      aiex.npu.blockwrite(%data) {address = 16 : ui32} : memref<1xi32>
    }
    aie.runtime_sequence @work(%a: memref<8xi32>) {
      %address = arith.constant 32 : i32
      %value = arith.constant 3 : i32
      aiex.npu.write32(%address, %value) : i32, i32
    }
  }
}
