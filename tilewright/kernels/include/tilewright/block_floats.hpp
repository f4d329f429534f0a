// Block floats: numbers that share one exponent, the vectors of them, and the streams that read and write those.
//
// A block is its exponent (bias 127, the largest of its numbers), then one signed byte for each number with six bits
// behind the point. Making one from floats obeys the rounding mode of the core; floor cuts off what does not fit.
// kernels/numbers.py has the same in NumPy, and a test compares the two.
#pragma once

#include "tilewright/vectors.hpp"

template <unsigned size> struct tilewright_block {
  uint8_t exponent;
  int8_t mantissas[size];
};
using bfp16ebs8 = tilewright_block<8>;
using bfp16ebs16 = tilewright_block<16>;
static_assert(sizeof(bfp16ebs8) == 9 && sizeof(bfp16ebs16) == 17);

namespace tilewright {

template <unsigned size> constexpr unsigned block_size<tilewright_block<size>> = size;

constexpr int mantissa_point = 6;
constexpr int exponent_bias = 127;
constexpr int float_point = 23; // bits behind the point of a float

// value / 2^shift under a rounding mode. At 32 bits out all that is left of a float is its sign.
inline int32_t rounded_shift(int32_t value, int shift, uint32_t rounding) {
  shift = shift < 32 ? shift : 32;
  const int64_t wide = value, half = int64_t(1) << (shift - 1), down = wide >> shift, rest = wide - (down << shift);
  switch (rounding) {
  case 0:
    return int32_t(down);
  case 1:
    return int32_t(down + (rest != 0));
  case 2:
    return int32_t(down + (rest != 0 && value < 0));
  case 3:
    return int32_t(down + (rest != 0 && value > 0));
  case 8:
    return int32_t(down + (rest > half));
  case 9:
    return int32_t(down + (rest >= half));
  case 10:
    return int32_t(down + (rest > half || (rest == half && value < 0)));
  case 11:
    return int32_t(down + (rest > half || (rest == half && value > 0)));
  case 13:
    return int32_t(down + (rest > half || (rest == half && !(down & 1))));
  default:
    return int32_t(down + (rest > half || (rest == half && (down & 1))));
  }
}

// Infinities and NaN have no form here: they are taken as the numbers that their bits would be.
template <unsigned size> inline tilewright_block<size> block_of(const float *values) {
  int32_t exponents[size], mantissas[size], largest = 0;
  for (unsigned i = 0; i < size; ++i) {
    const uint32_t bits = bits_as<uint32_t>(values[i]);
    exponents[i] = int32_t(bits >> float_point & 0xff);
    largest = largest < exponents[i] ? exponents[i] : largest;
    const int32_t magnitude = exponents[i] ? int32_t((bits & 0x7fffff) | 0x800000) : 0; // denormals are zero
    mantissas[i] = bits >> 31 ? -magnitude : magnitude;
  }
  tilewright_block<size> block;
  block.exponent = uint8_t(largest);
  const uint32_t rounding = tilewright_core.rounding;
  int32_t cut[size];
  // Floor and halves to even are what kernels use: loops without branches, which compilers make vectors of.
  for (unsigned i = 0; i < size; ++i) {
    const int out = float_point - mantissa_point + (largest - exponents[i]), shift = out < 31 ? out : 31;
    const int32_t down = mantissas[i] >> shift, up = (int32_t(1) << (shift - 1)) - 1 + (down & 1);
    cut[i] = rounding ? (mantissas[i] + up) >> shift : down;
    exponents[i] = out;
  }
  if (rounding != 0 && rounding != 12)
    for (unsigned i = 0; i < size; ++i)
      cut[i] = rounded_shift(mantissas[i], exponents[i], rounding);
  for (unsigned i = 0; i < size; ++i)
    block.mantissas[i] = int8_t(cut[i] > 127 ? 127 : cut[i]);
  return block;
}

template <unsigned size> inline void values_of(const tilewright_block<size> &block, float *values) {
  const double unit = bits_as<double>(uint64_t(1023 - exponent_bias - mantissa_point + block.exponent) << 52);
  for (unsigned i = 0; i < size; ++i)
    values[i] = float(block.mantissas[i] * unit);
}

} // namespace tilewright

