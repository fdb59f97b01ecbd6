// Does what is hard on a tool that hooks calls of MPI, and checks that nothing
// of it shows in the program.
//
//   OMPI_CC=g++ MPICH_CC=g++ mpicc -O2 -g -pthread -o mpi_faults mpi_faults.cpp
//   mpirun -n 2 ./mpi_faults MODE...
//
// MODE, any number of them
//   fork       a child that calls _exit, and one that execs /bin/true
//   signals    a handler asks for its rank 1000 times a second (SIGALRM and
//              SIGPROF) while the main thread sends and receives
//   exception  C++ exceptions out of an error handler
//   longjmp    longjmp out of an error handler
//   errors     calls that fail, with MPI_ERRORS_RETURN and with a handler that
//              returns: prints what the program sees, and goes on
//   callbacks  user-defined reductions, attributes, generalised requests and
//              handlers that call MPI
//   pcontrol   MPI_Pcontrol with more arguments
//   threads    alone: 16 threads that send and receive at once
//
// Rank 0 prints "MODE ok"; if anything is wrong, a rank says what on stderr and
// aborts.
#include <mpi.h>
#include <pthread.h>
#include <setjmp.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <thread>
#include <vector>

#include "faults.h"

namespace {

constexpr int kRepeats = 20;
constexpr int kThreads = 16;
constexpr int kMessages = 25;

int me, ranks, other;

[[noreturn]] void fail(const char *what) {
  std::fprintf(stderr, "mpi_faults: rank %d: %s\n", me, what);
  MPI_Abort(MPI_COMM_WORLD, 1);
  std::abort();
}

// Ordinary calls after something unusual: all of them must still work.
void check_calls(int value) {
  int got = -1, sum = 0;
  MPI_Sendrecv(&value, 1, MPI_INT, other, 5, &got, 1, MPI_INT, other, 5, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  expect(got == value, "a message is wrong");
  MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  expect(sum == ranks * value, "a sum is wrong");
}

// ---------------------------------------------------------------------- fork

void run_fork() {
  for (int i = 0; i < 3; i++) {
    fork_two_children();
    check_calls(i);
  }
}

// ------------------------------------------------------------------- signals

volatile sig_atomic_t handled, wrong;

void on_signal(int) {
  int rank = -1;
  handled = handled + 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank != me) wrong = 1;
}

void run_signals() {
  start_signals(on_signal);
  // To itself, so that no other process has a say in how long it takes.
  for (int i = 0; i < 200000 && handled < 100; i++) {
    int got = -1;
    MPI_Sendrecv(&i, 1, MPI_INT, 0, 1, &got, 1, MPI_INT, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    expect(got == i, "a message to itself is wrong");
  }
  stop_signals();
  expect(handled && !wrong, "no signal, or a wrong rank in the handler");
  check_calls(1);
}

// ----------------------------------------------- leaving a call by other ways

MPI_Errhandler before_handler;
jmp_buf jump;
int handler_calls;

void set_handler(MPI_Comm_errhandler_function *function) {
  MPI_Errhandler handler;
  MPI_Comm_get_errhandler(MPI_COMM_WORLD, &before_handler);
  MPI_Comm_create_errhandler(function, &handler);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
  MPI_Errhandler_free(&handler);
}

void reset_handler() {
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, before_handler);
  MPI_Errhandler_free(&before_handler);
}

void on_error_throw(MPI_Comm *, int *, ...) { throw std::runtime_error("thrown in a handler"); }
void on_error_jump(MPI_Comm *, int *, ...) { longjmp(jump, 1); }
void on_error_count(MPI_Comm *, int *code, ...) {
  int initialised = 0, kind = 0;
  MPI_Initialized(&initialised);
  MPI_Error_class(*code, &kind);
  if (initialised && kind) handler_calls++;
}

void run_exception() {
  set_handler(on_error_throw);
  for (int i = 0; i < kRepeats; i++) {
    bool caught = false;
    try {
      Counted counted;
      MPI_Comm_call_errhandler(MPI_COMM_WORLD, MPI_ERR_OTHER);
    } catch (const std::runtime_error &error) {
      caught = std::strcmp(error.what(), "thrown in a handler") == 0;
    }
    expect(caught && Counted::alive == 0, "the exception did not come through");
    check_calls(i);
  }
  reset_handler();
}

void run_longjmp() {
  static volatile int i;
  set_handler(on_error_jump);
  for (i = 0; i < kRepeats; i = i + 1) {
    if (setjmp(jump) == 0) {
      int value = 1;
      MPI_Send(&value, 1, MPI_INT, ranks + 97, 0, MPI_COMM_WORLD);
      fail("came back from longjmp");
    }
    check_calls(i);
  }
  reset_handler();
}

// -------------------------------------------------------------------- errors

void tell(const char *what, int code) {
  int kind = 0, length = 0;
  char text[MPI_MAX_ERROR_STRING];
  MPI_Error_class(code, &kind);
  MPI_Error_string(kind, text, &length);
  if (me == 0) std::printf("%s: %d, %s\n", what, kind, text);
}

// A message that is longer than where it is received to.
int send_too_long(int tag) {
  int four[4] = {1, 2, 3, 4};
  return MPI_Send(four, 4, MPI_INT, other, tag, MPI_COMM_WORLD);
}

void make_errors(MPI_Win window) {
  int value = 1, place[4] = {0};
  MPI_Request request, two[2];
  MPI_Status status, statuses[2];
  tell("send", MPI_Send(&value, 1, MPI_INT, ranks + 97, 0, MPI_COMM_WORLD));
  tell("isend", MPI_Isend(&value, 1, MPI_INT, ranks + 97, 0, MPI_COMM_WORLD, &request));
  tell("negative tag", MPI_Send(&value, 1, MPI_INT, other, -77, MPI_COMM_WORLD));
  tell("no type", MPI_Send(&value, 1, MPI_DATATYPE_NULL, other, 0, MPI_COMM_WORLD));
  tell("no communicator", MPI_Send(&value, 1, MPI_INT, other, 0, MPI_COMM_NULL));
  tell("sendrecv", MPI_Sendrecv(&value, 1, MPI_INT, ranks + 97, 0, place, 1, MPI_INT, other, 0,
                                MPI_COMM_WORLD, &status));
  tell("bcast", MPI_Bcast(&value, 1, MPI_INT, ranks + 97, MPI_COMM_WORLD));
  tell("dup", MPI_Comm_dup(MPI_COMM_WORLD, nullptr));
  tell("wait", MPI_Wait(nullptr, MPI_STATUS_IGNORE));
  tell("waitall", MPI_Waitall(2, nullptr, MPI_STATUSES_IGNORE));
  tell("start", MPI_Start(nullptr));
  tell("put", MPI_Put(&value, 1, MPI_INT, ranks + 97, 0, 1, MPI_INT, window));
  tell("no window", MPI_Win_flush_all(MPI_WIN_NULL));

  send_too_long(11);
  tell("recv", MPI_Recv(place, 1, MPI_INT, other, 11, MPI_COMM_WORLD, &status));
  MPI_Irecv(place, 1, MPI_INT, other, 12, MPI_COMM_WORLD, &request);
  send_too_long(12);
  tell("wait", MPI_Wait(&request, MPI_STATUS_IGNORE));
  expect(request == MPI_REQUEST_NULL, "a request that failed is still there");
  MPI_Irecv(place, 1, MPI_INT, other, 13, MPI_COMM_WORLD, &two[0]);
  MPI_Irecv(place, 4, MPI_INT, other, 14, MPI_COMM_WORLD, &two[1]);
  send_too_long(13);
  send_too_long(14);
  int code = MPI_Waitall(2, two, statuses);
  tell("waitall", code);
  tell("waitall, first", statuses[0].MPI_ERROR);
  if (statuses[1].MPI_ERROR == MPI_ERR_PENDING) MPI_Wait(&two[1], MPI_STATUS_IGNORE);
  MPI_Irecv(place, 1, MPI_INT, other, 15, MPI_COMM_WORLD, &two[0]);
  MPI_Irecv(place, 1, MPI_INT, other, 15, MPI_COMM_WORLD, &two[1]);
  send_too_long(15);
  send_too_long(15);
  // Nothing says which of them are complete, but for the requests themselves: a
  // library may have given up at the first.
  tell("waitall, no statuses", MPI_Waitall(2, two, MPI_STATUSES_IGNORE));
  int counted = handler_calls;
  for (MPI_Request &left : two) MPI_Wait(&left, MPI_STATUS_IGNORE);
  handler_calls = counted;
  check_calls(3);
}

void run_errors() {
  MPI_Win window;
  int *memory;
  MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
  MPI_Win_set_errhandler(window, MPI_ERRORS_RETURN);
  MPI_Win_lock_all(0, window);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  make_errors(window);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  set_handler(on_error_count);
  make_errors(window);
  if (me == 0) std::printf("handler: %d calls\n", handler_calls);
  reset_handler();
  MPI_Win_unlock_all(window);
  MPI_Win_free(&window);
}

// ----------------------------------------------------------------- callbacks

int callbacks;

// As a library of numbers does: asks what it is given, and packs.
void add(void *in, void *into, int *count, MPI_Datatype *type) {
  int size = 0, at = 0, length = 0;
  char packed[64];
  MPI_Type_size(*type, &size);
  MPI_Pack_size(1, *type, MPI_COMM_SELF, &length);
  MPI_Pack(in, 1, *type, packed, sizeof packed, &at, MPI_COMM_SELF);
  expect(size == 4 && length >= 4 && at >= 4, "sizes inside a reduction");
  for (int i = 0; i < *count; i++) static_cast<int *>(into)[i] += static_cast<int *>(in)[i];
  callbacks++;
}

// Libraries keep a communicator of their own with the program's, and give it
// back with it.
int copied(MPI_Comm, int, void *, void *value, void *into, int *flag) {
  MPI_Comm *mine = new MPI_Comm;
  MPI_Comm_dup(*static_cast<MPI_Comm *>(value), mine);
  *static_cast<void **>(into) = mine;
  *flag = 1;
  callbacks++;
  return MPI_SUCCESS;
}

int deleted(MPI_Comm, int, void *value, void *) {
  MPI_Comm_free(static_cast<MPI_Comm *>(value));
  delete static_cast<MPI_Comm *>(value);
  callbacks++;
  return MPI_SUCCESS;
}

int queried(void *, MPI_Status *status) {
  MPI_Status_set_elements(status, MPI_INT, 3);
  MPI_Status_set_cancelled(status, 0);
  status->MPI_SOURCE = 0;
  status->MPI_TAG = 8;
  callbacks++;
  return MPI_SUCCESS;
}
int freed(void *) { return MPI_SUCCESS; }
int cancelled(void *, int) { return MPI_SUCCESS; }

void run_callbacks() {
  MPI_Op op;
  MPI_Op_create(add, 1, &op);
  int key, value = me + 1, sum = 0;
  MPI_Comm_create_keyval(copied, deleted, &key, nullptr);
  for (int i = 0; i < kRepeats; i++) {
    MPI_Allreduce(&value, &sum, 1, MPI_INT, op, MPI_COMM_WORLD);
    expect(sum == ranks * (ranks + 1) / 2, "a reduction of our own");

    MPI_Comm outer, copy, *inner = new MPI_Comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &outer);
    MPI_Comm_dup(i % 2 ? MPI_COMM_SELF : MPI_COMM_WORLD, inner);
    MPI_Comm_set_attr(outer, key, inner);
    MPI_Comm_dup(outer, &copy);
    int there = 0;
    MPI_Comm_get_attr(copy, key, &inner, &there);
    MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, *inner);
    expect(there && sum == (i % 2 ? value : ranks * (ranks + 1) / 2), "what a callback made");
    MPI_Comm_free(&outer);
    // Takes handles that callbacks gave back, for others than before.
    MPI_Comm half;
    MPI_Comm_split(MPI_COMM_WORLD, me, 0, &half);
    MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, half);
    expect(sum == value, "a sum alone");
    MPI_Comm_free(&half);
    MPI_Comm_free(&copy);

    MPI_Request request;
    MPI_Status status;
    int count = 0;
    MPI_Grequest_start(queried, freed, cancelled, nullptr, &request);
    MPI_Grequest_complete(request);
    MPI_Wait(&request, &status);
    MPI_Get_count(&status, MPI_INT, &count);
    expect(count == 3 && status.MPI_TAG == 8, "a generalised request");
  }
  MPI_Op_free(&op);
  MPI_Comm_free_keyval(&key);
  expect(callbacks >= 4 * kRepeats, "callbacks were not called");
  check_calls(2);
}

