// DMA tasks in TXN streams: descriptors, and pushes to the queues that run them.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// TxnEncoding.h includes this file. The functions append what the compiler makes of `aiex.npu.writebd`,
// `aiex.npu.dma_memcpy_nd` and `aiex.npu.push_queue`; a test compares the two.
//
//   const aie_runtime::TxnDeviceInfo npu2{0, 1, 4, 6, 8, 1};
//   aie_runtime::TxnTransfer rows;
//   rows.sizes[2] = 16, rows.sizes[3] = 64; // outermost first, as in the program
//   rows.strides[2] = 256;
//   auto repeat = aie_runtime::txn_append_dma_bd(txn, npu2, /*col=*/0, /*row=*/0, /*bd_id=*/3, rows);
//   if (!repeat || !aie_runtime::txn_append_push_queue(txn, npu2, 0, 0, /*dir=*/1, /*chan=*/0, 3, *repeat, true))
//     return false; // the hardware cannot take it
//
// A function that refuses its arguments appends nothing. Tiles are those of AIE2 and AIE2P: shim tiles in row 0, memory
// tiles above them, then cores.

#ifndef AIE_RUNTIME_TXNDMA_H
#define AIE_RUNTIME_TXNDMA_H

#include "DmaTables.h"
#include "TxnEncoding.h"

namespace aie_runtime {

// A walk over a buffer, in elements, outermost dimension first. The outermost one repeats the run of the three others.
struct TxnTransfer {
  int64_t sizes[4] = {1, 1, 1, 1};
  int64_t strides[4] = {0, 0, 0, 1};
  int64_t offset = 0; // where it starts
  uint32_t element_bytes = 4;
  int32_t arg_idx = 0; // the host buffer, of shim tiles; others have TxnBd::buffer_offset
};

namespace detail {

constexpr uint32_t kGranuleBytes = 4;
constexpr int64_t kMaxCount = INT32_MAX;

// Which kind of DMA a tile has; nothing if the device has no such tile.
inline std::optional<DmaKind> dma_kind(const TxnDeviceInfo &device, uint32_t col, uint32_t row) {
  if (col >= device.numCols || row >= device.numRows)
    return std::nullopt;
  return row == 0 ? kShimDma : row <= device.numMemTileRows ? kMemDma : kCoreDma;
}

constexpr uint32_t tile_address(uint32_t col, uint32_t row, uint32_t offset) {
  return col << kColumnShift | row << kRowShift | offset;
}

// Put a number into its bits; false if it has more.
inline bool put(uint32_t *words, const BdField &field, int64_t value) {
  const int64_t span = int64_t{1} << field.width, low = field.is_signed ? -(span / 2) : 0;
  if (value < low || value >= low + span)
    return false;
  words[field.word] |= (static_cast<uint32_t>(value) & static_cast<uint32_t>(span - 1)) << field.lo;
  return true;
}

// How a shim tile's descriptor says how long bursts are; nothing if the device has none of this length.
inline std::optional<uint32_t> burst_code(const TxnDeviceInfo &device, uint32_t bytes) {
  const uint32_t longest = kLongestBurst[device.devGen >= 4];
  for (const Burst &burst : kBursts)
    if (burst.bytes == (bytes ? bytes : longest) && burst.bytes <= longest)
      return burst.code;
  return std::nullopt;
}

inline bool put_address(uint32_t *words, DmaKind kind, int64_t address) {
  if (kind == kMemDma)
    return put(words, kDmaTiles[kind].address, address);
  return address % kWordBytes == 0 && put(words, kDmaTiles[kind].address, kind == kCoreDma ? address / kWordBytes : address);
}

// The words of a descriptor; false if it cannot hold these fields.
inline bool bd_words(uint32_t *words, const TxnDeviceInfo &device, DmaKind kind, const TxnBd &bd) {
  for (const BdRow &row : kBdRows) {
    const BdField &field = row.at[kind];
    const int64_t value = bd.*row.member;
    if (field.width ? !put(words, field, value) : value != 0 && !row.may_be_missing)
      return false;
  }
  const auto burst = burst_code(device, bd.burst_length);
  if (!burst || (kind == kShimDma && !(put(words, kAxCache, kAxCacheValue) && put(words, kBurstLength, *burst))))
    return false;
  return put_address(words, kind, bd.buffer_offset);
}

// One walk, innermost dimension first, and how it becomes the fields of a descriptor.
struct Walk {
  int64_t sizes[4], strides[4];
  int64_t bytes, granule; // of an element; elements that make whole granules
  const DmaTile &tile;
  bool is_shim, is_linear;

