// RUN: tilewright opt --tilewright-guard-instructions --aie-dma-to-npu=guards=full --canonicalize --cse %s | filecheck %s
// RUN: tilewright opt --aie-dma-to-npu --canonicalize --cse %s | filecheck %s --check-prefix=CUT

// Fields of instructions that are known only at run time: checked, if that is asked for, and put into their words.

aie.device(npu1) {
  %core = aie.tile(0, 2)
  %shim = aie.tile(1, 0) {controller_id = #aie.packet_info<pkt_type = 0, pkt_id = 7>}
  %rtp = aie.buffer(%core) {address = 1024 : i32, sym_name = "rtp"} : memref<16xi32>

  // A descriptor is a template and the words that values are part of.
  // CHECK-LABEL: @descriptor
  // CHECK:      aiex.npu.assert_range(%arg0) {max = 4294967295 : i64, min = 0 : i64, subject = "buffer_length"} : i64
  // CHECK-NEXT: aiex.npu.assert_range(%arg1) {max = 1023 : i64, min = 0 : i64, subject = "d0_size"} : i32
  // CHECK:      aiex.npu.blockwrite({{.+}}) {address = 118784 : ui32} : memref<8xi32>
  // CHECK:      aiex.npu.write32(%c118784_i32, {{.+}}) : i32, i32
  // CHECK:      aiex.npu.write32(%c118796_i32, {{.+}}) : i32, i32
  aie.runtime_sequence @descriptor(%n: i64, %s: i32) {
    aiex.npu.writebd values(buffer_length = %n : i64, d0_size = %s : i32) {valid_bd = 1 : i32}
  }

  // On a tile, or of a number, that is not known no block write can be: every word is a write of its own.
  // CHECK-LABEL: @column
  // CHECK:      aiex.npu.assert_range(%arg1) {max = 3 : i64, min = 0 : i64, subject = "column"} : i32
  // CHECK-NEXT: %[[COLUMN:.+]] = arith.muli %arg1, %c33554432_i32 : i32
  // CHECK-NEXT: aiex.npu.assert_range(%arg0) {max = 15 : i64, min = 0 : i64, subject = "number of the buffer descriptor"} : i32
  // CHECK-NEXT: %[[OFFSET:.+]] = arith.muli %arg0, %c32_i32 : i32
  // CHECK-NEXT: %[[IN_TILE:.+]] = arith.addi %[[OFFSET]], %c118784_i32 : i32
  // CHECK-NEXT: %[[BASE:.+]] = arith.addi %[[IN_TILE]], %[[COLUMN]] : i32
  // CHECK-NEXT: aiex.npu.write32(%[[BASE]], %c64_i32) : i32, i32
  // CHECK-COUNT-7: aiex.npu.write32
  aie.runtime_sequence @column(%n: i32, %c: i32) {
    aiex.npu.writebd values(column = %c : i32, bd_id = %n : i32) {buffer_length = 64 : i32, valid_bd = 1 : i32}
  }

  // A token carries the id of the tile that it turns out to be.
  // CHECK-LABEL: @push
  // CHECK:      aiex.npu.assert_range(%arg0) {max = 1 : i64, min = 0 : i64, subject = "MM2S channel"} : i32
  // CHECK:      %[[IS_IT:.+]] = arith.cmpi eq, {{.+}}, %c1_i64 : i64
  // CHECK:      scf.if %[[IS_IT]] {
  // CHECK-NEXT: aiex.npu.maskwrite32({{.+}}, %c1792_i32, %c7936_i32) : i32, i32, i32
  // CHECK-NEXT: }
  // CHECK:      aiex.npu.write32
  // Without checks, values are cut to their fields.
  // CUT-LABEL: @push
  // CUT-NOT:   assert
  // CUT:       arith.andi %arg0, %c15_i32 : i32
  aie.runtime_sequence @push(%n: i32, %c: i32) {
    aiex.npu.push_queue(%c, 0, MM2S : %n) bd_id %n repeat %n {issue_token = true} : i32, i32, i32, i32
  }

  // The row decides on the kind of tile, and so on what its queue looks like and which descriptors there are.
  // CHECK-LABEL: @row
  // CHECK:      aiex.npu.assert_range(%arg0) {max = 5 : i64, min = 0 : i64, subject = "row"} : i32
  // CHECK-NEXT: %[[SHIM:.+]] = arith.cmpi eq, %arg0, %c0_i32 : i32
  // CHECK-NEXT: scf.if %[[SHIM]] {
  // CHECK:      max = 15 : i64, min = 0 : i64, subject = "number of the buffer descriptor"
  // CHECK:      %[[MEM:.+]] = arith.cmpi eq, %arg0, %c1_i32 : i32
  // CHECK-NEXT: scf.if %[[MEM]] {
  // CHECK:      max = 23 : i64, min = 0 : i64, subject = "number of the buffer descriptor"
  // CHECK:      %[[CORE:.+]] = arith.cmpi uge, %arg0, %c2_i32 : i32
  // CHECK-NEXT: scf.if %[[CORE]] {
  // CHECK:      max = 15 : i64, min = 0 : i64, subject = "number of the buffer descriptor"
  aie.runtime_sequence @row(%r: i32, %v: i32) {
    aiex.npu.push_queue(0, %r, S2MM : 0) bd_id %v repeat %v {issue_token = false} : i32, i32, i32
  }

  // Only mem tiles pad: rows of other tiles are refused when they are meant.
  // CHECK-LABEL: @padded
  // CHECK:      subject = "row (d0_zero_before is 1, but a descriptor of this tile has no such field)"
  aie.runtime_sequence @padded(%r: i32) {
    aiex.npu.writebd values(row = %r : i32) {buffer_length = 64 : i32, valid_bd = 1 : i32, d0_zero_before = 1 : i32}
  }

  // CHECK-LABEL: @index
  // CHECK:      aiex.npu.assert_range(%arg0) {max = 15 : i64, min = 0 : i64, subject = "index of a word in 'rtp'"} : index
  // CHECK-NEXT: %[[INDEX:.+]] = arith.index_cast %arg0 : index to i32
  // CHECK-NEXT: %[[BYTES:.+]] = arith.muli %[[INDEX]], %c4_i32 : i32
  // CHECK-NEXT: %[[ADDRESS:.+]] = arith.addi %[[BYTES]], %c1024_i32 : i32
  // CHECK-NEXT: %[[IN_TILE:.+]] = arith.andi %[[ADDRESS]], %c1048575_i32 : i32
  // CHECK-NEXT: %[[REGISTER:.+]] = arith.addi %[[IN_TILE]], %c2097152_i32 : i32
  // CHECK-NEXT: aiex.npu.write32(%[[REGISTER]], %arg1) : i32, i32
  aie.runtime_sequence @index(%n: index, %v: i32) {
    aiex.npu.write32(%n, %v) {buffer = @rtp} : index, i32
  }

  // A value of fewer bits has no sign; of a wider one 32 bits must be enough.
  // CHECK-LABEL: @widths
  // CHECK:      aiex.npu.assert_range(%arg1) {max = 4294967295 : i64, min = -2147483648 : i64, subject = "value"} : i64
  // CHECK-NEXT: %[[BYTE:.+]] = arith.extui %arg0 : i8 to i32
  // CHECK-NEXT: %[[WORD:.+]] = arith.trunci %arg1 : i64 to i32
  // CHECK:      aiex.npu.write32(%[[BYTE]], %[[WORD]]) : i32, i32
  aie.runtime_sequence @widths(%a: i8, %v: i64) {
    aiex.npu.write32(%a, %v) : i8, i64
  }
}
