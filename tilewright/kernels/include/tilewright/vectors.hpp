// Vectors and accumulators as plain structs of exactly their lanes' bytes, and the compiler's names for them.
//
// `v16int32` is `aie::vector<int32, 16>`, `v16acc64` is `aie::accum<acc64, 16>`: one type, so nothing needs converting.
#pragma once

#include <array>
#include <cstring>
#include <numeric>

#include "tilewright/bfloat16.hpp"
#include "tilewright/core.hpp"

#define TILEWRIGHT_INLINE __attribute__((always_inline)) inline
#define TILEWRIGHT_LAMBDA __attribute__((always_inline))

struct acc32 {};
struct acc40 {};
struct acc48 {};
struct acc56 {};
struct acc64 {};
struct acc72 {};
struct acc80 {};
struct accfloat {};
struct accauto {};
struct cacc32 {};
struct cacc64 {};
struct caccfloat {};

struct cint16 {
  int16_t real, imag;
  bool operator==(const cint16 &) const = default;
};
struct cint32 {
  int32_t real, imag;
  bool operator==(const cint32 &) const = default;
};
struct cfloat {
  float real, imag;
  bool operator==(const cfloat &) const = default;
};

namespace tilewright {

// Aligned like nothing: a kernel's pointers are cast to vectors, and the host's buffers promise only their elements.
template <class S, unsigned N> struct simd_of {
  typedef S type __attribute__((vector_size(N * sizeof(S))));
  typedef S stored __attribute__((vector_size(N * sizeof(S)), aligned(1), may_alias));
};
template <class S, unsigned N> using simd = typename simd_of<S, N>::type;
template <class S, unsigned N> using simd_in_memory = typename simd_of<S, N>::stored;

constexpr unsigned register_bytes = 64; // of a core

// Of this computer, which takes wider vectors apart lane by lane.
#if defined(__AVX512BW__)
constexpr unsigned host_bytes = 64;
#elif defined(__AVX2__)
constexpr unsigned host_bytes = 32;
#else
constexpr unsigned host_bytes = 16;
#endif

template <class T> struct element {
  using stored = T;
  static constexpr unsigned bits = 8 * sizeof(T);
  static constexpr bool is_signed = std::is_signed_v<T>;
  static constexpr bool is_float = std::is_floating_point_v<T>;
};
template <> struct element<bfloat16> {
  using stored = uint16_t;
  static constexpr unsigned bits = 16;
  static constexpr bool is_signed = true, is_float = true;
};
template <> struct element<int4> {
  using stored = uint8_t;
  static constexpr unsigned bits = 4;
  static constexpr bool is_signed = true, is_float = false;
};
template <> struct element<uint4> {
  using stored = uint8_t;
  static constexpr unsigned bits = 4;
  static constexpr bool is_signed = false, is_float = false;
};
template <> struct element<cint16> {
  using stored = uint32_t;
  static constexpr unsigned bits = 32;
  static constexpr bool is_signed = true, is_float = false;
};
template <> struct element<cint32> {
  using stored = uint64_t;
  static constexpr unsigned bits = 64;
  static constexpr bool is_signed = true, is_float = false;
};
template <> struct element<cfloat> {
  using stored = uint64_t;
  static constexpr unsigned bits = 64;
  static constexpr bool is_signed = true, is_float = true;
};
template <class T> using stored_t = typename element<T>::stored;

template <class T>
concept Complex = std::is_same_v<T, cint16> || std::is_same_v<T, cint32> || std::is_same_v<T, cfloat>;
template <class T> struct part_of_number {
  using type = T;
};
template <Complex T> struct part_of_number<T> {
  using type = decltype(T::real);
};
template <class T> using part_t = typename part_of_number<T>::type; // real and imaginary parts; a real number itself
template <class T> constexpr unsigned bits_of = element<T>::bits;
template <class T> constexpr bool is_nibble = bits_of<T> == 4;
template <class T> constexpr bool is_bfloat = std::is_same_v<T, bfloat16>;
template <class T> constexpr bool is_float_class = element<T>::is_float;

// The type that an element is computed in.
template <class T> using lane_t = std::conditional_t<is_bfloat<T>, float, std::conditional_t<is_nibble<T>, int8_t, T>>;

// Tags ask for at least so many bits; the lanes of these cores have 32 or 64 (UG1603, accumulators of AIE-ML).
template <class Tag> struct accum_lane {
  using type = int64_t;
};
template <> struct accum_lane<acc32> {
  using type = int32_t;
};
template <> struct accum_lane<int32_t> {
  using type = int32_t;
};
template <> struct accum_lane<accfloat> {
  using type = float;
};
template <> struct accum_lane<float> {
  using type = float;
};
template <> struct accum_lane<cacc32> {
  using type = std::array<int32_t, 2>;
};
template <> struct accum_lane<cacc64> {
  using type = std::array<int64_t, 2>;
};
template <> struct accum_lane<caccfloat> {
  using type = std::array<float, 2>;
};
template <class Tag> using accum_lane_t = typename accum_lane<Tag>::type;

// How many lanes are computed at once: a register of the widest type, or less where the vector is shorter.
template <class S, unsigned N> constexpr unsigned step = std::gcd(N, host_bytes / unsigned(sizeof(S)));

constexpr unsigned issues(unsigned bytes, unsigned bytes_per_issue = 64) {
  return bytes <= bytes_per_issue ? 1 : (bytes + bytes_per_issue - 1) / bytes_per_issue;
}

#if defined(__AIE2P__) || defined(__AIEARCH__) && __AIEARCH__ >= 21
constexpr unsigned memory_bytes = 64, accum_bytes = 256; // one load or store; one accumulator register
#else
constexpr unsigned memory_bytes = 32, accum_bytes = 128;
#endif

template <class S, unsigned L> TILEWRIGHT_INLINE simd<S, L> read(const void *from) {
  return *static_cast<const simd_in_memory<S, L> *>(from);
}
template <class V> TILEWRIGHT_INLINE void write(void *to, V value) { __builtin_memcpy(to, &value, sizeof value); }

template <class To, class From> TILEWRIGHT_INLINE To bits_as(From value) {
  static_assert(sizeof(To) == sizeof(From));
  To result;
  __builtin_memcpy(&result, &value, sizeof result);
  return result;
}

// Parts of vectors and accumulators, which are numbered modulo how many there are.
template <class Part, class Whole> TILEWRIGHT_INLINE Part part_of(const Whole &whole, unsigned index) {
  static_assert(sizeof(Whole) % sizeof(Part) == 0, "parts divide the whole");
  Part part;
  __builtin_memcpy(&part, reinterpret_cast<const char *>(&whole) + index % (sizeof whole / sizeof part) * sizeof part,
                   sizeof part);
  return part;
}
template <class Whole, class Part> TILEWRIGHT_INLINE void put_part(Whole &whole, unsigned index, const Part &part) {
  static_assert(sizeof(Whole) % sizeof(Part) == 0, "parts divide the whole");
  __builtin_memcpy(reinterpret_cast<char *>(&whole) + index % (sizeof whole / sizeof part) * sizeof part, &part,
                   sizeof part);
}

// The bytes of a and b, laid side by side, that `index` names.
template <class V> TILEWRIGHT_INLINE V pick_bytes(V a, V b, V index) {
#ifdef __clang__
  V result;
  for (unsigned i = 0; i < sizeof(V); ++i)
    result[i] = index[i] % (2 * sizeof(V)) < sizeof(V) ? a[index[i] % sizeof(V)] : b[index[i] % sizeof(V)];
  return result;
#else
  return __builtin_shuffle(a, b, index);
#endif
}

template <class S> struct half_and_double {
  using half = S;
  using twice = S;
};
template <> struct half_and_double<int8_t> {
  using half = int8_t;
  using twice = int16_t;
};
template <> struct half_and_double<uint8_t> {
  using half = uint8_t;
  using twice = uint16_t;
};
template <> struct half_and_double<int16_t> {
  using half = int8_t;
  using twice = int32_t;
};
template <> struct half_and_double<uint16_t> {
  using half = uint8_t;
  using twice = uint32_t;
};
template <> struct half_and_double<int32_t> {
  using half = int16_t;
  using twice = int64_t;
};
template <> struct half_and_double<uint32_t> {
  using half = uint16_t;
  using twice = uint64_t;
};
template <> struct half_and_double<int64_t> {
  using half = int32_t;
  using twice = int64_t;
};
template <> struct half_and_double<uint64_t> {
  using half = uint32_t;
  using twice = uint64_t;
};

// Lane by lane to another type. In steps of a factor of two: compilers take lanes apart for larger ones.
template <class To, unsigned L, class From> TILEWRIGHT_INLINE simd<To, L> convert(From value) {
  using S = std::remove_cvref_t<decltype(value[0])>;
  if constexpr (std::is_same_v<S, To>)
    return value;
  else if constexpr (std::is_integral_v<S> && (sizeof(To) > 2 * sizeof(S) || (sizeof(S) < 4 && !std::is_integral_v<To>)))
    return convert<To, L>(__builtin_convertvector(value, simd<typename half_and_double<S>::twice, L>));
  else if constexpr (std::is_integral_v<S> && std::is_integral_v<To> && 2 * sizeof(To) < sizeof(S))
    return convert<To, L>(__builtin_convertvector(value, simd<typename half_and_double<S>::half, L>));
  else if constexpr (!std::is_integral_v<S> && sizeof(To) < 4)
    return convert<To, L>(__builtin_convertvector(value, simd<int32_t, L>));
  else
    return __builtin_convertvector(value, simd<To, L>);
}

// Float to bfloat16 obeys the rounding mode of the core, which floor after reset makes a rounding towards minus infinity
// (mlir-aie #3587 measures both). Works on magnitudes: a carry out of the mantissa is the right exponent.
template <unsigned L> TILEWRIGHT_INLINE simd<uint16_t, L> to_bfloat_bits(simd<float, L> value) {
  using U = simd<uint32_t, L>;
  U bits = bits_as<U>(value), magnitude = bits & 0x7fffffffu, sign = bits & 0x80000000u;
  U negative = sign >> 31, odd = (magnitude >> 16) & 1u;
  U up;
  switch (tilewright_core.rounding) {
  case 0: // floor
    up = negative * 0xffffu;
    break;
  case 1: // ceil
    up = (negative ^ 1u) * 0xffffu;
    break;
  case 2: // towards zero
    up = U{};
    break;
  case 3: // away from zero
    up = U{} + 0xffffu;
    break;
  case 8: // halves down
    up = 0x7fffu + negative;
    break;
  case 9: // halves up
    up = 0x8000u - negative;
    break;
  case 10: // halves towards zero
    up = U{} + 0x7fffu;
    break;
  case 11: // halves away from zero
    up = U{} + 0x8000u;
    break;
  case 13: // halves to odd
    up = 0x8000u - odd;
    break;
  default: // halves to even
    up = 0x7fffu + odd;
    break;
  }
  U rounded = (magnitude + up) & 0xffff0000u;
  U special = bits_as<U>(magnitude > 0x7f800000u), infinite = bits_as<U>(magnitude == 0x7f800000u);
  rounded = special ? ((magnitude & 0xffff0000u) | 0x400000u) : (infinite ? magnitude : rounded);
  return convert<uint16_t, L>((rounded | sign) >> 16);
}

} // namespace tilewright

