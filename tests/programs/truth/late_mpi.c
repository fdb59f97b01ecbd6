/* Ranks that are late for different reasons, and calls of MPI that wait for them: see truth.h and spinning.h. Each mode is
 * a run of its own; with the argument `balanced` no rank is late. Truth: each rank notes when it reaches the call for which
 * others wait.
 * mpicc -g -O1 late_mpi.c -o late_mpi -lpthread; mpirun -np 5 ./late_mpi pipeline */
#define _GNU_SOURCE
#include <mpi.h>
#include <pthread.h>

#include "spinning.h"

#define WORLD MPI_COMM_WORLD
#define LARGE (8 << 20)
static MPI_Win window;
static double *memory, word[16];
static char *large;

static void barrier(int event) { BARRIER(event, MPI_Barrier(WORLD)); }
static void work(double ms) {
  if (balanced()) work_evenly(40);
  else rest(ms);
}

/* Items pass through all ranks by synchronous sends; rank 2 needs longest for each. Those after it wait for it in receives,
 * those before it in sends. */
static void pipeline(void) {
  int items = 14;
  double ms = balanced() ? 20 : me == 2 ? 30 : 8;
  for (int item = 0; item < items; item++) {
    if (me > 0) {
      mark(100 + item);
      TIMED(MPI_Recv(word, 1, MPI_DOUBLE, me - 1, 1, WORLD, MPI_STATUS_IGNORE));
      waited("late_sender", me - 1, item);
    }
    rest(ms);
    if (me < processes - 1) {
      mark(item);
      TIMED(MPI_Ssend(word, 1, MPI_DOUBLE, me + 1, 1, WORLD));
      waited("late_receiver", me + 1, 100 + item);
    }
  }
  barrier(250);
  if (!balanced()) root_cause(2);
}

/* Rank 0 writes a file and waits for the disk before the barrier. */
static void file_on_disk(void) {
  FILE *file = me ? 0 : tmpfile();
  for (int round = 0; round < 8; round++) {
    if (balanced()) work_evenly(20);
    else rest(10);
    if (file && !balanced()) {
      rewind(file);
      if (fwrite(large, 1, LARGE, file) != LARGE || fflush(file) || fsync(fileno(file))) exit(9);
    }
    barrier(round);
  }
  if (!balanced()) root_cause(0);
}

