#pragma once

#include "xrt_device.h"

#include <algorithm>
#include <memory>

namespace xrt {

class bo {
public:
  enum class flags : uint32_t { cacheable = 1U << 24, host_only = 1U << 29 };

  // What the host sees and what the device sees: a program that forgets to synchronise them finds old data.
  struct Memory {
    std::vector<char> host, device;
  };

  bo(const xrt::device &, size_t bytes, flags, uint32_t)
      : memory(std::make_shared<Memory>(Memory{std::vector<char>(bytes), std::vector<char>(bytes)})) {}

  template <typename T> T map() { return reinterpret_cast<T>(memory->host.data()); }

  void sync(xclBOSyncDirection direction) {
    if (direction == XCL_BO_SYNC_BO_TO_DEVICE)
      memory->device = memory->host;
    else
      std::copy(memory->device.begin(), memory->device.end(), memory->host.begin());
  }

  std::shared_ptr<Memory> memory;
};

} // namespace xrt
