// XRT's objects on tilewright's simulated NPU: a child process runs the simulator, buffers are memory that both map.
//
// The two speak over a socket: a request is its length, a number and what it needs; a reply is its length, a status and
// what was asked for. The child is started by the first request and ends with this process. `tilewright.xrt.server` is the
// other side.

#include "xrt/experimental/xrt_aie.h"
#include "xrt/experimental/xrt_ext.h"
#include "xrt/xrt_kernel.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <iterator>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <variant>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef TILEWRIGHT_PYTHON
#define TILEWRIGHT_PYTHON "python3"
#endif
#ifndef TILEWRIGHT_HOME
#define TILEWRIGHT_HOME ""
#endif

namespace {

enum class Request : uint32_t {
  open_xclbin = 1,
  open_elf = 2,
  make_context = 3,
  make_kernel = 4,
  make_buffer = 5,
  run = 6,
  release = 7,
  scratchpad_bytes = 8,
};

constexpr uint32_t no_bank = 0xFFFF, bank_mask = 0xFFFF;
constexpr size_t page_bytes = 4096, most_buffer_bytes = size_t(1) << 40;
constexpr uint32_t most_reply_bytes = 1u << 30;

[[noreturn]] void fail(const std::string &text) { throw std::runtime_error(text); }

class Writer {
public:
  void number(uint64_t value) { bytes.append(reinterpret_cast<const char *>(&value), sizeof value); }
  void text(const std::string &value) {
    number(value.size());
    bytes += value;
  }
  std::string bytes;
};

class Reader {
public:
  explicit Reader(std::string bytes) : bytes(std::move(bytes)) {}
  uint64_t number() {
    uint64_t value;
    std::memcpy(&value, take(sizeof value), sizeof value);
    return value;
  }
  double real() {
    double value;
    std::memcpy(&value, take(sizeof value), sizeof value);
    return value;
  }
  std::string text() {
    auto size = number();
    return std::string(take(size), size);
  }

private:
  const char *take(uint64_t size) {
    if (size > bytes.size() - at)
      fail("tilewright: the simulator's reply is too short");
    auto found = bytes.data() + at;
    at += size;
    return found;
  }
  std::string bytes;
  size_t at = 0;
};

// The simulator in its process. One request at a time; a child that is gone is an error, never a wait without end.
class Simulator {
public:
  static Simulator &get() {
    // never destroyed: objects of the program may outlive statics, and the socket closes with the process
    static Simulator &simulator = *new Simulator;
    return simulator;
  }

  Reader ask(Request request, const Writer &contents, int descriptor = -1) {
    std::lock_guard<std::mutex> lock(mutex);
    if (child < 0)
      start();
    uint32_t head[2] = {static_cast<uint32_t>(contents.bytes.size()), static_cast<uint32_t>(request)};
    if (contents.bytes.size() > most_reply_bytes)
      fail("tilewright: a request that is too large");
    send_all(head, sizeof head, descriptor);
    send_all(contents.bytes.data(), contents.bytes.size(), -1);
    uint32_t reply[2];
    receive_all(reply, sizeof reply);
    if (reply[0] > most_reply_bytes)
      fail("tilewright: the simulator's reply makes no sense");
    std::string bytes(reply[0], '\0');
    receive_all(bytes.data(), bytes.size());
    if (reply[1] != 0)
      fail(bytes);
    return Reader(std::move(bytes));
  }

private:
  void start() {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0)
      fail(std::string("tilewright: no socket for the simulator: ") + std::strerror(errno));
    fcntl(ends[0], F_SETFD, FD_CLOEXEC);
    const char *named = std::getenv("TILEWRIGHT_PYTHON");
    std::string python = named && *named ? named : TILEWRIGHT_PYTHON;
    std::string home = named && *named ? "" : TILEWRIGHT_HOME;
    std::string number = std::to_string(ends[1]);
    // -P: modules of the folder that the program runs in are not the simulator's
    std::string code = "import sys\n"
                       "if sys.argv[2]: sys.path.insert(0, sys.argv[2])\n"
                       "from tilewright.xrt.server import serve\n"
                       "serve(int(sys.argv[1]))\n";
    const char *arguments[] = {python.c_str(), "-P", "-c", code.c_str(), number.c_str(), home.c_str(), nullptr};
    child = fork();
    if (child < 0)
      fail(std::string("tilewright: the simulator cannot be started: ") + std::strerror(errno));
    if (child == 0) {
      execvp(python.c_str(), const_cast<char **>(arguments));
      std::fprintf(stderr, "tilewright: error: %s cannot be run: %s (TILEWRIGHT_PYTHON names another one)\n",
                   python.c_str(), std::strerror(errno));
      _exit(127);
    }
    close(ends[1]);
    socket = ends[0];
  }

