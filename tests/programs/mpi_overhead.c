/*
 * What one call of MPI costs: rank 0 calls K times in a row.
 *
 *   mpicc -O2 -g -o mpi_overhead mpi_overhead.c
 *   mpirun -np 2 ./mpi_overhead [K [ROUNDS [CASE]]]        (default 200000, 5 and all cases)
 *
 * Rank 0 prints, for each round and each case, one line with the CPU time of its thread in
 * nanoseconds per turn of the loop:
 *
 *   MPI_Get+MPI_Win_flush 85.12
 *
 * Run with and without a tool; the difference is what the tool adds. One-sided operations are on the
 * process's own part of the window, and messages are sent to itself: no call needs another process, so that
 * what is measured is the way through the library and not the wire. Rank 1 waits in a barrier.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static MPI_Win window;
static double local, *memory;

static double cpu_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

static void get_flush(long k) {
  for (long i = 0; i < k; i++) {
    /* Of two words in turn: reading one again and again would be polling. */
    MPI_Get(&local, 1, MPI_DOUBLE, 0, i & 1, 1, MPI_DOUBLE, window);
    MPI_Win_flush(0, window);
  }
}

static void put_flush(long k) {
  for (long i = 0; i < k; i++) {
    MPI_Put(&local, 1, MPI_DOUBLE, 0, 0, 1, MPI_DOUBLE, window);
    MPI_Win_flush(0, window);
  }
}

static void accumulate_flush(long k) {
  for (long i = 0; i < k; i++) {
    MPI_Accumulate(&local, 1, MPI_DOUBLE, 0, 0, 1, MPI_DOUBLE, MPI_SUM, window);
    MPI_Win_flush(0, window);
  }
}

static void idle_flush_all(long k) {
  for (long i = 0; i < k; i++) MPI_Win_flush_all(window);
}

static void irecv_send_wait(long k) {
  MPI_Request request;
  for (long i = 0; i < k; i++) {
    MPI_Irecv(&local, 1, MPI_DOUBLE, 0, 0, MPI_COMM_SELF, &request);
    MPI_Send(memory, 1, MPI_DOUBLE, 0, 0, MPI_COMM_SELF);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
}

static void isend_recv_wait(long k) {
  MPI_Request request;
  for (long i = 0; i < k; i++) {
    MPI_Isend(&local, 1, MPI_DOUBLE, 0, 0, MPI_COMM_SELF, &request);
    MPI_Recv(memory, 1, MPI_DOUBLE, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
}

static const struct {
  const char *name;
  void (*run)(long k);
} cases[] = {
    {"MPI_Get+MPI_Win_flush", get_flush},
    {"MPI_Put+MPI_Win_flush", put_flush},
    {"MPI_Accumulate+MPI_Win_flush", accumulate_flush},
    {"MPI_Win_flush_all", idle_flush_all},
    {"MPI_Irecv+MPI_Send+MPI_Wait", irecv_send_wait},
    {"MPI_Isend+MPI_Recv+MPI_Wait", isend_recv_wait},
};

static void measure(long k, const char *only) {
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
    if (only && strcmp(only, cases[c].name) != 0) continue;
    double start = cpu_ns();
    cases[c].run(k);
    double taken = cpu_ns() - start;
    printf("%s %.2f\n", cases[c].name, taken / (double)k);
  }
}

int main(int argc, char **argv) {
  long k = argc > 1 ? strtol(argv[1], NULL, 10) : 200000;
  long rounds = argc > 2 ? strtol(argv[2], NULL, 10) : 5;
  int rank;
  const char *only = argc > 3 ? argv[3] : NULL;
  if (argc > 4 || k < 1 || rounds < 1) {
    fprintf(stderr, "usage: %s [K [ROUNDS [CASE]]]\n", argv[0]);
    return 2;
  }
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Win_allocate(1024, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
  MPI_Win_lock_all(0, window);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) {
    for (long r = 0; r < rounds; r++) measure(k, only);
    fflush(stdout);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_unlock_all(window);
  MPI_Win_free(&window);
  MPI_Finalize();
  return 0;
}
