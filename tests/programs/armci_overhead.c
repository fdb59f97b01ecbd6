/*
 * What one call of ARMCI costs: process 0 calls K times in a row.
 *
 *   mpicc -O2 -g -o armci_overhead armci_overhead.c $(dwell build flags armci) -larmci-openmpi
 *   mpirun -np 2 ./armci_overhead [K [ROUNDS]]        (default 200000 and 5)
 *
 * Process 0 prints, for each round and each case, one line with the CPU time of its thread in nanoseconds
 * per turn of the loop:
 *
 *   ARMCI_Get 185.12
 *
 * Run with and without a tool; the difference is what the tool adds. It includes the calls of MPI that a call
 * of ARMCI makes. Process 1 waits in a barrier; its memory is shared with process 0, so that no call needs it.
 */
#include <armci.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static void *memory[2];
static double local;

static double cpu_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

static void get(long k) {
  for (long i = 0; i < k; i++) ARMCI_Get(memory[1], &local, sizeof local, 1);
}

static void put_fence(long k) {
  for (long i = 0; i < k; i++) {
    ARMCI_Put(&local, memory[1], sizeof local, 1);
    ARMCI_Fence(1);
  }
}

static const struct {
  const char *name;
  void (*run)(long k);
} cases[] = {
    {"ARMCI_Get", get},
    {"ARMCI_Put+ARMCI_Fence", put_fence},
};

static void measure(long k) {
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
    double start = cpu_ns();
    cases[c].run(k);
    double taken = cpu_ns() - start;
    printf("%s %.2f\n", cases[c].name, taken / (double)k);
  }
}

int main(int argc, char **argv) {
  long k = argc > 1 ? strtol(argv[1], NULL, 10) : 200000;
  long rounds = argc > 2 ? strtol(argv[2], NULL, 10) : 5;
  int rank, size;
  if (argc > 3 || k < 1 || rounds < 1) {
    fprintf(stderr, "usage: %s [K [ROUNDS]]\n", argv[0]);
    return 2;
  }
  MPI_Init(&argc, &argv);
  ARMCI_Init();
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (size != 2) {
    fprintf(stderr, "armci_overhead: needs 2 processes\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  ARMCI_Malloc(memory, sizeof local);
  ARMCI_Barrier();
  if (rank == 0) {
    for (long r = 0; r < rounds; r++) measure(k);
    fflush(stdout);
  }
  ARMCI_Barrier();
  ARMCI_Free(memory[rank]);
  ARMCI_Finalize();
  MPI_Finalize();
  return 0;
}
