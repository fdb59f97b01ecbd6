/* Completion in ARMCI, with 2 processes or more: puts and accumulates that wait for their target although they need be
 * complete at their origin only, and fences without operations. See complete.h.
 * mpicc -g -O1 complete_armci.c $(dwell build flags armci) -larmci-openmpi; mpirun -np 3 ./a.out put accumulate ... */
#include <armci.h>
#include <mpi.h>

#include "complete.h"

#define BYTES 32768
static void *memory[PROCESSES];
static double *local, one = 1;

static void barrier(int event) { BARRIER(event, ARMCI_Barrier()); }

static void fence(int round) {
  TIMED(ARMCI_Fence(0));
  waited_for_target(round);
}

static void get(void) {
  for (int round = 0; round < ROUNDS; round++) {
    if (is_origin(round)) {
      TIMED(ARMCI_Get(memory[0], local, BYTES, 0));
      waited_for_target(round);
    }
    barrier(100 + round);
  }
}
static void put(void) {
  for (int round = 0; round < ROUNDS; round++) {
    if (is_origin(round)) {
      TIMED(ARMCI_Put(local, memory[0], BYTES, 0));
      waited_for_target(round);
      fence(round);
    }
    barrier(100 + round);
  }
}
static void accumulate(void) {
  for (int round = 0; round < ROUNDS; round++) {
    if (is_origin(round)) {
      TIMED(ARMCI_Acc(ARMCI_ACC_DBL, &one, local, memory[0], BYTES, 0));
      waited_for_target(round);
      fence(round);
    }
    barrier(100 + round);
  }
}
static void put_wait(void) {
  for (int round = 0; round < ROUNDS; round++) {
    if (is_origin(round)) {
      armci_hdl_t handle;
      ARMCI_INIT_HANDLE(&handle);
      TIMED(ARMCI_NbPut(local, memory[0], BYTES, 0, &handle));
      waited_for_target(round);
      TIMED(ARMCI_Wait(&handle));
      waited_for_target(round);
      fence(round);
    }
    barrier(100 + round);
  }
}
static void accumulate_wait(void) {
  for (int round = 0; round < ROUNDS; round++) {
    if (is_origin(round)) {
      armci_hdl_t handle;
      ARMCI_INIT_HANDLE(&handle);
      TIMED(ARMCI_NbAcc(ARMCI_ACC_DBL, &one, local, memory[0], BYTES, 0, &handle));
      waited_for_target(round);
      TIMED(ARMCI_Wait(&handle));
      waited_for_target(round);
      fence(round);
    }
    barrier(100 + round);
  }
}
static void puts_fence(void) {
  for (int round = 0; round < ROUNDS; round++) {
    if (is_origin(round)) {
      for (int process = 0; process < processes; process++) {
        if (process == me) continue;
        TIMED(ARMCI_Put(local, memory[process], BYTES, process));
        waited("wait_for_progress", process, COMES(round));
      }
      TIMED(ARMCI_AllFence());
      waited_for_targets(round);
    }
    barrier(100 + round);
  }
}
static void empty_fence(void) {
  for (int round = 0; round < ROUNDS; round++) {
    if (is_origin(round)) {
      TIMED(ARMCI_AllFence());
      waited_for_targets(round);
    }
    barrier(100 + round);
  }
}

int main(int count, char **names) {
  const mode_t_ modes[] = {
      MODE(get),      MODE(put),        MODE(accumulate),  MODE(put_wait), MODE(accumulate_wait),
      MODE(puts_fence), MODE(empty_fence),
  };
  MPI_Init(&count, &names);
  ARMCI_Init();
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  truth_begin(rank, size);
  ARMCI_Malloc(memory, BYTES);
  memset(memory[rank], 0, BYTES);
  local = ARMCI_Malloc_local(BYTES);
  memset(local, 0, BYTES);
  barrier(0);
  RUN_MODES(count, names, modes, barrier);
  ARMCI_Free(memory[rank]);
  truth_end();
  ARMCI_Finalize();
  MPI_Finalize();
  return 0;
}
