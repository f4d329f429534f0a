// Stands in for XRT where there is no NPU, with what host programs of this project call and nothing else. A kernel
// writes its instructions and buffers into a folder, has a command (XRT_STUB_RUN FOLDER) execute them, and reads the
// buffers back: tests have it run our simulator.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

enum xclBOSyncDirection { XCL_BO_SYNC_BO_TO_DEVICE = 0, XCL_BO_SYNC_BO_FROM_DEVICE = 1 };
enum ert_cmd_state { ERT_CMD_STATE_COMPLETED = 4, ERT_CMD_STATE_ERROR = 5 };

namespace xrt {

class uuid {};

class xclbin {
public:
  class kernel {
  public:
    std::string get_name() const { return "MLIR_AIE"; }
  };

  explicit xclbin(const std::string &) {}
  std::vector<kernel> get_kernels() const { return std::vector<kernel>(1); }
  uuid get_uuid() const { return {}; }
};

class device {
public:
  explicit device(unsigned) {}
  uuid register_xclbin(const xclbin &container) { return container.get_uuid(); }
};

class hw_context {
public:
  hw_context(const device &, const uuid &) {}
};

} // namespace xrt
