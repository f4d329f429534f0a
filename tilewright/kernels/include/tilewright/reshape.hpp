// The order of elements: concatenate, interleave, filter, shuffle, transpose.
#pragma once

#include <utility>

#include "tilewright/arithmetic.hpp"

namespace tilewright {

template <class T, unsigned N, class F> TILEWRIGHT_INLINE aie::vector<T, N> rearranged(F source) {
  aie::vector<T, N> result;
  count(vector_shuffle, issues(sizeof result));
  for (unsigned i = 0; i < N; ++i)
    result.set(source(i), i);
  return result;
}

// `step` elements that stay together are one of a larger type. From each of two arrays in turn, a register at a time:
template <class G, unsigned bytes, unsigned... i>
TILEWRIGHT_INLINE void zip_granules(const char *a, const char *b, char *out, std::integer_sequence<unsigned, i...>) {
  constexpr unsigned n = sizeof...(i);
  for (unsigned at = 0; at < bytes; at += n / 2 * sizeof(G)) {
    auto x = read<G, n / 2>(a + at), y = read<G, n / 2>(b + at);
    write(out + 2 * at, simd<G, n>(__builtin_shufflevector(x, y, (i % 2 * (n / 2) + i / 2)...)));
  }
}
// every other one of an array, beginning with the first or the second:
template <class G, unsigned bytes, unsigned odd, unsigned... i>
TILEWRIGHT_INLINE void filter_granules(const char *from, char *out, std::integer_sequence<unsigned, i...>) {
  constexpr unsigned n = sizeof...(i);
  for (unsigned at = 0; at < bytes; at += n * sizeof(G)) {
    auto x = read<G, n>(from + 2 * at), y = read<G, n>(from + 2 * at + n * sizeof(G));
    write(out + at, simd<G, n>(__builtin_shufflevector(x, y, (2 * i + odd)...)));
  }
}

// f(G{}, register) for the type of `size` bytes, or false.
template <unsigned bytes, class F> TILEWRIGHT_INLINE bool with_granule(unsigned size, F f) {
  constexpr unsigned whole = std::gcd(bytes, register_bytes);
  switch (size) {
  case 1:
    return f(uint8_t(), std::make_integer_sequence<unsigned, whole>{}), true;
  case 2:
    return f(uint16_t(), std::make_integer_sequence<unsigned, whole / 2>{}), true;
  case 4:
    return f(uint32_t(), std::make_integer_sequence<unsigned, whole / 4>{}), true;
  default:
    return false;
  }
}

template <unsigned bytes> TILEWRIGHT_INLINE void zip(const void *a, const void *b, void *out, unsigned granule) {
  const char *x = static_cast<const char *>(a), *y = static_cast<const char *>(b);
  char *to = static_cast<char *>(out);
  if constexpr (bytes >= 16)
    if (with_granule<bytes>(granule, [&]<class G>(G, auto n) { zip_granules<G, bytes>(x, y, to, n); }))
      return;
  for (unsigned at = 0; at < bytes; at += granule, to += 2 * granule) {
    std::memcpy(to, x + at, granule);
    std::memcpy(to + granule, y + at, granule);
  }
}
template <unsigned bytes, unsigned odd> TILEWRIGHT_INLINE void filter(const void *from, void *out, unsigned granule) {
  const char *x = static_cast<const char *>(from);
  char *to = static_cast<char *>(out);
  if constexpr (bytes >= 8)
    if (with_granule<bytes>(granule, [&]<class G>(G, auto n) { filter_granules<G, bytes, odd>(x, to, n); }))
      return;
  for (unsigned at = 0; at < bytes; at += granule)
    std::memcpy(to + at, x + 2 * at + odd * granule, granule);
}

// N elements of `low` and `high` laid side by side, from the n-th on.
template <class T, unsigned N>
TILEWRIGHT_INLINE aie::vector<T, N> window(const aie::vector<T, N> &low, const aie::vector<T, N> &high, unsigned n) {
  if constexpr (is_nibble<T>)
    return rearranged<T, N>([&](unsigned i) { return i + n < N ? low.get(i + n) : high.get(i + n - N); });
  else {
    count(vector_shuffle, issues(sizeof low));
    const aie::vector<T, N> both[2] = {low, high};
    aie::vector<T, N> result;
    __builtin_memcpy(&result, reinterpret_cast<const char *>(both) + (n < N ? n : N) * sizeof(stored_t<T>), sizeof result);
    return result;
  }
}

template <class T, unsigned N> TILEWRIGHT_INLINE aie::vector<T, N> repeated(T value) {
  aie::vector<T, N> result;
  for (unsigned i = 0; i < N; ++i)
    result.set(value, i);
  return result;
}

} // namespace tilewright

