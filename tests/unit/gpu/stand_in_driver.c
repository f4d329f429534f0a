/* A driver without a GPU, under CUDA's names and HIP's: memory is files that processes share, and every kernel adds one
   to each of the integers of the buffer that it is given, but one called `wild`, which does what is not allowed, and
   one called `copy_map`, which copies the tensor map that it is given to a buffer. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define FOLDER getenv("STAND_IN_FOLDER")
typedef struct { char name[64]; } Handle;
struct Entry { void *address; size_t size; char name[64]; } table[256];
static int used, failing;

static int number(const char *name, int otherwise) {
  const char *text = getenv(name);
  return text ? atoi(text) : otherwise;
}
static void *map_file(const char *name, size_t size) {
  char path[512];
  snprintf(path, sizeof path, "%s/%s", FOLDER, name);
  int file = open(path, O_RDWR | O_CREAT, 0600);
  struct stat status;
  fstat(file, &status);
  if (!size) size = status.st_size;
  if ((size_t)status.st_size < size && ftruncate(file, size)) return NULL;
  void *address = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  return address;
}
static int allocate(void **place, size_t size) {
  if (size > (size_t)1 << 32) return 2;
  struct Entry *entry = &table[used++];
  snprintf(entry->name, sizeof entry->name, "%d-%d", getpid(), used);
  entry->size = size;
  *place = entry->address = map_file(entry->name, size);
  return 0;
}
static int load(void **module, const char *code, char *log) {
  if (strstr(code, "nonsense")) {
    if (log) strcpy(log, "ptxas application ptx input, line 1; fatal: Parsing error near 'nonsense'");
    return 218;
  }
  *module = (void *)code;
  return 0;
}
static void add_one(void **parameters) {
  int32_t *data = *(int32_t **)parameters[1];
  int64_t size = *(int64_t *)parameters[3];
  for (int64_t i = 0; i < size; i++) data[i] += 1;
}
static void copy_map(void **parameters) { memcpy(*(void **)parameters[2], parameters[0], 128); }
static int find(void **function, const char *name) {
  if (!strcmp(name, "missing")) return 500;
  *function = !strcmp(name, "copy_map") ? (void *)copy_map : strcmp(name, "wild") ? (void *)add_one : (void *)&failing;
  return 0;
}
static int launch(void *function, void **parameters) {
  if (function == (void *)&failing) { failing = 1; return 0; }
  ((void (*)(void **))function)(parameters);
  return 0;
}

int cuInit(unsigned flags) { return number("STAND_IN_INIT", 0); }
int cuDriverGetVersion(int *v) { *v = number("STAND_IN_VERSION", 13000); return 0; }
int cuDeviceGetCount(int *n) { *n = number("STAND_IN_GPUS", 1); return 0; }
int cuDeviceGet(int *d, int n) { *d = n; return 0; }
int cuDeviceGetName(char *s, int n, int d) { strncpy(s, "Stand-in", n); return 0; }
int cuDeviceGetAttribute(int *v, int which, int d) { *v = which == 75 ? 9 : 0; return 0; }
int cuDevicePrimaryCtxRetain(void **c, int d) { *c = (void *)1; return 0; }
int cuDevicePrimaryCtxRelease_v2(int d) { return 0; }
int cuCtxSetCurrent(void *c) { return 0; }
int cuCtxSynchronize(void) { int code = failing ? 700 : 0; failing = 0; return code; }
int cuMemAlloc_v2(void **p, size_t n) { return allocate(p, n); }
int cuMemAllocManaged(void **p, size_t n, unsigned f) { return allocate(p, n); }
int cuMemFree_v2(void *p) { return 0; }
int cuMemcpy(void *to, void *from, size_t n) { memcpy(to, from, n); return 0; }
int cuMemsetD8_v2(uint8_t *p, uint8_t v, size_t n) { memset(p, v, n); return 0; }
int cuMemsetD16_v2(uint16_t *p, uint16_t v, size_t n) { while (n--) *p++ = v; return 0; }
int cuMemsetD32_v2(uint32_t *p, uint32_t v, size_t n) { while (n--) *p++ = v; return 0; }
int cuModuleLoadDataEx(void **m, const char *code, unsigned n, int *options, void **values) {
  return load(m, code, n ? values[0] : NULL);
}
int cuModuleUnload(void *m) { return 0; }
int cuModuleGetFunction(void **f, void *m, const char *name) { return find(f, name); }
int cuFuncSetAttribute(void *f, int which, int value) { return 0; }
int cuLaunchKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                   unsigned shared, void *stream, void **parameters, void **extra) {
  return launch(f, parameters);
}
/* Launches that begin before the last one has ended say so, and are counted. */
int launched_early;
struct Attribute { int id, reserved, value, rest[15]; };
struct Config { unsigned sizes[7]; void *stream; struct Attribute *attributes; unsigned count; };
int cuLaunchKernelEx(const struct Config *config, void *f, void **parameters, void **extra) {
  const struct Attribute *given = config->attributes;
  if (config->count != 1 || given->id != 6 || given->value != 1 || config->sizes[6] != 48) return 1;
  launched_early++;
  return launch(f, parameters);
}
/* A map here says what it was made of. */
int cuTensorMapEncodeTiled(void *map, int type, unsigned rank, void *address, const uint64_t *sizes,
                           const uint64_t *strides, const uint32_t *box, const uint32_t *steps, int interleave,
                           int swizzle, int promotion, int fill) {
  if ((uintptr_t)map % 64 || interleave) return 1;
  uint64_t *words = memset(map, 0, 128);
  words[0] = (uint64_t)address;
  words[1] = type | rank << 8 | swizzle << 16 | promotion << 24 | (uint64_t)fill << 32;
  for (unsigned i = 0; i < rank; i++) {
    words[2 + i] = sizes[i];
    if (i) words[6 + i] = strides[i - 1];
    words[11 + i] = box[i] | (uint64_t)steps[i] << 32;
  }
  return 0;
}
int cuIpcGetMemHandle(Handle *handle, void *address) {
  for (int i = 0; i < used; i++)
    if (table[i].address == address) { memcpy(handle->name, table[i].name, 64); return 0; }
  return 1;
}
int cuIpcOpenMemHandle_v2(void **p, Handle handle, unsigned flags) { *p = map_file(handle.name, 0); return 0; }
int cuIpcCloseMemHandle(void *p) { return 0; }
int cuGetErrorName(int code, const char **text) {
  *text = code == 700 ? "CUDA_ERROR_ILLEGAL_ADDRESS" : code == 100 ? "CUDA_ERROR_NO_DEVICE" : "CUDA_ERROR_STAND_IN";
  return 0;
}