  Walk(const TxnTransfer &from, DmaKind kind)
      : bytes(from.element_bytes), granule(bytes % kGranuleBytes == 0 ? 1 : bytes == 2 ? 2 : 4), tile(kDmaTiles[kind]),
        is_shim(kind == kShimDma), is_linear(false) {
    for (int dimension = 0; dimension < 4; ++dimension) {
      sizes[dimension] = from.sizes[3 - dimension];
      strides[dimension] = from.strides[3 - dimension];
    }
  }

  int64_t largest_size(int dimension) const {
    if (dimension == 3)
      return 64; // what the 6 bits of every tile's iteration hold, one more
    const int64_t wrap = (int64_t{1} << tile.wrap_bits) - 1;
    const int64_t elements = wrap * kGranuleBytes / bytes;
    return dimension == 0 ? elements - elements % granule : wrap;
  }

  int64_t largest_stride(int dimension) const {
    if (dimension == 0 && bytes > kGranuleBytes)
      return 1;
    return (int64_t{1} << tile.step_bits) * kGranuleBytes / bytes;
  }

  // Whether one run visits consecutive elements: it has a length then, and no loops.
  bool visits_consecutive() const {
    if (!is_shim)
      return sizes[1] == 1 && sizes[2] == 1 && strides[0] == 1 && strides[1] == 0 && strides[2] == 0;
    return strides[0] == 1 && (sizes[1] <= 1 || strides[1] == sizes[0]) &&
           (sizes[2] <= 1 || strides[2] == sizes[0] * sizes[1]);
  }

  // The most of `count` things that equal parts can have, up to a bound.
  static int64_t largest_part(int64_t count, int64_t bound) {
    int64_t found = 1;
    for (int64_t divisor = 1; divisor * divisor <= count; ++divisor)
      if (count % divisor == 0)
        for (int64_t part : {divisor, count / divisor})
          if (part <= bound && part > found)
            found = part;
    return found;
  }

  // Make a loop of d0 or d1 that is too long into one around another, where loops that run once leave room: (d0, d1, d2,
  // d3) becomes (d0 / n, n, d1, d2), or keeps its d3. An n that is too long for d1 goes to d2.
  void split_long() {
    const int64_t most = largest_size(1);
    const bool is_long = sizes[0] > largest_size(0), is_free2 = sizes[2] == 1, is_free3 = sizes[3] == 1;
    if (!(is_long || sizes[1] > most) || !(is_free2 || is_free3) || sizes[0] % granule != 0)
      return;
    int64_t inner = sizes[0], count = 1, step = granule;
    if (is_long) {
      const int64_t advance = strides[0] == 1 ? granule : strides[0] < 1 ? 1 : strides[0];
      const int64_t farthest = largest_stride(1) / advance, longest = largest_size(0) / granule;
      const int64_t bound = farthest > longest ? longest : farthest < 1 ? 1 : farthest;
      const int64_t part = largest_part(sizes[0] / granule, bound);
      inner = part * granule;
      count = sizes[0] / granule / part;
      step = strides[0] == 1 ? inner : part * strides[0];
    }
    const bool is_high = count > most, takes_d1_out = is_high && sizes[1] > 1;
    const bool low = is_free2 || (is_free3 && sizes[2] <= largest_size(3));
    const bool high = sizes[1] == 1 || (is_free3 && sizes[1] <= largest_size(3));
    if (!(is_high ? is_free2 && high : low))
      return;
    const int last = !is_free2 ? 2 : takes_d1_out ? 1 : 3;
    const int64_t new_sizes[] = {inner, is_high ? 1 : count, is_high ? count : sizes[1], sizes[last]};
    const int64_t new_strides[] = {strides[0], step, is_high ? step : strides[1], strides[last]};
    for (int dimension = 0; dimension < 4; ++dimension) {
      sizes[dimension] = new_sizes[dimension];
      strides[dimension] = new_strides[dimension];
    }
  }

