// Functions that stand in for OpenSHMEM's and leave in ways that OpenSHMEM's
// own never would, so that a tool's hooks can be tested under them: a real
// runtime has no callbacks to leave from.
//
//   g++ -O2 -g -shared -fPIC -o libthrow.so libthrow.cpp -ldl
//
// A program that is linked with libthrow.so before the OpenSHMEM library finds
// these first; a preloaded tool comes before both. The pshmem_ names are here
// as well because a tool may forward to either. As long as libthrow_arm was
// not called in a thread, all of them pass the call on to the runtime.
//
//   armed with      the call                  leaves by
//   THROW_EXCEPTION shmem_quiet               throwing std::runtime_error
//   THROW_EXIT      shmem_fence               pthread_exit
//   THROW_JUMP      shmem_sync_all            longjmp(libthrow_jump, 1)
//   THROW_CANCEL    shmem_long_wait_until     being cancelled in a loop over
//                                             pthread_testcancel
//   THROW_ASYNC     shmem_long_wait_until     being cancelled asynchronously
//
// Being armed lasts for one call.
#include "libthrow.h"

#include <dlfcn.h>
#include <pthread.h>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>

extern "C" {
jmp_buf libthrow_jump;
volatile int libthrow_waiting;
}

namespace {

thread_local throw_kind armed = THROW_NOTHING;

bool disarm(throw_kind kind) {
  if (armed != kind) return false;
  armed = THROW_NOTHING;
  return true;
}

template <typename Function>
Function *real(const char *name) {
  void *symbol = dlsym(RTLD_NEXT, name);
  if (!symbol) {
    std::fprintf(stderr, "libthrow: no %s\n", name);
    std::abort();
  }
  return reinterpret_cast<Function *>(symbol);
}

void quiet() {
  if (disarm(THROW_EXCEPTION)) throw std::runtime_error("thrown in shmem_quiet");
  static auto *next = real<void()>("pshmem_quiet");
  next();
}

void fence() {
  if (disarm(THROW_EXIT)) pthread_exit(reinterpret_cast<void *>(42));
  static auto *next = real<void()>("pshmem_fence");
  next();
}

void sync_all() {
  if (disarm(THROW_JUMP)) longjmp(libthrow_jump, 1);
  static auto *next = real<void()>("pshmem_sync_all");
  next();
}

void long_wait_until(volatile long *address, int cmp, long value) {
  if (disarm(THROW_CANCEL)) {
    libthrow_waiting = 1;
    for (;;) pthread_testcancel();
  }
  if (disarm(THROW_ASYNC)) {
    int old;
    libthrow_waiting = 1;
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &old);
    for (volatile unsigned long i = 0;; i = i + 1) continue;
  }
  static auto *next = real<void(volatile long *, int, long)>("pshmem_long_wait_until");
  next(address, cmp, value);
}

}  // namespace

extern "C" {
void libthrow_arm(throw_kind kind) { armed = kind; }

void shmem_quiet(void) { quiet(); }
void pshmem_quiet(void) { quiet(); }
void shmem_fence(void) { fence(); }
void pshmem_fence(void) { fence(); }
void shmem_sync_all(void) { sync_all(); }
void pshmem_sync_all(void) { sync_all(); }
void shmem_long_wait_until(volatile long *a, int c, long v) { long_wait_until(a, c, v); }
void pshmem_long_wait_until(volatile long *a, int c, long v) { long_wait_until(a, c, v); }
}
