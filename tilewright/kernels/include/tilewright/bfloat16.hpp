// The scalar types of a core that this computer's compiler lacks: bfloat16, int4 and the vendor's short names.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>
#include <type_traits>

using int8 = int8_t;
using int16 = int16_t;
using int32 = int32_t;
using int64 = int64_t;
using uint8 = uint8_t;
using uint16 = uint16_t;
using uint32 = uint32_t;
using uint64 = uint64_t;

struct [[gnu::may_alias]] bfloat16 {
  uint16_t bits;

  bfloat16() = default;
  template <class T>
    requires std::is_arithmetic_v<T>
  constexpr bfloat16(T value) : bits(nearest(static_cast<float>(value))) {}
  constexpr operator float() const { return std::bit_cast<float>(uint32_t(bits) << 16); }

  static constexpr bfloat16 from_bits(uint16_t bits) {
    bfloat16 made(0);
    made.bits = bits;
    return made;
  }

  // Ties to even; a NaN stays one although its low bits go.
  static constexpr uint16_t nearest(float value) {
    uint32_t whole = std::bit_cast<uint32_t>(value);
    if ((whole & 0x7fffffffu) > 0x7f800000u)
      return uint16_t(whole >> 16) | 0x40;
    return uint16_t((whole + 0x7fff + ((whole >> 16) & 1)) >> 16);
  }

  constexpr bfloat16 &operator+=(float other) { return *this = bfloat16(float(*this) + other); }
  constexpr bfloat16 &operator-=(float other) { return *this = bfloat16(float(*this) - other); }
  constexpr bfloat16 &operator*=(float other) { return *this = bfloat16(float(*this) * other); }
  constexpr bfloat16 &operator/=(float other) { return *this = bfloat16(float(*this) / other); }
  constexpr bfloat16 operator-() const { return from_bits(bits ^ 0x8000); }
};

// Elements of packed vectors; as a scalar each is a byte.
struct int4 {
  int8_t value;
  int4() = default;
  constexpr int4(int v) : value(int8_t(int8_t(uint8_t(v) << 4) >> 4)) {}
  constexpr operator int() const { return value; }
};
struct uint4 {
  uint8_t value;
  uint4() = default;
  constexpr uint4(int v) : value(v & 15) {}
  constexpr operator int() const { return value; }
};
using int4_t = int4;
using uint4_t = uint4;

template <> struct std::numeric_limits<bfloat16> : std::numeric_limits<float> {
  static constexpr int digits = 8;
  static constexpr int digits10 = 2;
  static constexpr int max_digits10 = 4;
  static constexpr bfloat16 min() noexcept { return bfloat16::from_bits(0x0080); }
  static constexpr bfloat16 max() noexcept { return bfloat16::from_bits(0x7f7f); }
  static constexpr bfloat16 lowest() noexcept { return bfloat16::from_bits(0xff7f); }
  static constexpr bfloat16 epsilon() noexcept { return bfloat16::from_bits(0x3c00); }
  static constexpr bfloat16 round_error() noexcept { return bfloat16::from_bits(0x3f00); }
  static constexpr bfloat16 infinity() noexcept { return bfloat16::from_bits(0x7f80); }
  static constexpr bfloat16 quiet_NaN() noexcept { return bfloat16::from_bits(0x7fc0); }
  static constexpr bfloat16 signaling_NaN() noexcept { return bfloat16::from_bits(0x7fa0); }
  static constexpr bfloat16 denorm_min() noexcept { return bfloat16::from_bits(0x0001); }
};
