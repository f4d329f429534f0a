#pragma once

#include "xrt_bo.h"

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace xrt {

class run {
public:
  explicit run(ert_cmd_state state) : state(state) {}
  ert_cmd_state wait() { return state; }

private:
  ert_cmd_state state;
};

class kernel {
public:
  kernel(const hw_context &, const std::string &) {}
  int group_id(int argument) const { return argument; }

  template <typename... Buffers>
  run operator()(unsigned opcode, const bo &instructions, uint32_t count, const Buffers &...buffers) {
    const char *folder = std::getenv("XRT_STUB_FOLDER"), *command = std::getenv("XRT_STUB_RUN");
    if (!folder || !command)
      throw std::runtime_error("XRT_STUB_FOLDER and XRT_STUB_RUN are not set");
    const std::string path = folder;
    if (opcode != 3 || count * sizeof(uint32_t) > instructions.memory->device.size())
      return run(ERT_CMD_STATE_ERROR);
    write(path + "/insts.bin", instructions.memory->device, count * sizeof(uint32_t));
    const std::vector<bo> all{buffers...};
    for (size_t index = 0; index < all.size(); ++index)
      write(path + "/" + std::to_string(index), all[index].memory->device, all[index].memory->device.size());
    if (std::system((std::string(command) + " " + path).c_str()) != 0)
      return run(ERT_CMD_STATE_ERROR);
    for (size_t index = 0; index < all.size(); ++index)
      all[index].memory->device = read(path + "/" + std::to_string(index));
    return run(ERT_CMD_STATE_COMPLETED);
  }

private:
  static void write(const std::string &path, const std::vector<char> &data, size_t bytes) {
    std::ofstream file(path, std::ios::binary);
    file.write(data.data(), static_cast<std::streamsize>(bytes));
    if (!file)
      throw std::runtime_error("cannot write " + path);
  }

  static std::vector<char> read(const std::string &path) {
    std::ifstream file(path, std::ios::binary);
    if (!file)
      throw std::runtime_error("cannot read " + path);
    return {std::istreambuf_iterator<char>(file), {}};
  }
};

} // namespace xrt
