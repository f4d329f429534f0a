// A host program for a design that adds to 64 integers: `add_host XCLBIN INSTRUCTIONS WHAT`.
#include "xrt/experimental/xrt_elf.h"
#include "xrt/experimental/xrt_ext.h"
#include "xrt/experimental/xrt_module.h"
#include "xrt/xrt_bo.h"
#include "xrt/xrt_device.h"
#include "xrt/xrt_kernel.h"

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>
#include <signal.h>
#include <vector>

static std::vector<char> contents(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

static int show(const xrt::bo &out) {
  auto values = out.map<const int *>();
  std::cout << "values " << values[0] << " " << values[63] << std::endl;
  return 0;
}

static int run(const std::string &path, const std::string &instructions, const std::string &what) {
  constexpr size_t size = 64 * sizeof(int);
  auto device = xrt::device(0);
  auto file = xrt::xclbin(path);
  for (auto &kernel : file.get_kernels())
    std::cout << "kernel " << kernel.get_name() << " with " << kernel.get_num_args() << " arguments" << std::endl;
  device.register_xclbin(file);
  xrt::hw_context context(device, file.get_uuid());
  xrt::kernel kernel(context, what == "missing" ? "NONE" : "MLIR_AIE");
  auto code = contents(instructions);
  auto bo_code = xrt::bo(device, code.size(), XCL_BO_FLAGS_CACHEABLE, kernel.group_id(1));
  auto in = xrt::bo(device, size, XRT_BO_FLAGS_HOST_ONLY, kernel.group_id(what == "scalar group" ? 0 : 3));
  auto out = xrt::bo(device, size, XRT_BO_FLAGS_HOST_ONLY, kernel.group_id(4));
  bo_code.write(code.data());
  bo_code.sync(XCL_BO_SYNC_BO_TO_DEVICE);
  auto values = in.map<int *>();
  for (int index = 0; index < 64; index++)
    values[index] = index;
  if (what != "unsynced")
    in.sync(XCL_BO_SYNC_BO_TO_DEVICE);
  if (what == "outside")
    in.sync(XCL_BO_SYNC_BO_TO_DEVICE, size, 4);
  unsigned int opcode = 3;
  if (what == "runlist") {
    xrt::runlist list(context);
    for (int times = 0; times < 2; times++) {
      xrt::run each(kernel);
      each.set_arg(0, opcode);
      each.set_arg(1, bo_code);
      each.set_arg(2, code.size());
      each.set_arg(3, times ? out : in);
      each.set_arg("bo1", out);
      list.add(each);
    }
    list.execute();
    list.wait();
    out.sync(XCL_BO_SYNC_BO_FROM_DEVICE);
    return show(out);
  }
  if (what == "dead")
    setenv("TILEWRIGHT_PYTHON", "/bin/false", 1);
  auto run = kernel(opcode, bo_code, code.size() / sizeof(int), in, out);
  auto state = run.wait();
  std::cout << "state " << state << std::endl;
  if (what == "unread")
    return show(out);
  if (what == "wait2")
    run.wait2();
  out.sync(XCL_BO_SYNC_BO_FROM_DEVICE);
  return show(out);
}

int main(int count, char **arguments) {
  try {
    return count == 4 ? run(arguments[1], arguments[2], arguments[3]) : 2;
  } catch (const xrt::run::command_error &error) {
    std::cout << "command error " << error.get_command_state() << ": " << error.what() << std::endl;
  } catch (const std::exception &error) {
    std::cout << "error: " << error.what() << std::endl;
  }
  return 1;
}
