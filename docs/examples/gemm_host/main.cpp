// Makes the instruction stream of a matrix product for the sizes on its command line. There is no file for each size
// and no compiler in between: the generated header is the sequence itself, as a function of M, K and N.
//
//   tilewright compile gemm.py -o out
//   g++ -std=c++17 main.cpp -Iout -I"$(tilewright config --include)" -o gemm_host
//   ./gemm_host 512 256 384 insts.bin

#include "sequence.h"

#include <cstdio>
#include <cstdlib>

namespace {

bool write_words(const char *path, const std::vector<uint32_t> &words) {
  std::FILE *file = std::fopen(path, "wb");
  if (!file)
    return false;
  const size_t written = std::fwrite(words.data(), sizeof(uint32_t), words.size(), file);
  return std::fclose(file) == 0 && written == words.size();
}

// A size: a positive decimal number that an int32_t holds; 0 if it is none.
int32_t size_from(const char *text) {
  char *end = nullptr;
  const long long number = std::strtoll(text, &end, 10);
  return *text != '\0' && *end == '\0' && number > 0 && number <= INT32_MAX ? static_cast<int32_t>(number) : 0;
}

} // namespace

int main(int argc, char **argv) {
  if (argc != 5) {
    std::fprintf(stderr, "usage: %s M K N FILE\n", argv[0]);
    return 2;
  }
  const int32_t m = size_from(argv[1]), k = size_from(argv[2]), n = size_from(argv[3]);
  const std::optional<std::vector<uint32_t>> words = generate_txn_main_sequence(m, k, n);
  if (m == 0 || k == 0 || n == 0 || !words) {
    std::fprintf(stderr,
                 "%s: no product of %s x %s x %s: sizes are at least 128, 32 and 128, K in steps of 32, N of 2\n",
                 argv[0], argv[1], argv[2], argv[3]);
    return 1;
  }
  if (!write_words(argv[4], *words)) {
    std::fprintf(stderr, "%s: cannot write %s\n", argv[0], argv[4]);
    return 1;
  }
  std::printf("%zu words for %d x %d x %d\n", words->size(), m, k, n);
  return 0;
}
