/*
 * The heat equation on a square plate, solved by Jacobi steps on a 2D grid of
 * PEs.
 *
 * Every PE owns a block of the plate and, before each step, fetches the edges
 * of its four neighbours: the rows above and below with shmem_double_get, the
 * columns left and right, which are not contiguous, with shmem_double_iget.
 * One barrier ends each step; every 100 steps, and at the last, the largest
 * change of any cell is found with shmem_double_max_to_all.
 *
 * In a trace the strided transfers, which Open MPI moves element by element, are
 * much slower than the contiguous ones; the barrier shows how even the blocks are.
 *
 *   oshcc -O2 -g -o heat heat.c -lm
 *   oshrun -np 4 ./heat [options] [N [STEPS]]
 *
 *   N            cells along one side of the plate (default 2048)
 *   STEPS        number of steps (default 7000)
 *   --grid RxC   rows and columns of PEs (default as square as possible,
 *                more columns than rows)
 *   --count      print how many calls each PE made, and their bytes
 *   --time       print the seconds taken by the steps, on stderr
 *
 * The output depends on N and STEPS only, apart from the line with the grid.
 */
#include <math.h>
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../common/clock.h"
#include "../common/count.h"
#include "../common/grid.h"
#include "../common/options.h"

#define CHECK_EVERY 100

struct options {
  long n;
  long steps;
  struct grid grid;
  int count, time;
};

struct block {
  int me, npes;
  struct grid grid;
  int row, col;          /* place of this PE in the grid */
  struct range y, x;     /* cells of this PE */
  long stride;           /* cells from one row to the next, on every PE */
  double *now, *next;    /* symmetric, with one halo cell on each side */
};

static double reduce_work[SHMEM_REDUCE_MIN_WRKDATA_SIZE];
static long reduce_long_work[SHMEM_REDUCE_MIN_WRKDATA_SIZE];
static long reduce_sync[2][SHMEM_REDUCE_SYNC_SIZE];
static double change_local, change_global;
static long sum_local, sum_global;

static struct options parse(int argc, char **argv) {
  struct options o = {.n = 2048, .steps = 7000};
  const struct option table[] = {
      {"--count", OPTION_FLAG, &o.count}, {"--time", OPTION_FLAG, &o.time},
      {"--grid", OPTION_GRID, &o.grid},   {NULL, OPTION_NUMBER, &o.n},
      {NULL, OPTION_NUMBER, &o.steps},
  };
  options_read(argc, argv, "[--grid RxC] [--count] [--time] [N [STEPS]]", table,
               sizeof table / sizeof *table);
  return o;
}

static int pe_at(const struct block *b, int row, int col) {
  return row * b->grid.cols + col;
}

static double *cell(const struct block *b, double *plate, long y, long x) {
  return plate + y * b->stride + x;
}

static void choose_grid(struct block *b, const struct options *o) {
  b->grid = o->grid;
  if (!grid_choose(&b->grid, b->npes) ||
      b->grid.rows > o->n || b->grid.cols > o->n) {
    if (b->me == 0)
      fprintf(stderr, "heat: no %dx%d grid of %d PEs on %ld cells\n",
              b->grid.rows, b->grid.cols, b->npes, o->n);
    shmem_global_exit(2);
  }
}

static void set_up(struct block *b, const struct options *o) {
  CALL(shmem_init, 0);
  b->me = CALL(shmem_my_pe, 0);
  b->npes = CALL(shmem_n_pes, 0);
  choose_grid(b, o);
  b->row = b->me / b->grid.cols;
  b->col = b->me % b->grid.cols;
  b->y = share(o->n, b->grid.rows, b->row);
  b->x = share(o->n, b->grid.cols, b->col);

  /* The largest block and its halo, so that all PEs allocate the same. */
  long rows = share(o->n, b->grid.rows, 0).size + 2;
  b->stride = share(o->n, b->grid.cols, 0).size + 2;
  size_t bytes = (size_t)(rows * b->stride) * sizeof(double);
  b->now = CALL(shmem_malloc, bytes, bytes);
  b->next = CALL(shmem_malloc, bytes, bytes);
  if (!b->now || !b->next) {
    fprintf(stderr, "heat: no symmetric memory (SHMEM_SYMMETRIC_HEAP_SIZE)\n");
    shmem_global_exit(1);
  }
  memset(b->now, 0, bytes);
  memset(b->next, 0, bytes);
  for (int s = 0; s < 2; s++)
    for (int i = 0; i < SHMEM_REDUCE_SYNC_SIZE; i++)
      reduce_sync[s][i] = SHMEM_SYNC_VALUE;
}

