// RUN: tilewright opt --split-input-file --convert-aie-to-transaction %s | filecheck %s

// A core is reset and its 16 locks are cleared before anything is set; it starts when everything is set. Registers are
// absolute: row 2 of column 0 begins at 0x200000. Core control is at 0x32000 (enable bit 0, reset bit 1), lock n at
// 0x1F000 + 16 n.
// CHECK-LABEL: aie.runtime_sequence @configure() {
// CHECK-NEXT:    %[[CONTROL:.+]] = arith.constant 2301952 : i32
// CHECK-NEXT:    %[[SET:.+]] = arith.constant 2 : i32
// CHECK-NEXT:    %[[MASK:.+]] = arith.constant 2 : i32
// CHECK-NEXT:    aiex.npu.maskwrite32(%[[CONTROL]], %[[SET]], %[[MASK]]) : i32, i32, i32
// CHECK-NEXT:    arith.constant 2301952 : i32
// CHECK-NEXT:    arith.constant 0 : i32
// CHECK-NEXT:    arith.constant 2 : i32
// CHECK-NEXT:    aiex.npu.maskwrite32
// CHECK-COUNT-16: aiex.npu.write32
// CHECK:         %[[LOCK:.+]] = arith.constant 2224176 : i32
// CHECK-NEXT:    %[[INIT:.+]] = arith.constant 5 : i32
// CHECK-NEXT:    aiex.npu.write32(%[[LOCK]], %[[INIT]]) : i32, i32
// CHECK-NEXT:    arith.constant 2301952 : i32
// CHECK-NEXT:    %[[ON:.+]] = arith.constant 1 : i32
// CHECK-NEXT:    %[[ENABLE:.+]] = arith.constant 1 : i32
// CHECK-NEXT:    aiex.npu.maskwrite32(%{{.+}}, %[[ON]], %[[ENABLE]])
// CHECK-NEXT:  }
aie.device(npu1_1col) {
  %core = aie.tile(0, 2)
  %lock = aie.lock(%core, 3) {init = 5 : i32}
  %unset = aie.lock(%core, 4)
  aie.core(%core) { aie.end }
}

// -----

// Initial values are bytes in data memory. Block writes to neighbouring words are one; what is no whole word is written
// under a mask.
// CHECK-LABEL: aie.device(npu2_1col)
// CHECK-NEXT:    memref.global "private" constant @config_blockwrite_data_0 : memref<3xi32> = dense<[131073, 262147, 67305985]>
// CHECK-NEXT:    aie.runtime_sequence @configure() {
// CHECK-NEXT:      %[[DATA:.+]] = memref.get_global @config_blockwrite_data_0 : memref<3xi32>
// CHECK-NEXT:      aiex.npu.blockwrite(%[[DATA]]) {address = 1049600 : ui32} : memref<3xi32>
// CHECK-NEXT:      arith.constant 1049612 : i32
// CHECK-NEXT:      arith.constant 1541 : i32
// CHECK-NEXT:      arith.constant 65535 : i32
// CHECK-NEXT:      aiex.npu.maskwrite32
aie.device(npu2_1col) {
  %mem = aie.tile(0, 1)
  %a = aie.buffer(%mem) {address = 1024 : i32} : memref<4xi16> = dense<[1, 2, 3, 4]>
  %b = aie.buffer(%mem) {address = 1032 : i32} : memref<6xi8> = dense<[1, 2, 3, 4, 5, 6]>
}

// -----

