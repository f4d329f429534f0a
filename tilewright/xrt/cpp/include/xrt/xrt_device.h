// xrt::device: the simulated NPU.
#ifndef TILEWRIGHT_XRT_DEVICE_H
#define TILEWRIGHT_XRT_DEVICE_H

#include "xrt/experimental/xrt_xclbin.h"
#include "xrt/xrt_uuid.h"
#include <any>
#include <string>
#include <type_traits>

namespace xrt {
namespace info {
enum class device : unsigned int {
  bdf,
  interface_uuid,
  kdma,
  max_clock_frequency_mhz,
  m2m,
  name,
  nodma,
  offline,
  electrical,
  thermal,
  mechanical,
  memory,
  platform,
  pcie_info,
  host,
  aie,
  aie_shim,
  dynamic_regions,
  vmr,
  aie_mem
};
} // namespace info

class device_impl;
class device : public detail::pimpl<device_impl> {
  template <info::device key>
  using result_of = std::conditional_t<
      key == info::device::interface_uuid, uuid,
      std::conditional_t<key == info::device::max_clock_frequency_mhz, unsigned long,
                         std::conditional_t<key == info::device::m2m || key == info::device::nodma ||
                                                key == info::device::offline,
                                            bool,
                                            std::conditional_t<key == info::device::kdma, uint32_t, std::string>>>>;

public:
  device() = default;
  explicit device(unsigned int index);
  explicit device(int index) : device(static_cast<unsigned int>(index)) {}
  explicit device(const std::string &bdf);
  explicit device(std::shared_ptr<device_impl> handle) : pimpl(std::move(handle)) {}
  uuid register_xclbin(const xclbin &file);
  uuid load_xclbin(const std::string &filename) { return register_xclbin(xclbin(filename)); }
  uuid load_xclbin(const xclbin &file) { return register_xclbin(file); }
  uuid get_xclbin_uuid() const;
  template <info::device key>
  result_of<key> get_info() const {
    if constexpr (std::is_same_v<result_of<key>, uuid>)
      return uuid();
    else if constexpr (std::is_same_v<result_of<key>, std::string>)
      return info_text(key);
    else
      return static_cast<result_of<key>>(info_number(key));
  }
  void reset() {}

private:
  std::string info_text(info::device key) const;
  unsigned long info_number(info::device key) const;
};
} // namespace xrt

#endif