/* Hot upper edge of the plate, the other three edges cold; warm spot inside. */
static void initial_state(const struct block *b, long n) {
  for (long y = 1; y <= b->y.size; y++) {
    for (long x = 1; x <= b->x.size; x++) {
      double dy = (double)(b->y.start + y) / (double)(n + 1) - 0.5;
      double dx = (double)(b->x.start + x) / (double)(n + 1) - 0.5;
      *cell(b, b->now, y, x) = dy * dy + dx * dx < 0.04 ? 50.0 : 0.0;
    }
  }
  if (b->row == 0) {
    for (long x = 0; x <= b->x.size + 1; x++) {
      *cell(b, b->now, 0, x) = 100.0;
      *cell(b, b->next, 0, x) = 100.0;
    }
  }
  CALL(shmem_barrier_all, 0);
}

static void get_row(const struct block *b, long y, long from_y, int pe) {
  size_t n = (size_t)b->x.size;
  CALL(shmem_double_get, n * sizeof(double), cell(b, b->now, y, 1),
       cell(b, b->now, from_y, 1), n, pe);
}

static void get_column(const struct block *b, long x, long from_x, int pe) {
  size_t n = (size_t)b->y.size;
  CALL(shmem_double_iget, n * sizeof(double), cell(b, b->now, 1, x),
       cell(b, b->now, 1, from_x), b->stride, b->stride, n, pe);
}

static void exchange_halo(const struct block *b, long n) {
  if (b->row > 0) {
    long above = share(n, b->grid.rows, b->row - 1).size;
    get_row(b, 0, above, pe_at(b, b->row - 1, b->col));
  }
  if (b->row < b->grid.rows - 1)
    get_row(b, b->y.size + 1, 1, pe_at(b, b->row + 1, b->col));
  if (b->col > 0) {
    long left = share(n, b->grid.cols, b->col - 1).size;
    get_column(b, 0, left, pe_at(b, b->row, b->col - 1));
  }
  if (b->col < b->grid.cols - 1)
    get_column(b, b->x.size + 1, 1, pe_at(b, b->row, b->col + 1));
}

static void step(const struct block *b) {
  for (long y = 1; y <= b->y.size; y++) {
    const double *up = cell(b, b->now, y - 1, 0);
    const double *mid = cell(b, b->now, y, 0);
    const double *down = cell(b, b->now, y + 1, 0);
    double *out = cell(b, b->next, y, 0);
    for (long x = 1; x <= b->x.size; x++)
      out[x] = 0.25 * (up[x] + down[x] + mid[x - 1] + mid[x + 1]);
  }
}

/* The largest change of the last step, over all PEs. */
static double largest_change(const struct block *b) {
  change_local = 0;
  for (long y = 1; y <= b->y.size; y++)
    for (long x = 1; x <= b->x.size; x++)
      change_local = fmax(change_local, fabs(*cell(b, b->next, y, x) -
                                             *cell(b, b->now, y, x)));
  CALL(shmem_double_max_to_all, sizeof(double), &change_global, &change_local,
       1, 0, 0, b->npes, reduce_work, reduce_sync[0]);
  return change_global;
}

/* Sums whole millionths of a degree: exact, whatever the order and the grid. */
static long checksum(const struct block *b) {
  sum_local = 0;
  for (long y = 1; y <= b->y.size; y++)
    for (long x = 1; x <= b->x.size; x++)
      sum_local += lrint(1e6 * *cell(b, b->now, y, x));
  CALL(shmem_long_sum_to_all, sizeof(long), &sum_global, &sum_local, 1, 0, 0,
       b->npes, reduce_long_work, reduce_sync[1]);
  return sum_global;
}

static double simulate(struct block *b, const struct options *o) {
  double residual = 0;
  for (long s = 1; s <= o->steps; s++) {
    exchange_halo(b, o->n);
    step(b);
    if (s % CHECK_EVERY == 0 || s == o->steps) residual = largest_change(b);
    CALL(shmem_barrier_all, 0);
    double *swap = b->now;
    b->now = b->next;
    b->next = swap;
  }
  return residual;
}

int main(int argc, char **argv) {
  struct options o = parse(argc, argv);
  struct block b = {0};
  set_up(&b, &o);
  initial_state(&b, o.n);

  double start = seconds();
  double residual = simulate(&b, &o);
  double taken = seconds() - start;
  long sum = checksum(&b);

  if (b.me == 0) {
    printf("grid %dx%d\n", b.grid.rows, b.grid.cols);
    printf("heat n=%ld steps=%ld checksum=%ld residual=%.9e\n", o.n, o.steps,
           sum, residual);
    fflush(stdout);
    if (o.time) fprintf(stderr, "time %.6f\n", taken);
  }
  CALL(shmem_free, 0, b.now);
  CALL(shmem_free, 0, b.next);
  if (o.count) count_print_and_finalize(b.me, b.npes);
  else shmem_finalize();
  return 0;
}
