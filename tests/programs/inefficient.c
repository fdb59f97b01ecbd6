/* Communicates in ways that take longer than they need to, and in ways that do not:
 *
 *   inefficient MODE [--time]
 *
 * With --time it prints how many seconds the communication took.
 *
 * | inefficient | the same, otherwise |
 * |---|---|
 * | strided: columns, element by element | piece: columns that were copied into one piece |
 * | small: many gets of 8 bytes | large: one get of as many bytes |
 * | each: a quiet after every put | once: a quiet after all puts |
 * | row: gets from two PEs, one after the other | overlap: both at once; apart: with work between them |
 * | hot: all atomics on PE 0 | spread: atomics on all PEs in turn |
 * | static: gets from static data | heap: gets from the symmetric heap |
 */
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { COLUMN = 256, STRIDE = 16, LARGE = 16384 };

static long words[COLUMN];
static double into[LARGE];

static double *grid;
static double *other;
static double *piece;
static long *counters;

static int left, right, me, npes;

static double seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void work(double length) {
  double end = seconds() + length;
  while (seconds() < end) {
  }
}

static void strided(void) {
  for (int i = 0; i < 10; i++)
    shmem_double_iget(into, grid, 1, STRIDE, COLUMN, right);
}

static void in_one_piece(int times) {
  for (int i = 0; i < times; i++) {
    for (int k = 0; k < COLUMN; k++) piece[k] = grid[k * STRIDE];
    shmem_barrier_all();
    shmem_double_get(into, piece, COLUMN, right);
    shmem_barrier_all();
  }
}

static void small(void) {
  for (int i = 0; i < 4 * COLUMN; i++)
    shmem_double_get(&into[i % COLUMN], &grid[i % COLUMN], 1, right);
}

static void quiet_after_each(void) {
  for (int i = 0; i < 2 * COLUMN; i++) {
    shmem_double_put(&grid[i % COLUMN], &into[i % COLUMN], 1, right);
    shmem_quiet();
  }
}

static void quiet_once(void) {
  for (int i = 0; i < 2 * COLUMN; i++)
    shmem_double_put(&grid[i % COLUMN], &into[i % COLUMN], 1, right);
  shmem_quiet();
}

static void in_a_row(double between) {
  for (int i = 0; i < 60; i++) {
    shmem_double_get(into, grid, LARGE / 2, right);
    work(between);
    shmem_double_get(into + LARGE / 2, other, LARGE / 2, left);
    work(between);
  }
}

static void overlapping(void) {
  for (int i = 0; i < 60; i++) {
    shmem_double_get_nbi(into, grid, LARGE / 2, right);
    shmem_double_get_nbi(into + LARGE / 2, other, LARGE / 2, left);
    shmem_quiet();
  }
}

static void atomics(int spread) {
  for (int i = 0; i < 400; i++) {
    int target = spread ? (me + i) % npes : 0;
    shmem_long_atomic_fetch_inc(counters, target);
  }
}

static void from_static_data(void) {
  for (int i = 0; i < 600; i++) into[0] += (double)shmem_long_g(&words[i % COLUMN], right);
}

static void from_heap(int times) {
  for (int i = 0; i < times; i++) into[0] += (double)shmem_long_g(&counters[i % COLUMN], right);
}

int main(int argc, char **argv) {
  const char *mode = argc > 1 ? argv[1] : "";
  shmem_init();
  me = shmem_my_pe();
  npes = shmem_n_pes();
  right = (me + 1) % npes;
  left = (me + npes - 1) % npes;
  grid = shmem_calloc(COLUMN * STRIDE + LARGE, sizeof *grid);
  other = shmem_calloc(LARGE, sizeof *other);
  piece = shmem_calloc(COLUMN, sizeof *piece);
  counters = shmem_calloc(COLUMN, sizeof *counters);
  shmem_barrier_all();
  double began = seconds();
  if (!strcmp(mode, "strided")) {
    in_one_piece(12);
    strided();
  } else if (!strcmp(mode, "piece")) {
    in_one_piece(52);
  } else if (!strcmp(mode, "small")) {
    in_one_piece(12);
    small();
  } else if (!strcmp(mode, "large")) {
    in_one_piece(20);
  } else if (!strcmp(mode, "each")) {
    quiet_after_each();
  } else if (!strcmp(mode, "once")) {
    quiet_once();
  } else if (!strcmp(mode, "row")) {
    in_a_row(0);
  } else if (!strcmp(mode, "apart")) {
    in_a_row(0.005);
  } else if (!strcmp(mode, "overlap")) {
    overlapping();
  } else if (!strcmp(mode, "hot")) {
    atomics(0);
  } else if (!strcmp(mode, "spread")) {
    atomics(1);
  } else if (!strcmp(mode, "static")) {
    from_heap(20);
    from_static_data();
  } else if (!strcmp(mode, "heap")) {
    from_heap(620);
  } else {
    fprintf(stderr, "inefficient: no mode %s\n", mode);
    shmem_global_exit(2);
  }
  shmem_barrier_all();
  if (argc > 2 && me == 0) printf("seconds %f\n", seconds() - began);
  shmem_finalize();
  return 0;
}
