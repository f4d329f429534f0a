// The compiler's functions on vector registers, which kernels call beside `aie::` or instead of it.
//
// Vectors here are those of `aie::`, so names that both have (add, max, concat, lt) are found there and not repeated.
// Meaning: AMD's AI Engine-ML Intrinsics User Guide (UG1583), and of its names those that belong to AIE-ML and XDNA 2.
#pragma once

#include "tilewright/arithmetic.hpp"
#include "tilewright/block_floats.hpp"
#include "tilewright/lookup.hpp"
#include "tilewright/reshape.hpp"

#define TILEWRIGHT_LENGTHS(kind, E) kind(4, E) kind(8, E) kind(16, E) kind(32, E) kind(64, E) kind(128, E)
#define TILEWRIGHT_ELEMENTS(kind)                                                                                      \
  TILEWRIGHT_LENGTHS(kind, int8)                                                                                       \
  TILEWRIGHT_LENGTHS(kind, uint8)                                                                                      \
  TILEWRIGHT_LENGTHS(kind, int16)                                                                                      \
  TILEWRIGHT_LENGTHS(kind, uint16)                                                                                     \
  TILEWRIGHT_LENGTHS(kind, int32)                                                                                      \
  TILEWRIGHT_LENGTHS(kind, uint32)                                                                                     \
  TILEWRIGHT_LENGTHS(kind, bfloat16)                                                                                   \
  TILEWRIGHT_LENGTHS(kind, float)
#define TILEWRIGHT_LANES(kind)                                                                                         \
  TILEWRIGHT_LENGTHS(kind, acc32)                                                                                      \
  TILEWRIGHT_LENGTHS(kind, acc64)                                                                                      \
  TILEWRIGHT_LENGTHS(kind, accfloat)

namespace tilewright {

template <class V>
concept Register = is_vector_v<V> || is_accum_v<V>;

// A vector of the same kind with another number of elements.
template <class V, unsigned N> struct resized;
template <class T, unsigned M, unsigned N> struct resized<aie::vector<T, M>, N> {
  using type = aie::vector<T, N>;
};
template <class Tag, unsigned M, unsigned N> struct resized<aie::accum<Tag, M>, N> {
  using type = aie::accum<Tag, N>;
};

template <class V> TILEWRIGHT_INLINE char *bytes_of(V &vector) { return reinterpret_cast<char *>(&vector); }
template <class V> TILEWRIGHT_INLINE const char *bytes_of(const V &vector) {
  return reinterpret_cast<const char *>(&vector);
}

template <class Whole, class Part> TILEWRIGHT_INLINE Whole with_part(Whole whole, unsigned index, const Part &part) {
  put_part(whole, index, part);
  return whole;
}

// The scalar in all lanes; of a part, copies of it one after the other.
template <class V, class X> TILEWRIGHT_INLINE V repeated(const X &given) {
  count(vector_shuffle, issues(sizeof(V)));
  V result;
  if constexpr (is_vector_v<X>) {
    static_assert(sizeof(V) % sizeof(X) == 0, "a part divides its vector");
    for (unsigned i = 0; i < sizeof(V); i += sizeof(X))
      __builtin_memcpy(bytes_of(result) + i, &given, sizeof given);
  } else if constexpr (is_accum_v<V>) {
    for (unsigned i = 0; i < V::size(); ++i)
      result[i] = typename V::lane_type(given);
  } else
    for (unsigned i = 0; i < V::size(); ++i)
      result.set(type_t<V>(given), i);
  return result;
}

} // namespace tilewright

// ---- single elements --------------------------------------------------------------------------------------------

template <class T, unsigned N> TILEWRIGHT_INLINE T ext_elem(const aie::vector<T, N> &v, int index) {
  return v.get(unsigned(index) % N);
}
// The sign says how the bits of an element are read, whatever the vector's type says.
template <class T, unsigned N> TILEWRIGHT_INLINE int32_t ext_elem(const aie::vector<T, N> &v, int index, int sign) {
  const T element = v.get(unsigned(index) % N);
  if constexpr (sizeof(T) == 1)
    return sign ? int32_t(int8_t(element)) : int32_t(uint8_t(element));
  else if constexpr (sizeof(T) == 2)
    return sign ? int32_t(int16_t(element)) : int32_t(uint16_t(element));
  else
    return int32_t(element);
}
template <class T, unsigned N> TILEWRIGHT_INLINE T extract_elem(const aie::vector<T, N> &v, int index) {
  return ext_elem(v, index);
}
template <class T, unsigned N, class X>
TILEWRIGHT_INLINE aie::vector<T, N> upd_elem(aie::vector<T, N> v, int index, X value) {
  v.set(T(value), unsigned(index) % N);
  return v;
}
template <class T, unsigned N, class X>
TILEWRIGHT_INLINE aie::vector<T, N> insert(aie::vector<T, N> v, int index, X value)
  requires(std::is_arithmetic_v<X> || std::is_same_v<X, bfloat16>)
{
  return upd_elem(v, index, value);
}

// ---- parts of vectors ---------------------------------------------------------------------------------------------

template <tilewright::Register V, tilewright::Register Part>
  requires(sizeof(Part) < sizeof(V) && std::is_same_v<tilewright::type_t<V>, tilewright::type_t<Part>>)
