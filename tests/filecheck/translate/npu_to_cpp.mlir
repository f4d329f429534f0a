// RUN: tilewright translate --aie-npu-to-cpp --txn-cpp-upstream-text %s | filecheck %s
// RUN: tilewright translate --aie-npu-to-cpp --txn-cpp-upstream-text --aie-npu-fold-ddr-addr-offset=false %s | filecheck --check-prefix=NOFOLD %s
// RUN: tilewright translate --aie-npu-to-cpp %s | filecheck --check-prefix=GUARDED %s
// C++ as upstream writes it: every value is a variable. Unless it has to be upstream's text, there is an include guard, and
// what the hardware cannot take has no stream.

// GUARDED:      #ifndef AIE_GENERATE_TXN_MAIN_SEQUENCE_H
// GUARDED-NEXT: #define AIE_GENERATE_TXN_MAIN_SEQUENCE_H
// GUARDED-NEXT: #include "aie/Runtime/TxnEncoding.h"
// GUARDED:      if (v1 < 0) return std::nullopt;
// GUARDED:      aie_runtime::txn_append_address_patch(
// GUARDED:      #endif // AIE_GENERATE_TXN_MAIN_SEQUENCE_H

// CHECK:      #include "aie/Runtime/TxnEncoding.h"
// CHECK:      inline std::optional<std::vector<uint32_t>> generate_txn_main_sequence(int32_t v1, size_t v2) {
// CHECK-NEXT:   std::vector<uint32_t> txn;
// CHECK-NEXT:   aie_runtime::txn_init(txn);
// CHECK-NEXT:   uint32_t __opcount = 0;
// CHECK-NEXT:   size_t v3 = 0;
// CHECK-NEXT:   size_t v4 = 1;
// CHECK-NEXT:   ptrdiff_t v5 = (ptrdiff_t) v2;
// CHECK-NEXT:   ptrdiff_t v6 = (ptrdiff_t) v3;
// CHECK-NEXT:   bool v7 = v5 > v6;
// CHECK-NEXT:   size_t v8 = v7 ? v2 : v3;
// CHECK-NEXT:   for (size_t i9 = v3; i9 < v8; i9 += v4) {
// CHECK-NEXT:     uint32_t v10 = 119300u;
// CHECK-NEXT:     aie_runtime::txn_append_write32(txn, v10, v1);
// CHECK-NEXT:     ++__opcount;
// CHECK-NEXT:   }
// CHECK-NEXT:   uint32_t v11 = 118788u;
// CHECK-NEXT:   int32_t v12 = 6;
// CHECK-NEXT:   uint32_t v13 = (uint32_t) v1;
// CHECK-NEXT:   uint32_t v14 = 2147483648;
// CHECK-NEXT:   uint32_t v15 = v13 + v14;
// CHECK-NEXT:   aie_runtime::txn_append_address_patch(txn, v11, v12, v15);
// CHECK-NEXT:   ++__opcount;
// CHECK-NEXT:   aie_runtime::txn_prepend_header(txn, __opcount, {0, 1, 4, 6, 1, 1});
// CHECK-NEXT:   return std::move(txn);
// CHECK-NEXT: }

// NOFOLD: aie_runtime::txn_append_address_patch(txn, v11, v12, v1);
aie.device(npu2_1col) {
  aie.runtime_sequence(%value: i32, %n: index) {
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    scf.for %i = %zero to %n step %one {
      %register = arith.constant 119300 : i32
      aiex.npu.write32(%register, %value) : i32, i32
    }
    aiex.npu.address_patch(%value : i32) {addr = 118788 : ui32, arg_idx = 6 : i32}
  }
}
