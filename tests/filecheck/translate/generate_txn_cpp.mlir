// RUN: tilewright translate --aie-generate-txn-cpp %s | filecheck %s
// RUN: tilewright translate --aie-generate-txn-cpp --txn-cpp-name=copy_lines %s | filecheck --check-prefix=NAMED %s
// RUN: tilewright translate --aie-generate-txn-cpp --txn-cpp-keep-buffers %s | filecheck --check-prefix=BUFFERS %s
// RUN: not tilewright translate --aie-generate-txn-cpp --txn-cpp-name=lines.h %s 2>&1 | filecheck --check-prefix=FILE %s
// The older spelling lowers the sequence first.

// CHECK:      inline std::optional<std::vector<uint32_t>> generate_txn_sequence() {
// CHECK-NEXT:   std::vector<uint32_t> txn;
// CHECK-NEXT:   aie_runtime::txn_init(txn);
// CHECK:        uint32_t op_count = 0;
// CHECK:        aie_runtime::txn_append_blockwrite(txn,
// CHECK-NEXT:   op_count++;
// CHECK:        aie_runtime::txn_append_address_patch(txn,
// CHECK-NEXT:   op_count++;
// CHECK:        aie_runtime::txn_append_write32(txn,
// CHECK-NEXT:   op_count++;
// CHECK:        aie_runtime::txn_prepend_header(txn, op_count, {0, 1, 3, 6, 1, 1});
// CHECK:        return txn;

// BUFFERS:      inline std::optional<std::vector<uint32_t>> generate_txn_sequence(void* v1) {
// BUFFERS-NEXT:   (void)v1;
// NAMED: inline std::optional<std::vector<uint32_t>> copy_lines() {
// FILE:  'lines.h' is no name that a C++ function can have; to name the file use -o
aie.device(npu1_1col) {
  %tile = aie.tile(0, 0)
  aie.shim_dma_allocation @in (%tile, MM2S, 0)
  aie.runtime_sequence(%lines: memref<64xi32>) {
    aiex.npu.dma_memcpy_nd(%lines[0, 0, 0, 0][1, 1, 1, 64][0, 0, 0, 1]) {id = 0 : i64, metadata = @in} : memref<64xi32>
  }
}
