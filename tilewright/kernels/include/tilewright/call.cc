// The runtime's side of a call: kernels run on a stack of their own, and leave it where they have to wait.
//
// A C function cannot yield to a simulator. On a stack of its own it can be left in the middle of a callback, and gone
// on with when the simulator has what it waits for; a call that nobody goes on with is just forgotten.
#include "tilewright/call.hpp"
#include "tilewright/core.hpp"

#include "tilewright/signals.hpp"

#include <csetjmp>
#include <cstddef>
#include <cstdio>
#include <dlfcn.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#define TILEWRIGHT_EXPORT __attribute__((visibility("default")))

namespace {

enum class outcome : int32_t { finished, waits, threw, signalled, wrong_access, undefined };

constexpr std::size_t stack_bytes = 1 << 20;
constexpr unsigned most_frames = 32, most_ranges = 64;

} // namespace

extern "C" {
struct tilewright_range {
  uintptr_t begin, end;
};
// What a call waits for, or what is wrong with it.
struct tilewright_request {
  uint32_t kind;   // the number of the callback in tilewright_core_state; of a signal; of a finding
  uint32_t number; // channel, event, lock or address
  uint32_t bytes;
  uint32_t flag; // last, is_acquire, is_write
  int64_t value;
  void *data;
  char text[256];
  uint32_t line, column; // where the compiler knows it
  uint32_t frame_count;
  uint64_t frames[most_frames]; // offsets in this library, the innermost first
};
TILEWRIGHT_EXPORT tilewright_request tilewright_request_state{};
TILEWRIGHT_EXPORT tilewright_range tilewright_ranges[most_ranges]{};
TILEWRIGHT_EXPORT uint32_t tilewright_range_count = 0;
// Given by the runtime: who gets signals while a kernel runs.
TILEWRIGHT_EXPORT tilewright_guard *tilewright_guard_slot = nullptr;
}