  void send_all(const void *data, size_t size, int descriptor) {
    auto at = static_cast<const char *>(data);
    while (size > 0) {
      iovec part{const_cast<char *>(at), size};
      msghdr message{};
      message.msg_iov = &part;
      message.msg_iovlen = 1;
      alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
      if (descriptor >= 0) {
        message.msg_control = control;
        message.msg_controllen = sizeof control;
        auto header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(sizeof(int));
        std::memcpy(CMSG_DATA(header), &descriptor, sizeof(int));
      }
      auto sent = sendmsg(socket, &message, MSG_NOSIGNAL);
      if (sent < 0 && errno == EINTR)
        continue;
      if (sent <= 0)
        gone();
      descriptor = -1;
      at += sent;
      size -= static_cast<size_t>(sent);
    }
  }

  void receive_all(void *data, size_t size) {
    auto at = static_cast<char *>(data);
    while (size > 0) {
      auto received = recv(socket, at, size, 0);
      if (received < 0 && errno == EINTR)
        continue;
      if (received <= 0)
        gone();
      at += received;
      size -= static_cast<size_t>(received);
    }
  }

  [[noreturn]] void gone() {
    int status = 0;
    std::string how = "it is gone";
    if (waitpid(child, &status, 0) == child) {
      if (WIFEXITED(status))
        how = "it ended with status " + std::to_string(WEXITSTATUS(status));
      else if (WIFSIGNALED(status))
        how = "it was ended by signal " + std::to_string(WTERMSIG(status));
    }
    close(socket);
    socket = child = -1;
    fail("tilewright: the process of the simulator cannot be asked: " + how);
  }

  std::mutex mutex;
  pid_t child = -1;
  int socket = -1;
};

// Something that the child keeps for us.
class Remote {
public:
  explicit Remote(uint64_t id) : id(id) {}
  Remote(const Remote &) = delete;
  Remote &operator=(const Remote &) = delete;
  ~Remote() {
    Writer request;
    request.number(id);
    try {
      Simulator::get().ask(Request::release, request);
    } catch (const std::exception &) {
      // the child is gone, and what it kept with it
    }
  }
  const uint64_t id;
};

void note(const std::string &text) {
  static std::mutex mutex;
  static std::set<std::string> told;
  std::lock_guard<std::mutex> lock(mutex);
  if (told.insert(text).second)
    std::cerr << "tilewright: note: " << text << std::endl;
}

struct KernelArgument {
  uint32_t index = 0;
  std::string name;
  bool is_buffer = false;
  uint64_t size = 0;
  std::vector<uint32_t> banks;
};

std::vector<KernelArgument> read_arguments(Reader &reply) {
  std::vector<KernelArgument> found(reply.number());
  for (auto &argument : found) {
    argument.index = static_cast<uint32_t>(reply.number());
    argument.name = reply.text();
    argument.is_buffer = reply.number() != 0;
    argument.size = reply.number();
    argument.banks.resize(reply.number());
    for (auto &bank : argument.banks)
      bank = static_cast<uint32_t>(reply.number());
  }
  return found;
}

template <typename Handle>
auto &checked(const Handle &handle, const char *what) {
  if (!handle)
    fail(std::string("an empty ") + what);
  return *handle;
}

} // namespace

