// TXN streams for AMD NPUs: append operations to a vector of words, then fill in the header.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// C++17, no dependencies. Generated code and hand-written hosts use the same functions:
//
//   std::vector<uint32_t> txn;
//   aie_runtime::txn_init(txn);
//   aie_runtime::txn_append_write32(txn, 0x1D214, 3);
//   aie_runtime::txn_prepend_header(txn, /*op_count=*/1, {0, 1, 4, 6, 8, 1});
//
// The word layouts are those of tilewright/txn/opcodes.py; a test compares the two.

#ifndef AIE_RUNTIME_TXNENCODING_H
#define AIE_RUNTIME_TXNENCODING_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace aie_runtime {

enum TxnOpcode : uint32_t {
  TXN_OPC_WRITE = 0,
  TXN_OPC_BLOCKWRITE = 1,
  TXN_OPC_BLOCKSET = 2,
  TXN_OPC_MASKWRITE = 3,
  TXN_OPC_MASKPOLL = 4,
  TXN_OPC_NOOP = 5,
  TXN_OPC_PREEMPT = 6,
  TXN_OPC_MASKPOLL_BUSY = 7,
  TXN_OPC_LOADPDI = 8,
  TXN_OPC_LOAD_PM_START = 9,
  TXN_OPC_CREATE_SCRATCHPAD = 10,
  TXN_OPC_UPDATE_STATE_TABLE = 11,
  TXN_OPC_UPDATE_REG = 12,
  TXN_OPC_UPDATE_SCRATCH = 13,
  TXN_OPC_CONFIG_SHIMDMA_BD = 14,
  TXN_OPC_CONFIG_SHIMDMA_DMABUF_BD = 15,
  TXN_OPC_CUSTOM_OP_BEGIN = 0x80,
  TXN_OPC_TCT = 0x80,
  TXN_OPC_DDR_PATCH = 0x81,
  TXN_OPC_READ_REGS = 0x82,
  TXN_OPC_RECORD_TIMER = 0x83,
  TXN_OPC_MERGE_SYNC = 0x84,
  TXN_OPC_CUSTOM_OP_NEXT = 0x85,
  TXN_OPC_LOAD_PM_END_INTERNAL = 200,
  TXN_OPC_CUSTOM_OP_MAX = 255,
};

// What the header says of the device; defaults are those of a 5-column first-generation NPU.
struct TxnDeviceInfo {
  uint8_t major = 0;
  uint8_t minor = 1;
  uint8_t devGen = 3; // 3: AIE2 NPUs, 4: AIE2P NPUs
  uint8_t numRows = 6;
  uint8_t numCols = 5;
  uint8_t numMemTileRows = 1;
};

namespace detail {

constexpr uint32_t kWordBytes = 4;
constexpr size_t kHeaderWords = 4;

// One range insert per operation: no zero fill, at most one capacity check.
template <size_t N> inline void append(std::vector<uint32_t> &txn, const uint32_t (&words)[N]) {
  txn.insert(txn.end(), words, words + N);
}

constexpr uint32_t byte(uint32_t value) { return value & 0xffu; }

} // namespace detail

// Leave room for the header; call it before the first append.
inline void txn_init(std::vector<uint32_t> &txn) { txn.assign(detail::kHeaderWords, 0u); }

// Fill in the header; call it after the last append.
inline void txn_prepend_header(std::vector<uint32_t> &txn, uint32_t op_count, TxnDeviceInfo info = {}) {
  if (txn.size() < detail::kHeaderWords)
    txn.resize(detail::kHeaderWords, 0u);
  txn[0] = uint32_t{info.numRows} << 24 | uint32_t{info.devGen} << 16 | uint32_t{info.minor} << 8 | uint32_t{info.major};
  txn[1] = uint32_t{info.numMemTileRows} << 8 | uint32_t{info.numCols};
  txn[2] = op_count;
  txn[3] = static_cast<uint32_t>(txn.size()) * detail::kWordBytes;
}

// Set one register.
inline void txn_append_write32(std::vector<uint32_t> &txn, uint32_t addr, uint32_t val) {
  detail::append(txn, {TXN_OPC_WRITE, 0, addr, 0, val, 6 * detail::kWordBytes});
}

// Set those bits of a register that `mask` has.
inline void txn_append_maskwrite32(std::vector<uint32_t> &txn, uint32_t addr, uint32_t val, uint32_t mask) {
  detail::append(txn, {TXN_OPC_MASKWRITE, 0, addr, 0, val, mask, 7 * detail::kWordBytes});
}

