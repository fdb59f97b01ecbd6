// Does what is hard on a tool that hooks calls, and checks that nothing of it
// shows in the program.
//
//   g++ -O2 -g -shared -fPIC -o libthrow.so libthrow.cpp -ldl
//   g++ -O2 -g -pthread $(oshcc --showme:compile) -o faults faults.cpp
//       -L. -lthrow -Wl,-rpath,'$ORIGIN' $(oshcc --showme:link)
//   oshrun -np 2 ./faults MODE
//
// MODE
//   fork          a child that makes no calls and calls _exit, and one that
//                 execs /bin/true (a child that calls exit hangs in Open MPI)
//   threads       200 threads, at most 8 at a time, each with calls of its own
//   signals       a handler calls shmem_my_pe 1000 times a second (SIGALRM and
//                 SIGPROF) while the main thread puts
//   exception     C++ exceptions through shmem_quiet
//   pthread_exit  threads end inside shmem_fence
//   cancel        threads are cancelled inside shmem_long_wait_until, deferred
//                 and asynchronously
//   longjmp       longjmp out of shmem_sync_all
//   never-init    never initialises; exit code 3; run it without oshrun
//
// In the modes exception, pthread_exit, cancel and longjmp the calls are those
// of libthrow.so (see there), which is linked before the runtime. Each of them
// is done 50 times, and ordinary calls are made and checked in between.
//
// PE 0 prints "faults MODE ok" and the exit code is 0, except for never-init;
// if anything is wrong, it says what on stderr and the exit code is 1.
#include <pthread.h>
#include <shmem.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

#include "faults.h"
#include "libthrow.h"