TILEWRIGHT_INLINE V insert(const V &v, int index, const Part &part) {
  return tilewright::with_part(v, unsigned(index), part);
}
template <class B, unsigned N, unsigned M>
TILEWRIGHT_INLINE aie::block_vector<B, N> insert(aie::block_vector<B, N> v, int index,
                                                 const aie::block_vector<B, M> &part) {
  return tilewright::with_part(v, unsigned(index), part);
}

#define TILEWRIGHT_PARTS(N, E)                                                                                         \
  template <tilewright::Register V> TILEWRIGHT_INLINE v##N##E extract_v##N##E(const V &whole, int index) {             \
    return tilewright::part_of<v##N##E>(whole, unsigned(index));                                                       \
  }                                                                                                                    \
  template <tilewright::Register V> TILEWRIGHT_INLINE v##N##E ext_v##N##E(const V &whole, int index) {                 \
    return tilewright::part_of<v##N##E>(whole, unsigned(index));                                                       \
  }                                                                                                                    \
  template <tilewright::Register V> TILEWRIGHT_INLINE v##N##E set_v##N##E(int index, const V &part) {                  \
    return tilewright::with_part(v##N##E{}, unsigned(index), part);                                                    \
  }                                                                                                                    \
  TILEWRIGHT_INLINE v##N##E undef_v##N##E() { return {}; }                                                             \
  TILEWRIGHT_INLINE v##N##E broadcast_zero_to_v##N##E() { return {}; }                                                 \
  TILEWRIGHT_INLINE v##N##E broadcast_one_to_v##N##E() { return tilewright::repeated<v##N##E>(1); }                    \
  template <class X> TILEWRIGHT_INLINE v##N##E broadcast_to_v##N##E(const X &value) {                                  \
    return tilewright::repeated<v##N##E>(value);                                                                       \
  }
TILEWRIGHT_ELEMENTS(TILEWRIGHT_PARTS)
TILEWRIGHT_LANES(TILEWRIGHT_PARTS)
#undef TILEWRIGHT_PARTS

// The same for whole registers under their older names.
#define TILEWRIGHT_BROADCASTS(suffix, V, X)                                                                            \
  TILEWRIGHT_INLINE V broadcast_##suffix(X value) { return tilewright::repeated<V>(value); }                           \
  TILEWRIGHT_INLINE V broadcast_zero_##suffix() { return {}; }                                                         \
  TILEWRIGHT_INLINE V broadcast_one_##suffix() { return tilewright::repeated<V>(1); }
TILEWRIGHT_BROADCASTS(s8, v64int8, int)
TILEWRIGHT_BROADCASTS(u8, v64uint8, unsigned)
TILEWRIGHT_BROADCASTS(s16, v32int16, int)
TILEWRIGHT_BROADCASTS(u16, v32uint16, unsigned)
TILEWRIGHT_BROADCASTS(s32, v16int32, int)
TILEWRIGHT_BROADCASTS(u32, v16uint32, unsigned)
TILEWRIGHT_BROADCASTS(bfloat16, v32bfloat16, bfloat16)
TILEWRIGHT_BROADCASTS(float, v16float, float)
#undef TILEWRIGHT_BROADCASTS

template <class T, unsigned N>
TILEWRIGHT_INLINE aie::vector<T, N> broadcast_elem(const aie::vector<T, N> &v, int index) {
  return tilewright::repeated<aie::vector<T, N>>(ext_elem(v, index));
}

// ---- shifts and shuffles --------------------------------------------------------------------------------------------

// The bytes of both vectors in a row, from the n-th on.
template <tilewright::Register V> TILEWRIGHT_INLINE V shift_bytes(const V &low, const V &high, int bytes) {
  tilewright::count(tilewright::vector_shuffle, tilewright::issues(sizeof(V)));
  char both[2 * sizeof(V)];
  __builtin_memcpy(both, &low, sizeof low);
  __builtin_memcpy(both + sizeof low, &high, sizeof high);
  V result;
  __builtin_memcpy(&result, both + unsigned(bytes) % (sizeof(V) + 1), sizeof result);
  return result;
}
template <tilewright::Register V> TILEWRIGHT_INLINE V shift(const V &low, const V &high, int elements) {
  return shift_bytes(low, high, elements * int(sizeof(V) / V::size()));
}

namespace tilewright {

// A mode names a transpose: elements of so many bits, as rows and columns, of which one register is taken.
struct shuffle_mode {
  unsigned bytes, rows, columns, high;
};

// Where each byte of the result comes from in (a, b). Matrices smaller than a register follow each other in it.
constexpr unsigned source_byte(shuffle_mode mode, unsigned byte) {
  const unsigned size = mode.bytes * mode.rows * mode.columns;
  byte += mode.high * register_bytes;
  const unsigned matrix = byte / size, at = byte % size / mode.bytes;
  const unsigned row = at % mode.rows, column = at / mode.rows;
  return matrix * size + (row * mode.columns + column) * mode.bytes + byte % mode.bytes;
}

} // namespace tilewright

