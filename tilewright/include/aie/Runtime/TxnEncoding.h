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
// The functions that append also take a TxnCounter or a TxnWriter instead of the vector; txn_build uses them to make a
// stream in one piece of memory of the right size.
//
// The word layouts are those of tilewright/txn/opcodes.py; a test compares the two. TxnDma.h, which comes along, has the
// descriptors and queues of DMAs; README.md has all of it on one page.

#ifndef AIE_RUNTIME_TXNENCODING_H
#define AIE_RUNTIME_TXNENCODING_H

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <type_traits>
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

constexpr uint32_t byte(uint32_t value) { return value & 0xffu; }

} // namespace detail

// Takes operations and only counts them.
struct TxnCounter {
  size_t words = detail::kHeaderWords;
  uint32_t operations = 0;
};

// Writes operations one behind the other, into memory that has room for them; `start` is where the header goes.
struct TxnWriter {
  uint32_t *next;
  uint32_t *start = nullptr;
};

namespace detail {

inline void store(uint32_t *) {}

inline void store(uint32_t *to, uint32_t word) { *to = word; }

// Eight bytes at a time: compilers do not always find that out by themselves.
template <typename... Words> inline void store(uint32_t *to, uint32_t first, uint32_t second, Words... more) {
  const uint32_t pair[] = {first, second};
  std::memcpy(to, pair, sizeof pair);
  store(to + 2, more...);
}

template <typename... Words> inline void append(std::vector<uint32_t> &txn, Words... words) {
  const size_t size = txn.size();
  txn.resize(size + sizeof...(words));
  store(txn.data() + size, words...);
}

template <typename... Words> inline void append(TxnCounter &txn, Words...) {
  txn.words += sizeof...(Words);
  ++txn.operations;
}

template <typename... Words> inline void append(TxnWriter &txn, Words... words) {
  store(txn.next, words...);
  txn.next += sizeof...(words);
}

// More words of the operation that was appended last.
inline void append_data(std::vector<uint32_t> &txn, const uint32_t *data, size_t count) {
  txn.insert(txn.end(), data, data + count);
}

inline void append_data(TxnCounter &txn, const uint32_t *, size_t count) { txn.words += count; }

inline void append_data(TxnWriter &txn, const uint32_t *data, size_t count) {
  txn.next = std::copy(data, data + count, txn.next);
}

} // namespace detail

// Leave room for the header; call it before the first append.
inline void txn_init(std::vector<uint32_t> &txn) { txn.assign(detail::kHeaderWords, 0u); }

namespace detail {

inline void store_header(uint32_t *to, size_t words, uint32_t op_count, TxnDeviceInfo info) {
  store(to,
        uint32_t{info.numRows} << 24 | uint32_t{info.devGen} << 16 | uint32_t{info.minor} << 8 | uint32_t{info.major},
        uint32_t{info.numMemTileRows} << 8 | uint32_t{info.numCols}, op_count,
        static_cast<uint32_t>(words) * kWordBytes);
}

} // namespace detail

// Fill in the header; call it after the last append.
inline void txn_prepend_header(std::vector<uint32_t> &txn, uint32_t op_count, TxnDeviceInfo info = {}) {
  if (txn.size() < detail::kHeaderWords)
    txn.resize(detail::kHeaderWords, 0u);
  detail::store_header(txn.data(), txn.size(), op_count, info);
}

inline void txn_prepend_header(TxnCounter &, uint32_t, TxnDeviceInfo = {}) {}

inline void txn_prepend_header(TxnWriter &txn, uint32_t op_count, TxnDeviceInfo info = {}) {
  if (txn.start)
    detail::store_header(txn.start, static_cast<size_t>(txn.next - txn.start), op_count, info);
}

// Set one register.
template <typename Txn> inline void txn_append_write32(Txn &txn, uint32_t addr, uint32_t val) {
  detail::append(txn, TXN_OPC_WRITE, 0u, addr, 0u, val, 6 * detail::kWordBytes);
}

// Set those bits of a register that `mask` has.
template <typename Txn> inline void txn_append_maskwrite32(Txn &txn, uint32_t addr, uint32_t val, uint32_t mask) {
  detail::append(txn, TXN_OPC_MASKWRITE, 0u, addr, 0u, val, mask, 7 * detail::kWordBytes);
}

// Wait until those bits of a register that `mask` has are as in `val`.
template <typename Txn> inline void txn_append_maskpoll(Txn &txn, uint32_t addr, uint32_t val, uint32_t mask) {
  detail::append(txn, TXN_OPC_MASKPOLL, 0u, addr, 0u, val, mask, 7 * detail::kWordBytes);
}

// Set `count` consecutive registers. The firmware takes the tile from the address; col and row repeat it.
template <typename Txn>
inline void txn_append_blockwrite(Txn &txn, uint32_t addr, const uint32_t *data, size_t count, uint32_t col = 0,
                                  uint32_t row = 0) {
  const uint32_t size = static_cast<uint32_t>(4 + count) * detail::kWordBytes;
  detail::append(txn, TXN_OPC_BLOCKWRITE, detail::byte(col) | detail::byte(row) << 8, addr, size);
  detail::append_data(txn, data, count);
}

// Set consecutive registers to these words.
template <typename Txn, typename... Words>
inline void txn_append_words(Txn &txn, uint32_t addr, Words... words) {
  const uint32_t data[] = {static_cast<uint32_t>(words)...};
  txn_append_blockwrite(txn, addr, data, sizeof...(words));
}

