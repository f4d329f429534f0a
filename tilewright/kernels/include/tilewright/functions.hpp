// Functions of floats, and floats to fixed point and back. A core has tables for some of them; here they are exact up to the
// last rounding, which obeys the mode of the core where the result is a bfloat16.
#pragma once

#include "tilewright/arithmetic.hpp"

namespace tilewright {

template <class To, class T, unsigned N, class F> inline aie::vector<To, N> mapped(const aie::vector<T, N> &v, F f) {
  static_assert(is_float_class<T> && is_float_class<To>, "these functions are of floats");
  count(lookup, issues(N * 4));
  alignas(64) float values[N];
  for (unsigned i = 0; i < N; ++i)
    values[i] = f(float(v.data()[i]));
  aie::vector<To, N> result;
  constexpr unsigned L = step<float, N>;
  for (unsigned i = 0; i < N; i += L)
    put_lanes<To, L>(&result, i, read<float, L>(values + i));
  return result;
}

template <class T> inline T rounded_scalar(float value) {
  if constexpr (is_bfloat<T>)
    return bfloat16::from_bits(to_bfloat_bits<4>(arithmetic<float, 4>::splat(value))[0]);
  else
    return T(value);
}

template <class T>
concept FloatScalar = std::is_floating_point_v<T> || is_bfloat<T>;

} // namespace tilewright

namespace aie {

// Each of a vector (the result's type may be named), an accumulator of floats, or a scalar.
#define TILEWRIGHT_FUNCTION(name, expression)                                                                                    \
  template <class To, class T, unsigned N> inline vector<To, N> name(const vector<T, N> &v) {                                    \
    return tilewright::mapped<To>(v, [](float x) -> float { return expression; });                                               \
  }                                                                                                                              \
  template <class T, unsigned N> inline vector<T, N> name(const vector<T, N> &v) { return name<T, T, N>(v); }                    \
  template <class To, unsigned N> inline vector<To, N> name(const accum<accfloat, N> &v) {                                       \
    return name<To, float, N>(v.template to_vector<float>());                                                                    \
  }                                                                                                                              \
  template <unsigned N> inline accum<accfloat, N> name(const accum<accfloat, N> &v) {                                            \
    return accum<accfloat, N>(name<float, float, N>(v.template to_vector<float>()));                                             \
  }                                                                                                                              \
  template <tilewright::FloatScalar T> inline T name(T scalar) {                                                                 \
    tilewright::count(tilewright::scalar_float);                                                                                 \
    const float x = float(scalar);                                                                                               \
    return tilewright::rounded_scalar<T>(expression);                                                                            \
  }
TILEWRIGHT_FUNCTION(inv, 1.0f / x)
TILEWRIGHT_FUNCTION(sqrt, __builtin_sqrtf(x))
TILEWRIGHT_FUNCTION(invsqrt, 1.0f / __builtin_sqrtf(x))
TILEWRIGHT_FUNCTION(exp2, __builtin_exp2f(x))
TILEWRIGHT_FUNCTION(exp, __builtin_expf(x))
TILEWRIGHT_FUNCTION(log2, __builtin_log2f(x))
TILEWRIGHT_FUNCTION(tanh, __builtin_tanhf(x))
TILEWRIGHT_FUNCTION(sin, __builtin_sinf(x))
TILEWRIGHT_FUNCTION(cos, __builtin_cosf(x))
#undef TILEWRIGHT_FUNCTION

template <class T, unsigned N> inline std::pair<vector<T, N>, vector<T, N>> sincos(const vector<T, N> &v) { return {sin(v), cos(v)}; }
template <tilewright::FloatScalar T> inline std::pair<T, T> sincos(T x) { return {sin(x), cos(x)}; }

template <class T, unsigned N> TILEWRIGHT_INLINE vector<T, N> div(const vector<T, N> &x, const vector<T, N> &y) {
  static_assert(tilewright::is_float_class<T>, "only floats are divided");
  return tilewright::elementwise<T, N>([](auto, auto a, auto b) { return a / b; }, x, y);
}
template <class T, unsigned N, tilewright::Scalar S> TILEWRIGHT_INLINE vector<T, N> div(const vector<T, N> &x, S y) {
  return div(x, broadcast<T, N>(y));
}
template <class T, unsigned N, tilewright::Scalar S> TILEWRIGHT_INLINE vector<T, N> div(S x, const vector<T, N> &y) {
  return div(broadcast<T, N>(x), y);
}
template <tilewright::FloatScalar T> inline T div(T x, T y) {
  tilewright::count(tilewright::scalar_float);
  return tilewright::rounded_scalar<T>(float(x) / float(y));
}

// value * 2^-shift.
template <class To = float, class T, unsigned N> inline vector<To, N> to_float(const vector<T, N> &v, int shift = 0) {
  vector<To, N> result;
  tilewright::count(tilewright::vector_convert, tilewright::issues(N * 4));
  const float scale = __builtin_ldexpf(1.0f, -shift);
  constexpr unsigned L = tilewright::step<float, N>;
  for (unsigned i = 0; i < N; i += L)
    tilewright::put_lanes<To, L>(&result, i, tilewright::lanes<float, L, T>(&v, i) * scale);
  return result;
}
template <class To = float, tilewright::Scalar T> inline To to_float(T x, int shift = 0) {
  tilewright::count(tilewright::scalar_float);
  return tilewright::rounded_scalar<To>(float(__builtin_ldexp(double(tilewright::lane_t<T>(x)), -shift)));
}

} // namespace aie

namespace tilewright {

// From bfloat16 to signed integers of 16 and 32 bits the hardware converts, downwards and by way of 32 bits; all else is made
// by software, to the nearest, halves towards zero (UG1529, floating-point conversion).
template <class To, class T> inline To fixed_of(T x, int shift) {
  if constexpr (is_bfloat<T> && (std::is_same_v<To, int32> || std::is_same_v<To, int16>)) {
    double scaled = __builtin_floor(__builtin_ldexp(double(float(x)), shift));
    double held = scaled > 2147483647.0 ? 2147483647.0 : scaled < -2147483648.0 ? -2147483648.0 : scaled != scaled ? 0 : scaled;
    return To(int32_t(held));
  } else
    return To(float_to_integer<To>(float(x), shift));
}

} // namespace tilewright

namespace aie {

// value * 2^shift, rounded.
template <class To = int32, class T, unsigned N> inline vector<To, N> to_fixed(const vector<T, N> &v, int shift = 0) {
  vector<To, N> result;
  tilewright::count(tilewright::vector_convert, tilewright::issues(N * 4));
  for (unsigned i = 0; i < N; ++i)
    result.set(tilewright::fixed_of<To>(v.get(i), shift), i);
  return result;
}
template <class To = int32, tilewright::FloatScalar T> inline To to_fixed(T x, int shift = 0) {
  tilewright::count(tilewright::scalar_float);
  return tilewright::fixed_of<To>(x, shift);
}

} // namespace aie