// Values differ from those of a device: kernels use the names.
enum eShuffleMode : unsigned {
#define TILEWRIGHT_MODE(name, bits, rows, columns, high) shuffle_##name, name = shuffle_##name,
#define TILEWRIGHT_PAIR(bits, rows, columns)                                                                           \
  TILEWRIGHT_MODE(T##bits##_##rows##x##columns##_lo, bits, rows, columns, 0)                                           \
  TILEWRIGHT_MODE(T##bits##_##rows##x##columns##_hi, bits, rows, columns, 1)
#define TILEWRIGHT_SINGLE(bits, rows, columns) TILEWRIGHT_MODE(T##bits##_##rows##x##columns, bits, rows, columns, 0)
#define TILEWRIGHT_MODES                                                                                               \
  TILEWRIGHT_PAIR(8, 64, 2)                                                                                            \
  TILEWRIGHT_PAIR(8, 2, 64)                                                                                            \
  TILEWRIGHT_PAIR(16, 32, 2)                                                                                           \
  TILEWRIGHT_PAIR(16, 2, 32)                                                                                           \
  TILEWRIGHT_PAIR(32, 16, 2)                                                                                           \
  TILEWRIGHT_PAIR(32, 2, 16)                                                                                           \
  TILEWRIGHT_PAIR(64, 8, 2)                                                                                            \
  TILEWRIGHT_PAIR(64, 2, 8)                                                                                            \
  TILEWRIGHT_PAIR(128, 4, 2)                                                                                           \
  TILEWRIGHT_PAIR(128, 2, 4)                                                                                           \
  TILEWRIGHT_PAIR(256, 2, 2)                                                                                           \
  TILEWRIGHT_PAIR(512, 1, 2)                                                                                           \
  TILEWRIGHT_PAIR(16, 16, 4)                                                                                           \
  TILEWRIGHT_PAIR(16, 4, 16)                                                                                           \
  TILEWRIGHT_PAIR(32, 8, 4)                                                                                            \
  TILEWRIGHT_PAIR(32, 4, 8)                                                                                            \
  TILEWRIGHT_SINGLE(16, 8, 4)                                                                                          \
  TILEWRIGHT_SINGLE(16, 4, 8)                                                                                          \
  TILEWRIGHT_SINGLE(32, 4, 4)                                                                                          \
  TILEWRIGHT_SINGLE(8, 8, 8)                                                                                           \
  TILEWRIGHT_SINGLE(8, 16, 4)                                                                                          \
  TILEWRIGHT_SINGLE(8, 4, 16)                                                                                          \
  TILEWRIGHT_SINGLE(16, 4, 4)                                                                                          \
  TILEWRIGHT_SINGLE(16, 4, 2)                                                                                          \
  TILEWRIGHT_SINGLE(16, 2, 4)                                                                                          \
  TILEWRIGHT_SINGLE(16, 8, 2)                                                                                          \
  TILEWRIGHT_SINGLE(16, 2, 8)                                                                                          \
  TILEWRIGHT_SINGLE(16, 16, 2)                                                                                         \
  TILEWRIGHT_SINGLE(16, 2, 16)                                                                                         \
  TILEWRIGHT_SINGLE(8, 8, 4)                                                                                           \
  TILEWRIGHT_SINGLE(8, 4, 8)
  TILEWRIGHT_MODES shuffle_T16_1x2_flip,
  T16_1x2_flip = shuffle_T16_1x2_flip,
#undef TILEWRIGHT_MODE
};

namespace tilewright {

constexpr unsigned shuffle_modes = shuffle_T16_1x2_flip + 1;

// For each mode and each byte of the result its byte of (a, b).
constexpr auto shuffle_sources = [] {
  constexpr shuffle_mode transposes[] = {
#define TILEWRIGHT_MODE(name, bits, rows, columns, high) {bits / 8, rows, columns, high},
      TILEWRIGHT_MODES
#undef TILEWRIGHT_MODE
  };
  std::array<std::array<uint8_t, register_bytes>, shuffle_modes> sources{};
  for (unsigned byte = 0; byte < register_bytes; ++byte) {
    for (unsigned mode = 0; mode + 1 < shuffle_modes; ++mode)
      sources[mode][byte] = uint8_t(source_byte(transposes[mode], byte));
    sources[shuffle_T16_1x2_flip][byte] = uint8_t(byte ^ 2);
  }
  return sources;
}();

} // namespace tilewright
#undef TILEWRIGHT_MODES
#undef TILEWRIGHT_SINGLE
#undef TILEWRIGHT_PAIR

template <tilewright::Register V> TILEWRIGHT_INLINE V shuffle(const V &a, const V &b, unsigned mode) {
  static_assert(sizeof(V) == tilewright::register_bytes, "shuffles are of whole registers");
  using bytes = tilewright::simd<uint8_t, tilewright::register_bytes>;
  tilewright::count(tilewright::vector_shuffle);
  const auto pick = tilewright::read<uint8_t, tilewright::register_bytes>(
      tilewright::shuffle_sources[mode < tilewright::shuffle_modes ? mode : shuffle_T512_1x2_lo].data());
  V result;
  tilewright::write(&result, tilewright::pick_bytes(tilewright::bits_as<bytes>(a), tilewright::bits_as<bytes>(b), pick));
  return result;
}
template <tilewright::Register V> TILEWRIGHT_INLINE V shuffle(const V &a, unsigned mode) { return shuffle(a, a, mode); }

// ---- comparisons that also compute, choices, bits ----------------------------------------------------------------

// A mask is a number, or `aie::mask` where it comes from a comparison of `aie::`.
template <class T, unsigned N, class M>
TILEWRIGHT_INLINE aie::vector<T, N> sel(const aie::vector<T, N> &a, const aie::vector<T, N> &b, const M &mask) {
  if constexpr (std::is_integral_v<M>)
    return aie::select(a, b, aie::mask<N>::from_uint64(uint64_t(mask)));
  else
    return aie::select(a, b, mask);
}

#define TILEWRIGHT_COMPARING(name, compute, compare)                                                                   \
  template <class T, unsigned N, class M>                                                                              \
  TILEWRIGHT_INLINE aie::vector<T, N> name(const aie::vector<T, N> &a, const aie::vector<T, N> &b, M &mask) {          \
    mask = aie::compare(a, b);                                                                                         \
    return aie::compute(a, b);                                                                                         \
  }
TILEWRIGHT_COMPARING(sub_lt, sub, lt)
TILEWRIGHT_COMPARING(sub_ge, sub, ge)
TILEWRIGHT_COMPARING(max_lt, max, lt)
TILEWRIGHT_COMPARING(min_ge, min, ge)
TILEWRIGHT_COMPARING(maxdiff_lt, maxdiff, lt)
#undef TILEWRIGHT_COMPARING

#define TILEWRIGHT_SIGNED(name, compute, compare)                                                                      \
  template <class T, unsigned N, class M>                                                                              \
  TILEWRIGHT_INLINE aie::vector<T, N> name(const aie::vector<T, N> &a, M &mask) {                                      \
    mask = aie::compare(a, aie::vector<T, N>{});                                                                       \
    return aie::compute(a);                                                                                            \
  }
TILEWRIGHT_SIGNED(abs_gtz, abs, gt)
TILEWRIGHT_SIGNED(neg_gtz, neg, gt)
TILEWRIGHT_SIGNED(neg_ltz, neg, lt)
#undef TILEWRIGHT_SIGNED

template <class T, unsigned N> TILEWRIGHT_INLINE aie::mask<N> gtz(const aie::vector<T, N> &a) {
  return aie::gt(a, aie::vector<T, N>{});
}
template <class T, unsigned N> TILEWRIGHT_INLINE aie::mask<N> ltz(const aie::vector<T, N> &a) {
  return aie::lt(a, aie::vector<T, N>{});
}
template <class T, unsigned N> TILEWRIGHT_INLINE aie::mask<N> eqz(const aie::vector<T, N> &a) {
  return aie::eq(a, aie::vector<T, N>{});
}

template <class V> TILEWRIGHT_INLINE V band(const V &a, const V &b) { return aie::bit_and(a, b); }
template <class V> TILEWRIGHT_INLINE V bor(const V &a, const V &b) { return aie::bit_or(a, b); }
template <class V> TILEWRIGHT_INLINE V bxor(const V &a, const V &b) { return aie::bit_xor(a, b); }
template <class V> TILEWRIGHT_INLINE V bneg(const V &a) { return aie::bit_not(a); }

// ---- between vectors and accumulators -----------------------------------------------------------------------------

namespace tilewright {

template <unsigned bits, bool is_signed>
using integer = std::conditional_t<
    bits == 8, std::conditional_t<is_signed, int8, uint8>,
    std::conditional_t<bits == 16, std::conditional_t<is_signed, int16, uint16>, std::conditional_t<is_signed, int32, uint32>>>;

// `long` results have half of a lane's bits, `short` ones a quarter.
template <unsigned share, class Tag> using shifted_t = integer<8 * sizeof(accum_lane_t<Tag>) / share, true>;

} // namespace tilewright

template <class Tag, unsigned N>
TILEWRIGHT_INLINE aie::vector<tilewright::shifted_t<2, Tag>, N> lsrs(const aie::accum<Tag, N> &acc, int shift,
                                                                     int sign = 1) {
  return acc.template to_vector_sign<tilewright::shifted_t<2, Tag>>(sign != 0, shift);
}
template <class Tag, unsigned N>
TILEWRIGHT_INLINE aie::vector<tilewright::shifted_t<4, Tag>, N> ssrs(const aie::accum<Tag, N> &acc, int shift,
                                                                     int sign = 1) {
  return acc.template to_vector_sign<tilewright::shifted_t<4, Tag>>(sign != 0, shift);
}
template <class T, unsigned N>
  requires(!tilewright::is_float_class<T> && tilewright::bits_of<T> <= 16)
TILEWRIGHT_INLINE aie::accum<acc32, N> sups(const aie::vector<T, N> &v, int shift) {
  return aie::accum<acc32, N>(v, shift);
}
template <class T, unsigned N>
  requires(!tilewright::is_float_class<T> && tilewright::bits_of<T> >= 16)
TILEWRIGHT_INLINE aie::accum<acc64, N> lups(const aie::vector<T, N> &v, int shift) {
  return aie::accum<acc64, N>(v, shift);
}

#define TILEWRIGHT_SRS(N, E)                                                                                           \
  template <class Tag> TILEWRIGHT_INLINE v##N##E srs_to_v##N##E(const aie::accum<Tag, N> &acc, int shift) {            \
    return acc.template to_vector<E>(shift);                                                                           \
  }                                                                                                                    \
  template <class Tag>                                                                                                 \
  TILEWRIGHT_INLINE v##N##E srs_to_v##N##E(const aie::accum<Tag, N> &acc, int shift, int sign) {                       \
    return acc.template to_vector_sign<E>(sign != 0, shift);                                                           \
  }                                                                                                                    \
  template <class Tag> TILEWRIGHT_INLINE v##N##E to_v##N##E(const aie::accum<Tag, N> &acc, int shift = 0) {            \
    return acc.template to_vector<E>(shift);                                                                           \
  }                                                                                                                    \
  TILEWRIGHT_INLINE v##N##E to_v##N##E(const aie::vector<float, N> &values) {                                          \
    return aie::accum<accfloat, N>(values).template to_vector<E>();                                                    \
  }