// Descriptors come first, then the channels that run them. A core tile's BD 3 is at 0x1D060, its first word is address
// and length in words: (1024 + 4 * 8) / 4 << 14 | 32. A channel takes the first descriptor and its runs less one.
// CHECK-LABEL: aie.device(npu1_1col)
// CHECK:         @config_blockwrite_data_0 : memref<6xi32> = dense<[4325408, 1077542912, 122880, 8454144, 0, 503594976]>
// CHECK:         aiex.npu.blockwrite(%{{.+}}) {address = 2216032 : ui32} : memref<6xi32>
// CHECK-NEXT:    arith.constant 2219524 : i32
// CHECK-NEXT:    arith.constant 262147 : i32
// CHECK-NEXT:    aiex.npu.write32
// CHECK-NEXT:    arith.constant 2219520 : i32
// CHECK-NEXT:    arith.constant 1 : i32
// CHECK-NEXT:    aiex.npu.write32
aie.device(npu1_1col) {
  %core = aie.tile(0, 2)
  %b = aie.buffer(%core) {address = 1024 : i32} : memref<64xi32>
  %free = aie.lock(%core, 0)
  %full = aie.lock(%core, 1)
  aie.mem(%core) {
    %c1 = arith.constant 1 : i32
    %0 = aie.dma_start(S2MM, 0, ^bd, ^end, repeat_count = 4)
  ^bd:
    aie.use_lock(%free, AcquireGreaterEqual, %c1)
    aie.dma_bd(%b : memref<64xi32> offset = 8 len = 32 sizes = [4, 8] strides = [16, 1]) {bd_id = 3 : i32, next_bd_id = 3 : i32, packet = #aie.packet_info<pkt_type = 2, pkt_id = 7>}
    aie.use_lock(%full, Release, %c1)
    aie.next_bd ^bd
  ^end:
    aie.end
  }
}

// -----

// A mem tile's DMA sees its own memory after its west neighbour's, 0x80000 bytes up, and its own locks from 64 on; a
// channel that pads with something else than 0 says so before it starts.
// CHECK-LABEL: aie.device(npu2_2col)
// CHECK:         @config_blockwrite_data_0 : memref<8xi32> = dense<[4, 131072, 0, 0, 0, 0, 0, -2147483648]>
// CHECK:         @config_blockwrite_data_1 : memref<16xi32> = dense<[4, 131072, 0, 0, 0, 0, 0, -2126479040, 4, 262208, 0, 0, 0, 0, 0, -2147483648]>
// CHECK:         aiex.npu.blockwrite(%{{.+}}) {address = 1704704 : ui32} : memref<8xi32>
// CHECK:         aiex.npu.blockwrite(%{{.+}}) {address = 1703936 : ui32} : memref<16xi32>
// CHECK-NEXT:    arith.constant 1705700 : i32
// CHECK-NEXT:    arith.constant 7 : i32
// CHECK-NEXT:    aiex.npu.write32
aie.device(npu2_2col) {
  %mem = aie.tile(0, 1)
  %east = aie.tile(1, 1)
  %b = aie.buffer(%mem) {address = 0 : i32} : memref<4xi32>
  %c = aie.buffer(%east) {address = 256 : i32} : memref<4xi32>
  %lock = aie.lock(%mem, 0)
  aie.memtile_dma(%mem) {
    %c1 = arith.constant 1 : i32
    %0 = aie.dma_start(MM2S, 1, ^padded, ^more) {pad_value = 7 : i32}
  ^padded:
    aie.dma_bd(%b : memref<4xi32>) {bd_id = 24 : i32}
    aie.next_bd ^end
  ^more:
    %1 = aie.dma_start(MM2S, 0, ^bd, ^end)
  ^bd:
    aie.use_lock(%lock, Acquire, %c1)
    aie.dma_bd(%b : memref<4xi32>) {bd_id = 0 : i32}
    aie.use_lock(%lock, Release, %c1)
    aie.next_bd ^next
  ^next:
    aie.dma_bd(%c : memref<4xi32>) {bd_id = 1 : i32}
    aie.next_bd ^end
  ^end:
    aie.end
  }
}

// -----

// A shim's descriptor holds a host address of 48 bits and a burst length (128 bytes is 1), its S2MM channels give a
// token when a task is done.
// CHECK-LABEL: aie.device(npu1)
// CHECK:         @config_blockwrite_data_0 : memref<8xi32> = dense<[64, 878082204, 18, 0, 1073741824, 0, 0, 33554432]>
// CHECK:         aiex.npu.blockwrite(%{{.+}}) {address = 33673280 : ui32} : memref<8xi32>
// CHECK-NEXT:    arith.constant 33673740 : i32
// CHECK-NEXT:    arith.constant -2147483646 : i32
// CHECK-NEXT:    aiex.npu.write32
aie.device(npu1) {
  %shim = aie.tile(1, 0)
  %host = aie.external_buffer {address = 0x123456789C : i64} : memref<64xi32>
  aie.shim_dma(%shim) {
    %0 = aie.dma_start(S2MM, 1, ^bd, ^end)
  ^bd:
    aie.dma_bd(%host : memref<64xi32>) {bd_id = 2 : i32, burst_length = 128 : i32}
    aie.next_bd ^end
  ^end:
    aie.end
  }
}

// -----

// A circuit names its slave in its master: DMA 0 is master 1, South 1 is slave 6. A master of packets names an arbiter
// (bits 2:0) and msels (a bit each from 3 on) and drops the header (bit 7) if it leads to a DMA; a rule has a slot of
// its port.
// CHECK-LABEL: aie.device(npu1_1col)
// CHECK:         arith.constant 2355204 : i32
// CHECK-NEXT:    arith.constant -2147483642 : i32
// CHECK-NEXT:    aiex.npu.write32
// CHECK-NEXT:    arith.constant 2355480 : i32
// CHECK-NEXT:    arith.constant -2147483648 : i32
// CHECK-NEXT:    aiex.npu.write32
// CHECK-NEXT:    arith.constant 2355228 : i32
// CHECK-NEXT:    arith.constant -1073741791 : i32
// CHECK-NEXT:    aiex.npu.write32
// CHECK-NEXT:    arith.constant 2355208 : i32
// CHECK-NEXT:    arith.constant -1073741599 : i32
// CHECK-NEXT:    aiex.npu.write32
// CHECK-NEXT:    arith.constant 2355520 : i32
// CHECK-NEXT:    arith.constant -1073741824 : i32
// CHECK-NEXT:    aiex.npu.write32
// CHECK-NEXT:    arith.constant 2355968 : i32
// CHECK-NEXT:    arith.constant 69140769 : i32
// CHECK-NEXT:    aiex.npu.write32
aie.device(npu1_1col) {
  %core = aie.tile(0, 2)
  aie.switchbox(%core) {
    %a = aie.amsel<1>(2)
    %b = aie.amsel<1>(3)
    %south = aie.masterset(South : 2, %a)
    %dma = aie.masterset(DMA : 1, %a, %b)
    aie.packet_rules(North : 1) { aie.rule(31, 4, %a) }
    aie.connect<South : 1, DMA : 0>
  }
}

// -----

// Below a shim's switch each South port has two bits: 1 for the DMA. A cascade names two sides: west is 1.
// CHECK-LABEL: aie.device(npu1)
// CHECK:         arith.constant 126976 : i32
// CHECK-NEXT:    arith.constant 16384 : i32
// CHECK-NEXT:    arith.constant 49152 : i32
// CHECK-NEXT:    aiex.npu.maskwrite32
// CHECK-NEXT:    arith.constant 126980 : i32
// CHECK-NEXT:    arith.constant 16 : i32
// CHECK-NEXT:    arith.constant 48 : i32
// CHECK-NEXT:    aiex.npu.maskwrite32
// CHECK-NEXT:    arith.constant 35872864 : i32
// CHECK-NEXT:    arith.constant 1 : i32
// CHECK-NEXT:    aiex.npu.write32
aie.device(npu1) {
  %shim = aie.tile(0, 0)
  %core = aie.tile(1, 2)
  aie.shim_mux(%shim) {
    aie.connect<DMA : 1, North : 7>
    aie.connect<North : 2, DMA : 0>
  }
  aie.configure_cascade(%core, West, South)
}

// -----

// The configuration takes the place of the first aiex.configure, before what that holds.
// CHECK-LABEL: aie.runtime_sequence @main_sequence
// CHECK-NEXT:    arith.constant 2355204 : i32
// CHECK-NEXT:    arith.constant -2147483643 : i32
// CHECK-NEXT:    aiex.npu.write32
// CHECK-NEXT:    arith.constant 2355476 : i32
// CHECK-NEXT:    arith.constant -2147483648 : i32
// CHECK-NEXT:    aiex.npu.write32
// CHECK-NEXT:    aiex.npu.preempt {level = 1 : ui8}
// CHECK-NOT:     aiex.configure
aie.device(npu2_1col) @itself {
  %core = aie.tile(0, 2)
  aie.switchbox(%core) { aie.connect<South : 0, DMA : 0> }
  aie.runtime_sequence @main_sequence() {
    aiex.configure @itself { aiex.npu.preempt {level = 1 : ui8} }
  }
}

// -----

// Elements of two bytes: an innermost dimension counts words, one of single elements is part of the one around it.
// 8 rows of 16 elements, 32 apart, are 8 rows of 8 words, 16 apart.
// CHECK-LABEL: aie.device(npu1_1col)
// CHECK:         memref<6xi32> = dense<[64, 0, 122880, 16842752, 0, 33554432]>
// CHECK:         memref<6xi32> = dense<[8, 0, 0, 65536, 0, 33554432]>
aie.device(npu1_1col) {
  %core = aie.tile(0, 2)
  %b = aie.buffer(%core) {address = 0 : i32} : memref<256xbf16>
  aie.mem(%core) {
    %0 = aie.dma_start(S2MM, 0, ^rows, ^end)
  ^rows:
    aie.dma_bd(%b : memref<256xbf16> offset = 0 len = 128 sizes = [8, 16] strides = [32, 1]) {bd_id = 0 : i32}
    aie.next_bd ^single
  ^single:
    aie.dma_bd(%b : memref<256xbf16> offset = 0 len = 16 sizes = [16, 1] strides = [1, 1]) {bd_id = 1 : i32}
    aie.next_bd ^end
  ^end:
    aie.end
  }
}

// -----

// Where a size does not fit, consecutive words are moved without dimensions, and an outermost dimension does not wrap:
// both end with the transfer.
// CHECK-LABEL: aie.device(npu1_1col)
// CHECK:         memref<6xi32> = dense<[1024, 0, 0, 0, 0, 33554432]>
// CHECK:         memref<6xi32> = dense<[512, 0, 1, 0, 0, 33554432]>
aie.device(npu1_1col) {
  %core = aie.tile(0, 2)
  %b = aie.buffer(%core) {address = 0 : i32} : memref<1024xi32>
  aie.mem(%core) {
    %0 = aie.dma_start(S2MM, 0, ^all, ^end)
  ^all:
    aie.dma_bd(%b : memref<1024xi32> offset = 0 len = 1024 sizes = [2, 512] strides = [512, 1]) {bd_id = 0 : i32}
    aie.next_bd ^even
  ^even:
    aie.dma_bd(%b : memref<1024xi32> offset = 0 len = 512 sizes = [512] strides = [2]) {bd_id = 2 : i32}
    aie.next_bd ^end
  ^end:
    aie.end
  }
}
