// RUN: tilewright opt --split-input-file --aie-dma-to-npu %s | filecheck %s

// A transfer becomes the eight words of a descriptor, the patch of its address, and a push onto the channel's queue.
// 0x60 words in runs of 8 by 4 by 3; the iteration is not part of the length.
// CHECK:      memref.global "private" constant @blockwrite_data_0 : memref<8xi32> = dense<[96, 0, 0, 8388608, -2143289329, 33554527, 1049087, 33554432]>
// CHECK-NEXT: aie.runtime_sequence @strided
// CHECK-NEXT: %[[WORDS:.+]] = memref.get_global @blockwrite_data_0 : memref<8xi32>
// CHECK-NEXT: aiex.npu.blockwrite(%[[WORDS]]) {address = 118944 : ui32} : memref<8xi32>
// CHECK-NEXT: %[[OFFSET:.+]] = arith.constant 64 : i32
// CHECK-NEXT: aiex.npu.address_patch(%[[OFFSET]] : i32) {addr = 118948 : ui32, arg_idx = 1 : i32}
// CHECK:      %[[TASK:.+]] = arith.constant 65541 : i32
// CHECK:      %[[QUEUE:.+]] = arith.constant 119316 : i32
// CHECK-NEXT: aiex.npu.write32(%[[QUEUE]], %[[TASK]]) : i32, i32
// CHECK-NEXT: }
aie.device(npu1) {
  %shim = aie.tile(0, 0)
  aie.shim_dma_allocation @in(%shim, MM2S, 0)
  aie.runtime_sequence @strided(%n: i32, %a: memref<4096xi32>) {
    aiex.npu.dma_memcpy_nd(%a[0, 0, 1, 0][2, 3, 4, 8][512, 96, 16, 1]) {id = 5 : i64, metadata = @in} : memref<4096xi32>
  }
}

// -----

// A contiguous transfer needs no wraps. Equal descriptors share their words, S2MM channels always issue a token, and
// tokens carry the tile's controller id.
// CHECK-COUNT-1: memref.global "private" constant @blockwrite_data_0 : memref<8xi32> = dense<[32, 0, 0, 0, -2147483648, 33554432, 0, 33554432]>
// CHECK-NOT:  memref.global
// CHECK-LABEL: @contiguous
// CHECK:      aiex.npu.blockwrite
// CHECK:      %[[CONTROL:.+]] = arith.constant 119296 : i32
// CHECK-NEXT: %[[ID:.+]] = arith.constant 3840 : i32
// CHECK-NEXT: %[[MASK:.+]] = arith.constant 7936 : i32
// CHECK-NEXT: aiex.npu.maskwrite32(%[[CONTROL]], %[[ID]], %[[MASK]]) : i32, i32, i32
// CHECK-NEXT: %[[TASK:.+]] = arith.constant -2147483648 : i32
// CHECK-NEXT: %[[QUEUE:.+]] = arith.constant 119300 : i32
// CHECK-NEXT: aiex.npu.write32(%[[QUEUE]], %[[TASK]]) : i32, i32
// CHECK:      aiex.npu.blockwrite
// CHECK:      aiex.npu.sync(
aie.device(npu1) {
  %shim = aie.tile(0, 0) {controller_id = #aie.packet_info<pkt_type = 0, pkt_id = 15>}
  aie.shim_dma_allocation @out(%shim, S2MM, 0)
  aie.runtime_sequence @contiguous(%a: memref<32xi32>) {
    aiex.npu.dma_memcpy_nd(%a[0, 0, 0, 0][1, 1, 4, 8][0, 0, 8, 1]) {id = 0 : i64, metadata = @out} : memref<32xi32>
    aiex.npu.dma_memcpy_nd(%a[0, 0, 0, 0][1, 1, 1, 32][0, 0, 0, 1]) {id = 1 : i64, metadata = @out} : memref<32xi32>
    aiex.npu.dma_wait {symbol = @out}
  }
}

// -----

// With a runtime size, the words that it is part of are computed and written over a template, and the generated code
// checks that it fits.
// CHECK:      = dense<[0, 0, 0, 0, -2147483648, 33554432, 0, 33554432]>
// CHECK-LABEL: @runtime_size
// CHECK:      aiex.npu.blockwrite
// CHECK:      %[[SIZE:.+]] = arith.trunci %arg1 : i64 to i32
// CHECK:      aiex.npu.assert_bd_field(%[[SIZE]]) {max = 1023 : i32} : i32
// CHECK:      aiex.npu.write32(%c118784_i32{{[_0-9]*}}, %{{.+}}) : i32, i32
// CHECK:      aiex.npu.write32(%c118796_i32{{[_0-9]*}}, %{{.+}}) : i32, i32
// CHECK:      aiex.npu.write32(%c118800_i32{{[_0-9]*}}, %{{.+}}) : i32, i32
// CHECK:      aiex.npu.write32(%c118804_i32{{[_0-9]*}}, %{{.+}}) : i32, i32
// CHECK:      aiex.npu.write32(%c118808_i32{{[_0-9]*}}, %{{.+}}) : i32, i32
// CHECK:      aiex.npu.address_patch
aie.device(npu1) {
  %shim = aie.tile(0, 0)
  aie.shim_dma_allocation @in(%shim, MM2S, 0)
  aie.runtime_sequence @runtime_size(%a: memref<4096xi32>, %n: i64) {
    aiex.npu.dma_memcpy_nd(%a[0, 0, 0, 0][1, 1, %n, 8][0, 0, 16, 1]) {id = 0 : i64, metadata = @in} : memref<4096xi32>
  }
}

// -----

// Writes that are relative to a buffer become absolute; a runtime parameter is one on the buffer's tile.
// CHECK-LABEL: @buffers
// CHECK:      %[[PARAMETER:.+]] = arith.constant 1036 : i32
// CHECK-NEXT: aiex.npu.write32(%[[PARAMETER]], %arg0) {column = 1 : i32, row = 2 : i32} : i32, i32
// CHECK:      %[[ABSOLUTE:.+]] = arith.constant 35652616 : i32
// CHECK-NEXT: aiex.npu.write32(%[[ABSOLUTE]], %arg0) : i32, i32
aie.device(npu1) {
  %tile = aie.tile(1, 2)
  %rtp = aie.buffer(%tile) {address = 1024 : i32, sym_name = "rtp"} : memref<16xi32>
  aie.runtime_sequence @buffers(%v: i32) {
    aiex.npu.rtp_write(@rtp, 3, %v) : i32
    %two = arith.constant 2 : i32
    aiex.npu.write32(%two, %v) {buffer = @rtp} : i32, i32
  }
}