TILEWRIGHT_ELEMENTS(TILEWRIGHT_SRS)
#undef TILEWRIGHT_SRS

#define TILEWRIGHT_UPS(N, E)                                                                                           \
  template <class T> TILEWRIGHT_INLINE v##N##E ups_to_v##N##E(const aie::vector<T, N> &v, int shift = 0) {             \
    return v##N##E(v, shift);                                                                                          \
  }
TILEWRIGHT_LANES(TILEWRIGHT_UPS)
#undef TILEWRIGHT_UPS

template <unsigned N> TILEWRIGHT_INLINE aie::accum<accfloat, N> ups(const aie::vector<bfloat16, N> &v) {
  return aie::accum<accfloat, N>(v);
}

// 32-bit integers of bfloat16 times two to the shift: always floor, whatever the rounding mode (UG1529), and saturated.
template <unsigned N>
TILEWRIGHT_INLINE aie::vector<int32, N> bfloat16_to_int(const aie::vector<bfloat16, N> &v, int shift) {
  tilewright::count(tilewright::vector_convert, tilewright::issues(4 * N));
  aie::vector<int32, N> result;
  for (unsigned i = 0; i < N; ++i) {
    const double value = __builtin_floor(__builtin_ldexp(float(v.get(i)), shift));
    result.set(value >= 2147483647.0 ? INT32_MAX : value > -2147483648.0 ? int32(value) : value == value ? INT32_MIN : 0, i);
  }
  return result;
}