namespace aie {
template <class T, unsigned N = 512 / tilewright::bits_of<T>> class vector; // 512 bits unless said (UG1079)
template <class Tag, unsigned N = 512 / (8 * sizeof(tilewright::accum_lane_t<Tag>))> class accum;
template <class T, unsigned N> class block_vector; // block_floats.hpp
} // namespace aie

namespace tilewright {

template <class T> constexpr unsigned block_size = 0; // numbers that share an exponent, of types where some do

template <class V> struct shape {
  static constexpr bool is_vector = false, is_accum = false;
};
template <class T, unsigned N> struct shape<aie::vector<T, N>> {
  static constexpr bool is_vector = true, is_accum = false;
  static constexpr unsigned size = N;
  using type = T;
};
template <class Tag, unsigned N> struct shape<aie::accum<Tag, N>> {
  static constexpr bool is_vector = false, is_accum = true;
  static constexpr unsigned size = N;
  using type = Tag;
};
template <class V> constexpr bool is_vector_v = shape<std::remove_cvref_t<V>>::is_vector;
template <class V> constexpr bool is_accum_v = shape<std::remove_cvref_t<V>>::is_accum;
template <class V> constexpr unsigned size_v = shape<std::remove_cvref_t<V>>::size;
template <class V> using type_t = typename shape<std::remove_cvref_t<V>>::type;

// L elements from the i-th on, as lanes of type W. `p` is where elements of type T begin.
template <class W, unsigned L, class T> TILEWRIGHT_INLINE simd<W, L> lanes(const void *p, unsigned i) {
  if constexpr (is_nibble<T>) {
    simd<W, L> result;
    const uint8_t *bytes = static_cast<const uint8_t *>(p);
    for (unsigned k = 0; k < L; ++k) {
      unsigned nibble = (bytes[(i + k) / 2] >> ((i + k) % 2 * 4)) & 15;
      result[k] = std::is_same_v<T, int4> ? W(int((nibble ^ 8) - 8)) : W(nibble);
    }
    return result;
  } else {
    auto raw = read<stored_t<T>, L>(static_cast<const char *>(p) + i * sizeof(stored_t<T>));
    if constexpr (is_bfloat<T>) {
      auto wide = convert<uint32_t, L>(raw) << 16;
      return convert<W, L>(bits_as<simd<float, L>>(wide));
    } else
      return convert<W, L>(raw);
  }
}

// The reverse: integers keep their low bits, floats become bfloat16 under the mode of the core.
template <class T, unsigned L, class W> TILEWRIGHT_INLINE void put_lanes(void *p, unsigned i, W value) {
  if constexpr (is_nibble<T>) {
    uint8_t *bytes = static_cast<uint8_t *>(p);
    for (unsigned k = 0; k < L; ++k) {
      unsigned shift = (i + k) % 2 * 4;
      uint8_t &byte = bytes[(i + k) / 2];
      byte = uint8_t((byte & ~(15u << shift)) | ((unsigned(int(value[k])) & 15u) << shift));
    }
  } else {
    char *to = static_cast<char *>(p) + i * sizeof(stored_t<T>);
    if constexpr (is_bfloat<T>)
      write(to, to_bfloat_bits<L>(convert<float, L>(value)));
    else
      write(to, convert<T, L>(value));
  }
}

} // namespace tilewright