  bool sizes_fit() {
    for (int64_t size : sizes)
      if (size < 1 || size > kMaxCount)
        return false;
    is_linear = visits_consecutive();
    if (is_shim && !is_linear)
      split_long();
    for (int dimension : {0, 1, 3})
      if ((dimension == 3 || !is_linear) && sizes[dimension] > largest_size(dimension))
        return false;
    return is_linear || sizes[0] % granule == 0;
  }

  // A loop that runs once takes no step, so its stride may be anything; but d0's goes into its field anyway.
  bool strides_fit() const {
    for (int dimension = 0; dimension < 4; ++dimension) {
      const int64_t stride = strides[dimension], lowest = dimension == 3 ? 0 : 1;
      const bool counts = dimension == 3 || !is_linear;
      int64_t taken = sizes[dimension] > 1 || (dimension == 0 && stride >= 1) ? stride : lowest;
      if (!counts)
        taken = 1;
      if (taken < lowest || taken > largest_stride(dimension))
        return false;
      if (counts && stride % granule != 0 && !(dimension == 0 && stride == 1))
        return false;
    }
    return true;
  }

  // Granules of one run; 0 if there are too many, or not whole ones.
  int64_t length(const BdField &field) const {
    const int64_t most = ((int64_t{1} << field.width) - 1) * kGranuleBytes / bytes, row = sizes[0] * sizes[1];
    if (row > most || sizes[2] > most / row || row * sizes[2] % granule != 0)
      return 0;
    return row * sizes[2] * bytes / kGranuleBytes;
  }

  int64_t step(int dimension) const { return strides[dimension] * bytes / kGranuleBytes - 1; }

  int64_t step_if_repeated(int dimension) const { return sizes[dimension] > 1 ? step(dimension) : 0; }