namespace aie {

template <class T, unsigned N> class block_vector {
  static constexpr unsigned block = tilewright::block_size<T>;
  static_assert(block != 0, "the elements are block floats");
  static_assert(N % block == 0, "a vector is a whole number of blocks");

public:
  using value_type = T;
  using native_type = block_vector;
  T blocks[N / block];

  static constexpr unsigned size() { return N; }
  static constexpr unsigned block_size() { return block; }
  static constexpr unsigned memory_bits() { return 8 * sizeof(block_vector); }
  static constexpr unsigned bits() { return memory_bits(); }
  block_vector to_native() const { return *this; }

  template <unsigned M> block_vector<T, M> extract(unsigned index) const {
    static_assert(N % M == 0, "a part divides its vector");
    block_vector<T, M> part;
    __builtin_memcpy(&part, blocks + index % (N / M) * (M / block), sizeof part);
    return part;
  }
  template <unsigned M> block_vector &insert(unsigned index, const block_vector<T, M> &part) {
    static_assert(N % M == 0, "a part divides its vector");
    __builtin_memcpy(blocks + index % (N / M) * (M / block), &part, sizeof part);
    return *this;
  }

  static block_vector from_floats(const float *values) {
    tilewright::count(tilewright::vector_convert, tilewright::issues(N, 64));
    block_vector made;
    for (unsigned i = 0; i < N / block; ++i)
      made.blocks[i] = tilewright::block_of<block>(values + i * block);
    return made;
  }
  void to_floats(float *values) const {
    tilewright::count(tilewright::vector_convert, tilewright::issues(N, 64));
    for (unsigned i = 0; i < N / block; ++i)
      tilewright::values_of(blocks[i], values + i * block);
  }
};

template <class T, unsigned N, class... More>
  requires(tilewright::block_size<T> != 0 && (std::is_same_v<block_vector<T, N>, More> && ...))
TILEWRIGHT_INLINE auto concat(const block_vector<T, N> &first, const More &...more) {
  block_vector<T, N *(1 + sizeof...(More))> result;
  unsigned i = 0;
  result.insert(i++, first);
  (result.insert(i++, more), ...);
  return result;
}

// Vectors of blocks in a row in memory, which have no alignment. Positions count vectors, from where the stream is.
template <class T, unsigned N> class block_vector_input_buffer_stream {
  const T *at;
  static constexpr int blocks = N / tilewright::block_size<T>;

public:
  using value_type = block_vector<T, N>;
  explicit block_vector_input_buffer_stream(const T *from) : at(from) {}
  block_vector_input_buffer_stream &seek(int vectors) {
    at += vectors * blocks;
    return *this;
  }
  value_type pop() {
    tilewright::count(tilewright::load, tilewright::issues(sizeof(value_type)));
    value_type value;
    __builtin_memcpy(&value, at, sizeof value);
    at += blocks;
    return value;
  }
  // The next one, and on by so many more.
  value_type pop_seek(int vectors) {
    const value_type value = pop();
    seek(vectors);
    return value;
  }
  block_vector_input_buffer_stream &operator>>(value_type &value) {
    value = pop();
    return *this;
  }
};

template <class T, unsigned N> class block_vector_output_buffer_stream {
  T *at;
  static constexpr int blocks = N / tilewright::block_size<T>;

public:
  using value_type = block_vector<T, N>;
  explicit block_vector_output_buffer_stream(T *to) : at(to) {}
  block_vector_output_buffer_stream &seek(int vectors) {
    at += vectors * blocks;
    return *this;
  }
  void push(const value_type &value) {
    tilewright::count(tilewright::store, tilewright::issues(sizeof(value_type)));
    __builtin_memcpy(static_cast<void *>(at), &value, sizeof value);
    at += blocks;
  }
  void push_seek(const value_type &value, int vectors) {
    push(value);
    seek(vectors);
  }
  void flush() {}
  block_vector_output_buffer_stream &operator<<(const value_type &value) {
    push(value);
    return *this;
  }
};

template <class T, unsigned N>
using block_vector_input_restrict_buffer_stream = block_vector_input_buffer_stream<T, N>;
template <class T, unsigned N>
using block_vector_output_restrict_buffer_stream = block_vector_output_buffer_stream<T, N>;

} // namespace aie

