// xrt::uuid: what an xclbin is known by.
#ifndef TILEWRIGHT_XRT_UUID_H
#define TILEWRIGHT_XRT_UUID_H

#include "xrt/detail/definitions.h"
#include <cstring>
#include <string>

namespace xrt {
class uuid {
public:
  uuid() { std::memset(value, 0, sizeof value); }
  uuid(const xuid_t from) { std::memcpy(value, from, sizeof value); }
  explicit uuid(const std::string &text);
  const xuid_t &get() const { return value; }
  std::string to_string() const;
  explicit operator bool() const { return *this != uuid(); }
  bool operator==(const uuid &other) const { return std::memcmp(value, other.value, sizeof value) == 0; }
  bool operator!=(const uuid &other) const { return !(*this == other); }
  bool operator<(const uuid &other) const { return std::memcmp(value, other.value, sizeof value) < 0; }

private:
  xuid_t value;
};
} // namespace xrt

#endif