namespace aie {

template <class T, unsigned N> class vector {
  static_assert(N * tilewright::bits_of<T> % 8 == 0, "a vector is a whole number of bytes");
  static constexpr unsigned bytes = N * tilewright::bits_of<T> / 8;
  using stored = tilewright::stored_t<T>;
  static constexpr unsigned piece = std::gcd(bytes, tilewright::host_bytes);
  static constexpr bool is_nibble = tilewright::is_nibble<T>;

public:
  using value_type = T;
  using native_type = vector;
  using storage_t = vector;
  tilewright::simd_in_memory<stored, piece / sizeof(stored)> registers[bytes / piece];

  vector() = default;

  // The same bits as other elements: kernels say `v32int16(v)`.
  template <class U, unsigned M>
    requires(!std::is_same_v<vector<U, M>, vector> && M * tilewright::bits_of<U> == N * tilewright::bits_of<T>)
  explicit vector(const vector<U, M> &other) {
    __builtin_memcpy(this, &other, sizeof *this);
  }

  template <class First, class... More>
    requires(sizeof...(More) > 0 && sizeof...(More) < N && (std::is_convertible_v<First, T> && ... && std::is_convertible_v<More, T>))
  vector(First first, More... more) {
    const T values[N] = {static_cast<T>(first), static_cast<T>(more)...}; // what is not given is zero
    for (unsigned i = 0; i < N; ++i)
      set(values[i], i);
  }

  static constexpr unsigned type_bits() { return tilewright::bits_of<T>; }
  static constexpr unsigned size() { return N; }
  static constexpr unsigned length() { return N; }
  static constexpr unsigned bits() { return N * type_bits(); }
  static constexpr unsigned memory_bits() { return bits(); }
  static constexpr bool is_complex() { return tilewright::Complex<T>; }
  static constexpr bool is_real() { return !is_complex(); }
  static constexpr bool is_signed() { return tilewright::element<T>::is_signed; }
  static constexpr bool is_floating_point() { return tilewright::is_float_class<T>; }
  static constexpr bool is_integral() { return !is_floating_point(); }

  T *data() { return reinterpret_cast<T *>(this); }
  const T *data() const { return reinterpret_cast<const T *>(this); }
  vector to_native() const { return *this; }

  T get(unsigned i) const {
    if constexpr (is_nibble)
      return T(int(tilewright::lanes<int8_t, 1, T>(this, i)[0]));
    else
      return data()[i];
  }
  void set(T value, unsigned i) {
    if constexpr (is_nibble)
      tilewright::put_lanes<T, 1>(this, i, tilewright::simd<int8_t, 1>{int8_t(int(value))});
    else
      data()[i] = value;
  }

  // A nibble has no address: its reference is a proxy.
  struct nibble_reference {
    vector &parent;
    unsigned index;
    operator T() const { return parent.get(index); }
    nibble_reference &operator=(T value) {
      parent.set(value, index);
      return *this;
    }
  };
  decltype(auto) operator[](unsigned i) {
    if constexpr (is_nibble)
      return nibble_reference{*this, i};
    else
      return (data()[i]);
  }
  decltype(auto) operator[](unsigned i) const {
    if constexpr (is_nibble)
      return get(i);
    else
      return (data()[i]);
  }
  decltype(auto) elem_ref(unsigned i) { return (*this)[i]; }
  decltype(auto) elem_ref(unsigned i) const { return (*this)[i]; }
  decltype(auto) elem_const_ref(unsigned i) const { return (*this)[i]; }

  vector &push(T value) {
    tilewright::count(tilewright::vector_shuffle, tilewright::issues(bytes));
    vector old = *this;
    for (unsigned i = 1; i < N; ++i)
      set(old.get(i - 1), i);
    set(value, 0);
    return *this;
  }

  template <unsigned M> vector<T, M> extract(unsigned index) const {
    return tilewright::part_of<vector<T, M>>(*this, index);
  }
  template <unsigned M> vector &insert(unsigned index, const vector<T, M> &part) {
    tilewright::put_part(*this, index, part);
    return *this;
  }
  template <unsigned M> std::array<vector<T, M>, N / M> split() const {
    return tilewright::bits_as<std::array<vector<T, M>, N / M>>(*this);
  }
  template <unsigned M> vector<T, M> grow(unsigned index = 0) const {
    vector<T, M> grown{};
    tilewright::put_part(grown, index, *this);
    return grown;
  }
  template <unsigned M> vector<T, M> grow_replicate() const {
    vector<T, M> grown;
    for (unsigned i = 0; i < M / N; ++i)
      tilewright::put_part(grown, i, *this);
    return grown;
  }

  template <class U> vector<U, N * tilewright::bits_of<T> / tilewright::bits_of<U>> cast_to() const {
    return tilewright::bits_as<vector<U, N * tilewright::bits_of<T> / tilewright::bits_of<U>>>(*this);
  }

  template <class U> vector<U, N> unpack() const { return unpack_sign<U>(is_signed()); }
  auto unpack() const { return unpack<wider>(); }
  template <class U> vector<U, N> unpack_sign(bool sign) const {
    tilewright::count(tilewright::vector_convert, tilewright::issues(sizeof(vector<U, N>)));
    vector<U, N> result;
    using flipped = unsigned_or_signed;
    constexpr unsigned L = tilewright::step<tilewright::lane_t<U>, N>;
    for (unsigned i = 0; i < N; i += L)
      if (sign == is_signed())
        tilewright::put_lanes<U, L>(&result, i, tilewright::lanes<tilewright::lane_t<U>, L, T>(this, i));
      else
        tilewright::put_lanes<U, L>(&result, i, tilewright::lanes<tilewright::lane_t<U>, L, flipped>(this, i));
    return result;
  }
  template <class U> vector<U, N> pack() const { return pack_sign<U>(tilewright::element<U>::is_signed); }
  auto pack() const { return pack<narrower>(); }
  template <class U> vector<U, N> pack_sign(bool sign) const;

  template <class U> vector &load(const U *from) {
    __builtin_memcpy(this, from, sizeof *this);
    return *this;
  }
  template <class U> vector &load_unaligned(const U *from, unsigned = 1) { return load(from); }
  template <class U> void store(U *to) const { __builtin_memcpy(to, this, sizeof *this); }
  template <class U> void store_unaligned(U *to, unsigned = 1) const { store(to); }

private:
  static constexpr unsigned own_bits = tilewright::bits_of<T>;
  template <class Signed, class Unsigned> using like = std::conditional_t<tilewright::element<T>::is_signed, Signed, Unsigned>;
  using wider = std::conditional_t<own_bits == 4, like<int8, uint8>,
                                   std::conditional_t<own_bits == 8, like<int16, uint16>, like<int32, uint32>>>;
  using narrower = std::conditional_t<own_bits == 8, like<int4, uint4>,
                                      std::conditional_t<own_bits == 16, like<int8, uint8>, like<int16, uint16>>>;
  using unsigned_or_signed = std::conditional_t<
      own_bits == 4, like<uint4, int4>,
      std::conditional_t<own_bits == 8, like<uint8, int8>, std::conditional_t<own_bits == 16, like<uint16, int16>, like<uint32, int32>>>>;
};

template <class T, unsigned N> using vector_elem_ref = T &;
template <class T, unsigned N> using vector_elem_const_ref = const T &;

} // namespace aie