namespace xrt {

// uuid

uuid::uuid(const std::string &text) : uuid() {
  size_t digits = 0;
  for (char character : text) {
    if (character == '-')
      continue;
    int digit = std::isdigit(static_cast<unsigned char>(character))    ? character - '0'
                : std::isxdigit(static_cast<unsigned char>(character)) ? std::tolower(character) - 'a' + 10
                                                                       : -1;
    if (digit < 0 || digits >= 32)
      fail("'" + text + "' is no uuid");
    value[digits / 2] = static_cast<unsigned char>(value[digits / 2] << 4 | digit);
    digits++;
  }
  if (digits != 0 && digits != 32)
    fail("'" + text + "' is no uuid");
}

std::string uuid::to_string() const {
  std::string made;
  char digits[3];
  for (int index = 0; index < 16; index++) {
    if (index == 4 || index == 6 || index == 8 || index == 10)
      made += '-';
    std::snprintf(digits, sizeof digits, "%02x", value[index]);
    made += digits;
  }
  return made;
}

// xclbin and elf

class xclbin_impl {
public:
  explicit xclbin_impl(const Writer &request) {
    auto reply = Simulator::get().ask(Request::open_xclbin, request);
    remote.emplace(reply.number());
    id = uuid(reply.text());
    platform = reply.text();
    auto banks = reply.number();
    for (uint64_t bank = 0; bank < banks; bank++) {
      auto tag = reply.text();
      auto base = reply.number(), size = reply.number(), used = reply.number();
      mems.emplace_back(tag, base, size, used != 0, static_cast<int32_t>(bank));
    }
    auto count = reply.number();
    for (uint64_t number = 0; number < count; number++) {
      auto name = reply.text();
      std::vector<xclbin::arg> args;
      for (auto &argument : read_arguments(reply)) {
        std::vector<xclbin::mem> own;
        for (auto bank : argument.banks)
          if (bank < mems.size())
            own.push_back(mems[bank]);
        args.emplace_back(argument.name, argument.index, argument.size, argument.is_buffer, own);
      }
      std::vector<xclbin::ip> units;
      for (auto left = reply.number(); left > 0; left--)
        units.emplace_back(reply.text(), args);
      kernels.emplace_back(name, args, units);
      ips.insert(ips.end(), units.begin(), units.end());
    }
  }
  std::optional<Remote> remote;
  uuid id;
  std::string platform;
  std::vector<xclbin::mem> mems;
  std::vector<xclbin::kernel> kernels;
  std::vector<xclbin::ip> ips;
};

static Writer file_request(const std::string &file, bool is_data) {
  Writer request;
  request.number(is_data);
  request.text(file);
  return request;
}

xclbin::xclbin(const std::string &filename)
    : pimpl(std::make_shared<xclbin_impl>(file_request(filename, false))) {}
xclbin::xclbin(const std::vector<char> &data)
    : pimpl(std::make_shared<xclbin_impl>(file_request({data.begin(), data.end()}, true))) {}
xclbin::xclbin(const std::string_view &data)
    : pimpl(std::make_shared<xclbin_impl>(file_request(std::string(data), true))) {}
std::vector<xclbin::kernel> xclbin::get_kernels() const { return checked(handle, "xclbin").kernels; }
std::vector<xclbin::ip> xclbin::get_ips() const { return checked(handle, "xclbin").ips; }
std::vector<xclbin::mem> xclbin::get_mems() const { return checked(handle, "xclbin").mems; }
std::string xclbin::get_xsa_name() const { return checked(handle, "xclbin").platform; }
uuid xclbin::get_uuid() const { return checked(handle, "xclbin").id; }
xclbin::kernel xclbin::get_kernel(const std::string &name) const {
  for (auto &kernel : checked(handle, "xclbin").kernels)
    if (kernel.get_name() == name)
      return kernel;
  return {};
}

class elf_impl {
public:
  explicit elf_impl(const Writer &request) {
    auto reply = Simulator::get().ask(Request::open_elf, request);
    remote.emplace(reply.number());
    is_full = reply.number() != 0;
    columns = static_cast<uint32_t>(reply.number());
    for (auto left = reply.number(); left > 0; left--) {
      auto name = reply.text();
      auto args = reply.number();
      std::vector<elf::kernel::instance> instances;
      for (auto more = reply.number(); more > 0; more--)
        instances.emplace_back(reply.text());
      kernels.emplace_back(name, args, instances);
    }
  }
  std::optional<Remote> remote;
  bool is_full = false;
  uint32_t columns = 0;
  std::vector<elf::kernel> kernels;
};

elf::elf(const std::string &filename) : pimpl(std::make_shared<elf_impl>(file_request(filename, false))) {}
elf::elf(const std::string_view &data) : pimpl(std::make_shared<elf_impl>(file_request(std::string(data), true))) {}
elf::elf(const void *data, size_t size)
    : pimpl(std::make_shared<elf_impl>(file_request({static_cast<const char *>(data), size}, true))) {}
elf::elf(std::istream &stream)
    : pimpl(std::make_shared<elf_impl>(
          file_request({std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()}, true))) {}
bool elf::is_full_elf() const { return checked(handle, "ELF file").is_full; }
uint32_t elf::get_partition_size() const { return checked(handle, "ELF file").columns; }
std::vector<elf::kernel> elf::get_kernels() const { return checked(handle, "ELF file").kernels; }

// device and hw_context

class device_impl {
public:
  std::map<uuid, xclbin> registered;
  uuid last;
  std::mutex mutex;
};

static std::shared_ptr<device_impl> the_device() {
  static std::shared_ptr<device_impl> &device = *new std::shared_ptr<device_impl>(std::make_shared<device_impl>());
  return device;
}

static const char bus_address[] = "0000:00:00.0";

device::device(unsigned int index) : pimpl(the_device()) {
  if (index != 0)
    fail("could not open device with index '" + std::to_string(index) + "': there is one, number 0");
}
device::device(const std::string &bdf) : pimpl(the_device()) {
  if (bdf != bus_address && bdf != "0")
    fail("could not open device '" + bdf + "': the simulated one is " + bus_address);
}
uuid device::register_xclbin(const xclbin &file) {
  auto &own = checked(handle, "device");
  std::lock_guard<std::mutex> lock(own.mutex);
  own.last = file.get_uuid();
  own.registered[own.last] = file;
  return own.last;
}
uuid device::get_xclbin_uuid() const { return checked(handle, "device").last; }
std::string device::info_text(info::device key) const {
  return key == info::device::bdf ? bus_address : key == info::device::name ? "NPU simulated by tilewright" : "{}";
}
unsigned long device::info_number(info::device key) const {
  return key == info::device::max_clock_frequency_mhz ? 1000 : 0;
}

class hw_context_impl {
public:
  void open(uint64_t package) {
    Writer request;
    request.number(package);
    remote.emplace(Simulator::get().ask(Request::make_context, request).number());
  }
  uint64_t id() const {
    if (!remote)
      fail("an empty hardware context: it was made without an xclbin or an ELF file");
    return remote->id;
  }
  device owner;
  xclbin file;
  elf configuration;
  hw_context::access_mode mode = hw_context::access_mode::shared;
  std::optional<Remote> remote;
};

static std::shared_ptr<hw_context_impl> context_of(const device &owner, const uuid &id, hw_context::access_mode mode) {
  auto made = std::make_shared<hw_context_impl>();
  auto &own = checked(owner.get_handle(), "device");
  {
    std::lock_guard<std::mutex> lock(own.mutex);
    auto found = own.registered.find(id);
    if (found == own.registered.end())
      fail("no xclbin with uuid " + id.to_string() + " is registered with the device: call register_xclbin() first");
    made->file = found->second;
  }
  made->owner = owner;
  made->mode = mode;
  made->open(made->file.get_handle()->remote->id);
  return made;
}

hw_context::hw_context(const device &device, const uuid &id, const cfg_param_type &)
    : pimpl(context_of(device, id, access_mode::shared)) {}
hw_context::hw_context(const device &device, const uuid &id, access_mode mode)
    : pimpl(context_of(device, id, mode)) {}
hw_context::hw_context(const device &device, const cfg_param_type &, access_mode mode)
    : pimpl(std::make_shared<hw_context_impl>()) {
  handle->owner = device;
  handle->mode = mode;
}
hw_context::hw_context(const device &device, const elf &file, const cfg_param_type &parameters, access_mode mode)
    : hw_context(device, parameters, mode) {
  add_config(file);
}
void hw_context::add_config(const elf &file) {
  auto &own = checked(handle, "hardware context");
  if (own.remote)
    fail("the hardware context has a configuration, and can have one only");
  if (!file.is_full_elf())
    fail("the ELF file has no images: a context is made of an xclbin or a full ELF");
  own.configuration = file;
  own.open(file.get_handle()->remote->id);
}
device hw_context::get_device() const { return checked(handle, "hardware context").owner; }
xclbin hw_context::get_xclbin() const { return checked(handle, "hardware context").file; }
uuid hw_context::get_xclbin_uuid() const { return get_xclbin() ? get_xclbin().get_uuid() : uuid(); }
hw_context::access_mode hw_context::get_mode() const { return checked(handle, "hardware context").mode; }

// bo

// Memory of a buffer: the host's, the device's, which the child maps too, and the host's as it was at the last copy.
class BufferMemory {
public:
  BufferMemory(size_t size, void *userptr) : size(size) {
    if (size == 0 || size > most_buffer_bytes)
      fail("a buffer of " + std::to_string(size) + " bytes cannot be allocated");
    const char *folder = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : std::getenv("TMPDIR");
    std::string name = std::string(folder && *folder ? folder : "/tmp") + "/tilewright-XXXXXX";
    int descriptor = mkstemp(name.data());
    if (descriptor < 0)
      fail("a buffer of " + std::to_string(size) + " bytes cannot be allocated: " + std::strerror(errno));
    unlink(name.c_str());
    device = ftruncate(descriptor, static_cast<off_t>(size)) == 0
                 ? mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0)
                 : MAP_FAILED;
    own = userptr ? nullptr : plain(size);
    synced = plain(size);
    if (device == MAP_FAILED || (!userptr && own == MAP_FAILED) || synced == MAP_FAILED) {
      close(descriptor);
      unmap();
      fail("a buffer of " + std::to_string(size) + " bytes cannot be allocated: " + std::strerror(errno));
    }
    host = userptr ? userptr : own;
    if (userptr)
      std::memcpy(synced, userptr, size);
    static std::atomic<uint64_t> next{0x4000000};
    address = next.fetch_add((size + page_bytes - 1) / page_bytes * page_bytes);
    Writer request;
    request.number(size);
    try {
      remote.emplace(Simulator::get().ask(Request::make_buffer, request, descriptor).number());
    } catch (...) {
      close(descriptor);
      unmap();
      throw;
    }
    close(descriptor);
  }
  ~BufferMemory() { unmap(); }
  BufferMemory(const BufferMemory &) = delete;
  BufferMemory &operator=(const BufferMemory &) = delete;