namespace {

constexpr int kRepeats = 50;
constexpr int kThreads = 200;
constexpr int kAtOnce = 8;
constexpr int kCallsPerThread = 20;
constexpr int kPuts = 200000;

int me, npes, next;
long *data;  // symmetric, one long for each thread

[[noreturn]] void fail(const char *what) {
  std::fprintf(stderr, "faults: PE %d: %s\n", me, what);
  shmem_global_exit(1);
  std::abort();
}

// Ordinary calls after something unusual: all of them must still work.
void check_calls(long value) {
  shmem_long_p(&data[0], value, next);
  shmem_quiet();
  expect(shmem_long_g(&data[0], next) == value, "g does not return what p wrote");
  shmem_fence();
  shmem_barrier_all();
  expect(data[0] == value, "p did not arrive");
  shmem_barrier_all();
}

void start() {
  me = shmem_my_pe();
  npes = shmem_n_pes();
  next = (me + 1) % npes;
  data = static_cast<long *>(shmem_calloc(kThreads, sizeof(long)));
  shmem_barrier_all();
}

void finish(const char *mode) {
  shmem_barrier_all();
  shmem_free(data);
  if (me == 0) {
    std::printf("faults %s ok\n", mode);
    std::fflush(stdout);
  }
  shmem_finalize();
}

// ---------------------------------------------------------------------- fork

void run_fork() {
  for (int i = 0; i < 5; i++) {
    fork_two_children();
    check_calls(i);
  }
}

// ------------------------------------------------------------------- threads

std::mutex one_at_a_time;
bool serialise;

void thread_calls(int index) {
  for (int i = 0; i < kCallsPerThread; i++) {
    std::unique_lock<std::mutex> lock(one_at_a_time, std::defer_lock);
    if (serialise) lock.lock();
    long value = index * 1000 + i;
    shmem_long_p(&data[index], value, next);
    shmem_quiet();
    expect(shmem_long_g(&data[index], next) == value, "a thread reads what it did not write");
    expect(shmem_long_atomic_fetch_add(&data[index], 1, next) == value, "fetch_add in a thread");
    expect(shmem_my_pe() == me, "my_pe in a thread");
  }
}

void run_threads(int provided) {
  serialise = provided != SHMEM_THREAD_MULTIPLE;
  for (int first = 0; first < kThreads; first += kAtOnce) {
    std::vector<std::thread> threads;
    for (int i = first; i < first + kAtOnce && i < kThreads; i++)
      threads.emplace_back(thread_calls, i);
    for (std::thread &thread : threads) thread.join();
  }
  shmem_barrier_all();
  for (int i = 0; i < kThreads; i++)
    expect(data[i] == i * 1000 + kCallsPerThread, "a thread's last value");
  shmem_barrier_all();
  check_calls(1);
}

// ------------------------------------------------------------------- signals

volatile sig_atomic_t handled, wrong;

void on_signal(int) {
  handled = 1;
  if (shmem_my_pe() != me) wrong = 1;
}

void run_signals() {
  start_signals(on_signal);
  long batch[4];
  for (int i = 0; i < kPuts; i++) {
    for (int k = 0; k < 4; k++) batch[k] = i + k;
    shmem_long_put(&data[0], batch, 4, next);
    if (i % 1000 == 0) shmem_quiet();
  }
  shmem_quiet();
  stop_signals();
  shmem_barrier_all();
  for (int k = 0; k < 4; k++) expect(data[k] == kPuts - 1 + k, "the last put did not arrive");
  expect(handled && !wrong, "no signal, or a wrong PE in the handler");
  shmem_barrier_all();
  check_calls(1);
}

// ----------------------------------------- leaving a call other than returning

void run_exception() {
  for (int i = 0; i < kRepeats; i++) {
    bool caught = false;
    try {
      Counted counted;
      libthrow_arm(THROW_EXCEPTION);
      shmem_quiet();
    } catch (const std::runtime_error &error) {
      caught = std::strcmp(error.what(), "thrown in shmem_quiet") == 0;
    }
    expect(caught && Counted::alive == 0, "the exception did not come through");
    check_calls(i);
  }
}

void *exit_in_fence(void *) {
  Counted counted;
  expect(shmem_my_pe() == me, "my_pe");
  libthrow_arm(THROW_EXIT);
  shmem_fence();
  fail("came back from pthread_exit");
}

void run_pthread_exit() {
  for (int i = 0; i < kRepeats; i++) {
    pthread_t thread;
    void *result = nullptr;
    expect(pthread_create(&thread, nullptr, exit_in_fence, nullptr) == 0, "pthread_create");
    pthread_join(thread, &result);
    expect(result == reinterpret_cast<void *>(42), "pthread_exit's value");
    expect(Counted::alive == 0, "pthread_exit did not unwind");
    check_calls(i);
  }
}

void *wait_for_cancel(void *kind) {
  expect(shmem_my_pe() == me, "my_pe");
  libthrow_arm(*static_cast<throw_kind *>(kind));
  shmem_long_wait_until(&data[1], SHMEM_CMP_EQ, 1);
  fail("came back from a wait that nothing ends");
}

void run_cancel() {
  for (int i = 0; i < kRepeats; i++) {
    throw_kind kind = i % 2 ? THROW_ASYNC : THROW_CANCEL;
    pthread_t thread;
    void *result = nullptr;
    libthrow_waiting = 0;
    expect(pthread_create(&thread, nullptr, wait_for_cancel, &kind) == 0, "pthread_create");
    while (!libthrow_waiting) usleep(100);
    if (kind == THROW_ASYNC) usleep(1000);
    pthread_cancel(thread);
    pthread_join(thread, &result);
    expect(result == PTHREAD_CANCELED, "the thread was not cancelled");
    check_calls(i);
  }
}

void run_longjmp() {
  static volatile int i;
  for (i = 0; i < kRepeats; i = i + 1) {
    if (setjmp(libthrow_jump) == 0) {
      libthrow_arm(THROW_JUMP);
      shmem_sync_all();
      fail("came back from longjmp");
    }
    check_calls(i);
  }
}

[[noreturn]] void usage(const char *program) {
  std::fprintf(stderr, "usage: %s MODE\n", program);
  std::exit(2);
}

}  // namespace

int main(int argc, char **argv) {
  if (argc != 2) usage(argv[0]);
  const char *mode = argv[1];
  auto is = [mode](const char *name) { return std::strcmp(mode, name) == 0; };
  if (is("never-init")) {
    std::puts("faults never-init");
    return 3;
  }
  bool with_threads = is("threads") || is("pthread_exit") || is("cancel");
  int provided = SHMEM_THREAD_SINGLE;
  if (with_threads) shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided);
  else shmem_init();
  start();
  if (is("fork")) run_fork();
  else if (is("threads")) run_threads(provided);
  else if (is("signals")) run_signals();
  else if (is("exception")) run_exception();
  else if (is("pthread_exit")) run_pthread_exit();
  else if (is("cancel")) run_cancel();
  else if (is("longjmp")) run_longjmp();
  else usage(argv[0]);
  finish(mode);
  return 0;
}