// An operation as its words, which the caller has made of its fields.
template <typename Txn, typename... Words> inline void txn_append_operation(Txn &txn, Words... words) {
  detail::append(txn, static_cast<uint32_t>(words)...);
}

// Wait for task-complete tokens of a channel (dir 0: S2MM, 1: MM2S) on ncol x nrow tiles.
template <typename Txn>
inline void txn_append_sync(Txn &txn, uint32_t col, uint32_t row, uint32_t dir, uint32_t chan, uint32_t ncol,
                            uint32_t nrow) {
  detail::append(txn, TXN_OPC_TCT, 4 * detail::kWordBytes,
                 detail::byte(dir) | detail::byte(row) << 8 | detail::byte(col) << 16,
                 detail::byte(nrow) << 8 | detail::byte(ncol) << 16 | detail::byte(chan) << 24);
}

// Put the address of host buffer `arg_idx`, plus `arg_plus` bytes, into the descriptor words at `addr`.
template <typename Txn>
inline void txn_append_address_patch(Txn &txn, uint32_t addr, int32_t arg_idx, uint32_t arg_plus) {
  detail::append(txn, TXN_OPC_DDR_PATCH, 12 * detail::kWordBytes, 0u, 0u, 0u, 0u, addr, 0u,
                 static_cast<uint32_t>(arg_idx), 0u, arg_plus, 0u);
}

// Load a configuration image.
template <typename Txn> inline void txn_append_loadpdi(Txn &txn, uint32_t id, uint32_t size, uint64_t addr) {
  detail::append(txn, TXN_OPC_LOADPDI | id << 16, size, static_cast<uint32_t>(addr),
                 static_cast<uint32_t>(addr >> 32));
}

// Allow preemption (0: none, 1: memory tiles saved, 2: all tiles, 3: registers).
template <typename Txn> inline void txn_append_preempt(Txn &txn, uint32_t level) {
  detail::append(txn, TXN_OPC_PREEMPT | level << 8);
}

// Ask for the scratchpad of runtime parameters.
template <typename Txn> inline void txn_append_create_scratchpad(Txn &txn, uint32_t usage_type, uint32_t size) {
  detail::append(txn, TXN_OPC_CREATE_SCRATCHPAD | detail::byte(usage_type) << 8, size, 0u, 0u);
}

// Add a scratchpad entry, combined with `func_arg` (func 0: times, 1: plus, 2: minus), to the address words at `addr`.
template <typename Txn>
inline void txn_append_update_reg(Txn &txn, uint32_t state_table_idx, uint32_t func, uint32_t func_arg, uint32_t addr) {
  detail::append(txn, TXN_OPC_UPDATE_REG | detail::byte(state_table_idx) << 8 | detail::byte(func) << 16, func_arg,
                 addr);
}

// Fill a vector with a stream. `body` appends the operations to what it is given, and is called twice: to count, then
// to write. It returns false or nothing to give up, and then the vector stays as it was.
#define AIE_RUNTIME_TXN_FILL 1
template <typename Body> inline bool txn_fill(std::vector<uint32_t> &txn, const Body &body) {
  TxnCounter counter;
  if (!body(counter) || counter.words > UINT32_MAX / detail::kWordBytes)
    return false;
  txn.resize(counter.words);
  TxnWriter writer{txn.data() + detail::kHeaderWords, txn.data()};
  body(writer);
  return true;
}

// A whole stream, with its header; `body` is that of txn_fill.
template <typename Body> inline std::optional<std::vector<uint32_t>> txn_build(TxnDeviceInfo info, const Body &body) {
  std::vector<uint32_t> txn;
  uint32_t operations = 0;
  const auto counted = [&](auto &stream) {
    const bool done = static_cast<bool>(body(stream));
    if constexpr (std::is_same_v<std::decay_t<decltype(stream)>, TxnCounter>)
      operations = stream.operations;
    return done;
  };
  if (!txn_fill(txn, counted))
    return std::nullopt;
  txn_prepend_header(txn, operations, info);
  return txn;
}

// Most descriptors that any tile has: a memory tile's 48.
constexpr uint32_t kMaxBDsPerTile = 48;

// Free descriptor ids of one tile, for sequences that choose them while they are generated.
// A stack: a fresh pool gives first, first + 1, first + 2, ...; the id pushed last is given out next.
struct BdPool {
  uint32_t free_ids[kMaxBDsPerTile];
  int head;
};

inline BdPool bd_pool_init(uint32_t n, uint32_t first = 0) {
  BdPool pool{};
  const uint32_t count = n < kMaxBDsPerTile ? n : kMaxBDsPerTile;
  for (uint32_t id = count; id > 0; --id)
    pool.free_ids[pool.head++] = first + id - 1;
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

// Below all others, so that it is given out last.
inline void bd_pool_push_last(BdPool &pool, uint32_t id) {
  if (pool.head >= static_cast<int>(kMaxBDsPerTile))
    return;
  for (int place = pool.head++; place > 0; --place)
    pool.free_ids[place] = pool.free_ids[place - 1];
  pool.free_ids[0] = id;
}

} // namespace aie_runtime

#include "TxnDma.h"

#endif // AIE_RUNTIME_TXNENCODING_H
