/* Completion in MPI, with 2 ranks or more: operations that are complete at their origin when the call returns, which waits
 * for the target in some libraries and not in others, and flushes without operations. See complete.h.
 * mpicc -g -O1 complete_mpi.c -o complete_mpi; mpirun -np 3 ./complete_mpi put accumulate ... */
#include <mpi.h>

#include "complete.h"

#define WORLD MPI_COMM_WORLD
#define COUNT 4096
static MPI_Win window;
static double *memory, local[COUNT];
static MPI_Request request;

static void barrier(int event) { BARRIER(event, MPI_Barrier(WORLD)); }

static void put_to(int rank) { MPI_Put(local, COUNT, MPI_DOUBLE, rank, 0, COUNT, MPI_DOUBLE, window); }
static void add_to(int rank) {
  MPI_Accumulate(local, COUNT, MPI_DOUBLE, rank, 0, COUNT, MPI_DOUBLE, MPI_SUM, window);
}
static void flush(int round) {
  TIMED(MPI_Win_flush(0, window));
  waited_for_target(round);
}

static void put_flush_local(void) {
  for (int round = 0; round < ROUNDS; round++) {
    if (is_origin(round)) {
      put_to(0);
      TIMED(MPI_Win_flush_local(0, window));
      waited_for_target(round);
      flush(round);
    }
    barrier(100 + round);
  }
}
static void accumulate_flush_local(void) {
  for (int round = 0; round < ROUNDS; round++) {
    if (is_origin(round)) {
      add_to(0);
      TIMED(MPI_Win_flush_local(0, window));
      waited_for_target(round);
      flush(round);
    }
    barrier(100 + round);
  }
}
static void put_wait(void) {
  for (int round = 0; round < ROUNDS; round++) {
    if (is_origin(round)) {
      MPI_Rput(local, COUNT, MPI_DOUBLE, 0, 0, COUNT, MPI_DOUBLE, window, &request);
      TIMED(MPI_Wait(&request, MPI_STATUS_IGNORE));
      waited_for_target(round);
      flush(round);
    }
    barrier(100 + round);
  }
}
static void accumulate_wait(void) {
  for (int round = 0; round < ROUNDS; round++) {
    if (is_origin(round)) {
      MPI_Raccumulate(local, COUNT, MPI_DOUBLE, 0, 0, COUNT, MPI_DOUBLE, MPI_SUM, window, &request);
      TIMED(MPI_Wait(&request, MPI_STATUS_IGNORE));
      waited_for_target(round);
      flush(round);
    }
    barrier(100 + round);
  }
}
/* To all others, whom a call completes together. */
static void accumulate_flush_local_all(void) {
  for (int round = 0; round < ROUNDS; round++) {
    if (is_origin(round)) {
      for (int rank = 0; rank < processes; rank++)
        if (rank != me) add_to(rank);
      TIMED(MPI_Win_flush_local_all(window));
      waited_for_targets(round);
      TIMED(MPI_Win_flush_all(window));
      waited_for_targets(round);
    }
    barrier(100 + round);
  }
}
static void empty_flush_all(void) {
  for (int round = 0; round < ROUNDS; round++) {
    if (is_origin(round)) {
      TIMED(MPI_Win_flush_all(window));
      waited_for_targets(round);
    }
    barrier(100 + round);
  }
}

int main(int count, char **names) {
  const mode_t_ modes[] = {
      MODE(put_flush_local), MODE(accumulate_flush_local),     MODE(put_wait),
      MODE(accumulate_wait), MODE(accumulate_flush_local_all), MODE(empty_flush_all),
  };
  MPI_Init(&count, &names);
  int rank, size;
  MPI_Comm_rank(WORLD, &rank);
  MPI_Comm_size(WORLD, &size);
  truth_begin(rank, size);
  MPI_Win_allocate(COUNT * sizeof *memory, sizeof *memory, MPI_INFO_NULL, WORLD, &memory, &window);
  memset(memory, 0, COUNT * sizeof *memory);
  MPI_Win_lock_all(0, window);
  for (int other = 0; other < size; other++) MPI_Get(local, 1, MPI_DOUBLE, other, 0, 1, MPI_DOUBLE, window);
  MPI_Win_flush_all(window);
  barrier(0);
  RUN_MODES(count, names, modes, barrier);
  MPI_Win_unlock_all(window);
  MPI_Win_free(&window);
  truth_end();
  MPI_Finalize();
  return 0;
}
