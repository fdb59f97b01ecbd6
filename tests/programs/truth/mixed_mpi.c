/* Waits of MPI where fast and slow paths, early starts and several culprits meet, with 4 ranks or more: see truth.h.
 * Rank 0 computes unless a mode says otherwise. mpicc -g -O1 mixed_mpi.c -o mixed_mpi */
#include <mpi.h>

#include "truth.h"

#define WORLD MPI_COMM_WORLD
#define LARGE (4 << 20)
/* Both are locked by all, and every rank has had an operation on every other. */
static MPI_Win allocated, dynamic;
static MPI_Aint addresses[PROCESSES];
static long *memory, outside[64], local[256];
static char *large;
static void barrier(int event) { BARRIER(event, MPI_Barrier(WORLD)); }

/* Rank 1 gets from a window that MPI allocated and from a dynamic one in turn, each time while rank 0 computes. */
static void two_windows(void) {
  for (int i = 0; i < 3; i++) {
    barrier(8 * i + 3);
    if (me == 0) {
      mark(8 * i + 2);
      rest(40);
      mark(8 * i + 1);
    }
    if (me == 1) {
      await(0, 8 * i + 2);
      MPI_Get(local, 1, MPI_LONG, 0, 0, 1, MPI_LONG, allocated);
      TIMED(MPI_Win_flush(0, allocated));
      waited("wait_for_progress", 0, 8 * i + 1);
      MPI_Get(local, 1, MPI_LONG, 0, addresses[0], 1, MPI_LONG, dynamic);
      TIMED(MPI_Win_flush(0, dynamic));
      waited("wait_for_progress", 0, 8 * i + 1);
    }
  }
}
/* Rank 1 puts early, computes, and waits for what is left. */
static void early_put(void) {
  if (me == 0) {
    mark(2);
    rest(120);
    mark(1);
  } else if (me == 1) {
    await(0, 2);
    MPI_Put(local, 8, MPI_LONG, 0, addresses[0], 8, MPI_LONG, dynamic);
    rest(60);
    TIMED(MPI_Win_flush(0, dynamic));
    waited("wait_for_progress", 0, 1);
  }
}
/* Rank 1 puts to all others, which compute for different times, and waits for all. */
static void many_targets(void) {
  if (me != 1) {
    mark(2);
    rest(40 + 30 * me);
    mark(1);
    return;
  }
  for (int rank = 0; rank < processes; rank++)
    if (rank != 1) await(rank, 2);
  for (int rank = 0; rank < processes; rank++)
    if (rank != 1) MPI_Put(local, 8, MPI_LONG, rank, addresses[rank], 8, MPI_LONG, dynamic);
  TIMED(MPI_Win_flush_all(dynamic));
  waited("wait_for_progress", processes - 1, 1);
}
/* All others add to a counter of rank 0, which serves them in a receive after a delay. */
static void counter_of_late_receiver(void) {
  long one = 1, before;
  if (me == 0) {
    mark(3);
    rest(80);
    mark(1);
    TIMED(MPI_Recv(local, 1, MPI_LONG, processes - 1, 4, WORLD, MPI_STATUS_IGNORE));
    waited("late_sender", processes - 1, 2);
    return;
  }
  await(0, 3);
  MPI_Fetch_and_op(&one, &before, MPI_LONG, 0, addresses[0] + 64, MPI_SUM, dynamic);
  TIMED(MPI_Win_flush(0, dynamic));
  waited("wait_for_progress", 0, 1);
  if (me != processes - 1) return;
  rest(60);
  mark(2);
  MPI_Send(local, 1, MPI_LONG, 0, 4, WORLD);
}
/* A get completed by MPI_Waitall with a large message: the receiver is later than the target. */
static void message_and_get(void) {
  MPI_Request request[2];
  if (me == 0) {
    mark(2);
    rest(50);
    mark(1);
    MPI_Barrier(MPI_COMM_SELF);
  } else if (me == 2) {
    rest(120);
    mark(1);
    MPI_Recv(large, LARGE, MPI_CHAR, 1, 6, WORLD, MPI_STATUS_IGNORE);
  } else if (me == 1) {
    await(0, 2);
    MPI_Rget(local, 1, MPI_LONG, 0, addresses[0], 1, MPI_LONG, dynamic, request);
    MPI_Isend(large, LARGE, MPI_CHAR, 2, 6, WORLD, request + 1);
    TIMED(MPI_Waitall(2, request, MPI_STATUSES_IGNORE));
    waited("late_receiver", 2, 1);
  }
}
/* A pipeline of messages: every rank waits for the one before. */
static void pipeline(void) {
  for (int i = 0; i < 3; i++) {
    if (me) {
      TIMED(MPI_Recv(local, 8, MPI_LONG, me - 1, 3, WORLD, MPI_STATUS_IGNORE));
      waited("late_sender", me - 1, 1 + i);
    }
    rest(25);
    mark(1 + i);
    if (me < processes - 1) MPI_Send(local, 8, MPI_LONG, me + 1, 3, WORLD);
  }
}
/* A tree of sums over messages; the last leaf is late, and the delay goes up to the root. */
static void tree(void) {
  if (me == processes - 1) rest(90);
  for (int step = 1; step < processes; step *= 2) {
    if (me % (2 * step)) {
      mark(1);
      MPI_Send(local, 8, MPI_LONG, me - step, 8, WORLD);
      return;
    }
    if (me + step < processes) {
      TIMED(MPI_Recv(local, 8, MPI_LONG, me + step, 8, WORLD, MPI_STATUS_IGNORE));
      waited("late_sender", me + step, 1);
    }
  }
}
/* Different ranks are late to collectives in one line. */
static void late_in_turn(void) {
  for (int i = 0; i < 6; i++) {
    if (me == i % processes) rest(20 + 10 * i);
    mark(1 + i);
    TIMED(MPI_Allreduce(local, local + 64, 8, MPI_LONG, MPI_SUM, WORLD));
    waited_for_last("nxn_wait", 1 + i);
  }
}

