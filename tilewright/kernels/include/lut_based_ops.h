// Functions of bfloat16 from small tables, under the names that mlir-aie's runtime library gives them.
//
// They have the precision of the tables that kernels get on a device, not that of exact functions. Sources that are
// compiled with mlir-aie's own folder of AIE2 find its header instead, which works with `aie::lut` all the same.
#pragma once

#include "aie_api/aie.hpp"

namespace tilewright {

constexpr unsigned lut_entries = 256;
constexpr int largest_exponent = 88; // of e, before a float overflows

// e to the whole number, which is the high byte of a number with eight bits behind the point, and to those eight bits.
struct exponential_tables {
  bfloat16 whole[lut_entries], part[lut_entries];
  exponential_tables() {
    for (unsigned i = 0; i < lut_entries; ++i) {
      const int exponent = int8_t(i);
      whole[i] = bfloat16(float(__builtin_exp(exponent < largest_exponent ? exponent : largest_exponent)));
      part[i] = bfloat16(float(__builtin_exp(double(i) / lut_entries)));
    }
  }
};

// 32 straight pieces between -4 and 4. The outermost are -1 and 1, which is what holds beyond them; the two at zero leave
// small numbers as they are.
constexpr unsigned tanh_pieces = 32;
constexpr float tanh_limit = 4, tanh_step = 2 * tanh_limit / tanh_pieces;
struct tanh_table {
  bfloat16 slope[tanh_pieces], offset[tanh_pieces];
  tanh_table() {
    for (unsigned i = 0; i < tanh_pieces; ++i) {
      const double low = -tanh_limit + i * double(tanh_step), high = low + tanh_step, middle = (low + high) / 2;
      slope[i] = bfloat16(float((__builtin_tanh(high) - __builtin_tanh(low)) / tanh_step));
      // Half of what the chord cuts off on either side of the line.
      const double ends = (__builtin_tanh(high) + __builtin_tanh(low)) / 2;
      offset[i] = bfloat16(float((ends + __builtin_tanh(middle)) / 2 - float(slope[i]) * middle));
    }
    slope[0] = slope[tanh_pieces - 1] = 0;
    offset[0] = -1, offset[tanh_pieces - 1] = 1;
    slope[tanh_pieces / 2 - 1] = slope[tanh_pieces / 2] = 1;
    offset[tanh_pieces / 2 - 1] = offset[tanh_pieces / 2] = 0;
  }
};

// Each function of a translation unit sees the same table, made when it is first asked for.
template <class Table> inline const Table &table() {
  static const Table made;
  return made;
}

} // namespace tilewright

// e^x of x with eight bits behind the point, rounded down: from -128 to 128, where it wraps.
inline v16accfloat getExpBf16(v16bfloat16 x) {
  const auto &tables = tilewright::table<tilewright::exponential_tables>();
  const v16int32 fixed = bfloat16_to_int(x, 8);
  tilewright::count(tilewright::lookup, 8);
  v16bfloat16 whole, part;
  for (unsigned i = 0; i < 16; ++i) {
    whole.set(tables.whole[uint32_t(fixed.get(i)) >> 8 & 0xff], i);
    part.set(tables.part[uint32_t(fixed.get(i)) & 0xff], i);
  }
  return aie::mul(whole, part);
}

// 1/x of a positive x that is first rounded to seven bits of mantissa.
inline bfloat16 getInvBf16(float x) {
  tilewright::count(tilewright::scalar_float);
  const uint32_t bits = tilewright::bits_as<uint32_t>(x) + 0x8000;
  const int exponent = int(bits >> 23 & 0xff), mantissa = int(bits >> 16 & 0x7f);
  const float inverse = 256.0f / float(128 + mantissa); // between 1 and 2; the table is rounded to nearest
  const int found = mantissa ? int(inverse * 128 + 0.5f) - 128 : 0;
  return bfloat16::from_bits(uint16_t(((mantissa == 0) + (253 - exponent)) << 7) + uint16_t(found));
}

inline v16bfloat16 getTanhBf16(v16bfloat16 x) {
  const auto &pieces = tilewright::table<tilewright::tanh_table>();
  tilewright::count(tilewright::lookup, 4);
  tilewright::count(tilewright::vector_mac);
  v16accfloat sum;
  for (unsigned i = 0; i < 16; ++i) {
    const float value = x.get(i), place = __builtin_floorf((value + tilewright::tanh_limit) / tilewright::tanh_step);
    const unsigned piece = place >= tilewright::tanh_pieces - 1 ? tilewright::tanh_pieces - 1 : place > 0 ? unsigned(place) : 0;
    sum[i] = float(pieces.offset[piece]) + float(pieces.slope[piece]) * value;
  }
  return to_v16bfloat16(sum);
}
