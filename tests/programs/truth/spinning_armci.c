/* Loops over calls of ARMCI that spin until another process lets them through: see spinning.h. With the argument `balanced`
 * no process waits: each uses a lock of its own, or all have equal work.
 * mpicc -g -O1 spinning_armci.c $(dwell build flags armci) -larmci-openmpi; mpirun -np 3 ./a.out lock_by_swap */
#include <armci.h>
#include <message.h>
#include <mpi.h>

#include "spinning.h"

enum { LOCK = 1 };
static long *words[PROCESSES];

static void barrier(int event) { BARRIER(event, ARMCI_Barrier()); }
static int home(void) { return balanced() ? me : 0; }

/* A spin lock by swap. Process 1 holds it longest. */
static void lock_by_swap(void) {
  for (int round = 0; round < 6; round++) {
    long old = 1;
    TIMED(while (old) { ARMCI_Rmw(ARMCI_SWAP_LONG, &old, words[home()], 0, home()); if (old) { old = 1; usleep(50); } });
    spun(LOCK);
    rest(balanced() ? 10 : me == 1 ? 30 : 8);
    release_now(LOCK);
    long none = 0;
    ARMCI_Rmw(ARMCI_SWAP_LONG, &none, words[home()], 0, home());
    rest(1);
  }
  barrier(250);
  spins_end();
  if (balanced()) return;
  knows_efficiency();
  root_cause(1);
}

/* The others add nothing to a word of process 0 until process 0 has changed it. */
static void word_by_add(void) {
  for (int round = 0; round < 8; round++) {
    if (balanced()) work_evenly(40);
    else if (me == 0) rest(30);
    long old = 0;
    if (me == 0) {
      mark(round);
      ARMCI_Rmw(ARMCI_FETCH_AND_ADD_LONG, &old, words[0] + 1, 1, 0);
    } else {
      TIMED(do { ARMCI_Rmw(ARMCI_FETCH_AND_ADD_LONG, &old, words[0] + 1, 0, 0); if (old <= round) usleep(50); } while (old <= round));
      waited("spin", 0, round);
    }
    barrier(100 + round);
  }
  if (balanced()) return;
  knows_efficiency();
  root_cause(0);
}

int main(int count, char **names) {
  static const mode_t_ modes[] = {MODE(lock_by_swap), MODE(word_by_add)};
  MPI_Init(&count, &names);
  ARMCI_Init();
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  truth_begin(rank, size);
  spinning_begin();
  ARMCI_Malloc((void **)words, 64);
  memset(words[me], 0, 64);
  barrier(10);
  RUN_MODES(count, names, modes, barrier);
  truth_end();
  ARMCI_Free(words[me]);
  ARMCI_Finalize();
  MPI_Finalize();
}
