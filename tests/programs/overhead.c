/*
 * What one call costs: PE 0 calls K times in a row, PE 1 waits in a barrier.
 *
 *   oshcc -O2 -g -o overhead overhead.c
 *   oshrun -np 2 ./overhead [K [ROUNDS]]        (default 200000 and 5)
 *
 * PE 0 prints, for each round and each function, one line with the CPU time of
 * its thread in nanoseconds per call:
 *
 *   shmem_long_g 85.12
 *
 * Run with and without a tool; the difference is what the tool adds. The
 * memory is on the symmetric heap, which the default transport shares between
 * the processes of a node, so that no call needs PE 1.
 */
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static long *remote; /* symmetric */
static long local;
static volatile long sink;

static double cpu_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

static void long_g(long k) {
  for (long i = 0; i < k; i++) sink = shmem_long_g(remote, 1);
}

static void putmem(long k) {
  for (long i = 0; i < k; i++) shmem_putmem(remote, &local, 8, 1);
}

static void getmem(long k) {
  for (long i = 0; i < k; i++) shmem_getmem(&local, remote, 8, 1);
}

static void long_p(long k) {
  for (long i = 0; i < k; i++) shmem_long_p(remote, i, 1);
}

static void fetch_add(long k) {
  for (long i = 0; i < k; i++) sink = shmem_long_atomic_fetch_add(remote, 1, 1);
}

static const struct {
  const char *name;
  void (*run)(long k);
} cases[] = {
    {"shmem_long_g", long_g},
    {"shmem_putmem", putmem},
    {"shmem_getmem", getmem},
    {"shmem_long_p", long_p},
    {"shmem_long_atomic_fetch_add", fetch_add},
};

static void measure(long k) {
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
    double start = cpu_ns();
    cases[c].run(k);
    double taken = cpu_ns() - start;
    shmem_quiet();
    printf("%s %.2f\n", cases[c].name, taken / (double)k);
  }
}

int main(int argc, char **argv) {
  long k = argc > 1 ? strtol(argv[1], NULL, 10) : 200000;
  long rounds = argc > 2 ? strtol(argv[2], NULL, 10) : 5;
  if (argc > 3 || k < 1 || rounds < 1) {
    fprintf(stderr, "usage: %s [K [ROUNDS]]\n", argv[0]);
    return 2;
  }
  shmem_init();
  if (shmem_n_pes() < 2) {
    fprintf(stderr, "overhead: needs at least 2 PEs\n");
    shmem_global_exit(2);
  }
  remote = shmem_calloc(1, sizeof *remote);
  shmem_barrier_all();
  if (shmem_my_pe() == 0) {
    for (long r = 0; r < rounds; r++) measure(k);
    fflush(stdout);
  }
  shmem_barrier_all();
  shmem_free(remote);
  shmem_finalize();
  return 0;
}
