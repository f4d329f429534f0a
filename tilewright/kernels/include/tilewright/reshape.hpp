// The order of elements: concatenate, interleave, filter, shuffle, transpose.
#pragma once

#include <utility>

#include "tilewright/arithmetic.hpp"

namespace tilewright {

// An element's bits, whatever they mean: what is moved is not converted.
template <class T> using moved_t = std::conditional_t<is_nibble<T>, T, stored_t<T>>;

template <class T, unsigned N, class F> TILEWRIGHT_INLINE aie::vector<T, N> rearranged(F source) {
  aie::vector<T, N> result;
  count(vector_shuffle, issues(sizeof result));
  for (unsigned i = 0; i < N; ++i)
    result.set(source(i), i);
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
  auto source = [&](unsigned i) {
    unsigned group = i / (2 * step), within = i % (2 * step);
    return within < step ? a.get(group * step + within) : b.get(group * step + within - step);
  };
  return {tilewright::rearranged<T, N>(source), tilewright::rearranged<T, N>([&](unsigned i) { return source(N + i); })};
}
template <class T, unsigned N>
TILEWRIGHT_INLINE std::pair<vector<T, N>, vector<T, N>> interleave_unzip(const vector<T, N> &a, const vector<T, N> &b, unsigned step = 1) {
  auto source = [&](unsigned i, unsigned odd) {
    unsigned at = (2 * (i / step) + odd) * step + i % step;
    return at < N ? a.get(at) : b.get(at - N);
  };
  return {tilewright::rearranged<T, N>([&](unsigned i) { return source(i, 0); }),
          tilewright::rearranged<T, N>([&](unsigned i) { return source(i, 1); })};
}
template <class T, unsigned N> TILEWRIGHT_INLINE vector<T, N / 2> filter_even(const vector<T, N> &v, unsigned step = 1) {
  return tilewright::rearranged<T, N / 2>([&](unsigned i) { return v.get(2 * (i / step) * step + i % step); });
}
template <class T, unsigned N> TILEWRIGHT_INLINE vector<T, N / 2> filter_odd(const vector<T, N> &v, unsigned step = 1) {
  return tilewright::rearranged<T, N / 2>([&](unsigned i) { return v.get((2 * (i / step) + 1) * step + i % step); });
}

// Down is towards index 0. What comes in at the end is undefined (here: zero), repeated, taken from `fill`, or wraps.
template <class T, unsigned N> TILEWRIGHT_INLINE vector<T, N> shuffle_down(const vector<T, N> &v, unsigned n) {
  return tilewright::rearranged<T, N>([&](unsigned i) { return i + n < N ? v.get(i + n) : T(0); });
}
template <class T, unsigned N> TILEWRIGHT_INLINE vector<T, N> shuffle_down_rotate(const vector<T, N> &v, unsigned n) {
  return tilewright::rearranged<T, N>([&](unsigned i) { return v.get((i + n) % N); });
}
template <class T, unsigned N> TILEWRIGHT_INLINE vector<T, N> shuffle_down_replicate(const vector<T, N> &v, unsigned n) {
  return tilewright::rearranged<T, N>([&](unsigned i) { return v.get(i + n < N ? i + n : N - 1); });
}
template <class T, unsigned N>
TILEWRIGHT_INLINE vector<T, N> shuffle_down_fill(const vector<T, N> &v, const vector<T, N> &fill, unsigned n) {
  return tilewright::rearranged<T, N>([&](unsigned i) { return i + n < N ? v.get(i + n) : fill.get((i + n - N) % N); });
}
template <class T, unsigned N> TILEWRIGHT_INLINE vector<T, N> shuffle_up(const vector<T, N> &v, unsigned n) {
  return tilewright::rearranged<T, N>([&](unsigned i) { return i >= n ? v.get(i - n) : T(0); });
}
template <class T, unsigned N> TILEWRIGHT_INLINE vector<T, N> shuffle_up_rotate(const vector<T, N> &v, unsigned n) {
  return tilewright::rearranged<T, N>([&](unsigned i) { return v.get((i + N - n % N) % N); });
}
template <class T, unsigned N> TILEWRIGHT_INLINE vector<T, N> shuffle_up_replicate(const vector<T, N> &v, unsigned n) {
  return tilewright::rearranged<T, N>([&](unsigned i) { return v.get(i >= n ? i - n : 0); });
}
template <class T, unsigned N>
TILEWRIGHT_INLINE vector<T, N> shuffle_up_fill(const vector<T, N> &v, const vector<T, N> &fill, unsigned n) {
  return tilewright::rearranged<T, N>([&](unsigned i) { return i >= n ? v.get(i - n) : fill.get((N - n % N + i) % N); });
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
