// xrt::kernel, xrt::run and xrt::runlist. A run has been carried out by the simulator when start() returns.
#ifndef TILEWRIGHT_XRT_KERNEL_H
#define TILEWRIGHT_XRT_KERNEL_H

#include "xrt/xrt_bo.h"
#include "xrt/xrt_device.h"
#include "xrt/xrt_hw_context.h"
#include "xrt/xrt_uuid.h"
#include <chrono>
#include <condition_variable>
#include <exception>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>

namespace xrt {
struct autostart {
  unsigned int iterations = 0;
};

class kernel;
class run_impl;
class run : public detail::pimpl<run_impl> {
public:
  // What wait2 throws: the state that a run ended in, and the simulator's explanation.
  class command_error : public std::exception {
  public:
    command_error(ert_cmd_state state, std::string text) : state(state), text(std::move(text)) {}
    ert_cmd_state get_command_state() const { return state; }
    const char *what() const noexcept override { return text.c_str(); }

  private:
    ert_cmd_state state;
    std::string text;
  };
  class aie_error : public command_error {
  public:
    using command_error::command_error;
  };

  run() = default;
  explicit run(std::shared_ptr<run_impl> handle) : pimpl(std::move(handle)) {}
  explicit run(const kernel &kernel);
  void start();
  void start(const autostart &) { start(); }
  void stop() {}
  ert_cmd_state abort();
  ert_cmd_state wait(const std::chrono::milliseconds &timeout = std::chrono::milliseconds{0}) const;
  ert_cmd_state wait(unsigned int timeout_ms) const { return wait(std::chrono::milliseconds(timeout_ms)); }
  std::cv_status wait2(const std::chrono::milliseconds &timeout) const;
  void wait2() const { wait2(std::chrono::milliseconds{0}); }
  ert_cmd_state state() const;
  uint32_t return_code() const { return 0; }
  void add_callback(ert_cmd_state state, std::function<void(const void *, ert_cmd_state, void *)> callback, void *data);

  template <typename Arg>
  std::enable_if_t<!std::is_base_of_v<bo, std::decay_t<Arg>>> set_arg(int index, Arg &&arg) {
    static_assert(std::is_trivially_copyable_v<std::decay_t<Arg>>, "an argument is a buffer or a number");
    auto value = arg;
    set_arg(index, static_cast<const void *>(&value), sizeof value);
  }
  template <typename Arg>
  std::enable_if_t<std::is_base_of_v<bo, std::decay_t<Arg>>> set_arg(int index, Arg &&arg) {
    set_buffer(index, static_cast<const bo &>(arg));
  }
  template <typename Arg>
  void set_arg(const std::string &name, Arg &&arg) {
    set_arg(index_of(name), std::forward<Arg>(arg));
  }
  template <typename Arg>
  void update_arg(int index, Arg &&arg) {
    set_arg(index, std::forward<Arg>(arg));
  }
  void set_arg(int index, const void *value, size_t bytes);
  template <typename... Args>
  void operator()(Args &&...args) {
    int index = 0;
    (set_arg(index++, std::forward<Args>(args)), ...);
    start();
  }
  bo get_ctrl_scratchpad_bo() const;

private:
  void set_buffer(int index, const bo &buffer);
  int index_of(const std::string &name) const;
};

class kernel_impl;
class kernel : public detail::pimpl<kernel_impl> {
public:
  enum class cu_access_mode : uint8_t { exclusive = 0, shared = 1, none = 2 };

  kernel() = default;
  kernel(std::shared_ptr<kernel_impl> handle) : pimpl(std::move(handle)) {}
  kernel(const hw_context &context, const std::string &name);
  kernel(const device &device, const uuid &xclbin_id, const std::string &name,
         cu_access_mode mode = cu_access_mode::shared);
  template <typename... Args>
  run operator()(Args &&...args) {
    run made(*this);
    made(std::forward<Args>(args)...);
    return made;
  }
  int group_id(int index) const;
  uint32_t offset(int index) const;
  std::string get_name() const;
  xclbin get_xclbin() const;
};

class runlist_impl;
class runlist : public detail::pimpl<runlist_impl> {
public:
  class command_error : public run::command_error {
  public:
    command_error(const xrt::run &failed, ert_cmd_state state, std::string text)
        : run::command_error(state, std::move(text)), failed(failed) {}
    xrt::run get_run() const { return failed; }

  private:
    xrt::run failed;
  };
  using aie_error = command_error;

  runlist() = default;
  explicit runlist(const hw_context &context);
  void add(const run &run);
  void add(run &&moved) { add(static_cast<const run &>(moved)); }
  void execute();
  std::cv_status wait(const std::chrono::milliseconds &timeout) const;
  void wait() const { wait(std::chrono::milliseconds{0}); }
  int poll() const;
  ert_cmd_state state() const;
  void reset();
};
} // namespace xrt

#endif