namespace tilewright {

// Shift right, round, saturate, in this order and on the whole lane (UG1603, rounding and saturation modes).
template <class T, class W, unsigned L> TILEWRIGHT_INLINE simd<W, L> shift_and_saturate(simd<W, L> value, int shift, bool sign) {
  using V = simd<W, L>;
  if (shift > 0) {
    const W one = 1, half = W(one << (shift - 1)), low = W((half - 1) | half);
    V down = value >> shift, rest = value & low, up;
    V negative = bits_as<V>(value < 0), tie = bits_as<V>(rest == half), over = bits_as<V>(rest > half);
    V odd = -(down & 1);
    switch (tilewright_core.rounding) {
    case 0:
      up = V{};
      break;
    case 1:
      up = bits_as<V>(rest != 0);
      break;
    case 2:
      up = bits_as<V>(rest != 0) & negative;
      break;
    case 3:
      up = bits_as<V>(rest != 0) & ~negative;
      break;
    case 8:
      up = over;
      break;
    case 9:
      up = over | tie;
      break;
    case 10:
      up = over | (tie & negative);
      break;
    case 11:
      up = over | (tie & ~negative);
      break;
    case 13:
      up = over | (tie & ~odd);
      break;
    default:
      up = over | (tie & odd);
      break;
    }
    value = down - up;
  }
  const unsigned left = shift < 0 ? unsigned(-shift) : 0;
  if (tilewright_core.saturation) {
    constexpr unsigned bits = bits_of<T>;
    static_assert(bits <= 8 * sizeof(W));
    W high, low;
    if (sign) {
      high = W((uint64_t(1) << (bits - 1)) - 1);
      low = W(-high - (tilewright_core.saturation == 3 ? 0 : 1));
    } else {
      high = bits < 8 * sizeof(W) ? W((uint64_t(1) << bits) - 1) : std::numeric_limits<W>::max();
      low = 0;
    }
    if (left) { // before the shift, which may leave the lane
      const V over = bits_as<V>(value > (high >> left)), under = bits_as<V>(value < (low >> left));
      value = V(bits_as<simd<std::make_unsigned_t<W>, L>>(value) << left);
      value = over ? V{} + high : under ? V{} + low : value;
    }
    value = value > high ? V{} + high : value;
    return value < low ? V{} + low : value;
  }
  return left ? V(bits_as<simd<std::make_unsigned_t<W>, L>>(value) << left) : value;
}

// One float times 2^shift to the nearest integer of type T, halves towards zero, held at its ends (UG1529, floating-point
// conversion).
template <class T> inline int64_t float_to_integer(float value, int shift) {
  double scaled = __builtin_ldexp(double(value), shift), whole = __builtin_trunc(scaled);
  double rest = scaled - whole;
  whole += rest > 0.5 ? 1 : rest < -0.5 ? -1 : 0;
  constexpr unsigned bits = bits_of<T>;
  constexpr double high = element<T>::is_signed ? double((uint64_t(1) << (bits - 1)) - 1) : double((uint64_t(1) << bits) - 1);
  constexpr double low = element<T>::is_signed ? -high - 1 : 0;
  return whole != whole ? 0 : int64_t(whole > high ? high : whole < low ? low : whole);
}

} // namespace tilewright

