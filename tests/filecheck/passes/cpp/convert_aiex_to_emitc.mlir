// RUN: tilewright opt --split-input-file --convert-aiex-to-emitc=upstream-text %s | filecheck %s
// RUN: tilewright opt --split-input-file --convert-aiex-to-emitc %s | filecheck --check-prefix=TWICE %s
// A runtime sequence becomes a function that appends its operations to a vector. Scalar arguments are parameters, in
// order; host buffers are none.

// CHECK:      emitc.include "aie/Runtime/TxnEncoding.h"
// CHECK-NEXT: emitc.include <"cstdint">
// CHECK-NEXT: emitc.include <"vector">
// CHECK-NEXT: emitc.include <"optional">
// CHECK-NEXT: emitc.include <"utility">
// CHECK-LABEL: emitc.func @generate_txn_main_registers(%arg0: i32, %arg1: !emitc.size_t)
// CHECK-SAME:  -> !emitc.opaque<"std::optional<std::vector<uint32_t>>"> attributes {specifiers = ["inline"]} {
// CHECK-NEXT: verbatim "(void){};" args %arg1 : !emitc.size_t
// CHECK-NEXT: verbatim "std::vector<uint32_t> txn;"
// CHECK-NEXT: %[[TXN:.+]] = literal "txn" : !emitc.opaque<"std::vector<uint32_t>">
// CHECK-NEXT: call_opaque "aie_runtime::txn_init"(%[[TXN]])
// An address is known before the device goes: that of tile (2, 3) and offset 0x20.
// CHECK-NEXT: %[[ADDRESS:.+]] = "emitc.constant"() <{value = #emitc.opaque<"70254624u">}> : () -> !emitc.opaque<"uint32_t">
// CHECK-NEXT: call_opaque "aie_runtime::txn_append_write32"(%[[TXN]], %[[ADDRESS]], %arg0)
// Words 3 of the buffer at 0x400 of tile (0, 2).
// CHECK:      %[[ADDRESS:.+]] = "emitc.constant"() <{value = #emitc.opaque<"2098188u">}>
// CHECK-NEXT: call_opaque "aie_runtime::txn_append_maskwrite32"(%[[TXN]], %[[ADDRESS]], %arg0, %{{.+}})
// CHECK:      verbatim "aie_runtime::txn_prepend_header(txn, 2u, {0, 1, 3, 6, 4, 1});"
// CHECK-NEXT: %[[RESULT:.+]] = literal "std::move(txn)"
// CHECK-NEXT: return %[[RESULT]]

// Where the header is ours the code runs twice, so that the vector is allocated once; mlir-aie's header has no such thing.
// TWICE:      emitc.verbatim "{{.}}ifndef AIE_GENERATE_TXN_MAIN_REGISTERS_H"
// TWICE-NEXT: emitc.verbatim "{{.}}define AIE_GENERATE_TXN_MAIN_REGISTERS_H"
// TWICE-NEXT: emitc.include "aie/Runtime/TxnEncoding.h"
// TWICE:      call_opaque "aie_runtime::txn_init"
// TWICE-NEXT: verbatim "{{.}}ifdef AIE_RUNTIME_TXN_FILL"
// TWICE-NEXT: verbatim "const auto append = {{.+}}(auto &txn) -> std::optional<bool> {{.+}}"
// TWICE-NEXT: verbatim "{{.}}endif"
// TWICE:      verbatim "aie_runtime::txn_prepend_header(txn, 2u, {0, 1, 3, 6, 4, 1});"
// TWICE-NEXT: verbatim "{{.}}ifdef AIE_RUNTIME_TXN_FILL"
// TWICE-NEXT: verbatim "return true;"
// TWICE-NEXT: verbatim "};"
// TWICE-NEXT: verbatim "if (!aie_runtime::txn_fill(txn, append)) return std::nullopt;"
// TWICE-NEXT: verbatim "{{.}}endif"
// TWICE-NEXT: literal "std::move(txn)"
// TWICE:      emitc.verbatim "{{.}}endif // AIE_GENERATE_TXN_MAIN_REGISTERS_H"
aie.device(npu1) {
  %tile = aie.tile(0, 2)
  %rtp = aie.buffer(%tile) {address = 1024 : i32, sym_name = "rtp"} : memref<16xi32>
  aie.runtime_sequence @registers(%in: memref<8xi32>, %value: i32, %out: memref<8xi32>, %unused: index) {
    %offset = arith.constant 32 : i32
    aiex.npu.write32(%offset, %value) {column = 2 : i32, row = 3 : i32} : i32, i32
    %index = arith.constant 3 : i32
    %mask = arith.constant 255 : i32
    aiex.npu.maskwrite32(%index, %value, %mask) {buffer = @rtp} : i32, i32, i32
  }
}

// -----

// The data of a block write is an array.
// CHECK-LABEL: emitc.func @generate_txn_main_block
// CHECK:      %[[DATA:.+]] = "emitc.variable"() <{value = #emitc.opaque<"{0x00000001u, 0xffffffffu}">}> : () -> !emitc.array<2x!emitc.opaque<"uint32_t">>
// CHECK-NEXT: %[[COUNT:.+]] = "emitc.constant"() <{value = #emitc.opaque<"2u">}>
// CHECK-NEXT: %[[COLUMN:.+]] = "emitc.constant"() <{value = #emitc.opaque<"1u">}>
// CHECK-NEXT: %[[ROW:.+]] = "emitc.constant"() <{value = #emitc.opaque<"0u">}>
// CHECK-NEXT: call_opaque "aie_runtime::txn_append_blockwrite"(%{{.+}}, %{{.+}}, %[[DATA]], %[[COUNT]], %[[COLUMN]], %[[ROW]])
aie.device(npu1) {
  memref.global "private" constant @data : memref<2xi32> = dense<[1, -1]>
  aie.runtime_sequence @block(%in: memref<8xi32>) {
    %data = memref.get_global @data : memref<2xi32>
    aiex.npu.blockwrite(%data) {address = 4096 : ui32, column = 1 : i32, row = 0 : i32} : memref<2xi32>
  }
}

