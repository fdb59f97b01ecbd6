/* One-sided communication of MPI with neighbours, of which one is late: see truth.h and spinning.h. Each mode is a run
 * of its own; with the argument `balanced` all have equal work. Truth: each rank notes when it has worked and enters MPI
 * again. A call that needs the late rank waits until that note, if it is still under way then. A flush of all may ask ranks
 * to which nothing was put: in Open MPI over messages it asks every rank.
 * mpicc -g -O1 neighbours_mpi.c -o neighbours_mpi; mpirun -np 4 ./neighbours_mpi halo */
#include <mpi.h>

#include "spinning.h"

#define WORLD MPI_COMM_WORLD
static MPI_Win created, allocated;
static double memory[256], *block, local[64], more[64];

static void barrier(int event) { BARRIER(event, MPI_Barrier(WORLD)); }
static void work(double ms) {
  if (balanced()) work_evenly(40);
  else rest(ms);
}
static int right(void) { return (me + 1) % processes; }
static int left(void) { return (me + processes - 1) % processes; }
static void put(int rank, int at) { MPI_Put(local, 64, MPI_DOUBLE, rank, at, 64, MPI_DOUBLE, created); }
/* Makes a connection to all, so that the first operation is like the others. */
static void warm(MPI_Win window) {
  MPI_Win_lock_all(0, window);
  for (int rank = 0; rank < processes; rank++) MPI_Get(more, 1, MPI_DOUBLE, rank, 0, 1, MPI_DOUBLE, window);
  MPI_Win_flush_all(window);
  barrier(240);
}

/* All put to both neighbours and flush; rank 2 is late. Where the target must help, ranks 1 and 3 wait for it in the flush,
 * and rank 0 there or in the barrier. */
static void halo(void) {
  warm(created);
  for (int round = 0; round < 10; round++) {
    work(me == 2 ? 40 : 10);
    mark(round);
    put(right(), 0);
    put(left(), 64);
    TIMED(MPI_Win_flush_all(created));
    waited_for_others(call, "wait_for_progress", round);
    barrier(100 + round);
  }
  if (!balanced()) root_cause(2);
  MPI_Win_unlock_all(created);
}

/* All put to the right and flush; another rank is late in each round. */
static void late_in_turn(void) {
  warm(created);
  for (int round = 0; round < 12; round++) {
    work(round % processes == me ? 40 : 10);
    mark(round);
    put(right(), 0);
    TIMED(MPI_Win_flush_all(created));
    waited_for_others(call, "wait_for_progress", round);
    barrier(100 + round);
  }
  MPI_Win_unlock_all(created);
}

/* All put to the right and fence; another rank is late in each round, so the work of all is equal over the run. */
static void fences_in_turn(void) {
  for (int round = 0; round < 16; round++) {
    work(round % processes == me ? 30 : 10);
    if (round) put(right(), 0);
    TOGETHER("wait_at_fence", round, MPI_Win_fence(0, created));
  }
}

/* A halo of messages and then puts with a fence; rank 2 is late. Its neighbours wait for the messages, rank 0 in the
 * fence for those that waited. */
static void messages_and_fence(void) {
  MPI_Win_fence(0, created);
  for (int round = 0; round < 12; round++) {
    MPI_Request request[4];
    work(me == 2 ? 30 : 10);
    mark(round);
    MPI_Irecv(more, 32, MPI_DOUBLE, left(), 1, WORLD, request);
    MPI_Irecv(more + 32, 32, MPI_DOUBLE, right(), 2, WORLD, request + 1);
    MPI_Isend(local, 32, MPI_DOUBLE, right(), 1, WORLD, request + 2);
    MPI_Isend(local, 32, MPI_DOUBLE, left(), 2, WORLD, request + 3);
    TIMED(MPI_Waitall(4, request, MPI_STATUSES_IGNORE));
    waited_for_some(call, "late_sender", 1u << left() | 1u << right(), round);
    put(right(), 0);
    TOGETHER("wait_at_fence", 100 + round, MPI_Win_fence(0, created));
  }
  if (!balanced()) root_cause(2);
}

/* A reduction runs while all get from the right; rank 3 begins it late. Where the target must help, rank 2 waits for
 * rank 3 in the flush, otherwise at the end of the reduction. */
static void reduction_over_gets(void) {
  warm(allocated);
  for (int round = 0; round < 8; round++) {
    MPI_Request request;
    double sum;
    work(me == 3 ? 50 : 10);
    mark(round);
    MPI_Iallreduce(local, &sum, 1, MPI_DOUBLE, MPI_SUM, WORLD, &request);
    for (int i = 0; i < 6; i++) {
      MPI_Get(more, 8, MPI_DOUBLE, right(), 0, 8, MPI_DOUBLE, allocated);
      TIMED(MPI_Win_flush(right(), allocated));
      waited_in_rounds("wait_for_progress", 1u << right(), round);
    }
    TIMED(MPI_Wait(&request, MPI_STATUS_IGNORE));
    waited_for_last("nonblocking_collective_wait", round);
  }
  barrier(250);
  if (!balanced()) root_cause(3);
  MPI_Win_unlock_all(allocated);
}

/* Rank 1 gets from rank 0, which computes and makes a call after each 40 ms. These calls wait for nothing. */
static void computing_target(void) {
  int flag;
  warm(created);
  for (int round = 0; round < 10; round++) {
    if (me == 0) {
      compute(40);
      mark(round);
      MPI_Iprobe(MPI_ANY_SOURCE, 9, WORLD, &flag, MPI_STATUS_IGNORE);
    } else {
      for (int i = 0; i < 3; i++) {
        rest(5);
        MPI_Get(more, 8, MPI_DOUBLE, 0, 0, 8, MPI_DOUBLE, created);
        TIMED(MPI_Win_flush(0, created));
        waited_for_visit("wait_for_progress", 0, 0, 11);
      }
    }
  }
  mark(10);
  barrier(250);
  MPI_Win_unlock_all(created);
}

int main(int count, char **names) {
  static const mode_t_ modes[] = {
      MODE(halo), MODE(late_in_turn), MODE(fences_in_turn), MODE(messages_and_fence), MODE(reduction_over_gets), MODE(computing_target),
  };
  MPI_Init(&count, &names);
  int rank, size;
  MPI_Comm_rank(WORLD, &rank);
  MPI_Comm_size(WORLD, &size);
  truth_begin(rank, size);
  TOGETHER("wait_at_create", 10, MPI_Win_create(memory, sizeof memory, 8, MPI_INFO_NULL, WORLD, &created));
  TOGETHER("wait_at_create", 11, MPI_Win_allocate(512, 8, MPI_INFO_NULL, WORLD, &block, &allocated));
  RUN_MODES(count, names, modes, barrier);
  TOGETHER("wait_at_free", 12, MPI_Win_free(&allocated));
  TOGETHER("wait_at_free", 13, MPI_Win_free(&created));
  truth_end();
  MPI_Finalize();
}
