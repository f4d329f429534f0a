// Multiplies matrices on an NPU with XRT. The instructions are the words of a file, or are made here for the sizes at
// hand: the same container runs both, and any size that the design takes.
//
//   tilewright compile gemm.py -o out
//   XRT=/opt/xilinx/xrt
//   g++ -std=c++17 main.cpp -Iout -I"$(tilewright config --include)" -I$XRT/include -L$XRT/lib -lxrt_coreutil -o xrt_host
//   ./xrt_host gemm.xclbin 512 256 384
//   ./xrt_host gemm.xclbin 512 256 384 --insts insts.bin

#include "sequence.h"

#include "xrt/xrt_bo.h"
#include "xrt/xrt_device.h"
#include "xrt/xrt_kernel.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <fstream>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using Words = std::vector<uint32_t>;

struct Options {
  std::string xclbin;
  std::string insts; // empty: the words are made here
  int32_t m, k, n;
};

// A size: a positive decimal number that an int32_t holds; 0 if it is none.
int32_t size_from(const char *text) {
  char *end = nullptr;
  const long long number = std::strtoll(text, &end, 10);
  return *text != '\0' && *end == '\0' && number > 0 && number <= INT32_MAX ? static_cast<int32_t>(number) : 0;
}

std::optional<Options> read_options(int argc, char **argv) {
  if (argc != 5 && !(argc == 7 && std::strcmp(argv[5], "--insts") == 0))
    return std::nullopt;
  return Options{argv[1], argc == 7 ? argv[6] : "", size_from(argv[2]), size_from(argv[3]), size_from(argv[4])};
}

Words stored_words(const std::string &path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file)
    throw std::runtime_error("cannot open " + path);
  const std::streamoff bytes = file.tellg();
  if (bytes <= 0 || bytes % static_cast<std::streamoff>(sizeof(uint32_t)) != 0)
    throw std::runtime_error(path + " is not made of whole words");
  Words words(static_cast<size_t>(bytes) / sizeof(uint32_t));
  file.seekg(0);
  file.read(reinterpret_cast<char *>(words.data()), bytes);
  if (!file)
    throw std::runtime_error("cannot read " + path);
  return words;
}

Words instructions(const Options &options) {
  if (!options.insts.empty())
    return stored_words(options.insts);
  const std::optional<Words> words = generate_txn_main_sequence(options.m, options.k, options.n);
  if (!words)
    throw std::runtime_error("no product of these sizes: they are multiples of 32");
  return *words;
}

std::vector<int16_t> random_matrix(size_t elements, unsigned seed) {
  std::mt19937 generator(seed);
  std::uniform_int_distribution<int> values(-100, 100);
  std::vector<int16_t> matrix(elements);
  for (int16_t &element : matrix)
    element = static_cast<int16_t>(values(generator));
  return matrix;
}

// Elements of the product that are wrong.
size_t mistakes(const Options &size, const int16_t *a, const int16_t *b, const int32_t *c) {
  const size_t m = static_cast<size_t>(size.m), k = static_cast<size_t>(size.k), n = static_cast<size_t>(size.n);
  size_t wrong = 0;
  for (size_t row = 0; row < m; ++row)
    for (size_t column = 0; column < n; ++column) {
      int32_t sum = 0;
      for (size_t step = 0; step < k; ++step)
        sum += a[row * k + step] * b[step * n + column];
      wrong += sum != c[row * n + column];
    }
  return wrong;
}

template <typename T>
xrt::bo filled(const xrt::device &device, const std::vector<T> &data, xrt::bo::flags flags, int group) {
  xrt::bo buffer(device, data.size() * sizeof(T), flags, static_cast<uint32_t>(group));
  std::memcpy(buffer.map<void *>(), data.data(), data.size() * sizeof(T));
  buffer.sync(XCL_BO_SYNC_BO_TO_DEVICE);
  return buffer;
}

int multiply(const Options &options) {
  const Words words = instructions(options);

  xrt::device device(0);
  xrt::xclbin container(options.xclbin);
  const auto kernels = container.get_kernels();
  if (kernels.empty())
    throw std::runtime_error("there is no kernel in " + options.xclbin);
  device.register_xclbin(container);
  xrt::hw_context context(device, container.get_uuid());
  xrt::kernel kernel(context, kernels.front().get_name());

  const size_t m = static_cast<size_t>(options.m), k = static_cast<size_t>(options.k);
  const size_t n = static_cast<size_t>(options.n);
  const std::vector<int16_t> left = random_matrix(m * k, 1), right = random_matrix(k * n, 2);
  const auto host = xrt::bo::flags::host_only;
  xrt::bo program = filled(device, words, xrt::bo::flags::cacheable, kernel.group_id(1));
  xrt::bo a = filled(device, left, host, kernel.group_id(3));
  xrt::bo b = filled(device, right, host, kernel.group_id(4));
  xrt::bo c = filled(device, std::vector<int32_t>(m * n), host, kernel.group_id(5));

  const unsigned transaction = 3; // the firmware's number for a stream of register writes
  auto run = kernel(transaction, program, static_cast<uint32_t>(words.size()), a, b, c);
  if (run.wait() != ERT_CMD_STATE_COMPLETED)
    throw std::runtime_error("the NPU did not finish");
  c.sync(XCL_BO_SYNC_BO_FROM_DEVICE);

  const size_t wrong = mistakes(options, left.data(), right.data(), c.map<const int32_t *>());
  std::printf("%zu words (%s), %zu elements wrong\n", words.size(), options.insts.empty() ? "made here" : "stored", wrong);
  return wrong == 0 ? 0 : 1;
}

} // namespace

int main(int argc, char **argv) {
  const std::optional<Options> options = read_options(argc, argv);
  if (!options || options->m == 0 || options->k == 0 || options->n == 0) {
    std::fprintf(stderr, "usage: %s XCLBIN M K N [--insts FILE]\n", argv[0]);
    return 2;
  }
  try {
    return multiply(*options);
  } catch (const std::exception &error) {
    std::fprintf(stderr, "%s: %s\n", argv[0], error.what());
    return 1;
  }
}
