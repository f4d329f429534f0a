// Enumerations, flags and plain types of XRT's interface, for programs that run on tilewright's simulated NPU.
#ifndef TILEWRIGHT_XRT_DEFINITIONS_H
#define TILEWRIGHT_XRT_DEFINITIONS_H

#include <cstddef>
#include <cstdint>
#include <memory>

#define XCL_BO_FLAGS_NONE (0)
#define XCL_BO_FLAGS_CACHEABLE (1U << 24)
#define XCL_BO_FLAGS_KERNBUF (1U << 25)
#define XCL_BO_FLAGS_SGL (1U << 26)
#define XCL_BO_FLAGS_SVM (1U << 27)
#define XCL_BO_FLAGS_DEV_ONLY (1U << 28)
#define XCL_BO_FLAGS_HOST_ONLY (1U << 29)
#define XCL_BO_FLAGS_P2P (1U << 30)
#define XCL_BO_FLAGS_EXECBUF (1U << 31)
#define XRT_BO_FLAGS_NONE XCL_BO_FLAGS_NONE
#define XRT_BO_FLAGS_CACHEABLE XCL_BO_FLAGS_CACHEABLE
#define XRT_BO_FLAGS_DEV_ONLY XCL_BO_FLAGS_DEV_ONLY
#define XRT_BO_FLAGS_HOST_ONLY XCL_BO_FLAGS_HOST_ONLY
#define XRT_BO_FLAGS_P2P XCL_BO_FLAGS_P2P
#define XRT_BO_FLAGS_SVM XCL_BO_FLAGS_SVM

enum xclBOSyncDirection {
  XCL_BO_SYNC_BO_TO_DEVICE = 0,
  XCL_BO_SYNC_BO_FROM_DEVICE = 1,
  XCL_BO_SYNC_BO_GMIO_TO_AIE = 2,
  XCL_BO_SYNC_BO_AIE_TO_GMIO = 3
};

enum ert_cmd_state {
  ERT_CMD_STATE_NEW = 1,
  ERT_CMD_STATE_QUEUED = 2,
  ERT_CMD_STATE_RUNNING = 3,
  ERT_CMD_STATE_COMPLETED = 4,
  ERT_CMD_STATE_ERROR = 5,
  ERT_CMD_STATE_ABORT = 6,
  ERT_CMD_STATE_SUBMITTED = 7,
  ERT_CMD_STATE_TIMEOUT = 8,
  ERT_CMD_STATE_NORESPONSE = 9,
  ERT_CMD_STATE_SKERROR = 10,
  ERT_CMD_STATE_SKCRASHED = 11,
  ERT_CMD_STATE_MAX
};

typedef void *xrtDeviceHandle;
typedef void *xrtBufferHandle;
typedef uint64_t xrtBufferFlags;
typedef uint32_t xrtMemoryGroup;
typedef unsigned char xuid_t[16];

namespace xrt {
using memory_group = xrtMemoryGroup;

namespace detail {
// An object that shares what it stands for with its copies.
template <typename Impl>
class pimpl {
public:
  pimpl() = default;
  explicit pimpl(std::shared_ptr<Impl> handle) : handle(std::move(handle)) {}
  const std::shared_ptr<Impl> &get_handle() const { return handle; }
  explicit operator bool() const { return handle != nullptr; }
  bool operator<(const pimpl &other) const { return handle < other.handle; }
  bool operator==(const pimpl &other) const { return handle == other.handle; }

protected:
  std::shared_ptr<Impl> handle;
};
} // namespace detail
} // namespace xrt

#endif