namespace {

tilewright_request &request = tilewright_request_state;
// Not swapcontext: that asks the system for the signal mask at each change of stacks.
jmp_buf runtime_place, kernel_place;
char *stack = nullptr;
bool is_ready = false;           // the kernel's stack is at the end of `serve`
volatile bool is_inside = false; // the kernel's stack is the current one
void (*function)(const uint64_t *, void *);
const uint64_t *slots;
void *result;
volatile outcome how;

void leave(outcome reason) {
  how = reason;
  is_inside = false;
  if (_setjmp(kernel_place) == 0)
    _longjmp(runtime_place, 1);
  is_inside = true;
}

void serve() {
  for (;;) {
    outcome reason = outcome::finished;
    try {
      function(slots, result);
    } catch (const std::exception &error) {
      std::snprintf(request.text, sizeof request.text, "%s", error.what());
      reason = outcome::threw;
    } catch (...) {
      std::snprintf(request.text, sizeof request.text, "something that is no std::exception");
      reason = outcome::threw;
    }
    leave(reason);
  }
}

void put_frames(uintptr_t first, uintptr_t frame) {
  Dl_info here;
  request.frame_count = 0;
  if (!dladdr(reinterpret_cast<void *>(&tilewright_request_state), &here))
    return;
  auto base = reinterpret_cast<uintptr_t>(here.dli_fbase);
  auto low = reinterpret_cast<uintptr_t>(stack), high = low + stack_bytes;
  for (uintptr_t address = first; request.frame_count < most_frames;) {
    request.frames[request.frame_count++] = address - base;
    if (frame < low || frame + 16 > high || frame % 8)
      break;
    address = reinterpret_cast<uintptr_t *>(frame)[1];
    auto next = reinterpret_cast<uintptr_t *>(frame)[0];
    if (next <= frame)
      break;
    frame = next;
  }
}

void on_signal(int number, siginfo_t *info, void *context) {
  request.kind = uint32_t(number);
  request.value = reinterpret_cast<int64_t>(info->si_addr);
  auto *state = static_cast<ucontext_t *>(context);
#if defined(__x86_64__)
  put_frames(uintptr_t(state->uc_mcontext.gregs[REG_RIP]) + 1, uintptr_t(state->uc_mcontext.gregs[REG_RBP]));
#elif defined(__aarch64__)
  put_frames(uintptr_t(state->uc_mcontext.pc) + 4, uintptr_t(state->uc_mcontext.regs[29]));
#else
  (void)state;
#endif
  how = outcome::signalled;
  is_inside = false;
  _longjmp(runtime_place, 1); // the kernel is never gone on with
}

// On the first entry a context is made for the stack; later ones jump to where it was left.
int32_t enter(bool from_the_top) {
  if (tilewright_guard_slot) {
    tilewright_guard_slot->thread = pthread_self();
    tilewright_guard_slot->handler = on_signal;
  }
  if (_setjmp(runtime_place) == 0) {
    is_inside = true;
    if (!from_the_top)
      _longjmp(kernel_place, 1);
    static ucontext_t top;
    getcontext(&top);
    top.uc_stack.ss_sp = stack, top.uc_stack.ss_size = stack_bytes, top.uc_link = nullptr;
    makecontext(&top, serve, 0);
    setcontext(&top);
  }
  is_inside = false;
  if (tilewright_guard_slot)
    tilewright_guard_slot->handler = nullptr;
  outcome found = how;
  is_ready = found == outcome::finished || found == outcome::threw;
  return int32_t(found);
}

// Both x86-64 and AArch64 pass integers and pointers in registers of one kind and real numbers in those of another,
// each in their order, and what is left over on the stack.
#if defined(__aarch64__)
#define TILEWRIGHT_WHOLE(x) x(0), x(1), x(2), x(3), x(4), x(5), x(6), x(7)
constexpr unsigned whole_registers = 8;
#else
#define TILEWRIGHT_WHOLE(x) x(0), x(1), x(2), x(3), x(4), x(5)
constexpr unsigned whole_registers = 6;
#endif
#define TILEWRIGHT_EIGHT(x) x(0), x(1), x(2), x(3), x(4), x(5), x(6), x(7)
#define TILEWRIGHT_U64(n) uint64_t
#define TILEWRIGHT_F64(n) double
#define TILEWRIGHT_GIVEN_WHOLE(n) whole[n]
#define TILEWRIGHT_GIVEN_REAL(n) real[n]
#define TILEWRIGHT_GIVEN_REST(n) rest[n]

const char *plain_kinds = "v";
void (*plain_function)() = nullptr;

template <class R> R call_registers(const uint64_t *whole, const double *real, const uint64_t *rest) {
  using type = R (*)(TILEWRIGHT_WHOLE(TILEWRIGHT_U64), TILEWRIGHT_EIGHT(TILEWRIGHT_F64), TILEWRIGHT_EIGHT(TILEWRIGHT_U64));
  return reinterpret_cast<type>(plain_function)(TILEWRIGHT_WHOLE(TILEWRIGHT_GIVEN_WHOLE),
                                                TILEWRIGHT_EIGHT(TILEWRIGHT_GIVEN_REAL),
                                                TILEWRIGHT_EIGHT(TILEWRIGHT_GIVEN_REST));
}

void call_plainly(const uint64_t *given, void *into) {
  uint64_t whole[8] = {}, rest[8] = {};
  double real[8] = {};
  unsigned wholes = 0, reals = 0, rests = 0;
  for (const char *kind = plain_kinds + 1; *kind; kind++, given++) {
    if (*kind == 'f' && reals < 8)
      std::memcpy(&real[reals++], given, sizeof *given);
    else if (*kind != 'f' && wholes < whole_registers)
      whole[wholes++] = *given;
    else if (rests < 8)
      rest[rests++] = *given;
  }
  if (*plain_kinds == 'f') {
    double found = call_registers<double>(whole, real, rest);
    std::memcpy(into, &found, sizeof found);
  } else {
    uint64_t found = call_registers<uint64_t>(whole, real, rest);
    std::memcpy(into, &found, sizeof found);
  }
}

void wait_for(uint32_t kind, uint32_t number, const void *data, uint32_t bytes, uint32_t flag, int64_t value) {
  request.kind = kind, request.number = number, request.bytes = bytes, request.flag = flag, request.value = value;
  request.data = const_cast<void *>(data);
  leave(outcome::waits);
}

// In the order of the callbacks in tilewright_core_state.
enum waiting : uint32_t { cascade_put, cascade_get, stream_put, stream_get, event, tile_read, tile_write, lock };

} // namespace

