// Masks: one truth value for each lane.
#pragma once

#include "tilewright/vectors.hpp"

namespace aie {

template <unsigned N> class mask {
  static constexpr unsigned piece = std::gcd(N, tilewright::register_bytes);
  static constexpr unsigned words = (N + 31) / 32;

public:
  // All ones or zeros for each lane: what comparing makes and selecting takes.
  tilewright::simd_in_memory<int8_t, piece> lanes[N / piece];

  mask() = default;
  static constexpr unsigned size() { return N; }
  static constexpr unsigned bits() { return N; }

  template <class Word> static mask from_words(const Word *from) {
    mask made;
    for (unsigned i = 0; i < N; ++i)
      made.data()[i] = int8_t(-int((from[i / (8 * sizeof(Word))] >> (i % (8 * sizeof(Word)))) & 1));
    return made;
  }
  template <class... Words>
    requires(std::is_integral_v<Words> && ...)
  static mask from_uint32(Words... words) {
    const uint32_t all[(N + 31) / 32] = {uint32_t(words)...};
    return from_words(all);
  }
  template <class... Words>
    requires(std::is_integral_v<Words> && ...)
  static mask from_uint64(Words... words) {
    const uint64_t all[(N + 63) / 64] = {uint64_t(words)...};
    return from_words(all);
  }
  uint32_t to_uint32(unsigned word = 0) const {
    uint32_t made = 0;
    for (unsigned i = 0; i < 32 && word * 32 + i < N; ++i)
      made |= uint32_t(test(word * 32 + i)) << i;
    return made;
  }
  // The compiler's own comparisons give numbers.
  template <class Word>
    requires(std::is_unsigned_v<Word> && !std::is_same_v<Word, bool> && 8 * sizeof(Word) >= N)
  operator Word() const {
    return Word(to_uint64());
  }
  uint64_t to_uint64(unsigned word = 0) const { return to_uint32(2 * word) | uint64_t(to_uint32(2 * word + 1)) << 32; }

  int8_t *data() { return reinterpret_cast<int8_t *>(this); }
  const int8_t *data() const { return reinterpret_cast<const int8_t *>(this); }
  bool test(unsigned i) const { return data()[i]; }
  bool operator[](unsigned i) const { return test(i); }
  void set(unsigned i) { data()[i] = -1; }
  void set() { __builtin_memset(this, 0xff, sizeof *this); }
  void clear(unsigned i) { data()[i] = 0; }
  void clear() { __builtin_memset(this, 0, sizeof *this); }
  void toggle(unsigned i) { data()[i] = int8_t(~data()[i]); }
  unsigned count() const {
    int sum = 0;
    for (unsigned i = 0; i < N; ++i)
      sum -= data()[i];
    return unsigned(sum);
  }
  bool empty() const { return count() == 0; }
  bool full() const { return count() == N; }
  // Lanes before the first that is set, and after the last.
  unsigned ctz() const {
    unsigned i = 0;
    while (i < N && !test(i))
      ++i;
    return i;
  }
  unsigned clz() const {
    unsigned i = 0;
    while (i < N && !test(N - 1 - i))
      ++i;
    return i;
  }
  template <unsigned M> mask<M> extract(unsigned index) const {
    mask<M> part;
    __builtin_memcpy(&part, data() + index % (N / M) * M, M);
    return part;
  }
  template <unsigned M> mask<M> get_submask(unsigned index) const { return extract<M>(index); }
  template <unsigned M> mask &insert(unsigned index, const mask<M> &part) {
    __builtin_memcpy(data() + index % (N / M) * M, &part, M);
    return *this;
  }
  template <unsigned M> mask<M> grow(unsigned index = 0) const {
    mask<M> grown;
    grown.clear();
    grown.insert(index, *this);
    return grown;
  }

#define TILEWRIGHT_BITWISE(op)                                                                                                   \
  friend mask operator op(const mask &a, const mask &b) {                                                                        \
    mask made;                                                                                                                   \
    for (unsigned i = 0; i < N / piece; ++i)                                                                                     \
      made.lanes[i] = a.lanes[i] op b.lanes[i];                                                                                  \
    return made;                                                                                                                 \
  }                                                                                                                              \
  mask &operator op##=(const mask & other) { return *this = *this op other; }
  TILEWRIGHT_BITWISE(&)
  TILEWRIGHT_BITWISE(|)
  TILEWRIGHT_BITWISE(^)
#undef TILEWRIGHT_BITWISE
  mask operator~() const {
    mask made;
    for (unsigned i = 0; i < N / piece; ++i)
      made.lanes[i] = ~lanes[i];
    return made;
  }
  template <class Count>
    requires std::is_integral_v<Count>
  mask operator<<(Count count) const {
    const unsigned n = unsigned(count);
    mask made;
    for (unsigned i = 0; i < N; ++i)
      made.data()[i] = i >= n ? data()[i - n] : int8_t(0);
    return made;
  }
  template <class Count>
    requires std::is_integral_v<Count>
  mask operator>>(Count count) const {
    const unsigned n = unsigned(count);
    mask made;
    for (unsigned i = 0; i < N; ++i)
      made.data()[i] = n < N - i ? data()[i + n] : int8_t(0);
    return made;
  }
  bool operator==(const mask &other) const { return __builtin_memcmp(this, &other, sizeof *this) == 0; }

  template <class S, unsigned L> TILEWRIGHT_INLINE auto as_lanes(unsigned i) const {
    using signed_lane = std::conditional_t<sizeof(S) == 1, int8_t,
                                           std::conditional_t<sizeof(S) == 2, int16_t, std::conditional_t<sizeof(S) == 4, int32_t, int64_t>>>;
    return tilewright::convert<signed_lane, L>(tilewright::read<int8_t, L>(data() + i));
  }
  template <unsigned L, class V> TILEWRIGHT_INLINE void put_lanes(unsigned i, V truth) {
    tilewright::write(data() + i, tilewright::convert<int8_t, L>(truth));
  }
};

template <unsigned N> mask<N> make_mask(uint64_t word) { return mask<N>::from_uint64(word); }

} // namespace aie
