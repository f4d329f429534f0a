// xrt::module: the control code of an ELF file.
#ifndef TILEWRIGHT_XRT_MODULE_H
#define TILEWRIGHT_XRT_MODULE_H

#include "xrt/experimental/xrt_elf.h"
#include "xrt/xrt_bo.h"
#include "xrt/xrt_hw_context.h"

namespace xrt {
class module_impl;
class module : public detail::pimpl<module_impl> {
public:
  module() = default;
  explicit module(const elf &file);
  explicit module(std::shared_ptr<module_impl> handle) : pimpl(std::move(handle)) {}
  hw_context get_hw_context() const;
};
} // namespace xrt

#endif