  char *at(void *memory, size_t offset) const { return static_cast<char *>(memory) + offset; }

  const size_t size;
  void *host = nullptr, *device = MAP_FAILED, *synced = MAP_FAILED;
  uint64_t address = 0;
  std::optional<Remote> remote;

private:
  static void *plain(size_t size) {
    return mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  }
  void unmap() {
    for (void *memory : {own, device, synced})
      if (memory && memory != MAP_FAILED)
        munmap(memory, size);
  }
  void *own = nullptr;
};

class bo_impl {
public:
  char *host() const {
    if (flags == bo::flags::device_only)
      fail("a buffer that only the device has cannot be mapped, read or written by the host");
    return memory->at(memory->host, offset);
  }
  char *device() const { return memory->at(memory->device, offset); }
  bool is_stale() const {
    return std::memcmp(memory->at(memory->host, offset), memory->at(memory->synced, offset), size) != 0;
  }
  void check(size_t bytes, size_t from, const char *what) const {
    if (from > size || bytes > size - from)
      fail(std::string(what) + " of " + std::to_string(bytes) + " bytes at offset " + std::to_string(from) +
           " is outside of a buffer of " + std::to_string(size) + " bytes");
  }
  std::shared_ptr<BufferMemory> memory;
  size_t size = 0, offset = 0;
  bo::flags flags = bo::flags::normal;
  uint32_t bank = 0;
  bool has_bank = true;
};