#define TILEWRIGHT_BLOCKS(T)                                                                                           \
  using v16##T = aie::block_vector<T, 16>;                                                                             \
  using v32##T = aie::block_vector<T, 32>;                                                                             \
  using v64##T = aie::block_vector<T, 64>;                                                                             \
  using v128##T = aie::block_vector<T, 128>;                                                                           \
  using v256##T = aie::block_vector<T, 256>;
using v8bfp16ebs8 = aie::block_vector<bfp16ebs8, 8>;
TILEWRIGHT_BLOCKS(bfp16ebs8)
TILEWRIGHT_BLOCKS(bfp16ebs16)
#undef TILEWRIGHT_BLOCKS

namespace tilewright {

// acc + sign * (a * b), 8 x 8 each, b by its columns. A product of mantissas and their sums are exact; the lane rounds.
template <class T>
aie::accum<accfloat, 64> block_product(const aie::block_vector<T, 64> &a, const aie::block_vector<T, 64> &b,
                                       const aie::accum<accfloat, 64> &acc, int sign) {
  constexpr unsigned size = block_size<T>;
  count(vector_mac);
  int16_t columns[8][8];
  double units[2][8];
  for (unsigned i = 0; i < 8; ++i) {
    const T &row = a.blocks[8 * i / size], &column = b.blocks[8 * i / size];
    units[0][i] = bits_as<double>(uint64_t(1023 - exponent_bias - mantissa_point + row.exponent) << 52);
    units[1][i] = bits_as<double>(uint64_t(1023 - exponent_bias - mantissa_point + column.exponent) << 52) * sign;
    for (unsigned k = 0; k < 8; ++k)
      columns[k][i] = column.mantissas[8 * i % size + k];
  }
  aie::accum<accfloat, 64> result;
  for (unsigned row = 0; row < 8; ++row) {
    const int8_t *factors = a.blocks[8 * row / size].mantissas + 8 * row % size;
    int32_t sums[8] = {};
    for (unsigned k = 0; k < 8; ++k)
      for (unsigned column = 0; column < 8; ++column)
        sums[column] += factors[k] * columns[k][column];
    for (unsigned column = 0; column < 8; ++column)
      result[8 * row + column] = float(acc[8 * row + column] + sums[column] * (units[0][row] * units[1][column]));
  }
  return result;
}

// Whether a product of bfloat16 matrices is made of block floats: XDNA 2 has no other way for this shape.
template <unsigned M, unsigned K, unsigned N, class A, class B>
constexpr bool multiplies_blocks =
#if defined(AIE_API_EMULATE_BFLOAT16_MMUL_WITH_BFP16) && (defined(__AIE2P__) || defined(__AIEARCH__) && __AIEARCH__ >= 21)
    M == 8 && K == 8 && N == 8 && is_bfloat<A> && is_bfloat<B>;
#else
    false;
#endif

// Both matrices row by row; blocks are along K, so that those of b are its columns.
template <class A, class B>
aie::accum<accfloat, 64> product_through_blocks(const A &a, const B &b, const aie::accum<accfloat, 64> &acc, int sign) {
  float rows[64], columns[64];
  for (unsigned i = 0; i < 64; ++i) {
    rows[i] = float(a.get(i));
    columns[i] = float(b.get(i % 8 * 8 + i / 8));
  }
  using blocks = aie::block_vector<bfp16ebs8, 64>;
  return block_product(blocks::from_floats(rows), blocks::from_floats(columns), acc, sign);
}

} // namespace tilewright