/* Rank 1 sums over new memory in each round, the others over memory that they have touched before. */
static void first_touch(void) {
  size_t bytes = 24 << 20;
  char *old = malloc(bytes);
  memset(old, 1, bytes);
  for (int round = 0; round < 6; round++) {
    char *at = old;
    if (balanced()) work_evenly(80);
    else if (me == 1) at = mmap(0, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (!balanced()) {
      madvise(at, bytes, MADV_NOHUGEPAGE);
      for (size_t i = 0; i < bytes; i += 64) sink += at[i] = (char)i;
    }
    if (at != old) munmap(at, bytes);
    TOGETHER("wait_at_fence", round, MPI_Win_fence(0, window));
  }
  free(old);
}

/* A second thread of rank 1 takes half of its core. */
static volatile int stop;
static void *take_core(void *nothing) {
  while (!stop) sink += 1;
  return nothing;
}
static void second_thread(void) {
  pthread_t thread;
  cpu_set_t cores;
  CPU_ZERO(&cores);
  CPU_SET(me % 2, &cores);
  sched_setaffinity(0, sizeof cores, &cores);
  if (me == 1 && !balanced()) pthread_create(&thread, 0, take_core, 0);
  for (int round = 0; round < 10; round++) {
    volatile double sum = 0;
    for (int i = 0; i < 8000000; i++) sum += i * 0.5;
    TOGETHER("nxn_wait", round, MPI_Allreduce(word, word + 1, 1, MPI_DOUBLE, MPI_SUM, WORLD));
  }
  stop = 1;
  if (me == 1 && !balanced()) pthread_join(thread, 0);
}

/* Rank 5 is late, and its delay goes on to rank 4 by a message, to 3 by an epoch, to 2 by a broadcast, to 1 and 0 by
 * messages, and to all by a barrier. */
static void six_kinds(void) {
  MPI_Comm pair;
  MPI_Group all, other;
  MPI_Comm_split(WORLD, me == 2 || me == 3, -me, &pair);
  MPI_Comm_group(WORLD, &all);
  barrier(240);
  for (int round = 0; round < 5; round++) {
    if (balanced()) work_evenly(60);
    else rest(me == 5 ? 60 : 5);
    int e = 10 * round, partner = me == 3 ? 4 : 3;
    MPI_Group_incl(all, 1, &partner, &other);
    if (me == 5) {
      mark(e);
      MPI_Send(word, 1, MPI_DOUBLE, 4, 1, WORLD);
    }
    if (me == 4) {
      TIMED(MPI_Recv(word, 1, MPI_DOUBLE, 5, 1, WORLD, MPI_STATUS_IGNORE));
      waited("late_sender", 5, e);
      mark(e + 1);
      MPI_Win_post(other, 0, window);
      MPI_Win_wait(window);
    }
    if (me == 3) {
      TIMED(MPI_Win_start(other, 0, window));
      waited("late_post", 4, e + 1);
      MPI_Put(word, 1, MPI_DOUBLE, 4, 0, 1, MPI_DOUBLE, window);
      TIMED(MPI_Win_complete(window));
      waited("late_post", 4, e + 1);
      mark(e + 2);
      MPI_Bcast(word, 1, MPI_DOUBLE, 0, pair);
    }
    if (me == 2) {
      TIMED(MPI_Bcast(word, 1, MPI_DOUBLE, 0, pair));
      waited("late_broadcast", 3, e + 2);
      mark(e + 3);
      MPI_Send(word, 1, MPI_DOUBLE, 1, 2, WORLD);
    }
    if (me == 1) {
      TIMED(MPI_Recv(word, 1, MPI_DOUBLE, 2, 2, WORLD, MPI_STATUS_IGNORE));
      waited("late_sender", 2, e + 3);
      mark(e + 4);
      MPI_Send(word, 1, MPI_DOUBLE, 0, 3, WORLD);
    }
    if (me == 0) {
      TIMED(MPI_Recv(word, 1, MPI_DOUBLE, 1, 3, WORLD, MPI_STATUS_IGNORE));
      waited("late_sender", 1, e + 4);
    }
    MPI_Group_free(&other);
    barrier(100 + round);
  }
  if (!balanced()) root_cause(5);
}

/* Rank 1 sends much to rank 0, which has begun to receive and then computes: the sender waits for it. Rank 0 itself waits
 * for no other rank, because nothing could move before it returned. */
static void own_fault(void) {
  MPI_Request request;
  for (int round = 0; round < 6; round++) {
    if (me == 0) {
      MPI_Irecv(large, LARGE, MPI_CHAR, 1, 1, WORLD, &request);
      mark(round);
      await(1, 20 + round);
      rest(60);
      mark(40 + round);
      TIMED(MPI_Wait(&request, MPI_STATUS_IGNORE));
      waited_known(call, "wait_for_progress", 1, 0);
    } else {
      await(0, round);
      MPI_Isend(large, LARGE, MPI_CHAR, 0, 1, WORLD, &request);
      mark(20 + round);
      TIMED(MPI_Wait(&request, MPI_STATUS_IGNORE));
      waited("wait_for_progress", 0, 40 + round);
    }
    barrier(100 + round);
  }
}

/* Two threads of rank 0 wait at the same time: for rank 1, and for rank 2, which is later. */
static call_t of_thread;
static void *receive_too(void *nothing) {
  of_thread.begin = now();
  of_thread.line = __LINE__ + 1;
  MPI_Recv(word + 1, 1, MPI_DOUBLE, 2, 2, WORLD, MPI_STATUS_IGNORE);
  of_thread.end = now();
  return nothing;
}
static void two_threads(void) {
  for (int round = 0; round < 4; round++) {
    if (me == 0) {
      pthread_t thread;
      work(0);
      pthread_create(&thread, 0, receive_too, 0);
      TIMED(MPI_Recv(word, 1, MPI_DOUBLE, 1, 1, WORLD, MPI_STATUS_IGNORE));
      pthread_join(thread, 0);
      waited("late_sender", 1, round);
      waited_in(of_thread, "late_sender", 2, round);
    } else {
      work(60 * me);
      mark(round);
      MPI_Send(word, 1, MPI_DOUBLE, 0, me, WORLD);
    }
    barrier(100 + round);
  }
  if (!balanced()) root_cause(2);
}

/* Rank 0 tests for messages of all others, of which rank 4 sends last, and then broadcasts: the others wait there for rank 0,
 * which only passes the delay of rank 4 on. */
static void testsome(void) {
  static const double times[] = {0, 10, 20, 10, 60, 10};
  for (int round = 0; round < 6; round++) {
    work(times[me]);
    if (me == 0) {
      MPI_Request request[16];
      int count = processes - 1, left = count, some, which[16];
      for (int rank = 1; rank <= count; rank++) MPI_Irecv(word + rank, 1, MPI_DOUBLE, rank, 1, WORLD, request + rank - 1);
      TIMED(while (left) { MPI_Testsome(count, request, &some, which, MPI_STATUSES_IGNORE); if (some > 0) left -= some; sched_yield(); });
      waited_for_others(call, "polling", round);
      mark(100 + round);
      MPI_Bcast(word, 1, MPI_DOUBLE, 0, WORLD);
    } else {
      mark(round);
      MPI_Send(word, 1, MPI_DOUBLE, 0, 1, WORLD);
      TIMED(MPI_Bcast(word, 1, MPI_DOUBLE, 0, WORLD));
      waited("late_broadcast", 0, 100 + round);
    }
  }
  barrier(250);
  if (!balanced()) root_cause(4);
}

/* All do the same work, but share too few cores: no rank is the cause. */
static void crowd(void) {
  for (int round = 0; round < 20; round++) {
    volatile double sum = 0;
    for (int i = 0; i < 2000000; i++) sum += i * 0.5;
    barrier(round);
  }
  root_cause(-1);
}

int main(int count, char **names) {
  static const mode_t_ modes[] = {
      MODE(pipeline),  MODE(file_on_disk), MODE(first_touch), MODE(second_thread), MODE(six_kinds),
      MODE(own_fault), MODE(two_threads),  MODE(testsome),    MODE(crowd),
  };
  int rank, size, provided;
  int threads = count > 1 && !strncmp(names[1], "two_threads", 11);
  MPI_Init_thread(&count, &names, threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
  MPI_Comm_rank(WORLD, &rank);
  MPI_Comm_size(WORLD, &size);
  truth_begin(rank, size);
  large = calloc(1, LARGE);
  memset(large, 1, LARGE);
  /* Windows of Open MPI over messages need a program without threads. */
  if (!threads) TOGETHER("wait_at_create", 10, MPI_Win_allocate(512, 8, MPI_INFO_NULL, WORLD, &memory, &window));
  RUN_MODES(count, names, modes, barrier);
  if (!threads) TOGETHER("wait_at_free", 11, MPI_Win_free(&window));
  truth_end();
  MPI_Finalize();
}