// Set `count` consecutive registers. The firmware takes the tile from the address; col and row repeat it.
inline void txn_append_blockwrite(std::vector<uint32_t> &txn, uint32_t addr, const uint32_t *data, size_t count,
                                  uint32_t col = 0, uint32_t row = 0) {
  const uint32_t size = static_cast<uint32_t>(4 + count) * detail::kWordBytes;
  detail::append(txn, {TXN_OPC_BLOCKWRITE, detail::byte(col) | detail::byte(row) << 8, addr, size});
  txn.insert(txn.end(), data, data + count);
}

// Wait for task-complete tokens of a channel (dir 0: S2MM, 1: MM2S) on ncol x nrow tiles.
inline void txn_append_sync(std::vector<uint32_t> &txn, uint32_t col, uint32_t row, uint32_t dir, uint32_t chan,
                            uint32_t ncol, uint32_t nrow) {
  detail::append(txn, {TXN_OPC_TCT, 4 * detail::kWordBytes,
                       detail::byte(dir) | detail::byte(row) << 8 | detail::byte(col) << 16,
                       detail::byte(nrow) << 8 | detail::byte(ncol) << 16 | detail::byte(chan) << 24});
}

// Put the address of host buffer `arg_idx`, plus `arg_plus` bytes, into the descriptor words at `addr`.
inline void txn_append_address_patch(std::vector<uint32_t> &txn, uint32_t addr, int32_t arg_idx, uint32_t arg_plus) {
  detail::append(txn, {TXN_OPC_DDR_PATCH, 12 * detail::kWordBytes, 0, 0, 0, 0, addr, 0,
                       static_cast<uint32_t>(arg_idx), 0, arg_plus, 0});
}

// Load a configuration image.
inline void txn_append_loadpdi(std::vector<uint32_t> &txn, uint32_t id, uint32_t size, uint64_t addr) {
  detail::append(txn, {TXN_OPC_LOADPDI | id << 16, size, static_cast<uint32_t>(addr), static_cast<uint32_t>(addr >> 32)});
}

// Allow preemption (0: none, 1: memory tiles saved, 2: all tiles, 3: registers).
inline void txn_append_preempt(std::vector<uint32_t> &txn, uint32_t level) {
  detail::append(txn, {TXN_OPC_PREEMPT | level << 8});
}

// Ask for the scratchpad of runtime parameters.
inline void txn_append_create_scratchpad(std::vector<uint32_t> &txn, uint32_t usage_type, uint32_t size) {
  detail::append(txn, {TXN_OPC_CREATE_SCRATCHPAD | detail::byte(usage_type) << 8, size, 0, 0});
}

// Add a scratchpad entry, combined with `func_arg` (func 0: times, 1: plus, 2: minus), to the address words at `addr`.
inline void txn_append_update_reg(std::vector<uint32_t> &txn, uint32_t state_table_idx, uint32_t func, uint32_t func_arg,
                                  uint32_t addr) {
  detail::append(txn, {TXN_OPC_UPDATE_REG | detail::byte(state_table_idx) << 8 | detail::byte(func) << 16, func_arg, addr});
}

// Most descriptors that any tile has: a memory tile's 48.
constexpr uint32_t kMaxBDsPerTile = 48;

// Free descriptor ids of one tile, for sequences that choose them while they are generated.
// A stack: a fresh pool gives 0, 1, 2, ...; the id pushed last is given out next.
struct BdPool {
  uint32_t free_ids[kMaxBDsPerTile];
  int head;
};

inline BdPool bd_pool_init(uint32_t n) {
  BdPool pool{};
  const uint32_t count = n < kMaxBDsPerTile ? n : kMaxBDsPerTile;
  for (uint32_t id = count; id > 0; --id)
    pool.free_ids[pool.head++] = id - 1;
  return pool;
}

// False if none is free: the caller then gives up rather than reuse one in flight.
inline bool bd_pool_pop(BdPool &pool, uint32_t &out) {
  if (pool.head <= 0)
    return false;
  out = pool.free_ids[--pool.head];
  return true;
}

inline void bd_pool_push(BdPool &pool, uint32_t id) {
  if (pool.head < static_cast<int>(kMaxBDsPerTile))
    pool.free_ids[pool.head++] = id;
}

} // namespace aie_runtime

#endif // AIE_RUNTIME_TXNENCODING_H
