// Rounding and saturation modes, registers of the core, and the tile that the kernel runs on.
#pragma once

#include "tilewright/vectors.hpp"

namespace aie {

// Numbers of AIE-ML and later (UG1603; Vitis DSP library, table of TP_RND): AIE1 has others.
enum class rounding_mode : unsigned {
  floor = 0,
  ceil = 1,
  symmetric_floor = 2,
  symmetric_ceil = 3,
  negative_inf = 8,
  positive_inf = 9,
  symmetric_zero = 10,
  symmetric_inf = 11,
  conv_even = 12,
  conv_odd = 13,
};

enum class saturation_mode : unsigned { none = 0, truncate = 0, saturate = 1, symmetric = 3 };

inline rounding_mode get_rounding() { return rounding_mode(tilewright_core.rounding); }
inline saturation_mode get_saturation() { return saturation_mode(tilewright_core.saturation); }
inline void set_rounding(rounding_mode mode) { tilewright_core.rounding = unsigned(mode); }
inline void set_saturation(saturation_mode mode) { tilewright_core.saturation = unsigned(mode); }
inline rounding_mode swap_rounding(rounding_mode mode) {
  rounding_mode old = get_rounding();
  set_rounding(mode);
  return old;
}
inline saturation_mode swap_saturation(saturation_mode mode) {
  saturation_mode old = get_saturation();
  set_saturation(mode);
  return old;
}

struct tile_id {
  uint16_t row, col;
};

class tile {
public:
  static tile current() { return {}; }
  static rounding_mode get_rounding() { return aie::get_rounding(); }
  static saturation_mode get_saturation() { return aie::get_saturation(); }
  static void set_rounding(rounding_mode mode) { aie::set_rounding(mode); }
  static void set_saturation(saturation_mode mode) { aie::set_saturation(mode); }
  static rounding_mode swap_rounding(rounding_mode mode) { return aie::swap_rounding(mode); }
  static saturation_mode swap_saturation(saturation_mode mode) { return aie::swap_saturation(mode); }

  // Modelled time is not known inside a call: the sum of counts grows with the work done, and only differences mean anything.
  static uint64_t cycles() {
    uint64_t sum = 0;
    for (uint64_t count : tilewright_core.counts)
      sum += count;
    return sum;
  }
};

} // namespace aie

namespace tilewright {

// The mode of the core for the length of a scope.
class rounding_scope {
  uint32_t old = tilewright_core.rounding;

public:
  explicit rounding_scope(aie::rounding_mode mode) { tilewright_core.rounding = uint32_t(mode); }
  ~rounding_scope() { tilewright_core.rounding = old; }
};

} // namespace tilewright
