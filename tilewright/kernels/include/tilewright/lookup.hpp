// Tables in memory, read in parallel, and what is made of them.
#pragma once

#include "tilewright/arithmetic.hpp"

namespace tilewright {

// Bytes of a table that stand twice, so that two banks have them (UG1603: 128 bits, of the newer cores 256).
#if defined(__AIE2P__) || defined(__AIEARCH__) && __AIEARCH__ >= 21
constexpr unsigned table_row = 32;
#else
constexpr unsigned table_row = 16;
#endif

} // namespace tilewright

namespace aie {

enum class lut_oor_policy { saturate, truncate };

// For two and more parallel accesses each row stands twice, and for four the whole is there twice (UG1603).
template <unsigned ParallelAccesses, class Offset, class Slope = Offset> class lut {
  const char *first;
  unsigned elements;

public:
  using offset_type = Offset;
  using slope_type = Slope;

  lut(unsigned elements, const void *table) : first(static_cast<const char *>(table)), elements(elements) {}
  lut(unsigned elements, const void *table_ab, const void *) : lut(elements, table_ab) {}

  unsigned size() const { return elements; }
  template <class Entry> Entry entry(unsigned index) const {
    constexpr unsigned bytes = tilewright::table_row, row = bytes / sizeof(Entry), copies = ParallelAccesses > 1 ? 2 : 1;
    Entry found;
    __builtin_memcpy(&found, first + index / row * copies * bytes + index % row * sizeof(Entry), sizeof found);
    return found;
  }
};

template <class T> constexpr bool is_lut_v = false;
template <unsigned P, class O, class S> constexpr bool is_lut_v<lut<P, O, S>> = true;
template <class T>
concept ParallelLUT = is_lut_v<T>;

} // namespace aie

namespace tilewright {

inline unsigned table_index(int64_t index, unsigned size, aie::lut_oor_policy policy) {
  if (policy == aie::lut_oor_policy::truncate)
    return unsigned(index) & (size - 1);
  return index < 0 ? 0 : index >= size ? size - 1 : unsigned(index);
}

inline void count_lookups(unsigned n) { count(lookup, (n + 3) / 4); }

} // namespace tilewright

namespace aie {

// index = (input >> step_bits) + bias
template <class T, ParallelLUT Table, lut_oor_policy policy = lut_oor_policy::saturate> class parallel_lookup {
  Table table;
  unsigned step_bits;
  int bias;

public:
  parallel_lookup(const Table &table, unsigned step_bits = 0, int bias = 0) : table(table), step_bits(step_bits), bias(bias) {}

  template <unsigned N> vector<typename Table::offset_type, N> fetch(const vector<T, N> &input) const {
    using Value = typename Table::offset_type;
    tilewright::count_lookups(N);
    vector<Value, N> found;
    for (unsigned i = 0; i < N; ++i) {
      int64_t index = (int64_t(input.get(i)) >> step_bits) + bias;
      found.set(table.template entry<Value>(tilewright::table_index(index, table.size(), policy)), i);
    }
    return found;
  }
};

// Integers: slope * (low bits of the input) + (offset << shift_offset). Floats: slope * input + offset.
template <class T, ParallelLUT Table> class linear_approx {
  using Offset = typename Table::offset_type;
  using Slope = typename Table::slope_type;
  static constexpr bool is_float = tilewright::is_float_class<T>;
  using Tag = std::conditional_t<is_float, accfloat, std::conditional_t<tilewright::bits_of<T> == 8, acc32, acc64>>;
  // Slope and offset take the same room, that of the wider.
  static constexpr unsigned room = sizeof(Offset) > sizeof(Slope) ? sizeof(Offset) : sizeof(Slope);
  struct pair {
    char slope[room], offset[room];
  };
  Table table;
  int step_bits, bias, shift_offset;

  template <class V> static tilewright::lane_t<V> read(const char *from) {
    if constexpr (is_float && room == 4) {
      float value; // a bfloat16 in the room of a float is the float's high half
      __builtin_memcpy(&value, from, 4);
      return value;
    } else {
      V value;
      __builtin_memcpy(&value, from, sizeof value);
      return static_cast<tilewright::lane_t<V>>(value);
    }
  }

public:
  linear_approx(const Table &table, int step_bits, int bias = 0, int shift_offset = 0)
      : table(table), step_bits(step_bits), bias(bias), shift_offset(shift_offset) {}

  template <unsigned N> accum<Tag, N> compute(const vector<T, N> &input) const {
    tilewright::count_lookups(N);
    tilewright::count(tilewright::vector_mac, tilewright::issues(N * 4, tilewright::accum_bytes));
    accum<Tag, N> result;
    for (unsigned i = 0; i < N; ++i) {
      if constexpr (is_float) {
        float x = float(input.get(i)), scaled = __builtin_floorf(__builtin_ldexpf(x, -step_bits));
        int64_t index = scaled != scaled ? 0 : int64_t(scaled > 1e9f ? 1e9f : scaled < -1e9f ? -1e9f : scaled) + bias;
        auto found = table.template entry<pair>(tilewright::table_index(index, table.size(), lut_oor_policy::saturate));
        result[i] = read<Slope>(found.slope) * x + read<Offset>(found.offset);
      } else {
        int64_t x = input.get(i), low = x & ((int64_t(1) << step_bits) - 1);
        auto found = table.template entry<pair>(
            tilewright::table_index((x >> step_bits) + bias, table.size(), lut_oor_policy::saturate));
        result[i] = tilewright::accum_lane_t<Tag>(int64_t(read<Slope>(found.slope)) * low +
                                                  int64_t(read<Offset>(found.offset)) * (int64_t(1) << shift_offset));
      }
    }
    return result;
  }
};

} // namespace aie
