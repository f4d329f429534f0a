// The seam between kernels and the runtime: the state of the core that a loaded library stands for.
#pragma once

#include <cstdint>
#include <cstdio>
#include <exception>
#include <type_traits>

extern "C" {
struct tilewright_core_state {
  uint32_t version;
  uint32_t rounding, saturation; // registers of the core: they outlive calls
  uint64_t counts[32];           // operations by class, cleared by the runtime
  void *self;                    // handed to each callback
  void (*cascade_put)(void *self, const void *data, uint32_t bytes);
  void (*cascade_get)(void *self, void *data, uint32_t bytes);
  void (*stream_put)(void *self, uint32_t channel, const void *data, uint32_t bytes, uint32_t last);
  void (*stream_get)(void *self, uint32_t channel, void *data, uint32_t bytes);
  void (*event)(void *self, uint32_t number);
  uint32_t (*tile_read)(void *self, uint32_t address);
  void (*tile_write)(void *self, uint32_t address, uint32_t value);
  void (*lock)(void *self, uint32_t number, int32_t value, uint32_t is_acquire);
};

// One for each library: `inline` joins the translation units, -fno-gnu-unique keeps the copies of a library apart.
__attribute__((visibility("default"), used)) inline tilewright_core_state tilewright_core{1};
}

#ifdef TILEWRIGHT_CHECKED
extern "C" void tilewright_misaligned(const void *pointer, uint32_t bytes); // does not come back
#endif

namespace tilewright {

// The 1 of `1 << n`. A core shifts the other way by a negative amount, and everything out by one of 32 or more; C++
// says nothing about either.
struct shifted_one {
  constexpr operator int() const { return 1; }
  template <typename T>
    requires(std::is_integral_v<T> || std::is_enum_v<T>)
  friend constexpr int operator<<(shifted_one, T n) {
    const long long amount = static_cast<long long>(n);
    return amount < 0 || amount > 31 ? 0 : static_cast<int>(1u << amount);
  }
};
inline constexpr shifted_one one{};

// Classes of counts; OperationClass of device/vector_unit.py has the same names in the same order.
enum count_class : unsigned {
  vector_mac,
  vector_alu,
  vector_shuffle,
  vector_convert,
  load,
  store,
  lookup,
  scalar_float,
  cascade,
  stream,
  count_classes,
};

[[gnu::always_inline]] inline void count(count_class what, uint64_t issues = 1) {
#ifndef TILEWRIGHT_NO_COUNTS
  tilewright_core.counts[what] += issues;
#else
  (void)what, (void)issues;
#endif
}

// Thrown where a kernel reaches for something that only a simulated core has, and there is none.
class no_core : public std::exception {
  char text[160];

public:
  explicit no_core(const char *what) noexcept {
    std::snprintf(text, sizeof text, "%s needs a core: this kernel was called outside a simulated tile", what);
  }
  const char *what() const noexcept override { return text; }
};

[[noreturn, gnu::cold, gnu::noinline]] inline void refuse(const char *what) { throw no_core(what); }

inline void cascade_put(const void *data, uint32_t bytes) {
  if (!tilewright_core.cascade_put)
    refuse("writing to the cascade");
  tilewright_core.cascade_put(tilewright_core.self, data, bytes);
}

inline void cascade_get(void *data, uint32_t bytes) {
  if (!tilewright_core.cascade_get)
    refuse("reading from the cascade");
  tilewright_core.cascade_get(tilewright_core.self, data, bytes);
}

inline void stream_put(uint32_t channel, const void *data, uint32_t bytes, bool last) {
  if (!tilewright_core.stream_put)
    refuse("writing to a stream");
  tilewright_core.stream_put(tilewright_core.self, channel, data, bytes, last);
}

inline void stream_get(uint32_t channel, void *data, uint32_t bytes) {
  if (!tilewright_core.stream_get)
    refuse("reading from a stream");
  tilewright_core.stream_get(tilewright_core.self, channel, data, bytes);
}

inline uint32_t tile_read(uint32_t address) {
  if (!tilewright_core.tile_read)
    refuse("reading a register of the tile");
  return tilewright_core.tile_read(tilewright_core.self, address);
}

inline void tile_write(uint32_t address, uint32_t value) {
  if (!tilewright_core.tile_write)
    refuse("writing a register of the tile");
  tilewright_core.tile_write(tilewright_core.self, address, value);
}

inline void lock(uint32_t number, int32_t value, bool is_acquire) {
  if (!tilewright_core.lock)
    refuse("a lock");
  tilewright_core.lock(tilewright_core.self, number, value, is_acquire);
}

// Whether a vector may stand at an address, in checked builds: a core leaves out the low bits of others.
[[gnu::always_inline]] inline void check_aligned(const void *pointer, uint32_t bytes) {
#ifdef TILEWRIGHT_CHECKED
  uint32_t align = bytes < 32 ? bytes : 32;
  if (reinterpret_cast<uintptr_t>(pointer) % align)
    tilewright_misaligned(pointer, align);
#else
  (void)pointer, (void)bytes;
#endif
}

} // namespace tilewright

// Events leave the data alone, so without a core they are nothing.
inline void event0() {
  if (tilewright_core.event)
    tilewright_core.event(tilewright_core.self, 0);
}
inline void event1() {
  if (tilewright_core.event)
    tilewright_core.event(tilewright_core.self, 1);
}