// ---- products ----------------------------------------------------------------------------------------------------------

namespace tilewright {

// What the product of two types adds up in: 32-bit lanes hold 16 x 16 bits element by element, wider ones 64 bits.
template <class A, class B>
using sum_tag = std::conditional_t<is_float_class<A> || is_float_class<B>, accfloat,
                                   std::conditional_t<(bits_of<A> + bits_of<B> <= 32), acc32, acc64>>;

constexpr unsigned mac_issues(unsigned products, unsigned bits) {
#if defined(__AIE2P__) || defined(__AIEARCH__) && __AIEARCH__ >= 21
  const unsigned in_a_cycle = bits <= 16 ? 512 : bits <= 24 ? 256 : 64;
#else
  const unsigned in_a_cycle = bits <= 16 ? 256 : bits <= 24 ? 128 : 64;
#endif
  return issues(products, in_a_cycle);
}

// acc + sign * (a * b), with `terms` products in each lane: those of a lane are N elements apart.
template <class Tag, unsigned N, unsigned terms, class A, class B>
TILEWRIGHT_INLINE aie::accum<Tag, N> elements(const aie::vector<A, N * terms> &a, const aie::vector<B, N * terms> &b,
                                              const aie::accum<Tag, N> &acc, int sign) {
  using W = accum_lane_t<Tag>;
  constexpr unsigned L = step<W, N>;
  using lane = arithmetic<W, L>;
  count(vector_mac, mac_issues(N * terms, bits_of<A> + bits_of<B>));
  aie::accum<Tag, N> result;
  for (unsigned i = 0; i < N; i += L) {
    auto sum = lane::mul(lanes<W, L, A>(&a, i), lanes<W, L, B>(&b, i));
    for (unsigned term = 1; term < terms; ++term)
      sum = lane::add(sum, lane::mul(lanes<W, L, A>(&a, i + term * N), lanes<W, L, B>(&b, i + term * N)));
    const auto before = acc.template get<L>(i);
    result.template put<L>(i, sign < 0 ? lane::sub(before, sum) : lane::add(before, sum));
  }
  return result;
}

// acc + sign * (a * b) of matrices row by row: the K products of a lane are added to each other first.
template <unsigned M, unsigned K, unsigned N, class Tag, class A, class B>
TILEWRIGHT_INLINE aie::accum<Tag, M * N> matrices(const aie::vector<A, M * K> &a, const aie::vector<B, K * N> &b,
                                                  const aie::accum<Tag, M * N> &acc, int sign) {
  using W = accum_lane_t<Tag>;
  using lane = arithmetic<W, N>;
  count(vector_mac, mac_issues(M * K * N, bits_of<A> + bits_of<B>));
  aie::accum<Tag, M * N> result;
  for (unsigned row = 0; row < M; ++row) {
    simd<W, N> sum{};
    for (unsigned k = 0; k < K; ++k) {
      const auto factor = lane::splat(static_cast<W>(static_cast<lane_t<A>>(a.get(row * K + k))));
      sum = lane::add(sum, lane::mul(factor, lanes<W, N, B>(&b, k * N)));
    }
    const auto before = acc.template get<N>(row * N);
    result.template put<N>(row * N, sign < 0 ? lane::sub(before, sum) : lane::add(before, sum));
  }
  return result;
}

} // namespace tilewright