static std::shared_ptr<bo_impl> allocate(size_t banks, size_t size, bo::flags flags, memory_group group,
                                         void *userptr = nullptr) {
  auto made = std::make_shared<bo_impl>();
  made->bank = group & bank_mask;
  if (made->bank == no_bank)
    fail("invalid memory group: the argument that it was asked for is a number, not a buffer");
  if (banks && made->bank >= banks)
    fail("invalid memory group " + std::to_string(made->bank) + ": the xclbin has " + std::to_string(banks) +
         "; ask the kernel: group_id(argument)");
  made->memory = std::make_shared<BufferMemory>(size, userptr);
  made->size = size;
  made->flags = flags;
  return made;
}

static size_t banks_of(const device &owner) {
  auto &own = checked(owner.get_handle(), "device");
  std::lock_guard<std::mutex> lock(own.mutex);
  size_t most = 0;
  for (auto &[id, file] : own.registered)
    most = std::max(most, file.get_mems().size());
  return most;
}
static size_t banks_of(const hw_context &context) {
  auto file = context.get_xclbin();
  return file ? file.get_mems().size() : 0;
}

bo::bo(const device &device, void *userptr, size_t size, bo::flags flags, memory_group group)
    : pimpl(allocate(banks_of(device), size, flags, group, userptr)) {}
bo::bo(const device &device, size_t size, bo::flags flags, memory_group group)
    : pimpl(allocate(banks_of(device), size, flags, group)) {}
bo::bo(const hw_context &context, void *userptr, size_t size, bo::flags flags, memory_group group)
    : pimpl(allocate(banks_of(context), size, flags, group, userptr)) {}
bo::bo(const hw_context &context, size_t size, bo::flags flags, memory_group group)
    : pimpl(allocate(banks_of(context), size, flags, group)) {}