namespace aie {

template <class T, unsigned N, class... More>
  requires(std::is_same_v<vector<T, N>, More> && ...)
TILEWRIGHT_INLINE auto concat(const vector<T, N> &first, const More &...more) {
  vector<T, N *(1 + sizeof...(More))> result;
  unsigned i = 0;
  result.insert(i++, first);
  (result.insert(i++, more), ...);
  return result;
}
template <class Tag, unsigned N, class... More>
  requires(std::is_same_v<accum<Tag, N>, More> && ...)
TILEWRIGHT_INLINE auto concat(const accum<Tag, N> &first, const More &...more) {
  accum<Tag, N *(1 + sizeof...(More))> result;
  unsigned i = 0;
  result.insert(i++, first);
  (result.insert(i++, more), ...);
  return result;
}

// `step` elements from each in turn; the low half of the result and the high one.
template <class T, unsigned N>
TILEWRIGHT_INLINE std::pair<vector<T, N>, vector<T, N>> interleave_zip(const vector<T, N> &a, const vector<T, N> &b, unsigned step = 1) {
  if constexpr (tilewright::is_nibble<T>) {
    auto source = [&](unsigned i) {
      unsigned group = i / (2 * step), within = i % (2 * step);
      return within < step ? a.get(group * step + within) : b.get(group * step + within - step);
    };
    return {tilewright::rearranged<T, N>(source), tilewright::rearranged<T, N>([&](unsigned i) { return source(N + i); })};
  } else {
    vector<T, 2 * N> both;
    tilewright::count(tilewright::vector_shuffle, tilewright::issues(sizeof both));
    tilewright::zip<sizeof a>(&a, &b, &both, step * sizeof(tilewright::stored_t<T>));
    return {both.template extract<N>(0), both.template extract<N>(1)};
  }
}
#define TILEWRIGHT_FILTER(name, odd)                                                                                             \
  template <class T, unsigned N> TILEWRIGHT_INLINE vector<T, N / 2> name(const vector<T, N> &v, unsigned step = 1) {             \
    if constexpr (tilewright::is_nibble<T>)                                                                                      \
      return tilewright::rearranged<T, N / 2>([&](unsigned i) { return v.get((2 * (i / step) + odd) * step + i % step); });      \
    else {                                                                                                                       \
      vector<T, N / 2> result;                                                                                                   \
      tilewright::count(tilewright::vector_shuffle, tilewright::issues(sizeof v));                                               \
      tilewright::filter<sizeof result, odd>(&v, &result, step * sizeof(tilewright::stored_t<T>));                               \
      return result;                                                                                                             \
    }                                                                                                                            \
  }
TILEWRIGHT_FILTER(filter_even, 0)
TILEWRIGHT_FILTER(filter_odd, 1)
#undef TILEWRIGHT_FILTER
template <class T, unsigned N>
TILEWRIGHT_INLINE std::pair<vector<T, N>, vector<T, N>> interleave_unzip(const vector<T, N> &a, const vector<T, N> &b, unsigned step = 1) {
  const auto both = concat(a, b);
  return {filter_even(both, step), filter_odd(both, step)};
}

// A step that was chosen beforehand.
template <class T, unsigned N> struct interleave_zip_mode {
  unsigned step;
  explicit constexpr interleave_zip_mode(unsigned step = 1) : step(step) {}
};
template <class T, unsigned N> struct interleave_unzip_mode {
  unsigned step;
  explicit constexpr interleave_unzip_mode(unsigned step = 1) : step(step) {}
};
template <class T, unsigned N>
TILEWRIGHT_INLINE auto interleave_zip(const vector<T, N> &a, const vector<T, N> &b, interleave_zip_mode<T, N> mode) {
  return interleave_zip(a, b, mode.step);
}
template <class T, unsigned N>
TILEWRIGHT_INLINE auto interleave_unzip(const vector<T, N> &a, const vector<T, N> &b, interleave_unzip_mode<T, N> mode) {
  return interleave_unzip(a, b, mode.step);
}

// Down is towards index 0. What comes in at the end is undefined (here: zero), repeated, taken from `fill`, or wraps.
template <class T, unsigned N> TILEWRIGHT_INLINE vector<T, N> shuffle_down(const vector<T, N> &v, unsigned n) {
  return tilewright::window(v, vector<T, N>{}, n);
}
template <class T, unsigned N> TILEWRIGHT_INLINE vector<T, N> shuffle_down_rotate(const vector<T, N> &v, unsigned n) {
  return tilewright::window(v, v, n % N);
}
template <class T, unsigned N> TILEWRIGHT_INLINE vector<T, N> shuffle_down_replicate(const vector<T, N> &v, unsigned n) {
  return tilewright::window(v, tilewright::repeated<T, N>(v.get(N - 1)), n);
}
template <class T, unsigned N>
TILEWRIGHT_INLINE vector<T, N> shuffle_down_fill(const vector<T, N> &v, const vector<T, N> &fill, unsigned n) {
  return tilewright::window(v, fill, n);
}
template <class T, unsigned N> TILEWRIGHT_INLINE vector<T, N> shuffle_up(const vector<T, N> &v, unsigned n) {
  return tilewright::window(vector<T, N>{}, v, n < N ? N - n : 0);
}
template <class T, unsigned N> TILEWRIGHT_INLINE vector<T, N> shuffle_up_rotate(const vector<T, N> &v, unsigned n) {
  return tilewright::window(v, v, N - n % N);
}
template <class T, unsigned N> TILEWRIGHT_INLINE vector<T, N> shuffle_up_replicate(const vector<T, N> &v, unsigned n) {
  return tilewright::window(tilewright::repeated<T, N>(v.get(0)), v, n < N ? N - n : 0);
}
template <class T, unsigned N>
TILEWRIGHT_INLINE vector<T, N> shuffle_up_fill(const vector<T, N> &v, const vector<T, N> &fill, unsigned n) {
  return tilewright::window(fill, v, n < N ? N - n : 0);
}
template <class T, unsigned N> TILEWRIGHT_INLINE vector<T, N> reverse(const vector<T, N> &v) {
  return tilewright::rearranged<T, N>([&](unsigned i) { return v.get(N - 1 - i); });
}
// Rows and columns are those before.
template <class T, unsigned N> TILEWRIGHT_INLINE vector<T, N> transpose(const vector<T, N> &v, unsigned rows, unsigned columns) {
  return tilewright::rearranged<T, N>([&](unsigned i) { return v.get(i % rows * columns + i / rows); });
}

// Kernels reach for this where `aie::transpose` would do.
namespace detail {
template <class T, unsigned N> struct transpose {
  static vector<T, N> run(const vector<T, N> &v, unsigned rows, unsigned columns) { return aie::transpose(v, rows, columns); }
};
} // namespace detail

} // namespace aie
