// xrt::elf: a file with control code, and with images if it is a full one.
#ifndef TILEWRIGHT_XRT_ELF_H
#define TILEWRIGHT_XRT_ELF_H

#include "xrt/xrt_uuid.h"
#include <istream>
#include <string>
#include <string_view>
#include <vector>

namespace xrt {
class elf_impl;
class elf : public detail::pimpl<elf_impl> {
public:
  class kernel {
  public:
    class instance {
    public:
      instance() = default;
      explicit instance(std::string name) : name(std::move(name)) {}
      std::string get_name() const { return name; }

    private:
      std::string name;
    };
    kernel() = default;
    kernel(std::string name, size_t args, std::vector<instance> instances)
        : name(std::move(name)), args(args), instances(std::move(instances)) {}
    std::string get_name() const { return name; }
    size_t get_num_args() const { return args; }
    std::vector<instance> get_instances() const { return instances; }

  private:
    std::string name;
    size_t args = 0;
    std::vector<instance> instances;
  };

  elf() = default;
  explicit elf(std::shared_ptr<elf_impl> handle) : pimpl(std::move(handle)) {}
  explicit elf(const std::string &filename);
  explicit elf(const std::string_view &data);
  explicit elf(const char *filename) : elf(std::string(filename)) {}
  explicit elf(std::istream &stream);
  elf(const void *data, size_t size);
  bool is_full_elf() const;
  uint32_t get_partition_size() const;
  std::vector<kernel> get_kernels() const;
};
} // namespace xrt

#endif