bo::bo(const bo &parent, size_t size, size_t offset) {
  auto &whole = checked(parent.handle, "buffer");
  whole.check(size, offset, "a part of a buffer");
  handle = std::make_shared<bo_impl>(whole);
  handle->size = size;
  handle->offset += offset;
}
size_t bo::size() const { return handle ? handle->size : 0; }
uint64_t bo::address() const { return checked(handle, "buffer").memory->address + handle->offset; }
memory_group bo::get_memory_group() const { return checked(handle, "buffer").bank; }
bo::flags bo::get_flags() const { return checked(handle, "buffer").flags; }
void bo::sync(xclBOSyncDirection direction, size_t bytes, size_t offset) {
  auto &own = checked(handle, "buffer");
  own.check(bytes, offset, "what is synced");
  auto &memory = *own.memory;
  auto at = own.offset + offset;
  if (direction == XCL_BO_SYNC_BO_TO_DEVICE)
    std::memcpy(memory.at(memory.device, at), memory.at(memory.host, at), bytes);
  else if (direction == XCL_BO_SYNC_BO_FROM_DEVICE)
    std::memcpy(memory.at(memory.host, at), memory.at(memory.device, at), bytes);
  else
    fail("GMIO ports belong to AIE graphs, which NPUs do not have");
  std::memcpy(memory.at(memory.synced, at), memory.at(memory.host, at), bytes);
}
void *bo::map() { return checked(handle, "buffer").host(); }
const void *bo::map() const { return checked(handle, "buffer").host(); }
void bo::write(const void *source, size_t bytes, size_t seek) {
  checked(handle, "buffer").check(bytes, seek, "what is written");
  std::memcpy(handle->host() + seek, source, bytes);
}
void bo::read(void *target, size_t bytes, size_t skip) {
  checked(handle, "buffer").check(bytes, skip, "what is read");
  std::memcpy(target, handle->host() + skip, bytes);
}
void bo::copy(const bo &source, size_t bytes, size_t source_offset, size_t target_offset) {
  checked(source.handle, "buffer").check(bytes, source_offset, "what is copied");
  checked(handle, "buffer").check(bytes, target_offset, "what is copied");
  std::memmove(handle->device() + target_offset, source.handle->device() + source_offset, bytes);
}

// module and kernel

class module_impl {
public:
  elf file;
  hw_context context;
};

module::module(const elf &file) : pimpl(std::make_shared<module_impl>()) { handle->file = file; }
hw_context module::get_hw_context() const {
  if (!checked(handle, "module").context)
    fail("the module is in no hardware context yet: no kernel was made with it");
  return handle->context;
}

class kernel_impl {
public:
  kernel_impl(const hw_context &context, const elf *code, const std::string &wanted) : context(context) {
    Writer request;
    request.number(checked(context.get_handle(), "hardware context").id());
    request.number(code ? checked(code->get_handle(), "ELF file").remote->id : 0);
    request.text(wanted);
    auto reply = Simulator::get().ask(Request::make_kernel, request);
    remote.emplace(reply.number());
    name = reply.text();
    has_code = reply.number() != 0;
    arguments = read_arguments(reply);
    if (code)
      file = *code;
  }
  const KernelArgument *argument(int index) const {
    for (auto &found : arguments)
      if (static_cast<int>(found.index) == index)
        return &found;
    return nullptr;
  }
  hw_context context;
  elf file;
  std::optional<Remote> remote;
  std::string name;
  bool has_code = false;
  std::vector<KernelArgument> arguments;
};

kernel::kernel(const hw_context &context, const std::string &name)
    : pimpl(std::make_shared<kernel_impl>(context, nullptr, name)) {}
kernel::kernel(const device &device, const uuid &id, const std::string &name, cu_access_mode mode)
    : kernel(hw_context(device, id,
                        mode == cu_access_mode::exclusive ? hw_context::access_mode::exclusive
                                                          : hw_context::access_mode::shared),
             name) {}
int kernel::group_id(int index) const {
  auto &own = checked(handle, "kernel");
  auto found = own.argument(index);
  if (!found || (!found->is_buffer && found->banks.empty()))
    return own.arguments.empty() ? 0 : static_cast<int>(no_bank);
  return found->banks.empty() ? 0 : static_cast<int>(*std::max_element(found->banks.begin(), found->banks.end()));
}
uint32_t kernel::offset(int index) const {
  uint32_t at = 0;
  for (auto &argument : checked(handle, "kernel").arguments) {
    if (static_cast<int>(argument.index) == index)
      return at;
    at += static_cast<uint32_t>(argument.size);
  }
  fail("Bad argument index '" + std::to_string(index) + "'");
}
std::string kernel::get_name() const { return checked(handle, "kernel").name; }
xclbin kernel::get_xclbin() const { return checked(handle, "kernel").context.get_xclbin(); }

// run and runlist

struct RunArgument {
  bo buffer;
  uint64_t number = 0;
};

class run_impl {
public:
  explicit run_impl(std::shared_ptr<kernel_impl> kernel) : kernel(std::move(kernel)) {}

  void execute() {
    Writer request;
    request.number(kernel->remote->id);
    request.number(arguments.size());
    for (auto &[index, argument] : arguments) {
      request.number(static_cast<uint64_t>(index));
      write(request, argument);
    }
    write(request, RunArgument{scratchpad, 0});
    auto reply = Simulator::get().ask(Request::run, request);
    state = static_cast<ert_cmd_state>(reply.number());
    left = reply.real();
    explanation = reply.text();
    if (state == ERT_CMD_STATE_COMPLETED)
      for (auto &[callback, data] : callbacks)
        callback(this, state, data);
  }

