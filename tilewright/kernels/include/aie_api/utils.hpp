// Printing of vectors, accumulators and masks, which only simulation has.
#pragma once

#include <cstdio>

#include "aie_api/aie.hpp"

namespace tilewright {

template <class T> void print_value(T value) {
  if constexpr (std::is_floating_point_v<T> || is_bfloat<T>)
    std::printf("%g ", double(value));
  else
    std::printf("%lld ", (long long)value);
}

} // namespace tilewright

namespace aie {

#define TILEWRIGHT_PRINT(parameters, type, value)                                                                                \
  template <parameters> void print(const type &v, bool new_line = false, const char *prefix = nullptr) {                         \
    std::printf("%s", prefix ? prefix : "");                                                                                     \
    for (unsigned i = 0; i < N; ++i)                                                                                             \
      tilewright::print_value(value);                                                                                            \
    if (new_line)                                                                                                                \
      std::printf("\n");                                                                                                         \
  }
#define TILEWRIGHT_TYPED class T, unsigned N
#define TILEWRIGHT_VECTOR vector<T, N>
#define TILEWRIGHT_ACCUM accum<T, N>
TILEWRIGHT_PRINT(TILEWRIGHT_TYPED, TILEWRIGHT_VECTOR, v.get(i))
TILEWRIGHT_PRINT(TILEWRIGHT_TYPED, TILEWRIGHT_ACCUM, v[i])
TILEWRIGHT_PRINT(unsigned N, mask<N>, int(v.test(i)))
#undef TILEWRIGHT_ACCUM
#undef TILEWRIGHT_VECTOR
#undef TILEWRIGHT_TYPED
#undef TILEWRIGHT_PRINT

template <class T, unsigned N> void print_matrix(const vector<T, N> &v, unsigned columns, const char *prefix = nullptr) {
  std::printf("%s", prefix ? prefix : "");
  for (unsigned i = 0; i < N; ++i) {
    tilewright::print_value(v.get(i));
    if (i % columns == columns - 1)
      std::printf("\n");
  }
}

} // namespace aie