  void put_loops(TxnBd &bd) const {
    bd.d0_size = is_linear ? 0 : sizes[0] * bytes / kGranuleBytes;
    bd.d0_stride = is_linear || bytes > kGranuleBytes || strides[0] * bytes < kGranuleBytes ? 0 : step(0);
    bd.d1_size = is_linear ? 0 : sizes[1];
    bd.d1_stride = is_linear ? 0 : step_if_repeated(1);
    bd.d2_stride = is_linear ? 0 : step_if_repeated(2);
    // A repeat without a stride is left to the queue; the descriptor then must not iterate.
    bd.iteration_size = strides[3] > 0 ? sizes[3] - 1 : 0;
    bd.iteration_stride = strides[3] > 0 ? step_if_repeated(3) : 0;
  }
};

} // namespace detail

// Write all words of a descriptor. False if it cannot hold these fields, or if there is none.
template <typename Txn>
[[nodiscard]] inline bool txn_append_write_bd(Txn &txn, const TxnDeviceInfo &device, uint32_t col, uint32_t row,
                                              uint32_t bd_id, const TxnBd &bd) {
  const auto kind = detail::dma_kind(device, col, row);
  uint32_t words[8] = {};
  if (!kind || bd_id >= detail::kDmaTiles[*kind].bd_count || !detail::bd_words(words, device, *kind, bd))
    return false;
  const detail::DmaTile &tile = detail::kDmaTiles[*kind];
  const uint32_t address = detail::tile_address(col, row, tile.bds + bd_id * tile.bd_bytes);
  txn_append_blockwrite(txn, address, words, tile.bd_words);
  return true;
}

// Write a descriptor that makes a transfer, and for shim tiles have the firmware put the host buffer's address into it.
// `bd` has what else it does: packets, locks, the next one. Gives the repeat count for the push, or nothing if the
// hardware cannot take the transfer. On shim tiles a loop that is too long becomes two, as the compiler has it, where
// another runs once; on other tiles loops stay as they are given.
template <typename Txn>
[[nodiscard]] inline std::optional<uint32_t> txn_append_dma_bd(Txn &txn, const TxnDeviceInfo &device, uint32_t col,
                                                               uint32_t row, uint32_t bd_id,
                                                               const TxnTransfer &transfer, TxnBd bd = {}) {
  const auto kind = detail::dma_kind(device, col, row);
  const uint32_t bytes = transfer.element_bytes;
  if (!kind || (bytes != 1 && bytes != 2 && bytes != 4 && bytes != 8))
    return std::nullopt;
  const bool is_shim = *kind == detail::kShimDma;
  detail::Walk walk(transfer, *kind);
  if (!walk.sizes_fit() || !walk.strides_fit())
    return std::nullopt;
  bd.buffer_length = walk.length(detail::kBdRows[0].at[*kind]);
  const bool is_folded = transfer.arg_idx >= detail::kFirstFoldedArgument;
  const uint32_t base = is_folded ? detail::kFoldedOffset : 0;
  const int64_t most = UINT32_MAX - int64_t{base};
  if (bd.buffer_length == 0 || transfer.offset < 0 || transfer.offset > most / bytes ||
      transfer.offset * bytes % detail::kWordBytes != 0 || (is_shim && transfer.arg_idx < 0))
    return std::nullopt;
  const int64_t offset_bytes = transfer.offset * bytes;
  if (!is_shim)
    bd.buffer_offset += *kind == detail::kMemDma ? offset_bytes / detail::kWordBytes : offset_bytes;
  walk.put_loops(bd);
  bd.valid_bd = 1;
  if (!txn_append_write_bd(txn, device, col, row, bd_id, bd))
    return std::nullopt;
  if (is_shim) {
    const detail::DmaTile &tile = walk.tile;
    const uint32_t word = tile.bds + bd_id * tile.bd_bytes + tile.address_word * detail::kWordBytes;
    txn_append_address_patch(txn, detail::tile_address(col, row, word), transfer.arg_idx,
                             static_cast<uint32_t>(offset_bytes) + base);
  }
  return static_cast<uint32_t>(walk.sizes[3] - 1);
}

// Have a channel (dir 0: S2MM, 1: MM2S) run a descriptor and those behind it, `repeat_count` times more than once. False
// if there is no such channel, or if it does not reach the descriptor.
template <typename Txn>
[[nodiscard]] inline bool txn_append_push_queue(Txn &txn, const TxnDeviceInfo &device, uint32_t col, uint32_t row,
                                                uint32_t dir, uint32_t chan, uint32_t bd_id, uint32_t repeat_count,
                                                bool issue_token) {
  const auto kind = detail::dma_kind(device, col, row);
  if (!kind || dir > 1)
    return false;
  const detail::DmaTile &tile = detail::kDmaTiles[*kind];
  if (chan >= tile.channels[dir] || bd_id >= tile.bd_count)
    return false;
  if (tile.halves && (bd_id < tile.bd_count / 2) != (chan % 2 == 0))
    return false;
  uint32_t word = 0;
  if (!detail::put(&word, tile.start_bd_id, bd_id) || !detail::put(&word, tile.repeat_count, repeat_count) ||
      !detail::put(&word, tile.enable_token_issue, issue_token))
    return false;
  txn_append_write32(txn, detail::tile_address(col, row, tile.queues[dir] + chan * tile.queue_bytes), word);
  return true;
}

} // namespace aie_runtime

#endif // AIE_RUNTIME_TXNDMA_H
