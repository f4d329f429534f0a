// Signals while a kernel runs: a kernel that uses memory that is none must not take the process with it.
#pragma once

#include <csignal>
#include <pthread.h>

extern "C" {
struct tilewright_guard {
  pthread_t thread;
  void (*volatile handler)(int number, siginfo_t *info, void *context); // null while no kernel runs
};
}