int main(int count, char **names) {
  static const mode_t_ modes[] = {
      MODE(two_windows), MODE(early_put), MODE(many_targets), MODE(counter_of_late_receiver),
      MODE(message_and_get), MODE(pipeline), MODE(tree), MODE(late_in_turn),
  };
  MPI_Init(&count, &names);
  int rank, size;
  MPI_Comm_rank(WORLD, &rank);
  MPI_Comm_size(WORLD, &size);
  truth_begin(rank, size);
  large = calloc(1, LARGE);
  MPI_Win_allocate(4096, 1, MPI_INFO_NULL, WORLD, &memory, &allocated);
  memset(memory, 0, 4096);
  MPI_Win_create_dynamic(MPI_INFO_NULL, WORLD, &dynamic);
  MPI_Win_attach(dynamic, outside, sizeof outside);
  MPI_Aint own;
  MPI_Get_address(outside, &own);
  MPI_Allgather(&own, 1, MPI_AINT, addresses, 1, MPI_AINT, WORLD);
  MPI_Win_lock_all(0, allocated);
  MPI_Win_lock_all(0, dynamic);
  for (int i = 0; i < size; i++) {
    MPI_Get(local, 1, MPI_LONG, i, 0, 1, MPI_LONG, allocated);
    MPI_Get(local, 1, MPI_LONG, i, addresses[i], 1, MPI_LONG, dynamic);
  }
  MPI_Win_flush_all(allocated);
  MPI_Win_flush_all(dynamic);
  barrier(0);
  RUN_MODES(count, names, modes, barrier);
  MPI_Win_unlock_all(dynamic);
  MPI_Win_unlock_all(allocated);
  MPI_Win_detach(dynamic, outside);
  barrier(2);
  MPI_Win_free(&dynamic);
  MPI_Win_free(&allocated);
  truth_end();
  MPI_Finalize();
}
