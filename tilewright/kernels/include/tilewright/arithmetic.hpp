// Element by element: sums, bits, comparison, selection, reduction.
#pragma once

#include "tilewright/mask.hpp"
#include "tilewright/modes.hpp"
#include "tilewright/vectors.hpp"

namespace tilewright {

template <class T>
concept Scalar = std::is_arithmetic_v<T> || is_bfloat<T> || std::is_same_v<T, int4> || std::is_same_v<T, uint4>;

// Integers are added as unsigned: lanes wrap.
template <class S> struct wrapping {
  using type = S;
};
template <class S>
  requires std::is_integral_v<S>
struct wrapping<S> {
  using type = std::make_unsigned_t<S>;
};

template <class S, unsigned L> struct arithmetic {
  using V = simd<S, L>;
  using U = simd<typename wrapping<S>::type, L>;
  static TILEWRIGHT_INLINE V add(V a, V b) { return V(U(a) + U(b)); }
  static TILEWRIGHT_INLINE V sub(V a, V b) { return V(U(a) - U(b)); }
  static TILEWRIGHT_INLINE V mul(V a, V b) { return V(U(a) * U(b)); }
  // x - 0 keeps the sign of a zero.
  static TILEWRIGHT_INLINE V splat(S x) { return x - V{}; }
};

template <class W, unsigned L, class T, unsigned N> TILEWRIGHT_INLINE simd<W, L> operand(const aie::vector<T, N> &v, unsigned i) {
  return lanes<W, L, T>(&v, i);
}
template <class W, unsigned L, Scalar T> TILEWRIGHT_INLINE simd<W, L> operand(T x, unsigned) {
  return arithmetic<W, L>::splat(static_cast<W>(static_cast<lane_t<T>>(x)));
}

// f over lanes of the type that T is computed in; operands are vectors of T or scalars.
template <class T, unsigned N, class F, class... A> TILEWRIGHT_INLINE aie::vector<T, N> elementwise(F f, const A &...a) {
  using W = lane_t<T>;
  constexpr unsigned L = step<W, N>;
  aie::vector<T, N> result;
  count(vector_alu, issues(sizeof result));
  for (unsigned i = 0; i < N; i += L)
    put_lanes<T, L>(&result, i, f(arithmetic<W, L>{}, operand<W, L>(a, i)...));
  return result;
}

template <unsigned N, class T, class F, class A, class B> TILEWRIGHT_INLINE aie::mask<N> comparison(F f, const A &a, const B &b) {
  using W = lane_t<T>;
  constexpr unsigned L = step<W, N>;
  aie::mask<N> result;
  count(vector_alu, issues(N * bits_of<T> / 8));
  for (unsigned i = 0; i < N; i += L)
    result.template put_lanes<L>(i, f(operand<W, L>(a, i), operand<W, L>(b, i)));
  return result;
}

// A scalar beside a vector is taken as an element of it.
template <class T, Scalar S> TILEWRIGHT_INLINE T as_element(S x) {
  if constexpr (std::is_same_v<T, S>)
    return x;
  else
    return static_cast<T>(static_cast<lane_t<S>>(x));
}

} // namespace tilewright

