// Loaded once and never closed: handlers of signals must not go away with the library of a kernel.
#include "tilewright/signals.hpp"

extern "C" {
__attribute__((visibility("default"))) tilewright_guard tilewright_guard_state = {};
}

namespace {

constexpr int caught[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGINT};
constexpr unsigned caught_count = sizeof caught / sizeof *caught;
struct sigaction before[caught_count];

void pass_on(unsigned index, int number, siginfo_t *info, void *context) {
  const struct sigaction &old = before[index];
  if (number != SIGINT) {
    // It happens again as soon as this returns, and then finds the old handler.
    sigaction(number, &old, nullptr);
  } else if (old.sa_flags & SA_SIGINFO) {
    old.sa_sigaction(number, info, context);
  } else if (old.sa_handler == SIG_DFL) {
    sigaction(number, &old, nullptr);
    raise(number);
  } else if (old.sa_handler != SIG_IGN) {
    old.sa_handler(number);
  }
}

void on_signal(int number, siginfo_t *info, void *context) {
  auto *handler = tilewright_guard_state.handler;
  if (handler && pthread_equal(pthread_self(), tilewright_guard_state.thread)) {
    tilewright_guard_state.handler = nullptr;
    handler(number, info, context); // does not come back
  }
  for (unsigned i = 0; i < caught_count; i++)
    if (caught[i] == number)
      pass_on(i, number, info, context);
}

} // namespace

// Once for the process.
extern "C" __attribute__((visibility("default"))) void tilewright_catch_signals() {
  struct sigaction action {};
  action.sa_sigaction = on_signal;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  for (unsigned i = 0; i < caught_count; i++)
    sigaction(caught[i], &action, &before[i]);
}

// Once for a thread: a stack that ran over has no room for the handler.
extern "C" __attribute__((visibility("default"))) void tilewright_signal_stack(void *memory, unsigned long bytes) {
  stack_t mine{}, old{};
  if (sigaltstack(nullptr, &old) == 0 && !(old.ss_flags & SS_DISABLE))
    return;
  mine.ss_sp = memory, mine.ss_size = bytes;
  sigaltstack(&mine, nullptr);
}