extern "C" {
// Lets kernels reach the core; without, they are refused what only a core has. Events are a choice: they cost time.
TILEWRIGHT_EXPORT void tilewright_connect(uint32_t with_core, uint32_t with_events) {
  auto &core = tilewright_core;
  core.cascade_put = nullptr, core.cascade_get = nullptr, core.stream_put = nullptr, core.stream_get = nullptr;
  core.event = nullptr, core.tile_read = nullptr, core.tile_write = nullptr, core.lock = nullptr;
  if (!with_core)
    return;
  core.cascade_put = [](void *, const void *data, uint32_t bytes) { wait_for(cascade_put, 0, data, bytes, 0, 0); };
  core.cascade_get = [](void *, void *data, uint32_t bytes) { wait_for(cascade_get, 0, data, bytes, 0, 0); };
  core.stream_put = [](void *, uint32_t channel, const void *data, uint32_t bytes, uint32_t last) {
    wait_for(stream_put, channel, data, bytes, last, 0);
  };
  core.stream_get = [](void *, uint32_t channel, void *data, uint32_t bytes) {
    wait_for(stream_get, channel, data, bytes, 0, 0);
  };
  if (with_events)
    core.event = [](void *, uint32_t number) { wait_for(event, number, nullptr, 0, 0, 0); };
  core.tile_read = [](void *, uint32_t address) {
    wait_for(tile_read, address, nullptr, 4, 0, 0);
    return uint32_t(request.value);
  };
  core.tile_write = [](void *, uint32_t address, uint32_t value) {
    wait_for(tile_write, address, nullptr, 4, 0, int64_t(value));
  };
  core.lock = [](void *, uint32_t number, int32_t value, uint32_t is_acquire) {
    wait_for(lock, number, nullptr, 0, is_acquire, value);
  };
}

// How the function of an entry without a signature is called: its result, then its parameters, i or f each.
TILEWRIGHT_EXPORT void tilewright_describe(const char *kinds) { plain_kinds = kinds; }

// Begins a call; one that was under way is forgotten.
TILEWRIGHT_EXPORT int32_t tilewright_begin(const tilewright_entry *entry, const uint64_t *given, void *into) {
  if (!stack) {
    long page = sysconf(_SC_PAGESIZE);
    void *made = mmap(nullptr, stack_bytes + std::size_t(page), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (made == MAP_FAILED) {
      std::snprintf(request.text, sizeof request.text, "no memory for its stack");
      return int32_t(outcome::threw);
    }
    mprotect(made, std::size_t(page), PROT_NONE);
    stack = static_cast<char *>(made) + page;
  }
  function = entry->call ? entry->call : call_plainly, slots = given, result = into;
  plain_function = entry->plain;
  std::memset(tilewright_core.counts, 0, sizeof tilewright_core.counts);
  return enter(!is_ready);
}

// Goes on with a call that waits.
TILEWRIGHT_EXPORT int32_t tilewright_resume() { return enter(false); }

} // extern "C"

__attribute__((destructor)) static void free_stack() {
  if (stack) {
    long page = sysconf(_SC_PAGESIZE);
    munmap(stack - page, stack_bytes + std::size_t(page));
    stack = nullptr;
  }
}

#ifdef TILEWRIGHT_CHECKED
// What compilers call in checked builds: kernel-address and undefined of their sanitizers, without their run times.

namespace {

[[noreturn]] void stop(outcome reason) {
  leave(reason);
  for (;;) // never gone on with
    leave(reason);
}

void check(uintptr_t begin, std::size_t size, bool is_write, uintptr_t pc, uintptr_t frame) {
  if (size == 0 || !is_inside)
    return;
  uintptr_t end = begin + size, low = reinterpret_cast<uintptr_t>(stack);
  for (uint32_t i = 0; i < tilewright_range_count; i++)
    if (begin >= tilewright_ranges[i].begin && end <= tilewright_ranges[i].end && begin <= end)
      return;
  if (begin >= low && end <= low + stack_bytes)
    return;
  Dl_info image;
  if (dladdr(reinterpret_cast<void *>(begin), &image)) // constants and variables
    return;
  request.value = int64_t(begin), request.bytes = uint32_t(size), request.flag = is_write;
  request.line = 0;
  put_frames(pc, frame);
  stop(outcome::wrong_access);
}

struct place {
  const char *file;
  uint32_t line, column;
};

void undefined(const place *where, const char *text, int64_t value, uintptr_t pc, uintptr_t frame) {
  if (!is_inside)
    return;
  request.value = value;
  request.line = where ? where->line : 0, request.column = where ? where->column : 0;
  std::snprintf(request.text, sizeof request.text, "%s", text);
  put_frames(pc, frame);
  stop(outcome::undefined);
}

} // namespace

extern "C" {
#define TILEWRIGHT_HERE                                                                                                \
  reinterpret_cast<uintptr_t>(__builtin_return_address(0)),                                                            \
      *static_cast<uintptr_t *>(__builtin_frame_address(0))
#define TILEWRIGHT_SIZED(size)                                                                                         \
  TILEWRIGHT_EXPORT void __asan_load##size##_noabort(uintptr_t p) { check(p, size, false, TILEWRIGHT_HERE); }          \
  TILEWRIGHT_EXPORT void __asan_store##size##_noabort(uintptr_t p) { check(p, size, true, TILEWRIGHT_HERE); }
TILEWRIGHT_SIZED(1)
TILEWRIGHT_SIZED(2)
TILEWRIGHT_SIZED(4)
TILEWRIGHT_SIZED(8)
TILEWRIGHT_SIZED(16)
TILEWRIGHT_EXPORT void __asan_loadN_noabort(uintptr_t p, std::size_t n) { check(p, n, false, TILEWRIGHT_HERE); }
TILEWRIGHT_EXPORT void __asan_storeN_noabort(uintptr_t p, std::size_t n) { check(p, n, true, TILEWRIGHT_HERE); }
TILEWRIGHT_EXPORT void __asan_handle_no_return() {}
TILEWRIGHT_EXPORT void __asan_before_dynamic_init(uintptr_t) {}
TILEWRIGHT_EXPORT void __asan_after_dynamic_init() {}

// Calls of the C library have no checks of their own: the linker turns them here.
#define TILEWRIGHT_COPY(name)                                                                                          \
  void *__real_##name(void *to, const void *from, std::size_t n);                                                      \
  TILEWRIGHT_EXPORT void *__wrap_##name(void *to, const void *from, std::size_t n) {                                   \
    check(reinterpret_cast<uintptr_t>(from), n, false, TILEWRIGHT_HERE);                                               \
    check(reinterpret_cast<uintptr_t>(to), n, true, TILEWRIGHT_HERE);                                                  \
    return __real_##name(to, from, n);                                                                                 \
  }
TILEWRIGHT_COPY(memcpy)
TILEWRIGHT_COPY(memmove)
void *__real_memset(void *to, int value, std::size_t n);
TILEWRIGHT_EXPORT void *__wrap_memset(void *to, int value, std::size_t n) {
  check(reinterpret_cast<uintptr_t>(to), n, true, TILEWRIGHT_HERE);
  return __real_memset(to, value, n);
}

// The data of each begins with the place.
TILEWRIGHT_EXPORT void __ubsan_handle_divrem_overflow(place *where, uintptr_t, uintptr_t divisor) {
  undefined(where, "divides by zero, or the smallest number by -1", int64_t(divisor), TILEWRIGHT_HERE);
}
TILEWRIGHT_EXPORT void __ubsan_handle_out_of_bounds(place *where, uintptr_t index) {
  undefined(where, "uses an index that its array does not have", int64_t(index), TILEWRIGHT_HERE);
}
TILEWRIGHT_EXPORT void __ubsan_handle_builtin_unreachable(place *where) {
  undefined(where, "comes to where it says that it never does", 0, TILEWRIGHT_HERE);
}
TILEWRIGHT_EXPORT void __ubsan_handle_missing_return(place *where) {
  undefined(where, "ends without giving a result", 0, TILEWRIGHT_HERE);
}
TILEWRIGHT_EXPORT void __ubsan_handle_type_mismatch_v1(place *where, uintptr_t pointer) {
  undefined(where, pointer ? "uses a pointer that is not aligned for its type" : "uses a null pointer",
            int64_t(pointer), TILEWRIGHT_HERE);
}
TILEWRIGHT_EXPORT void tilewright_misaligned(const void *pointer, uint32_t bytes) {
  char text[96];
  std::snprintf(text, sizeof text, "loads or stores a vector at an address that is no multiple of %u", bytes);
  undefined(nullptr, text, reinterpret_cast<int64_t>(pointer), TILEWRIGHT_HERE);
}
}
#endif