namespace aie {

template <class Tag, unsigned N> class accum {
  using lane = tilewright::accum_lane_t<Tag>;
  static constexpr unsigned bytes = N * sizeof(lane);
  static constexpr unsigned piece = std::gcd(bytes, tilewright::host_bytes);
  static constexpr bool is_float = std::is_same_v<lane, float>;

public:
  using value_type = Tag;
  using native_type = accum;
  using lane_type = lane;
  tilewright::simd_in_memory<lane, piece / sizeof(lane)> registers[bytes / piece];

  accum() = default;
  template <class T> accum(const vector<T, N> &from, int shift = 0) { from_vector(from, shift); }
  template <class T> accum(const block_vector<T, N> &from) { from_vector(from); }
  template <class Other>
    requires(!std::is_same_v<Other, Tag>)
  accum(const accum<Other, N> &other) {
    using from = tilewright::accum_lane_t<Other>;
    if constexpr (sizeof(lane) == sizeof(from)) // float sums may travel in acc32: same bits
      __builtin_memcpy(this, &other, sizeof *this);
    else {
      constexpr unsigned L = tilewright::step<int64_t, N>;
      for (unsigned i = 0; i < N; i += L)
        put<L>(i, tilewright::convert<lane, L>(other.template get<L>(i)));
    }
  }

  static constexpr unsigned size() { return N; }
  static constexpr unsigned value_bits() { return 8 * sizeof(lane); }
  static constexpr unsigned accum_bits() { return 8 * sizeof(lane); }
  static constexpr unsigned memory_bits() { return 8 * sizeof(lane); }
  static constexpr unsigned bits() { return N * value_bits(); }
  static constexpr bool is_complex() { return false; }
  static constexpr bool is_real() { return true; }
  static constexpr bool is_floating_point() { return is_float; }

  lane *data() { return reinterpret_cast<lane *>(this); }
  const lane *data() const { return reinterpret_cast<const lane *>(this); }
  lane &operator[](unsigned i) { return data()[i]; }
  const lane &operator[](unsigned i) const { return data()[i]; }
  accum to_native() const { return *this; }

  template <unsigned L> TILEWRIGHT_INLINE tilewright::simd<lane, L> get(unsigned i) const {
    return tilewright::read<lane, L>(reinterpret_cast<const char *>(this) + i * sizeof(lane));
  }
  template <unsigned L, class V> TILEWRIGHT_INLINE void put(unsigned i, V value) {
    tilewright::write(reinterpret_cast<char *>(this) + i * sizeof(lane), value);
  }

  // Up-shift: to the left, from the element's width to the lane's.
  template <class T> void from_vector(const vector<T, N> &from, int shift = 0) {
    tilewright::count(tilewright::vector_convert, tilewright::issues(bytes, tilewright::accum_bytes));
    if constexpr (!is_float && tilewright::is_float_class<T>) {
      static_assert(sizeof(lane) == 4, "floats travel as bits in 32-bit lanes only");
      accum<accfloat, N> bits(from);
      __builtin_memcpy(this, &bits, sizeof *this);
    } else {
      constexpr unsigned L = tilewright::step<lane, N>;
      for (unsigned i = 0; i < N; i += L) {
        auto wide = tilewright::lanes<lane, L, T>(&from, i);
        if constexpr (!is_float)
          if (shift) {
            using U = tilewright::simd<std::make_unsigned_t<lane>, L>;
            wide = shift > 0 ? decltype(wide)(tilewright::bits_as<U>(wide) << shift) : wide >> -shift;
          }
        put<L>(i, wide);
      }
    }
  }

  template <class T> void from_vector(const block_vector<T, N> &from, int = 0) {
    static_assert(is_float, "block floats become floats");
    from.to_floats(data());
  }

  template <class T> vector<T, N> to_vector(int shift = 0) const {
    return to_vector_sign<T>(tilewright::element<T>::is_signed, shift);
  }
  template <class T>
    requires(tilewright::block_size<T> != 0)
  block_vector<T, N> to_vector(int = 0) const {
    static_assert(is_float, "block floats are made of floats");
    return block_vector<T, N>::from_floats(data());
  }
  template <class T> vector<T, N> to_vector_sign(bool sign, int shift = 0) const {
    tilewright::count(tilewright::vector_convert, tilewright::issues(bytes, tilewright::accum_bytes));
    vector<T, N> result;
    if constexpr (tilewright::is_float_class<T>) {
      static_assert(sizeof(lane) == 4, "only 32-bit lanes hold floats");
      constexpr unsigned L = tilewright::step<float, N>;
      for (unsigned i = 0; i < N; i += L) // acc32 to float: the bits
        tilewright::put_lanes<T, L>(&result, i, tilewright::bits_as<tilewright::simd<float, L>>(get<L>(i)));
    } else if constexpr (is_float) {
      for (unsigned i = 0; i < N; ++i)
        result.set(T(tilewright::float_to_integer<T>(data()[i], shift)), i);
    } else if (shift == 0 && tilewright_core.saturation == 0) {
      constexpr unsigned L = tilewright::step<lane, N>;
      for (unsigned i = 0; i < N; i += L)
        tilewright::put_lanes<T, L>(&result, i, get<L>(i));
    } else if (sizeof(lane) == 4 && shift >= 0 && shift < 31) {
      constexpr unsigned L = tilewright::step<lane, N>;
      for (unsigned i = 0; i < N; i += L)
        tilewright::put_lanes<T, L>(&result, i, tilewright::shift_and_saturate<T, lane, L>(get<L>(i), shift, sign));
    } else {
      constexpr unsigned L = tilewright::step<int64_t, N>;
      for (unsigned i = 0; i < N; i += L) {
        auto wide = tilewright::convert<int64_t, L>(get<L>(i));
        tilewright::put_lanes<T, L>(&result, i,
                                    tilewright::shift_and_saturate<T, int64_t, L>(wide, shift < 62 ? shift : 62, sign));
      }
    }
    return result;
  }
  template <class T> operator vector<T, N>() const { return to_vector<T>(); }

  template <unsigned M> accum<Tag, M> extract(unsigned index) const {
    return tilewright::part_of<accum<Tag, M>>(*this, index);
  }
  template <unsigned M> accum &insert(unsigned index, const accum<Tag, M> &part) {
    tilewright::put_part(*this, index, part);
    return *this;
  }
  template <unsigned M> std::array<accum<Tag, M>, N / M> split() const {
    return tilewright::bits_as<std::array<accum<Tag, M>, N / M>>(*this);
  }
  template <unsigned M> accum<Tag, M> grow(unsigned index = 0) const {
    accum<Tag, M> grown{};
    tilewright::put_part(grown, index, *this);
    return grown;
  }
  template <unsigned M> accum<Tag, M> grow_replicate() const {
    accum<Tag, M> grown;
    for (unsigned i = 0; i < M / N; ++i)
      tilewright::put_part(grown, i, *this);
    return grown;
  }
  template <class Other> auto cast_to() const {
    using To = accum<Other, N * sizeof(lane) / sizeof(tilewright::accum_lane_t<Other>)>;
    return tilewright::bits_as<To>(*this);
  }
};

template <class T, unsigned N> template <class U> vector<U, N> vector<T, N>::pack_sign(bool sign) const {
  tilewright::count(tilewright::vector_convert, tilewright::issues(bytes));
  vector<U, N> result;
  using W = std::conditional_t<own_bits == 32, int64_t, int32_t>;
  constexpr unsigned L = tilewright::step<W, N>;
  for (unsigned i = 0; i < N; i += L) {
    auto wide = tilewright::lanes<W, L, T>(this, i);
    tilewright::put_lanes<U, L>(&result, i, tilewright::shift_and_saturate<U, W, L>(wide, 0, sign));
  }
  return result;
}

} // namespace aie