int hipInit(unsigned flags) { return number("STAND_IN_INIT", 0); }
int hipGetDeviceCount(int *n) { *n = number("STAND_IN_GPUS", 1); return 0; }
int hipSetDevice(int d) { return 0; }
int hipDeviceSynchronize(void) { return cuCtxSynchronize(); }
int hipMalloc(void **p, size_t n) { return allocate(p, n); }
int hipMallocManaged(void **p, size_t n, unsigned f) { return allocate(p, n); }
int hipFree(void *p) { return 0; }
int hipMemcpy(void *to, void *from, size_t n, int kind) { memcpy(to, from, n); return kind != 4; }
int hipMemsetD8(uint8_t *p, uint8_t v, size_t n) { memset(p, v, n); return 0; }
int hipMemsetD16(uint16_t *p, uint16_t v, size_t n) { return cuMemsetD16_v2(p, v, n); }
int hipMemsetD32(uint32_t *p, int v, size_t n) { return cuMemsetD32_v2(p, v, n); }
int hipModuleLoadData(void **m, const char *code) { return load(m, code, NULL); }
int hipModuleUnload(void *m) { return 0; }
int hipModuleGetFunction(void **f, void *m, const char *name) { return find(f, name); }
int hipModuleLaunchKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                          unsigned shared, void *stream, void **parameters, void **extra) {
  return launch(f, parameters);
}
int hipIpcGetMemHandle(Handle *handle, void *address) { return cuIpcGetMemHandle(handle, address); }
int hipIpcOpenMemHandle(void **p, Handle handle, unsigned flags) { return cuIpcOpenMemHandle_v2(p, handle, flags); }
int hipIpcCloseMemHandle(void *p) { return 0; }
const char *hipGetErrorName(int code) { return code == 700 ? "hipErrorIllegalAddress" : "hipErrorStandIn"; }