namespace aie {

template <class T, unsigned N> TILEWRIGHT_INLINE auto zeros_of() {
  if constexpr (tilewright::Scalar<T> || tilewright::Complex<T>)
    return vector<T, N>{};
  else
    return accum<T, N>{};
}
template <class T, unsigned N> TILEWRIGHT_INLINE auto zeros() { return zeros_of<T, N>(); }
template <class T> TILEWRIGHT_INLINE auto zeros() {
  if constexpr (tilewright::Scalar<T> || tilewright::Complex<T>)
    return vector<T>{};
  else
    return accum<T>{};
}

template <class T, unsigned N> TILEWRIGHT_INLINE vector<T, N> broadcast(std::type_identity_t<T> value) {
  tilewright::count(tilewright::vector_shuffle, tilewright::issues(sizeof(vector<T, N>)));
  vector<T, N> result;
  using R = tilewright::stored_t<T>;
  if constexpr (tilewright::is_nibble<T>)
    __builtin_memset(&result, (int(value) & 15) * 17, sizeof result);
  else {
    constexpr unsigned L = tilewright::step<R, N>;
    for (unsigned i = 0; i < N; i += L)
      tilewright::write(reinterpret_cast<char *>(&result) + i * sizeof(R),
                        tilewright::arithmetic<R, L>::splat(tilewright::bits_as<R>(value)));
  }
  return result;
}
template <tilewright::Scalar T> TILEWRIGHT_INLINE auto broadcast(T value) {
  return broadcast<T, 512 / tilewright::bits_of<T>>(value);
}

#define TILEWRIGHT_BINARY(name, expression)                                                                                      \
  template <class T, unsigned N> TILEWRIGHT_INLINE vector<T, N> name(const vector<T, N> &x, const vector<T, N> &y) {             \
    return tilewright::elementwise<T, N>([](auto lanes, auto a, auto b) { return expression; }, x, y);                           \
  }                                                                                                                              \
  template <class T, unsigned N, tilewright::Scalar S> TILEWRIGHT_INLINE vector<T, N> name(const vector<T, N> &x, S y) {         \
    return tilewright::elementwise<T, N>([](auto lanes, auto a, auto b) { return expression; }, x, tilewright::as_element<T>(y)); \
  }                                                                                                                              \
  template <class T, unsigned N, tilewright::Scalar S> TILEWRIGHT_INLINE vector<T, N> name(S x, const vector<T, N> &y) {         \
    return tilewright::elementwise<T, N>([](auto lanes, auto a, auto b) { return expression; }, tilewright::as_element<T>(x), y); \
  }
TILEWRIGHT_BINARY(add, lanes.add(a, b))
TILEWRIGHT_BINARY(sub, lanes.sub(a, b))
TILEWRIGHT_BINARY(min, (b < a ? b : a))
TILEWRIGHT_BINARY(max, (a < b ? b : a))
TILEWRIGHT_BINARY(maxdiff, (b < a ? lanes.sub(a, b) : decltype(a){}))
TILEWRIGHT_BINARY(abs_diff, (b < a ? lanes.sub(a, b) : lanes.sub(b, a)))
#undef TILEWRIGHT_BINARY

#define TILEWRIGHT_UNARY(name, expression)                                                                                       \
  template <class T, unsigned N> TILEWRIGHT_INLINE vector<T, N> name(const vector<T, N> &x) {                                    \
    return tilewright::elementwise<T, N>([](auto lanes, auto a) { return expression; }, x);                                      \
  }
TILEWRIGHT_UNARY(abs, (a < decltype(a){} ? lanes.sub(decltype(a){}, a) : a))
#undef TILEWRIGHT_UNARY

template <class T, unsigned N> TILEWRIGHT_INLINE vector<T, N> neg(const vector<T, N> &x) {
  return tilewright::elementwise<T, N>([](auto lanes, auto a) {
    if constexpr (tilewright::is_float_class<T>)
      return -a;
    else
      return lanes.sub(decltype(a){}, a);
  }, x);
}

template <tilewright::Scalar T> TILEWRIGHT_INLINE T abs(T x) { return x < T(0) ? T(-x) : x; }
template <tilewright::Scalar T> TILEWRIGHT_INLINE T add(T x, T y) { return T(x + y); }
template <tilewright::Scalar T> TILEWRIGHT_INLINE T sub(T x, T y) { return T(x - y); }
template <tilewright::Scalar T> TILEWRIGHT_INLINE T min(T x, T y) { return y < x ? y : x; }
template <tilewright::Scalar T> TILEWRIGHT_INLINE T max(T x, T y) { return x < y ? y : x; }

template <class T, unsigned N, class Low, class High>
TILEWRIGHT_INLINE vector<T, N> clamp(const vector<T, N> &x, const Low &low, const High &high) {
  return min(max(x, low), high);
}

// Sums that stay at the ends of the type, which the mode may make symmetric.
#define TILEWRIGHT_SATURATING(name, op)                                                                                          \
  template <class T, unsigned N> TILEWRIGHT_INLINE vector<T, N> name(const vector<T, N> &x, const vector<T, N> &y) {             \
    if constexpr (tilewright::is_float_class<T>)                                                                                 \
      return op(x, y);                                                                                                           \
    else {                                                                                                                       \
      constexpr unsigned L = tilewright::step<int64_t, N>;                                                                       \
      constexpr int64_t high = (int64_t(1) << (tilewright::bits_of<T> - tilewright::element<T>::is_signed)) - 1;                 \
      const int64_t low = tilewright::element<T>::is_signed ? -high - (tilewright_core.saturation != 3) : 0;                     \
      using V = tilewright::simd<int64_t, L>;                                                                                    \
      vector<T, N> result;                                                                                                       \
      tilewright::count(tilewright::vector_alu, tilewright::issues(sizeof result));                                              \
      for (unsigned i = 0; i < N; i += L) {                                                                                      \
        V exact = tilewright::arithmetic<int64_t, L>::op(tilewright::operand<int64_t, L>(x, i),                                  \
                                                         tilewright::operand<int64_t, L>(y, i));                                 \
        exact = exact > high ? V{} + high : exact;                                                                               \
        tilewright::put_lanes<T, L>(&result, i, exact < low ? V{} + low : exact);                                                \
      }                                                                                                                          \
      return result;                                                                                                             \
    }                                                                                                                            \
  }                                                                                                                              \
  template <class T, unsigned N, tilewright::Scalar S> TILEWRIGHT_INLINE vector<T, N> name(const vector<T, N> &x, S y) {         \
    return name(x, broadcast<T, N>(y));                                                                                          \
  }                                                                                                                              \
  template <class T, unsigned N, tilewright::Scalar S> TILEWRIGHT_INLINE vector<T, N> name(S x, const vector<T, N> &y) {         \
    return name(broadcast<T, N>(x), y);                                                                                          \
  }
TILEWRIGHT_SATURATING(saturating_add, add)
TILEWRIGHT_SATURATING(saturating_sub, sub)
#undef TILEWRIGHT_SATURATING

// Bits of any type, floats too.
#define TILEWRIGHT_BITS(name, op)                                                                                                \
  template <class T, unsigned N> TILEWRIGHT_INLINE vector<T, N> name(const vector<T, N> &x, const vector<T, N> &y) {             \
    vector<T, N> result;                                                                                                         \
    tilewright::count(tilewright::vector_alu, tilewright::issues(sizeof result));                                                \
    constexpr unsigned L = std::gcd(unsigned(sizeof result), tilewright::host_bytes);                                        \
    for (unsigned i = 0; i < sizeof result; i += L)                                                                              \
      tilewright::write(reinterpret_cast<char *>(&result) + i,                                                                   \
                        tilewright::read<uint8_t, L>(reinterpret_cast<const char *>(&x) + i)                                     \
                            op tilewright::read<uint8_t, L>(reinterpret_cast<const char *>(&y) + i));                            \
    return result;                                                                                                               \
  }                                                                                                                              \
  template <class T, unsigned N, tilewright::Scalar S> TILEWRIGHT_INLINE vector<T, N> name(const vector<T, N> &x, S y) {         \
    return name(x, broadcast<T, N>(y));                                                                                          \
  }                                                                                                                              \
  template <class T, unsigned N, tilewright::Scalar S> TILEWRIGHT_INLINE vector<T, N> name(S x, const vector<T, N> &y) {         \
    return name(broadcast<T, N>(x), y);                                                                                          \
  }
TILEWRIGHT_BITS(bit_and, &)
TILEWRIGHT_BITS(bit_or, |)
TILEWRIGHT_BITS(bit_xor, ^)
#undef TILEWRIGHT_BITS

template <class T, unsigned N> TILEWRIGHT_INLINE vector<T, N> bit_not(const vector<T, N> &x) {
  vector<T, N> ones;
  __builtin_memset(&ones, 0xff, sizeof ones);
  return bit_xor(x, ones);
}

// Shifts of elements: to the right an unsigned element is filled with zeros, a signed one with its sign.
template <class T, unsigned N> TILEWRIGHT_INLINE vector<T, N> downshift(const vector<T, N> &x, unsigned shift) {
  return tilewright::elementwise<T, N>([shift](auto, auto a) { return a >> shift; }, x);
}
template <class T, unsigned N> TILEWRIGHT_INLINE vector<T, N> upshift(const vector<T, N> &x, unsigned shift) {
  return tilewright::elementwise<T, N>(
      [shift](auto lanes, auto a) { return decltype(a)(typename decltype(lanes)::U(a) << shift); }, x);
}
template <class T, unsigned N> TILEWRIGHT_INLINE vector<T, N> logical_upshift(const vector<T, N> &x, unsigned shift) {
  return upshift(x, shift);
}
template <class T, unsigned N> TILEWRIGHT_INLINE vector<T, N> logical_downshift(const vector<T, N> &x, unsigned shift) {
  return tilewright::elementwise<T, N>(
      [shift](auto lanes, auto a) { return decltype(a)(typename decltype(lanes)::U(a) >> shift); }, x);
}

#define TILEWRIGHT_COMPARE(name, op)                                                                                             \
  template <class T, unsigned N> TILEWRIGHT_INLINE mask<N> name(const vector<T, N> &x, const vector<T, N> &y) {                  \
    return tilewright::comparison<N, T>([](auto a, auto b) { return a op b; }, x, y);                                            \
  }                                                                                                                              \
  template <class T, unsigned N, tilewright::Scalar S> TILEWRIGHT_INLINE mask<N> name(const vector<T, N> &x, S y) {              \
    return tilewright::comparison<N, T>([](auto a, auto b) { return a op b; }, x, tilewright::as_element<T>(y));                 \
  }                                                                                                                              \
  template <class T, unsigned N, tilewright::Scalar S> TILEWRIGHT_INLINE mask<N> name(S x, const vector<T, N> &y) {              \
    return tilewright::comparison<N, T>([](auto a, auto b) { return a op b; }, tilewright::as_element<T>(x), y);                 \
  }
TILEWRIGHT_COMPARE(lt, <)
TILEWRIGHT_COMPARE(le, <=)
TILEWRIGHT_COMPARE(gt, >)
TILEWRIGHT_COMPARE(ge, >=)
TILEWRIGHT_COMPARE(eq, ==)
TILEWRIGHT_COMPARE(neq, !=)
#undef TILEWRIGHT_COMPARE

// Takes the second where the mask is set.
template <class T, unsigned N> TILEWRIGHT_INLINE vector<T, N> select(const vector<T, N> &x, const vector<T, N> &y, const mask<N> &m) {
  vector<T, N> result;
  tilewright::count(tilewright::vector_alu, tilewright::issues(sizeof result));
  using S = std::conditional_t<tilewright::is_nibble<T>, int8_t, tilewright::stored_t<T>>;
  using E = std::conditional_t<tilewright::is_bfloat<T>, uint16_t, T>; // a choice moves bits: no rounding
  constexpr unsigned L = tilewright::step<S, N>;
  for (unsigned i = 0; i < N; i += L) {
    auto truth = m.template as_lanes<S, L>(i);
    tilewright::put_lanes<E, L>(&result, i, truth ? tilewright::lanes<S, L, E>(&y, i) : tilewright::lanes<S, L, E>(&x, i));
  }
  return result;
}
template <class T, unsigned N, tilewright::Scalar S> TILEWRIGHT_INLINE vector<T, N> select(const vector<T, N> &x, S y, const mask<N> &m) {
  return select(x, broadcast<T, N>(y), m);
}
template <class T, unsigned N, tilewright::Scalar S> TILEWRIGHT_INLINE vector<T, N> select(S x, const vector<T, N> &y, const mask<N> &m) {
  return select(broadcast<T, N>(x), y, m);
}
template <tilewright::Scalar T, unsigned N> TILEWRIGHT_INLINE vector<T, N> select(T x, T y, const mask<N> &m) {
  return select(broadcast<T, N>(x), broadcast<T, N>(y), m);
}

// As min, max and sub, with a mask of where the second won (or, for sub, where the difference is negative).
#define TILEWRIGHT_CHOICE(name, compare, op)                                                                                     \
  template <class T, unsigned N> TILEWRIGHT_INLINE auto name(const vector<T, N> &x, const vector<T, N> &y) {                     \
    return std::pair<vector<T, N>, mask<N>>(op(x, y), compare(x, y));                                                            \
  }
TILEWRIGHT_CHOICE(max_cmp, lt, max)
TILEWRIGHT_CHOICE(min_cmp, gt, min)
#undef TILEWRIGHT_CHOICE

template <class T, unsigned N> TILEWRIGHT_INLINE bool equal(const vector<T, N> &x, const vector<T, N> &y) { return eq(x, y).full(); }
template <class T, unsigned N> TILEWRIGHT_INLINE bool not_equal(const vector<T, N> &x, const vector<T, N> &y) { return !equal(x, y); }

} // namespace aie