  [[noreturn]] void raise() const {
    throw run::aie_error(state, text());
  }
  std::string text() const {
    static const std::map<ert_cmd_state, const char *> names = {{ERT_CMD_STATE_ERROR, "ERT_CMD_STATE_ERROR"},
                                                                {ERT_CMD_STATE_ABORT, "ERT_CMD_STATE_ABORT"},
                                                                {ERT_CMD_STATE_TIMEOUT, "ERT_CMD_STATE_TIMEOUT"}};
    auto found = names.find(state);
    auto named = found == names.end() ? std::to_string(state) : std::string(found->second);
    return "Command failed to complete successfully (" + named + ")" +
           (explanation.empty() ? "" : ": " + explanation);
  }
  // Whether the run has ended within a time of the modelled device; what is left of it is for the next wait.
  bool is_over(std::chrono::milliseconds timeout) {
    auto limit = std::chrono::duration<double>(timeout).count();
    if (timeout.count() > 0 && left > limit) {
      left -= limit;
      return false;
    }
    left = 0;
    return true;
  }

  std::shared_ptr<kernel_impl> kernel;
  std::map<int, RunArgument> arguments;
  std::vector<std::pair<std::function<void(const void *, ert_cmd_state, void *)>, void *>> callbacks;
  bo scratchpad;
  ert_cmd_state state = ERT_CMD_STATE_NEW;
  double left = 0;
  std::string explanation;
  bool is_in_list = false;

private:
  static void write(Writer &request, const RunArgument &argument) {
    auto &buffer = argument.buffer.get_handle();
    request.number(buffer ? buffer->memory->remote->id : 0);
    request.number(buffer ? buffer->offset : argument.number);
    request.number(buffer ? buffer->size : 0);
    request.number(buffer && buffer->is_stale());
  }
};

run::run(const kernel &kernel) {
  checked(kernel.get_handle(), "kernel");
  handle = std::make_shared<run_impl>(kernel.get_handle());
}
void run::start() {
  auto &own = checked(handle, "run");
  if (own.is_in_list)
    fail("Run object belongs to a runlist and cannot be explicitly started");
  own.execute();
}
ert_cmd_state run::abort() { return checked(handle, "run").state; }
ert_cmd_state run::wait(const std::chrono::milliseconds &timeout) const {
  auto &own = checked(handle, "run");
  if (own.state == ERT_CMD_STATE_NEW)
    fail("the run was not started");
  return own.is_over(timeout) ? own.state : ERT_CMD_STATE_TIMEOUT;
}
std::cv_status run::wait2(const std::chrono::milliseconds &timeout) const {
  auto &own = checked(handle, "run");
  if (own.state == ERT_CMD_STATE_NEW)
    fail("the run was not started");
  if (!own.is_over(timeout))
    return std::cv_status::timeout;
  if (own.state != ERT_CMD_STATE_COMPLETED)
    own.raise();
  return std::cv_status::no_timeout;
}
ert_cmd_state run::state() const { return checked(handle, "run").state; }
void run::add_callback(ert_cmd_state state, std::function<void(const void *, ert_cmd_state, void *)> callback,
                       void *data) {
  if (state != ERT_CMD_STATE_COMPLETED)
    fail("Cannot add callback, run state may only be ERT_CMD_STATE_COMPLETED");
  checked(handle, "run").callbacks.emplace_back(std::move(callback), data);
}
static const KernelArgument *argument_of(const run_impl &own, int index) {
  auto found = own.kernel->argument(index);
  if (index < 0 || (!found && !own.kernel->arguments.empty()))
    fail("Bad argument index '" + std::to_string(index) + "': kernel " + own.kernel->name + " has " +
         std::to_string(own.kernel->arguments.size()));
  return found;
}
void run::set_arg(int index, const void *value, size_t bytes) {
  auto &own = checked(handle, "run");
  argument_of(own, index);
  if (bytes > sizeof(uint64_t))
    fail("Bad argument size '" + std::to_string(bytes) + "'");
  RunArgument made;
  std::memcpy(&made.number, value, bytes);
  own.arguments[index] = made;
}
void run::set_buffer(int index, const bo &buffer) {
  auto &own = checked(handle, "run");
  auto found = argument_of(own, index);
  auto &bytes = checked(buffer.get_handle(), "buffer");
  if (found && !found->is_buffer)
    fail("argument " + std::to_string(index) + " (" + found->name + ") of kernel " + own.kernel->name +
         " is a number, not a buffer");
  if (found && bytes.has_bank && !found->banks.empty() &&
      std::find(found->banks.begin(), found->banks.end(), bytes.bank) == found->banks.end())
    note("the buffer for argument " + std::to_string(index) + " (" + found->name + ") of kernel " + own.kernel->name +
         " is in memory " + std::to_string(bytes.bank) + ", and the kernel is connected to " +
         std::to_string(found->banks.back()) + ": XRT would use a copy there; make it with group_id(" +
         std::to_string(index) + ")");
  own.arguments[index] = RunArgument{buffer, 0};
}
int run::index_of(const std::string &name) const {
  for (auto &argument : checked(handle, "run").kernel->arguments)
    if (argument.name == name)
      return static_cast<int>(argument.index);
  fail("No such kernel argument '" + name + "'");
}
bo run::get_ctrl_scratchpad_bo() const {
  auto &own = checked(handle, "run");
  if (!own.kernel->has_code)
    fail("No module associated with run object");
  if (!own.scratchpad) {
    Writer request;
    request.number(own.kernel->remote->id);
    auto size = Simulator::get().ask(Request::scratchpad_bytes, request).number();
    if (!size)
      fail("the instructions of the kernel take no parameters");
    own.scratchpad = bo(allocate(0, size, bo::flags::host_only, 0));
  }
  return own.scratchpad;
}