#define TILEWRIGHT_PRODUCTS(shape, lanes_, compute, ...)                                                               \
  template <class A, class B>                                                                                          \
  TILEWRIGHT_INLINE auto mul_##shape(const A &a, const B &b) {                                                         \
    using Tag = __VA_ARGS__;                                                                                           \
    return tilewright::compute(a, b, aie::accum<Tag, lanes_>{}, 1);                                                    \
  }                                                                                                                    \
  template <class A, class B>                                                                                          \
  TILEWRIGHT_INLINE auto negmul_##shape(const A &a, const B &b) {                                                      \
    using Tag = __VA_ARGS__;                                                                                           \
    return tilewright::compute(a, b, aie::accum<Tag, lanes_>{}, -1);                                                   \
  }                                                                                                                    \
  template <class A, class B, class Tag>                                                                               \
  TILEWRIGHT_INLINE auto mac_##shape(const A &a, const B &b, const aie::accum<Tag, lanes_> &acc) {                     \
    return tilewright::compute(a, b, acc, 1);                                                                          \
  }                                                                                                                    \
  template <class A, class B, class Tag>                                                                               \
  TILEWRIGHT_INLINE auto msc_##shape(const A &a, const B &b, const aie::accum<Tag, lanes_> &acc) {                     \
    return tilewright::compute(a, b, acc, -1);                                                                         \
  }
#define TILEWRIGHT_TYPES tilewright::type_t<A>, tilewright::type_t<B>
#define TILEWRIGHT_ELEMENTWISE(N, terms, shape)                                                                        \
  namespace tilewright {                                                                                               \
  template <class A, class B, class Tag>                                                                               \
  TILEWRIGHT_INLINE auto shape(const A &a, const B &b, const aie::accum<Tag, N> &acc, int sign) {                      \
    return elements<Tag, N, terms, type_t<A>, type_t<B>>(a, b, acc, sign);                                             \
  }                                                                                                                    \
  }                                                                                                                    \
  TILEWRIGHT_PRODUCTS(shape, N, shape, tilewright::sum_tag<TILEWRIGHT_TYPES>)
#define TILEWRIGHT_MATRIX(M, K, N, shape, ...)                                                                         \
  namespace tilewright {                                                                                               \
  template <class A, class B, class Tag>                                                                               \
  TILEWRIGHT_INLINE auto by_##shape(const A &a, const B &b, const aie::accum<Tag, M * N> &acc, int sign) {             \
    return matrices<M, K, N, Tag, type_t<A>, type_t<B>>(a, b, acc, sign);                                              \
  }                                                                                                                    \
  }                                                                                                                    \
  TILEWRIGHT_PRODUCTS(shape, M * N, by_##shape, __VA_ARGS__)

TILEWRIGHT_ELEMENTWISE(8, 1, elem_8)
TILEWRIGHT_ELEMENTWISE(16, 1, elem_16)
TILEWRIGHT_ELEMENTWISE(32, 1, elem_32)
TILEWRIGHT_ELEMENTWISE(64, 1, elem_64)
TILEWRIGHT_ELEMENTWISE(16, 2, elem_16_2)
TILEWRIGHT_ELEMENTWISE(32, 2, elem_32_2)
// The shapes that AIE-ML and XDNA 2 multiply in one instruction (UG1583); sums of 16 x 16 bits have 64-bit lanes but for 4x2.
#define TILEWRIGHT_NARROW tilewright::sum_tag<TILEWRIGHT_TYPES>
#define TILEWRIGHT_WIDE                                                                                                \
  std::conditional_t<(tilewright::bits_of<tilewright::type_t<A>> + tilewright::bits_of<tilewright::type_t<B>> < 32),   \
                     tilewright::sum_tag<TILEWRIGHT_TYPES>,                                                            \
                     std::conditional_t<tilewright::is_float_class<tilewright::type_t<A>>, accfloat, acc64>>
TILEWRIGHT_MATRIX(4, 8, 4, 4x8_8x4, TILEWRIGHT_WIDE)
TILEWRIGHT_MATRIX(4, 8, 8, 4x8_8x8, TILEWRIGHT_WIDE)
TILEWRIGHT_MATRIX(8, 8, 8, 8x8_8x8, TILEWRIGHT_WIDE)
TILEWRIGHT_MATRIX(8, 8, 4, 8x8_8x4, TILEWRIGHT_WIDE)
TILEWRIGHT_MATRIX(2, 8, 8, 2x8_8x8, TILEWRIGHT_WIDE)
TILEWRIGHT_MATRIX(4, 4, 4, 4x4_4x4, TILEWRIGHT_WIDE)
TILEWRIGHT_MATRIX(4, 4, 8, 4x4_4x8, TILEWRIGHT_WIDE)
TILEWRIGHT_MATRIX(2, 4, 8, 2x4_4x8, TILEWRIGHT_WIDE)
TILEWRIGHT_MATRIX(4, 2, 8, 4x2_2x8, TILEWRIGHT_NARROW)
TILEWRIGHT_MATRIX(4, 2, 4, 4x2_2x4, TILEWRIGHT_WIDE)
#undef TILEWRIGHT_WIDE
#undef TILEWRIGHT_NARROW
#undef TILEWRIGHT_MATRIX
#undef TILEWRIGHT_ELEMENTWISE
#undef TILEWRIGHT_TYPES
#undef TILEWRIGHT_PRODUCTS

// Products of floats, which a core makes of bfloat16 ones; how many of them is what the names ask for. Here all are exact.
#define TILEWRIGHT_FLOAT_PRODUCTS(accuracy)                                                                            \
  inline v16accfloat mul_elem_16_accuracy_##accuracy(const v16float &a, const v16float &b) {                           \
    return mul_elem_16(a, b);                                                                                          \
  }                                                                                                                    \
  inline v16accfloat mac_elem_16_accuracy_##accuracy(const v16float &a, const v16float &b, const v16accfloat &acc,     \
                                                     int zero_acc = 0, int sub_mul = 0, int sub_acc = 0) {             \
    const v16accfloat before = zero_acc ? v16accfloat{} : sub_acc ? aie::neg(acc) : acc;                               \
    return sub_mul ? msc_elem_16(a, b, before) : mac_elem_16(a, b, before);                                            \
  }
