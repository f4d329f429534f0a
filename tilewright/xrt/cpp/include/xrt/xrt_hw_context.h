// xrt::hw_context: a package on the device.
#ifndef TILEWRIGHT_XRT_HW_CONTEXT_H
#define TILEWRIGHT_XRT_HW_CONTEXT_H

#include "xrt/experimental/xrt_elf.h"
#include "xrt/xrt_device.h"
#include <map>

namespace xrt {
class hw_context_impl;
class hw_context : public detail::pimpl<hw_context_impl> {
public:
  using cfg_param_type = std::map<std::string, uint32_t>;
  using qos_type = cfg_param_type;
  enum class access_mode : uint8_t { exclusive = 0, shared = 1 };

  hw_context() = default;
  explicit hw_context(std::shared_ptr<hw_context_impl> handle) : pimpl(std::move(handle)) {}
  hw_context(const device &device, const uuid &xclbin_id, const cfg_param_type &cfg_param);
  hw_context(const device &device, const uuid &xclbin_id, access_mode mode);
  hw_context(const device &device, const uuid &xclbin_id) : hw_context(device, xclbin_id, access_mode::shared) {}
  hw_context(const device &device, const elf &file, const cfg_param_type &cfg_param, access_mode mode);
  hw_context(const device &device, const elf &file) : hw_context(device, file, {}, access_mode::shared) {}
  hw_context(const device &device, const cfg_param_type &cfg_param, access_mode mode);
  void add_config(const elf &file);
  void update_qos(const qos_type &) {}
  device get_device() const;
  uuid get_xclbin_uuid() const;
  xclbin get_xclbin() const;
  access_mode get_mode() const;
};
} // namespace xrt

#endif