#define TILEWRIGHT_VECTORS(N, E) using v##N##E = aie::vector<E, N>;
#define TILEWRIGHT_ACCUMS(N, E) using v##N##E = aie::accum<E, N>;
#define TILEWRIGHT_LENGTHS(kind, E)                                                                                              \
  kind(2, E) kind(4, E) kind(8, E) kind(16, E) kind(32, E) kind(64, E) kind(128, E) kind(256, E)
TILEWRIGHT_LENGTHS(TILEWRIGHT_VECTORS, int4)
TILEWRIGHT_LENGTHS(TILEWRIGHT_VECTORS, uint4)
TILEWRIGHT_LENGTHS(TILEWRIGHT_VECTORS, int8)
TILEWRIGHT_LENGTHS(TILEWRIGHT_VECTORS, uint8)
TILEWRIGHT_LENGTHS(TILEWRIGHT_VECTORS, int16)
TILEWRIGHT_LENGTHS(TILEWRIGHT_VECTORS, uint16)
TILEWRIGHT_LENGTHS(TILEWRIGHT_VECTORS, int32)
TILEWRIGHT_LENGTHS(TILEWRIGHT_VECTORS, uint32)
TILEWRIGHT_LENGTHS(TILEWRIGHT_VECTORS, bfloat16)
TILEWRIGHT_LENGTHS(TILEWRIGHT_VECTORS, float)
TILEWRIGHT_LENGTHS(TILEWRIGHT_VECTORS, cint16)
TILEWRIGHT_LENGTHS(TILEWRIGHT_VECTORS, cint32)
TILEWRIGHT_LENGTHS(TILEWRIGHT_VECTORS, cfloat)
TILEWRIGHT_LENGTHS(TILEWRIGHT_ACCUMS, cacc64)
TILEWRIGHT_LENGTHS(TILEWRIGHT_ACCUMS, caccfloat)
TILEWRIGHT_LENGTHS(TILEWRIGHT_ACCUMS, acc32)
TILEWRIGHT_LENGTHS(TILEWRIGHT_ACCUMS, acc64)
TILEWRIGHT_LENGTHS(TILEWRIGHT_ACCUMS, accfloat)
#undef TILEWRIGHT_LENGTHS
#undef TILEWRIGHT_ACCUMS
#undef TILEWRIGHT_VECTORS