TILEWRIGHT_FLOAT_PRODUCTS(safe)
TILEWRIGHT_FLOAT_PRODUCTS(fast)
TILEWRIGHT_FLOAT_PRODUCTS(low)
#undef TILEWRIGHT_FLOAT_PRODUCTS

// Block floats, 8 x 8 by 8 x 8: the second matrix stands by its columns, so that both have their blocks along K.
template <class T>
inline aie::accum<accfloat, 64> mac_8x8_8x8T(const aie::block_vector<T, 64> &a, const aie::block_vector<T, 64> &b,
                                             const aie::accum<accfloat, 64> &acc) {
  return tilewright::block_product(a, b, acc, 1);
}
template <class T>
inline aie::accum<accfloat, 64> msc_8x8_8x8T(const aie::block_vector<T, 64> &a, const aie::block_vector<T, 64> &b,
                                             const aie::accum<accfloat, 64> &acc) {
  return tilewright::block_product(a, b, acc, -1);
}
template <class T>
inline aie::accum<accfloat, 64> mul_8x8_8x8T(const aie::block_vector<T, 64> &a, const aie::block_vector<T, 64> &b) {
  return mac_8x8_8x8T(a, b, aie::accum<accfloat, 64>{});
}
template <class T>
inline aie::accum<accfloat, 64> negmul_8x8_8x8T(const aie::block_vector<T, 64> &a, const aie::block_vector<T, 64> &b) {
  return msc_8x8_8x8T(a, b, aie::accum<accfloat, 64>{});
}

// ---- tables --------------------------------------------------------------------------------------------------------

namespace tilewright {

// Each offset gives 64 bits: an entry of so many bytes, and zeros. It counts the bytes of both copies of a row.
template <unsigned entry, class I>
TILEWRIGHT_INLINE void look_up(const void *table, const aie::vector<I, 16> &offsets, unsigned first, void *result) {
  char found[64] = {};
  for (unsigned i = 0; i < 8; ++i) {
    const uint32_t at = uint32_t(offsets.get(first + i)) / 2;
    __builtin_memcpy(found + 8 * i, static_cast<const char *>(table) + at / table_row * (2 * table_row) + at % table_row, entry);
  }
  count(lookup, 2);
  __builtin_memcpy(result, found, sizeof found);
}

} // namespace tilewright

#define TILEWRIGHT_LOOKUP(suffix, V, entry)                                                                            \
  template <class I>                                                                                                   \
  TILEWRIGHT_INLINE void load_lut_##suffix(const void *lut1, const void *, const aie::vector<I, 16> &offsets, V &v1) {  \
    tilewright::look_up<entry>(lut1, offsets, 0, &v1);                                                                 \
  }                                                                                                                    \
  template <class I>                                                                                                   \
  TILEWRIGHT_INLINE void load_lut_2x_##suffix(const void *lut1, const void *, const aie::vector<I, 16> &offsets, V &v1, \
                                              V &v2) {                                                                 \
    tilewright::look_up<entry>(lut1, offsets, 0, &v1);                                                                 \
    tilewright::look_up<entry>(lut1, offsets, 8, &v2);                                                                 \
  }
TILEWRIGHT_LOOKUP(int8, v64int8, 2)
TILEWRIGHT_LOOKUP(int16, v32int16, 4)
TILEWRIGHT_LOOKUP(int32, v16int32, 8)
TILEWRIGHT_LOOKUP(float, v32bfloat16, 8)
#undef TILEWRIGHT_LOOKUP

