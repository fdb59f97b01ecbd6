/* OpenSHMEM and MPI in one program, over different transports, with 3 processes or more: see truth.h.
 * Process 1 waits for process 0 with one, the other, and both in turn.
 * oshcc -g -O1 two_runtimes.c -o two_runtimes; oshrun -mca osc pt2pt -x UCX_TLS=sm,self ./two_runtimes in_turn */
#include <mpi.h>
#include <shmem.h>

#include "truth.h"

static long *heap, in_static[8], local[8], *memory;
static MPI_Win window;
static void barrier(int event) { BARRIER(event, shmem_barrier_all()); }

/* Gets from the heap, a window and static data, one after the other, each while process 0 computes. */
static void in_turn(void) {
  for (int i = 0; i < 3; i++) {
    for (int what = 0; what < 3; what++) {
      int event = 15 * i + 5 * what;
      barrier(event + 3);
      if (me == 0) {
        mark(event + 2);
        rest(30);
        mark(event + 1);
      }
      if (me != 1) continue;
      await(0, event + 2);
      if (what == 0) {
        TIMED(shmem_long_get(local, heap, 1, 0));
      } else if (what == 1) {
        MPI_Get(local, 1, MPI_LONG, 0, 0, 1, MPI_LONG, window);
        TIMED(MPI_Win_flush(0, window));
      } else {
        TIMED(shmem_long_get(local, in_static, 1, 0));
      }
      waited("wait_for_progress", 0, event + 1);
    }
  }
}
/* A message of MPI is late, then a flag of OpenSHMEM. */
static void message_and_flag(void) {
  static long round;
  round++;
  if (me == 1) {
    TIMED(MPI_Recv(local, 1, MPI_LONG, 2, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    waited("late_sender", 2, 1);
    TIMED(shmem_long_wait_until(heap + 1, SHMEM_CMP_GE, round));
    waited("late_signal", 0, 1);
  } else if (me == 2) {
    rest(50);
    mark(1);
    MPI_Send(local, 1, MPI_LONG, 1, 1, MPI_COMM_WORLD);
  } else if (me == 0) {
    rest(100);
    mark(1);
    shmem_long_p(heap + 1, round, 1);
    shmem_quiet();
  }
}
/* All do the same with both. */
static void balanced(void) {
  int left = (me + processes - 1) % processes, right = (me + 1) % processes;
  for (int i = 0; i < 9; i++) {
    rest(5);
    barrier(6 * i);
    shmem_long_get(local, heap, 1, right);
    mark(6 * i + 2);
    TIMED(MPI_Sendrecv(local, 1, MPI_LONG, right, 3, local + 4, 1, MPI_LONG, left, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    waited("late_sender", left, 6 * i + 2);
    barrier(6 * i + 3);
  }
}

int main(int count, char **names) {
  static const mode_t_ modes[] = {MODE(in_turn), MODE(message_and_flag), MODE(balanced)};
  MPI_Init(&count, &names);
  shmem_init();
  truth_begin(shmem_my_pe(), shmem_n_pes());
  TOGETHER("wait_at_create", 10, heap = shmem_calloc(8, sizeof *heap));
  TOGETHER("wait_at_create", 11, MPI_Win_allocate(64, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window));
  MPI_Win_lock_all(0, window);
  MPI_Get(local, 1, MPI_LONG, 0, 0, 1, MPI_LONG, window);
  MPI_Win_flush(0, window);
  barrier(0);
  RUN_MODES(count, names, modes, barrier);
  MPI_Win_unlock_all(window);
  TOGETHER("wait_at_free", 12, MPI_Win_free(&window));
  truth_end();
  shmem_finalize();
  int over;
  MPI_Finalized(&over);
  if (!over) MPI_Finalize();
}
