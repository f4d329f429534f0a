// xrt::ext: buffers and kernels of the ELF flow.
#ifndef TILEWRIGHT_XRT_EXT_H
#define TILEWRIGHT_XRT_EXT_H

#include "xrt/experimental/xrt_module.h"
#include "xrt/xrt_bo.h"
#include "xrt/xrt_hw_context.h"
#include "xrt/xrt_kernel.h"

namespace xrt::ext {
class bo : public xrt::bo {
public:
  enum class access_mode : uint64_t {
    none = 0,
    read = 1,
    write = 2,
    read_write = 3,
    local = 0,
    shared = 4,
    process = 8,
    hybrid = 16,
  };
  friend constexpr access_mode operator&(access_mode a, access_mode b) {
    return static_cast<access_mode>(static_cast<uint64_t>(a) & static_cast<uint64_t>(b));
  }
  friend constexpr access_mode operator|(access_mode a, access_mode b) {
    return static_cast<access_mode>(static_cast<uint64_t>(a) | static_cast<uint64_t>(b));
  }

  bo() = default;
  bo(const device &device, void *userptr, size_t size, access_mode access = access_mode::read_write);
  bo(const device &device, size_t size, access_mode access = access_mode::read_write);
  bo(const hw_context &context, size_t size, access_mode access = access_mode::read_write);
};

class kernel : public xrt::kernel {
public:
  kernel() = default;
  kernel(const hw_context &context, const module &code, const std::string &name);
  kernel(const hw_context &context, const std::string &name);
};
} // namespace xrt::ext

#endif