// -----

// What upstream's C++ cannot say: instructions to the firmware, and the translation of host addresses after the fifth.
// CHECK-LABEL: emitc.func @generate_txn_main_firmware
// CHECK:      call_opaque "aie_runtime::txn_append_loadpdi"
// CHECK:      call_opaque "aie_runtime::txn_append_preempt"
// CHECK:      call_opaque "aie_runtime::txn_append_create_scratchpad"
// CHECK:      call_opaque "aie_runtime::txn_append_update_reg"
// CHECK:      %[[WORD:.+]] = cast %arg0 : i32 to ui32
// CHECK-NEXT: %[[APERTURE:.+]] = "emitc.constant"() <{value = 2147483648 : ui32}> : () -> ui32
// CHECK-NEXT: %[[SUM:.+]] = add %[[WORD]], %[[APERTURE]] : (ui32, ui32) -> ui32
// CHECK-NEXT: call_opaque "aie_runtime::txn_append_address_patch"(%{{.+}}, %{{.+}}, %{{.+}}, %[[SUM]])
// CHECK:      verbatim "aie_runtime::txn_prepend_header(txn, 5u, {0, 1, 4, 6, 8, 1});"
aie.device(npu2) {
  aie.runtime_sequence @firmware(%in: memref<8xi32>, %offset: i32) {
    aiex.npu.load_pdi {address = 4096 : ui64, id = 2 : i32, size = 64 : i32}
    aiex.npu.preempt {level = 1 : ui8}
    aiex.npu.create_scratchpad {size = 16 : ui32}
    aiex.npu.update_from_scratchpad {address = 119300 : ui32, state_table_idx = 1 : ui8}
    aiex.npu.address_patch(%offset : i32) {addr = 118788 : ui32, arg_idx = 5 : i32}
  }
}

// -----

// Checks leave the function. A negative number is as bad as one that is too large.
// CHECK-LABEL: emitc.func @generate_txn_main_checks
// CHECK:      verbatim "if ({} > 1023) return std::nullopt;" args %arg0 : i32
// CHECK-NEXT: verbatim "if ({} < 0) return std::nullopt;" args %arg0 : i32
// CHECK-NEXT: verbatim "if ({} % 4 != 0) return std::nullopt;" args %arg0 : i32
// CHECK-NEXT: verbatim "if ({} != 1 && {} % 2 != 0) return std::nullopt;" args %arg0, %arg0 : i32, i32
// CHECK-NEXT: verbatim "if ({} < 1 || {} > 64) return std::nullopt;" args %arg1, %arg1 : i64, i64
aie.device(npu2) {
  aie.runtime_sequence @checks(%size: i32, %length: i64) {
    aiex.npu.assert_bd_field(%size) {max = 1023 : i32} : i32
    aiex.npu.assert_bd_divisible(%size) {divisor = 4 : i32} : i32
    aiex.npu.assert_bd_divisible(%size) {allow_unit, divisor = 2 : i32} : i32
    aiex.npu.assert_range(%length) {min = 1 : i64, max = 64 : i64} : i64
  }
}

// -----

// A pool for each tile that descriptors are drawn from. The odd channels of a mem tile reach the upper half only.
// CHECK-LABEL: emitc.func @generate_txn_main_pool
// CHECK:      verbatim "aie_runtime::BdPool bd_pool_0_0 = aie_runtime::bd_pool_init(16);"
// CHECK-NEXT: verbatim "aie_runtime::BdPool bd_pool_0_1_from_24 = aie_runtime::bd_pool_init(24, 24);"
// CHECK-NEXT: verbatim "uint32_t bd_0; if (!aie_runtime::bd_pool_pop(bd_pool_0_0, bd_0)) return std::nullopt;"
// CHECK-NEXT: %[[TAKEN:.+]] = literal "bd_0" : ui32
// CHECK-NEXT: %[[ID:.+]] = cast %[[TAKEN]] : ui32 to i32
// CHECK-NEXT: verbatim "uint32_t bd_1; if (!aie_runtime::bd_pool_pop(bd_pool_0_1_from_24, bd_1)) return std::nullopt;"
// CHECK-NEXT: verbatim "if (bd_pool_0_0.head >= 16) return std::nullopt;"
// CHECK-NEXT: %[[POOL:.+]] = literal "bd_pool_0_0"
// CHECK-NEXT: call_opaque "aie_runtime::bd_pool_push"(%[[POOL]], %[[ID]])
aie.device(npu2) {
  aie.runtime_sequence @pool() {
    %shim = aiex.dma_bd_pool_pop(0, 0) : i32
    %mem = aiex.dma_bd_pool_pop(0, 1) {channel = 1 : i32} : i32
    aiex.dma_bd_pool_push(0, 0) bd_id %shim : i32
  }
}

// -----

// A module without sequences is left as it is.
// CHECK-LABEL: aie.device(npu1) @bare
// CHECK-NOT:   emitc
aie.device(npu1) @bare {
}
