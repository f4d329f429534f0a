// xrt::bo: a buffer, with bytes of the host and bytes of the device; sync copies between the two.
#ifndef TILEWRIGHT_XRT_BO_H
#define TILEWRIGHT_XRT_BO_H

#include "xrt/xrt_hw_context.h"
#include <type_traits>

namespace xrt {
struct pid_type {
  int pid;
};

class bo_impl;
class bo : public detail::pimpl<bo_impl> {
public:
  enum class flags : uint32_t {
    normal = 0,
    cacheable = XRT_BO_FLAGS_CACHEABLE,
    device_only = XRT_BO_FLAGS_DEV_ONLY,
    host_only = XRT_BO_FLAGS_HOST_ONLY,
    p2p = XRT_BO_FLAGS_P2P,
    svm = XRT_BO_FLAGS_SVM,
  };
  using export_handle = int32_t;

  // What `async` gives; the copy is made when it is asked for.
  class async_handle {
  public:
    void wait() {}
  };

  bo() = default;
  bo(std::shared_ptr<bo_impl> handle) : pimpl(std::move(handle)) {}
  bo(const device &device, void *userptr, size_t size, bo::flags flags, memory_group group);
  bo(const device &device, void *userptr, size_t size, xrtBufferFlags flags, memory_group group)
      : bo(device, userptr, size, static_cast<bo::flags>(flags), group) {}
  bo(const device &device, void *userptr, size_t size, memory_group group)
      : bo(device, userptr, size, flags::normal, group) {}
  bo(const device &device, size_t size, bo::flags flags, memory_group group);
  bo(const device &device, size_t size, xrtBufferFlags flags, memory_group group)
      : bo(device, size, static_cast<bo::flags>(flags), group) {}
  bo(const device &device, size_t size, memory_group group) : bo(device, size, flags::normal, group) {}
  bo(const hw_context &context, void *userptr, size_t size, bo::flags flags, memory_group group);
  bo(const hw_context &context, void *userptr, size_t size, memory_group group)
      : bo(context, userptr, size, flags::normal, group) {}
  bo(const hw_context &context, size_t size, bo::flags flags, memory_group group);
  bo(const hw_context &context, size_t size, xrtBufferFlags flags, memory_group group)
      : bo(context, size, static_cast<bo::flags>(flags), group) {}
  bo(const hw_context &context, size_t size, memory_group group) : bo(context, size, flags::normal, group) {}
  bo(const bo &parent, size_t size, size_t offset);

  size_t size() const;
  uint64_t address() const;
  memory_group get_memory_group() const;
  flags get_flags() const;
  async_handle async(xclBOSyncDirection direction, size_t size, size_t offset) {
    sync(direction, size, offset);
    return {};
  }
  async_handle async(xclBOSyncDirection direction) { return async(direction, size(), 0); }
  void sync(xclBOSyncDirection direction, size_t size, size_t offset);
  void sync(xclBOSyncDirection direction) { sync(direction, size(), 0); }
  void *map();
  const void *map() const;
  template <typename Pointer>
  Pointer map() {
    return reinterpret_cast<Pointer>(map());
  }
  template <typename Pointer>
  Pointer map() const {
    static_assert(std::is_pointer_v<Pointer> && std::is_const_v<std::remove_pointer_t<Pointer>>,
                  "a buffer that is const is mapped to a pointer to const");
    return reinterpret_cast<Pointer>(map());
  }
  void write(const void *source, size_t size, size_t seek);
  void write(const void *source) { write(source, size(), 0); }
  void read(void *target, size_t size, size_t skip);
  void read(void *target) { read(target, size(), 0); }
  void copy(const bo &source, size_t size, size_t source_offset = 0, size_t target_offset = 0);
  void copy(const bo &source) { copy(source, source.size()); }
};
} // namespace xrt

#endif
