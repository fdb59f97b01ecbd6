/* Targets of MPI that come and go: see visits.h. Times are in microseconds and random around what is given.
 *   fetch_and_op:WINDOW,GAP,OPERATIONS,PAUSE  all others add to words of rank 0, which visits MPI with MPI_Iprobe
 *   stretches                                 rank 2 works for 40 ms and looks in six times; all others get and accumulate
 *   balanced:TIME,BYTES,ROUNDS,EVERY          all compute, get from their neighbour and add to its counter
 * WINDOW is allocated or dynamic. mpicc -g -O1 visits_mpi.c -o visits_mpi */
#include <mpi.h>

#include "visits.h"

#define WORLD MPI_COMM_WORLD
static MPI_Win allocated, dynamic;
static MPI_Aint addresses[PROCESSES];
static long *memory, outside[64];
static char *local;
static void barrier(int event) { BARRIER(event, MPI_Barrier(WORLD)); }

static void fetch_and_op(void) {
  int is_dynamic = *part(0) == 'd', flag;
  MPI_Win window = is_dynamic ? dynamic : allocated;
  MPI_Aint base = is_dynamic ? addresses[0] : 0;
  visits_reset(is_dynamic ? outside : memory);
  meet(1);
  if (me == 0) {
    while (!others_done()) {
      compute_and_look(number(1) * 2 * fraction());
      VISIT(MPI_Iprobe(MPI_ANY_SOURCE, 9999, WORLD, &flag, MPI_STATUS_IGNORE));
    }
  } else {
    long one = 1, before;
    for (int i = 0; i < (int)number(2); i++) {
      MPI_Fetch_and_op(&one, &before, MPI_LONG, 0, base + 8 * me, MPI_SUM, window);
      TIMED(MPI_Win_flush(0, window));
      operation(before + 1, 1);
      if (number(3) > 0) compute(number(3) * 2e-3 * fraction());
    }
  }
  facts[me].done = 1;
  barrier(2);
  visits_end();
}

static void stretches(void) {
  int flag;
  visits_reset(outside);
  meet(1);
  if (me == 2) {
    for (int i = 0; i < 6; i++) {
      rest(40);
      VISIT(MPI_Iprobe(MPI_ANY_SOURCE, 9999, WORLD, &flag, MPI_STATUS_IGNORE));
    }
    facts[me].done = 1;
    mark(2);
    VISIT(TIMED(MPI_Barrier(WORLD)));
  } else {
    long one = 1, before;
    for (int i = 0; i < 5; i++) {
      MPI_Get_accumulate(&one, 1, MPI_LONG, &before, 1, MPI_LONG, 2, addresses[2] + 8 * me, 1, MPI_LONG, MPI_SUM, dynamic);
      TIMED(MPI_Win_flush(2, dynamic));
      operation(before + 1, 1u << 2);
    }
    facts[me].done = 1;
    mark(2);
    TIMED(MPI_Barrier(WORLD));
  }
  waited_for_last("barrier_wait", 2);
  visits_end();
}

static void balanced(void) {
  int next = (me + 1) % processes, barriers = 0, bytes = (int)number(1);
  long one = 1, before;
  for (int i = 0; i < (int)number(2); i++) {
    compute(number(0) * 1e-3);
    MPI_Get(local, bytes, MPI_CHAR, next, 512, bytes, MPI_CHAR, allocated);
    MPI_Win_flush(next, allocated);
    compute(number(0) * 1e-3);
    MPI_Fetch_and_op(&one, &before, MPI_LONG, next, 400, MPI_SUM, allocated);
    MPI_Win_flush(next, allocated);
    if (i % (int)number(3) == (int)number(3) - 1 && barriers < 25) barrier(4 + 2 * barriers++);
  }
}

int main(int count, char **names) {
  static const mode_t_ modes[] = {MODE(fetch_and_op), MODE(stretches), MODE(balanced)};
  MPI_Init(&count, &names);
  int rank, size;
  MPI_Comm_rank(WORLD, &rank);
  MPI_Comm_size(WORLD, &size);
  truth_begin(rank, size);
  visits_begin();
  randomise();
  TOGETHER("wait_at_create", 10, MPI_Win_allocate(512 + (1 << 20), 1, MPI_INFO_NULL, WORLD, &memory, &allocated));
  memset(memory, 0, 512 + (1 << 20));
  local = calloc(1, 1 << 20);
  TOGETHER("wait_at_create", 11, MPI_Win_create_dynamic(MPI_INFO_NULL, WORLD, &dynamic));
  MPI_Win_attach(dynamic, outside, sizeof outside);
  MPI_Aint own;
  MPI_Get_address(outside, &own);
  TOGETHER("nxn_wait", 12, MPI_Allgather(&own, 1, MPI_AINT, addresses, 1, MPI_AINT, WORLD));
  MPI_Win_lock_all(0, allocated);
  MPI_Win_lock_all(0, dynamic);
  barrier(0);
  RUN_MODES(count, names, modes, barrier);
  MPI_Win_unlock_all(dynamic);
  MPI_Win_unlock_all(allocated);
  MPI_Win_detach(dynamic, outside);
  barrier(2);
  TOGETHER("wait_at_free", 13, MPI_Win_free(&dynamic));
  TOGETHER("wait_at_free", 14, MPI_Win_free(&allocated));
  truth_end();
  MPI_Finalize();
}