void run_pcontrol() {
  MPI_Pcontrol(1);
  MPI_Pcontrol(3);
  check_calls(4);
  MPI_Pcontrol(2, "a text", 3, 4.5, &me);
  MPI_Pcontrol(1, 1, 2, 3, 4, 5, 6, 7, 8);
  check_calls(5);
}

// ------------------------------------------------------------------- threads

pthread_barrier_t together;

void thread_calls(int index) {
  pthread_barrier_wait(&together);
  std::vector<int> out(index + 1, me * 1000 + index), in(index + 1);
  for (int i = 0; i < kMessages; i++) {
    MPI_Request request;
    MPI_Irecv(in.data(), index + 1, MPI_INT, other, index, MPI_COMM_WORLD, &request);
    MPI_Send(out.data(), index + 1, MPI_INT, other, index, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    expect(in[index] == other * 1000 + index, "a thread got another thread's message");
  }
  pthread_barrier_wait(&together);
}

void run_threads() {
  std::vector<std::thread> threads;
  pthread_barrier_init(&together, nullptr, kThreads);
  for (int i = 0; i < kThreads; i++) threads.emplace_back(thread_calls, i);
  for (std::thread &thread : threads) thread.join();
  check_calls(1);
}

}  // namespace

int main(int argc, char **argv) {
  int provided = MPI_THREAD_SINGLE;
  if (argc > 1 && std::strcmp(argv[1], "threads") == 0) {
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    if (provided != MPI_THREAD_MULTIPLE) return 3;
  } else {
    MPI_Init(&argc, &argv);
  }
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  other = ranks - 1 - me;
  const struct {
    const char *name;
    void (*run)();
  } modes[] = {{"fork", run_fork},           {"signals", run_signals},
               {"exception", run_exception}, {"longjmp", run_longjmp},
               {"errors", run_errors},       {"callbacks", run_callbacks},
               {"pcontrol", run_pcontrol},   {"threads", run_threads}};
  for (int i = 1; i < argc; i++) {
    for (const auto &mode : modes)
      if (std::strcmp(argv[i], mode.name) == 0) mode.run();
    MPI_Barrier(MPI_COMM_WORLD);
    if (me == 0) std::printf("%s ok\n", argv[i]);
    std::fflush(stdout);
  }
  MPI_Finalize();
  return 0;
}