// ---- modes ----------------------------------------------------------------------------------------------------------

enum tilewright_rounding : unsigned {
  rnd_floor = 0,
  rnd_ceil = 1,
  rnd_sym_floor = 2,
  rnd_sym_ceil = 3,
  rnd_neg_inf = 8,
  rnd_pos_inf = 9,
  rnd_sym_zero = 10,
  rnd_sym_inf = 11,
  rnd_conv_even = 12,
  rnd_conv_odd = 13,
};
inline void set_rnd(unsigned mode) { tilewright_core.rounding = mode; }
inline unsigned get_rnd() { return tilewright_core.rounding; }
inline void set_sat() { tilewright_core.saturation = 1; }
inline void set_symsat() { tilewright_core.saturation = 3; }
inline void clr_sat() { tilewright_core.saturation = 0; }
inline void set_satmode(unsigned mode) { tilewright_core.saturation = mode; }
inline unsigned get_sat() { return tilewright_core.saturation; }

// ---- cascade, streams, locks, registers of the tile ---------------------------------------------------------------

namespace tilewright {

// 512 bits a step, the low ones first.
template <class V> void put_cascade(const V &v) {
  static_assert(sizeof(V) % register_bytes == 0, "the cascade moves whole registers");
  count(cascade, sizeof(V) / register_bytes);
  for (unsigned i = 0; i < sizeof(V); i += register_bytes)
    cascade_put(bytes_of(v) + i, register_bytes);
}
template <class V> V get_cascade() {
  static_assert(sizeof(V) % register_bytes == 0, "the cascade moves whole registers");
  count(cascade, sizeof(V) / register_bytes);
  V v;
  for (unsigned i = 0; i < sizeof(V); i += register_bytes)
    cascade_get(bytes_of(v) + i, register_bytes);
  return v;
}

} // namespace tilewright

template <tilewright::Register V> void put_mcd(const V &v) { tilewright::put_cascade(v); }
template <tilewright::Register V> void put_mcd(const V &v, int enable) {
  if (enable)
    tilewright::put_cascade(v);
}
#define TILEWRIGHT_SCD(V)                                                                                              \
  inline V get_scd_##V() { return tilewright::get_cascade<V>(); }                                                      \
  inline V get_scd_##V(int enable) { return enable ? tilewright::get_cascade<V>() : V{}; }
TILEWRIGHT_SCD(v64int8)
TILEWRIGHT_SCD(v64uint8)
TILEWRIGHT_SCD(v32int16)
TILEWRIGHT_SCD(v32uint16)
TILEWRIGHT_SCD(v16int32)
TILEWRIGHT_SCD(v16uint32)
TILEWRIGHT_SCD(v32int32)
TILEWRIGHT_SCD(v32uint32)
TILEWRIGHT_SCD(v32bfloat16)
TILEWRIGHT_SCD(v16float)
TILEWRIGHT_SCD(v16acc32)
TILEWRIGHT_SCD(v32acc32)
TILEWRIGHT_SCD(v8acc64)
TILEWRIGHT_SCD(v16acc64)
TILEWRIGHT_SCD(v16accfloat)
TILEWRIGHT_SCD(v32accfloat)
#undef TILEWRIGHT_SCD

template <class X>
  requires(sizeof(X) == 4)
void put_ms(X word, bool last = false) {
  tilewright::count(tilewright::stream);
  tilewright::stream_put(0, &word, sizeof word, last);
}
template <class X>
  requires(std::is_integral_v<X> && sizeof(X) < 4)
void put_ms(X word, bool last = false) {
  put_ms(int32_t(word), last);
}
inline int get_ss() {
  int word;
  tilewright::count(tilewright::stream);
  tilewright::stream_get(0, &word, sizeof word);
  return word;
}
inline int get_ss_int() { return get_ss(); }
inline float get_ss_float() { return tilewright::bits_as<float>(get_ss()); }

inline void write_tm(uint32_t value, uint32_t address, uint32_t offset = 0) {
  tilewright::tile_write(address + offset, value);
}
inline uint32_t read_tm(uint32_t address, uint32_t offset = 0) { return tilewright::tile_read(address + offset); }

// Waits until the lock has at least so many, and takes them; `equal` waits for exactly that value.
inline void acquire_greater_equal(unsigned id, unsigned value) { tilewright::lock(id, -int32_t(value), true); }
inline void acquire_equal(unsigned id, unsigned value) { tilewright::lock(id, int32_t(value), true); }
inline void release(unsigned id, int value) { tilewright::lock(id, value, false); }

// Nothing moves across a callback anyway.
#define __builtin_aiev2_sched_barrier()

// Found through their arguments anyway; this is for sources that say `::add`. Not abs, min and max: they have forms for
// scalars, which would meet those of `std`.
using aie::add;
using aie::concat;
using aie::eq;
using aie::ge;
using aie::gt;
using aie::le;
using aie::lt;
using aie::maxdiff;
using aie::neg;
using aie::sub;

#undef TILEWRIGHT_LANES
#undef TILEWRIGHT_ELEMENTS
#undef TILEWRIGHT_LENGTHS
