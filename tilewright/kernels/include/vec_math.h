// Functions of whole vectors without tables, under the names that mlir-aie's runtime library gives them.
//
// Each is the approximation that a device computes, step by step in bfloat16, and not the exact function.
#pragma once

#include "aie_api/aie.hpp"

// A first guess from the bits of the number, made better by one step of Newton's method: within about a hundredth.
template <unsigned N> inline aie::vector<bfloat16, N> getRsqrtBf16(aie::vector<bfloat16, N> x) {
  using V = aie::vector<bfloat16, N>;
  const auto halved = aie::downshift(x.template cast_to<int16>(), 1);
  const V guess = aie::sub(aie::broadcast<int16, N>(0x5f37), halved).template cast_to<bfloat16>();
  V term = aie::mul(x, bfloat16(0.5f)).template to_vector<bfloat16>();
  for (int factor = 0; factor < 2; ++factor)
    term = aie::mul(term, guess).template to_vector<bfloat16>();
  return aie::mul(aie::sub(aie::broadcast<bfloat16, N>(1.5f), term), guess).template to_vector<bfloat16>();
}

template <unsigned N> inline aie::vector<bfloat16, N> getSqrtBf16(aie::vector<bfloat16, N> x) {
  return aie::mul(x, getRsqrtBf16(x)).template to_vector<bfloat16>();
}

// Three terms of the series at zero, cut at -1 and 1: good to about a tenth, best near zero.
template <unsigned N> inline aie::vector<bfloat16, N> getErfBf16(aie::vector<bfloat16, N> x) {
  using V = aie::vector<bfloat16, N>;
  const V square = aie::mul(x, x).template to_vector<bfloat16>();
  const V third = aie::mul(square, x).template to_vector<bfloat16>();
  const V fourth = aie::mul(square, square).template to_vector<bfloat16>();
  const V fifth = aie::mul(fourth, x).template to_vector<bfloat16>();
  auto sum = aie::mul(x, bfloat16(1.12837917f)); // 2 / sqrt(pi), then -1/3 and 1/10 of it
  sum = aie::mac(sum, third, bfloat16(-0.37612639f));
  sum = aie::mac(sum, fifth, bfloat16(0.11283792f));
  return aie::max(aie::min(sum.template to_vector<bfloat16>(), bfloat16(1.0f)), bfloat16(-1.0f));
}

// A parabola on each side of zero: 1/2 + x/4 - x|x|/32 between -4 and 4.
template <unsigned N> inline aie::vector<bfloat16, N> getSigmoidBf16(aie::vector<bfloat16, N> x) {
  using V = aie::vector<bfloat16, N>;
  const V cut = aie::max(aie::min(x, bfloat16(4.0f)), bfloat16(-4.0f));
  const V bend = aie::mul(aie::abs(cut), bfloat16(0.03125f)).template to_vector<bfloat16>();
  aie::accum<accfloat, N> sum(aie::broadcast<bfloat16, N>(0.5f));
  sum = aie::mac(sum, cut, bfloat16(0.25f));
  return aie::msc(sum, bend, cut).template to_vector<bfloat16>();
}

template <class T, unsigned N> inline aie::vector<T, N> getAbs(aie::vector<T, N> x) { return aie::abs(x); }

template <unsigned N> inline aie::vector<bfloat16, N> getFloorBf16(aie::vector<bfloat16, N> x) {
  tilewright::count(tilewright::vector_convert, 2);
  aie::vector<bfloat16, N> result;
  for (unsigned i = 0; i < N; ++i) // a bfloat16 beyond 2^8 has no fraction, so that this is exact
    result.set(bfloat16(__builtin_floorf(float(x.get(i)))), i);
  return result;
}
template <unsigned N> inline aie::vector<bfloat16, N> getCeilBf16(aie::vector<bfloat16, N> x) {
  return aie::neg(getFloorBf16(aie::neg(x)));
}
