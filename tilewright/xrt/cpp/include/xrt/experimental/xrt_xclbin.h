// xrt::xclbin: a file with images and kernels.
#ifndef TILEWRIGHT_XRT_XCLBIN_H
#define TILEWRIGHT_XRT_XCLBIN_H

#include "xrt/xrt_uuid.h"
#include <string>
#include <string_view>
#include <vector>

struct axlf;

namespace xrt {
class xclbin_impl;
class xclbin : public detail::pimpl<xclbin_impl> {
public:
  class mem {
  public:
    mem() = default;
    mem(std::string tag, uint64_t base, uint64_t size_kb, bool used, int32_t index)
        : tag(std::move(tag)), base(base), size_kb(size_kb), used(used), index(index) {}
    std::string get_tag() const { return tag; }
    uint64_t get_base_address() const { return base; }
    uint64_t get_size_kb() const { return size_kb; }
    bool get_used() const { return used; }
    int32_t get_index() const { return index; }

  private:
    std::string tag;
    uint64_t base = 0, size_kb = 0;
    bool used = false;
    int32_t index = 0;
  };

  class arg {
  public:
    arg() = default;
    arg(std::string name, size_t index, uint64_t size, bool is_buffer, std::vector<mem> mems)
        : name(std::move(name)), index(index), size(size), is_buffer(is_buffer), mems(std::move(mems)) {}
    std::string get_name() const { return name; }
    size_t get_index() const { return index; }
    uint64_t get_size() const { return size; }
    std::vector<mem> get_mems() const { return mems; }
    std::string get_host_type() const { return is_buffer ? "void*" : size == 8 ? "uint64_t" : "uint32_t"; }

  private:
    std::string name;
    size_t index = 0;
    uint64_t size = 0;
    bool is_buffer = false;
    std::vector<mem> mems;
  };

  class ip {
  public:
    ip() = default;
    ip(std::string name, std::vector<arg> args) : name(std::move(name)), args(std::move(args)) {}
    std::string get_name() const { return name; }
    size_t get_num_args() const { return args.size(); }
    std::vector<arg> get_args() const { return args; }
    arg get_arg(int32_t index) const { return args.at(index); }

  private:
    std::string name;
    std::vector<arg> args;
  };

  class kernel {
  public:
    enum class kernel_type : uint8_t { none = 0, pl = 1, ps = 2, dpu = 3 };
    kernel() = default;
    kernel(std::string name, std::vector<arg> args, std::vector<ip> cus)
        : name(std::move(name)), args(std::move(args)), cus(std::move(cus)) {}
    std::string get_name() const { return name; }
    kernel_type get_type() const { return kernel_type::dpu; }
    size_t get_num_args() const { return args.size(); }
    std::vector<arg> get_args() const { return args; }
    arg get_arg(int32_t index) const { return args.at(index); }
    std::vector<ip> get_cus() const { return cus; }

  private:
    std::string name;
    std::vector<arg> args;
    std::vector<ip> cus;
  };

  xclbin() = default;
  explicit xclbin(std::shared_ptr<xclbin_impl> handle) : pimpl(std::move(handle)) {}
  explicit xclbin(const std::string &filename);
  explicit xclbin(const std::vector<char> &data);
  explicit xclbin(const std::string_view &data);
  explicit xclbin(const char *filename) : xclbin(std::string(filename)) {}
  std::vector<kernel> get_kernels() const;
  kernel get_kernel(const std::string &name) const;
  std::vector<ip> get_ips() const;
  std::vector<mem> get_mems() const;
  std::string get_xsa_name() const;
  uuid get_uuid() const;
};
} // namespace xrt

#endif
