// xrt::aie::program: how many columns a full ELF takes.
#ifndef TILEWRIGHT_XRT_AIE_H
#define TILEWRIGHT_XRT_AIE_H

#include "xrt/experimental/xrt_elf.h"
#include "xrt/xrt_kernel.h"

namespace xrt::aie {
class program : public xrt::elf {
public:
  explicit program(const xrt::elf &file) : xrt::elf(file) {}
  using xrt::elf::get_partition_size;
};
} // namespace xrt::aie

#endif
