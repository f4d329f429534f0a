// Where DMA registers of AIE2 and AIE2P tiles are, and what is in them.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Made by docs/dma_tables.py from the tables that the compiler uses, tilewright/device: do not edit.

#ifndef AIE_RUNTIME_DMATABLES_H
#define AIE_RUNTIME_DMATABLES_H

#include <cstdint>

namespace aie_runtime {

// A buffer descriptor, field by field, named as those of `aiex.npu.writebd`. They hold what the register holds: steps,
// and the number of iterations, less one.
struct TxnBd {
  int64_t buffer_length = 0;
  int64_t enable_packet = 0;
  int64_t out_of_order_id = 0;
  int64_t packet_id = 0;
  int64_t packet_type = 0;
  int64_t d0_size = 0;
  int64_t d0_stride = 0;
  int64_t d1_size = 0;
  int64_t d1_stride = 0;
  int64_t d2_stride = 0;
  int64_t iteration_current = 0;
  int64_t iteration_size = 0;
  int64_t iteration_stride = 0;
  int64_t next_bd = 0;
  int64_t use_next_bd = 0;
  int64_t valid_bd = 0;
  int64_t lock_rel_val = 0;
  int64_t lock_rel_id = 0;
  int64_t lock_acq_enable = 0;
  int64_t lock_acq_val = 0;
  int64_t lock_acq_id = 0;
  int64_t d0_zero_before = 0;
  int64_t d0_zero_after = 0;
  int64_t d1_zero_before = 0;
  int64_t d1_zero_after = 0;
  int64_t d2_zero_before = 0;
  int64_t d2_zero_after = 0;
  int64_t d2_size = 0;
  int64_t d3_stride = 0;
  int64_t buffer_offset = 0; // where the data is: words in a mem tile, else bytes
  uint32_t burst_length = 0; // bytes; 0 asks for the longest. Of shim tiles
};

namespace detail {

constexpr uint32_t kColumnShift = 25;
constexpr uint32_t kRowShift = 20;
constexpr int kFirstFoldedArgument = 5;
constexpr uint32_t kFoldedOffset = 0x80000000;

// Bits of one word; none if the width is 0.
struct BdField {
  uint8_t word = 0, lo = 0, width = 0;
  bool is_signed = false;
};

struct DmaTile {
  uint32_t bds, bd_bytes, bd_count, bd_words, address_word;
  uint32_t queues[2], queue_bytes, channels[2]; // of S2MM, MM2S
  bool halves;                                  // even channels reach the lower half of the descriptors, odd the upper
  uint32_t wrap_bits, step_bits;
  BdField start_bd_id, repeat_count, enable_token_issue, address;
};

enum DmaKind : uint32_t { kShimDma, kMemDma, kCoreDma };

constexpr DmaTile kDmaTiles[] = {
  {
    /*bds=*/0x1d000,
    /*bd_bytes=*/32,
    /*bd_count=*/16,
    /*bd_words=*/8,
    /*address_word=*/1,
    /*queues=*/{0x1d204, 0x1d214},
    /*queue_bytes=*/8,
    /*channels=*/{2, 2},
    /*halves=*/false,
    /*wrap_bits=*/10,
    /*step_bits=*/20,
    /*start_bd_id=*/{0, 0, 4, false},
    /*repeat_count=*/{0, 16, 8, false},
    /*enable_token_issue=*/{0, 31, 1, false},
    /*address=*/{1, 0, 32, false},
  },
  {
    /*bds=*/0xa0000,
    /*bd_bytes=*/32,
    /*bd_count=*/48,
    /*bd_words=*/8,
    /*address_word=*/1,
    /*queues=*/{0xa0604, 0xa0634},
    /*queue_bytes=*/8,
    /*channels=*/{6, 6},
    /*halves=*/true,
    /*wrap_bits=*/10,
    /*step_bits=*/17,
    /*start_bd_id=*/{0, 0, 6, false},
    /*repeat_count=*/{0, 16, 8, false},
    /*enable_token_issue=*/{0, 31, 1, false},
    /*address=*/{1, 0, 19, false},
  },
  {
    /*bds=*/0x1d000,
    /*bd_bytes=*/32,
    /*bd_count=*/16,
    /*bd_words=*/6,
    /*address_word=*/0,
    /*queues=*/{0x1de04, 0x1de14},
    /*queue_bytes=*/8,
    /*channels=*/{2, 2},
    /*halves=*/false,
    /*wrap_bits=*/8,
    /*step_bits=*/13,
    /*start_bd_id=*/{0, 0, 4, false},
    /*repeat_count=*/{0, 16, 8, false},
    /*enable_token_issue=*/{0, 31, 1, false},
    /*address=*/{0, 14, 14, false},
  },
};

struct BdRow {
  int64_t TxnBd::*member;
  BdField at[3]; // in the descriptors of each kind of tile
  bool may_be_missing;
};

constexpr BdRow kBdRows[] = {
    {&TxnBd::buffer_length, {{0, 0, 32, false}, {0, 0, 17, false}, {0, 0, 14, false}}, false},
    {&TxnBd::enable_packet, {{2, 30, 1, false}, {0, 31, 1, false}, {1, 30, 1, false}}, false},
    {&TxnBd::out_of_order_id, {{2, 24, 6, false}, {0, 17, 6, false}, {1, 24, 6, false}}, false},
    {&TxnBd::packet_id, {{2, 19, 5, false}, {0, 23, 5, false}, {1, 19, 5, false}}, false},
    {&TxnBd::packet_type, {{2, 16, 3, false}, {0, 28, 3, false}, {1, 16, 3, false}}, false},
    {&TxnBd::d0_size, {{3, 20, 10, false}, {2, 17, 10, false}, {3, 13, 8, false}}, false},
    {&TxnBd::d0_stride, {{3, 0, 20, false}, {2, 0, 17, false}, {2, 0, 13, false}}, false},
    {&TxnBd::d1_size, {{4, 20, 10, false}, {3, 17, 10, false}, {3, 21, 8, false}}, false},
    {&TxnBd::d1_stride, {{4, 0, 20, false}, {3, 0, 17, false}, {2, 13, 13, false}}, false},
    {&TxnBd::d2_stride, {{5, 0, 20, false}, {4, 0, 17, false}, {3, 0, 13, false}}, false},
    {&TxnBd::iteration_current, {{6, 26, 6, false}, {6, 23, 6, false}, {4, 19, 6, false}}, false},
    {&TxnBd::iteration_size, {{6, 20, 6, false}, {6, 17, 6, false}, {4, 13, 6, false}}, false},
    {&TxnBd::iteration_stride, {{6, 0, 20, false}, {6, 0, 17, false}, {4, 0, 13, false}}, false},
    {&TxnBd::next_bd, {{7, 27, 4, false}, {1, 20, 6, false}, {5, 27, 4, false}}, false},
    {&TxnBd::use_next_bd, {{7, 26, 1, false}, {1, 19, 1, false}, {5, 26, 1, false}}, false},
    {&TxnBd::valid_bd, {{7, 25, 1, false}, {7, 31, 1, false}, {5, 25, 1, false}}, false},
    {&TxnBd::lock_rel_val, {{7, 18, 7, true}, {7, 24, 7, true}, {5, 18, 7, true}}, false},
    {&TxnBd::lock_rel_id, {{7, 13, 4, false}, {7, 16, 8, false}, {5, 13, 4, false}}, false},
    {&TxnBd::lock_acq_enable, {{7, 12, 1, false}, {7, 15, 1, false}, {5, 12, 1, false}}, false},
    {&TxnBd::lock_acq_val, {{7, 5, 7, true}, {7, 8, 7, true}, {5, 5, 7, true}}, false},
    {&TxnBd::lock_acq_id, {{7, 0, 4, false}, {7, 0, 8, false}, {5, 0, 4, false}}, false},
    {&TxnBd::d0_zero_before, {{}, {1, 26, 6, false}, {}}, false},
    {&TxnBd::d0_zero_after, {{}, {5, 17, 6, false}, {}}, false},
    {&TxnBd::d1_zero_before, {{}, {3, 27, 5, false}, {}}, false},
    {&TxnBd::d1_zero_after, {{}, {5, 23, 5, false}, {}}, false},
    {&TxnBd::d2_zero_before, {{}, {4, 27, 4, false}, {}}, false},
    {&TxnBd::d2_zero_after, {{}, {5, 28, 4, false}, {}}, false},
    {&TxnBd::d2_size, {{}, {4, 17, 10, false}, {}}, true},
    {&TxnBd::d3_stride, {{}, {5, 0, 17, false}, {}}, true},
};

constexpr BdField kAxCache = {5, 24, 4, false};
constexpr uint32_t kAxCacheValue = 2;
constexpr BdField kBurstLength = {4, 30, 2, false};

struct Burst {
  uint32_t bytes, code;
};

constexpr Burst kBursts[] = {{64, 0}, {128, 1}, {256, 2}, {512, 3}}; // the longest only on AIE2P
constexpr uint32_t kLongestBurst[] = {256, 512}; // of AIE2, AIE2P

} // namespace detail

} // namespace aie_runtime

#endif // AIE_RUNTIME_DMATABLES_H