namespace tilewright {

// Halves to halves, so that sums of floats come out in the order of a tree.
template <class T, unsigned N, class F> TILEWRIGHT_INLINE T reduce(const aie::vector<T, N> &v, F f) {
  using W = lane_t<T>;
  W tree[N];
  for (unsigned i = 0; i < N; ++i)
    tree[i] = static_cast<W>(v.get(i));
  unsigned steps = 0;
  for (unsigned half = N / 2; half; half /= 2, ++steps)
    for (unsigned i = 0; i < half; ++i)
      tree[i] = static_cast<W>(f(tree[i], tree[i + half]));
  count(vector_alu, steps);
  count(vector_shuffle, steps);
  if constexpr (is_bfloat<T>)
    return bfloat16::from_bits(to_bfloat_bits<2>(simd<float, 2>{tree[0], tree[0]})[0]);
  else
    return T(tree[0]);
}

struct wrapping_add {
  template <class W> TILEWRIGHT_INLINE auto operator()(W a, W b) const {
    using U = typename wrapping<W>::type;
    return U(U(a) + U(b));
  }
};

} // namespace tilewright

namespace aie {

template <class T, unsigned N> inline T reduce_add(const vector<T, N> &v) { return tilewright::reduce(v, tilewright::wrapping_add{}); }
template <class T, unsigned N> inline T reduce_mul(const vector<T, N> &v) {
  return tilewright::reduce(v, [](auto a, auto b) {
    using U = typename tilewright::wrapping<decltype(a)>::type;
    if constexpr (sizeof(U) < 4)
      return uint32_t(U(a)) * uint32_t(U(b));
    else
      return U(a) * U(b);
  });
}
template <class T, unsigned N> inline T reduce_min(const vector<T, N> &v) {
  return tilewright::reduce(v, [](auto a, auto b) { return b < a ? b : a; });
}
template <class T, unsigned N> inline T reduce_max(const vector<T, N> &v) {
  return tilewright::reduce(v, [](auto a, auto b) { return a < b ? b : a; });
}
// One sum for each argument, in the first elements of the result.
template <class T, unsigned N, class... More> inline vector<T, N> reduce_add_v(const vector<T, N> &first, const More &...more) {
  vector<T, N> sums{};
  unsigned i = 0;
  sums.set(reduce_add(first), i++);
  (sums.set(reduce_add(more), i++), ...);
  return sums;
}

// Sums of accumulators wrap as the lanes do; an operand that is a vector is shifted up first.
#define TILEWRIGHT_ACCUM_SUM(name)                                                                                               \
  template <class Tag, unsigned N> TILEWRIGHT_INLINE accum<Tag, N> name(const accum<Tag, N> &x, const accum<Tag, N> &y) {        \
    using S = tilewright::accum_lane_t<Tag>;                                                                                     \
    constexpr unsigned L = tilewright::step<S, N>;                                                                               \
    accum<Tag, N> result;                                                                                                        \
    tilewright::count(tilewright::vector_mac, tilewright::issues(sizeof result, tilewright::accum_bytes));                       \
    for (unsigned i = 0; i < N; i += L)                                                                                          \
      result.template put<L>(i, tilewright::arithmetic<S, L>::name(x.template get<L>(i), y.template get<L>(i)));                 \
    return result;                                                                                                               \
  }                                                                                                                              \
  template <class Tag, unsigned N, class T>                                                                                      \
  TILEWRIGHT_INLINE accum<Tag, N> name(const accum<Tag, N> &x, const vector<T, N> &y, int shift = 0) {                           \
    return name(x, accum<Tag, N>(y, shift));                                                                                     \
  }                                                                                                                              \
  template <class Tag, unsigned N, tilewright::Scalar T>                                                                         \
  TILEWRIGHT_INLINE accum<Tag, N> name(const accum<Tag, N> &x, T y, int shift = 0) {                                             \
    return name(x, accum<Tag, N>(broadcast<T, N>(y), shift));                                                                    \
  }
TILEWRIGHT_ACCUM_SUM(add)
TILEWRIGHT_ACCUM_SUM(sub)
#undef TILEWRIGHT_ACCUM_SUM

template <class Tag, unsigned N> TILEWRIGHT_INLINE accum<Tag, N> neg(const accum<Tag, N> &x) {
  if constexpr (std::is_same_v<tilewright::accum_lane_t<Tag>, float>) {
    accum<Tag, N> result = x;
    for (auto &part : result.registers)
      part = -part;
    return result;
  } else
    return sub(accum<Tag, N>{}, x);
}

} // namespace aie
