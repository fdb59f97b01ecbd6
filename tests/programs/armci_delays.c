/*
 * Waits of known length: process 0 is late by DELAY milliseconds, process 1 waits for it.
 *
 *   mpicc -O2 -g -fno-optimize-sibling-calls -o armci_delays armci_delays.c $(dwell build flags armci) -larmci-openmpi
 *   mpirun -np 2 ./armci_delays DELAY MODE...
 *
 * MODE      process 1 waits in           until process 0
 *   barrier ARMCI_Barrier                enters it too
 *   sum     armci_msg_lgop               enters it too
 *   lock    ARMCI_Lock                   gives the lock back
 *   get     ARMCI_Get                    enters a barrier, if the transport needs it
 *   fence   ARMCI_Fence after a put      enters a barrier, if the transport needs it
 *
 * What is printed, and how the delay is made, says delays.h.
 */
#include <armci.h>
#include <message.h>
#include <mpi.h>

#include "delays.h"

static void *memory[2];
static double value;
static long sum;

WAIT(barrier, ARMCI_Barrier())
WAIT(sum, armci_msg_lgop(&sum, 1, "+"))
WAIT(lock, ARMCI_Lock(0, 0))
WAIT(get, ARMCI_Get(memory[0], &value, sizeof value, 0))
WAIT(fence, ARMCI_Fence(0))

static void contend(void (*wait)(void)) {
  if (me == 0) ARMCI_Lock(0, 0);
  armci_msg_barrier();
  alone(wait);
  ARMCI_Unlock(0, 0);
}

/* The first one of all is slower than the others. */
static void warm(void) {
  if (me == 1) {
    ARMCI_Get(memory[0], &value, sizeof value, 0);
    ARMCI_Put(&value, memory[0], sizeof value, 0);
    ARMCI_Fence(0);
  }
  armci_msg_barrier();
}

static void get(void (*wait)(void)) {
  warm();
  alone(wait);
}

static void fence(void (*wait)(void)) {
  warm();
  if (me == 1) { /* a blocking put waits by itself in some components of MPI */
    await(0, AWAY);
    ARMCI_NbPut(&value, memory[0], sizeof value, 0, NULL);
  }
  alone(wait);
}

static const struct mode modes[] = {
    {"barrier", 2, together, barrier_wait},
    {"sum", 2, together, sum_wait},
    {"lock", 2, contend, lock_wait},
    {"get", 2, get, get_wait},
    {"fence", 2, fence, fence_wait},
    {NULL},
};

int main(int argc, char **argv) {
  int rank, size;
  MPI_Init(&argc, &argv);
  ARMCI_Init();
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  ARMCI_Malloc(memory, 64);
  ARMCI_Create_mutexes(rank == 0);
  run(argv, rank, size, modes, armci_msg_barrier);
  ARMCI_Barrier();
  ARMCI_Destroy_mutexes();
  ARMCI_Free(memory[rank]);
  ARMCI_Finalize();
  MPI_Finalize();
  return 0;
}