class runlist_impl {
public:
  explicit runlist_impl(const hw_context &context) : context(context) {}
  hw_context context;
  std::vector<run> runs;
  std::optional<run> failed;
  bool is_executed = false;
};

runlist::runlist(const hw_context &context) : pimpl(std::make_shared<runlist_impl>(context)) {}
void runlist::add(const run &run) {
  if (!handle)
    fail("cannot add run object to uninitialized runlist");
  auto &own = checked(run.get_handle(), "run");
  if (own.kernel->context.get_handle() != handle->context.get_handle())
    fail("the run belongs to another hardware context than the runlist");
  if (own.is_in_list)
    fail("the run is in a runlist already");
  own.is_in_list = true;
  handle->runs.push_back(run);
}
void runlist::execute() {
  auto &own = checked(handle, "runlist");
  own.failed.reset();
  own.is_executed = true;
  for (auto &run : own.runs) {
    auto &each = *run.get_handle();
    if (own.failed) {
      each.state = ERT_CMD_STATE_ABORT;
      each.explanation = "a run before it in its list failed";
      continue;
    }
    each.execute();
    if (each.state != ERT_CMD_STATE_COMPLETED)
      own.failed = run;
  }
}
std::cv_status runlist::wait(const std::chrono::milliseconds &) const {
  auto &own = checked(handle, "runlist");
  if (!own.is_executed)
    fail("the runlist was not executed");
  if (own.failed)
    throw command_error(*own.failed, own.failed->state(), own.failed->get_handle()->text());
  return std::cv_status::no_timeout;
}
int runlist::poll() const {
  wait();
  return 1;
}
ert_cmd_state runlist::state() const {
  auto &own = checked(handle, "runlist");
  return own.failed ? own.failed->state() : own.is_executed ? ERT_CMD_STATE_COMPLETED : ERT_CMD_STATE_NEW;
}
void runlist::reset() {
  auto &own = checked(handle, "runlist");
  for (auto &run : own.runs)
    run.get_handle()->is_in_list = false;
  own.runs.clear();
  own.failed.reset();
  own.is_executed = false;
}

namespace ext {

static std::shared_ptr<bo_impl> unbanked(size_t size, void *userptr = nullptr) {
  auto made = allocate(0, size, bo::flags::host_only, 0, userptr);
  made->has_bank = false;
  return made;
}

bo::bo(const device &device, void *userptr, size_t size, access_mode) : xrt::bo(unbanked(size, userptr)) {
  checked(device.get_handle(), "device");
}
bo::bo(const device &device, size_t size, access_mode) : xrt::bo(unbanked(size)) {
  checked(device.get_handle(), "device");
}
bo::bo(const hw_context &context, size_t size, access_mode) : xrt::bo(unbanked(size)) {
  checked(context.get_handle(), "hardware context");
}
kernel::kernel(const hw_context &context, const module &code, const std::string &name) {
  auto &own = checked(code.get_handle(), "module");
  handle = std::make_shared<kernel_impl>(context, &own.file, name);
  own.context = context;
}
kernel::kernel(const hw_context &context, const std::string &name) : xrt::kernel(context, name) {}

} // namespace ext
} // namespace xrt
