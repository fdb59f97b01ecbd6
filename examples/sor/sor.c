/*
 * Poisson's equation on a rectangle, solved by red-black successive
 * over-relaxation on a 2D grid of PEs.
 *
 * Cells are coloured like a chessboard. A sweep relaxes the red cells, which
 * depend on black ones only, and then the black cells. Before each half, every
 * PE fetches the edges of its neighbours: the rows above and below with
 * shmem_double_get, the cells of the other colour in the columns left and right
 * with shmem_double_iget. A barrier ends each half. Every 10 sweeps, and at the
 * last, shmem_double_max_to_all finds the largest residual.
 *
 * Where the target's library has to serve a get, a PE that is done with its own
 * gets and computes keeps those waiting who still need something from it.
 *
 *   oshcc -O2 -g -o sor sor.c -lm
 *   oshrun -np 4 ./sor [options] [N [SWEEPS]]
 *
 *   N            cells along one side (default 256)
 *   SWEEPS       at most so many sweeps (default 1000)
 *   --per-pe     N is the side of the block of each PE, not of the whole
 *   --tolerance T
 *                end when the largest residual is below (default 1e-9; 0 does
 *                all sweeps)
 *   --imbalance PERCENT
 *                PEs with odd numbers compute so much longer
 *   --grid RxC   rows and columns of PEs (default as square as possible,
 *                more columns than rows)
 *   --count      print how many calls each PE made, and their bytes
 *   --time       print the seconds taken by the sweeps, on stderr
 *
 * The solution is a polynomial for which the discrete equation is exact. The
 * state printed is `converged` if the tolerance is reached and the solution
 * found, `closer` if the sweeps ended before but came nearer to the solution;
 * otherwise `wrong`, and the exit code is 1. Without --per-pe the output is the
 * same for every number of PEs and every grid, apart from the line with it.
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

#define CHECK_EVERY 10

struct options {
  long n, sweeps;
  struct grid grid;
  double tolerance;
  double imbalance; /* share of its computation that an odd PE adds */
  int per_pe, count, time;
};

/* What reductions work on. Symmetric heap: every transport serves it best. */
struct shared {
  double residual, residual_all;
  double work[SHMEM_REDUCE_MIN_WRKDATA_SIZE];
  long sum[2], sum_all[2]; /* checksum, distance from the solution */
  long long_work[SHMEM_REDUCE_MIN_WRKDATA_SIZE + 2];
  long sync[2][SHMEM_REDUCE_SYNC_SIZE];
};

struct block {
  int me, npes;
  struct grid grid;
  int row, col;          /* place of this PE in the grid */
  long ny, nx;           /* cells of the whole */
  struct range y, x;     /* cells of this PE */
  long stride;           /* cells from one row to the next, on every PE */
  double *u;             /* symmetric, with one halo cell on each side */
  struct shared *shared;
  double factor;         /* of over-relaxation */
};

static struct options parse(int argc, char **argv) {
  struct options o = {.n = 256, .sweeps = 1000, .tolerance = 1e-9};
  const struct option table[] = {
      {"--count", OPTION_FLAG, &o.count},
      {"--time", OPTION_FLAG, &o.time},
      {"--per-pe", OPTION_FLAG, &o.per_pe},
      {"--tolerance", OPTION_FRACTION, &o.tolerance},
      {"--imbalance", OPTION_PERCENT, &o.imbalance},
      {"--grid", OPTION_GRID, &o.grid},
      {NULL, OPTION_NUMBER, &o.n},
      {NULL, OPTION_NUMBER, &o.sweeps},
  };
  options_read(argc, argv,
               "[--per-pe] [--tolerance T] [--imbalance PERCENT]"
               " [--grid RxC] [--count] [--time] [N [SWEEPS]]",
               table, sizeof table / sizeof *table);
  return o;
}

static int pe_at(const struct block *b, int row, int col) {
  return row * b->grid.cols + col;
}

static double *cell(const struct block *b, long y, long x) {
  return b->u + y * b->stride + x;
}

static void choose_grid(struct block *b, const struct options *o) {
  b->grid = o->grid;
  if (!grid_choose(&b->grid, b->npes) ||
      (!o->per_pe && (b->grid.rows > o->n || b->grid.cols > o->n))) {
    if (b->me == 0)
      fprintf(stderr, "sor: no %dx%d grid of %d PEs on %ld cells\n",
              b->grid.rows, b->grid.cols, b->npes, o->n);
    shmem_global_exit(2);
  }
}

static void *symmetric(size_t bytes) {
  void *memory = CALL(shmem_malloc, bytes, bytes);
  if (!memory) {
    fprintf(stderr, "sor: no symmetric memory (SHMEM_SYMMETRIC_HEAP_SIZE)\n");
    shmem_global_exit(1);
  }
  memset(memory, 0, bytes);
  return memory;
}

/* The factor that converges fastest on a rectangle. */
static double best_factor(long ny, long nx) {
  double jacobi = 0.5 * (cos(M_PI / (double)(ny + 1)) + cos(M_PI / (double)(nx + 1)));
  return 2.0 / (1.0 + sqrt(1.0 - jacobi * jacobi));
}

static void set_up(struct block *b, const struct options *o) {
  CALL(shmem_init, 0);
  b->me = CALL(shmem_my_pe, 0);
  b->npes = CALL(shmem_n_pes, 0);
  choose_grid(b, o);
  b->row = b->me / b->grid.cols;
  b->col = b->me % b->grid.cols;
  b->ny = o->n * (o->per_pe ? b->grid.rows : 1);
  b->nx = o->n * (o->per_pe ? b->grid.cols : 1);
  b->y = share(b->ny, b->grid.rows, b->row);
  b->x = share(b->nx, b->grid.cols, b->col);
  b->factor = best_factor(b->ny, b->nx);

  /* The largest block and its halo, so that all PEs allocate the same. */
  long rows = share(b->ny, b->grid.rows, 0).size + 2;
  b->stride = share(b->nx, b->grid.cols, 0).size + 2;
  b->u = symmetric((size_t)(rows * b->stride) * sizeof(double));
  b->shared = symmetric(sizeof *b->shared);
  for (int s = 0; s < 2; s++)
    for (int i = 0; i < SHMEM_REDUCE_SYNC_SIZE; i++)
      b->shared->sync[s][i] = SHMEM_SYNC_VALUE;
}

/* The solution at a cell of the whole; row and column 0 are on the boundary. */
static double solution(const struct block *b, long y, long x) {
  double v = (double)y / (double)(b->ny + 1), h = (double)x / (double)(b->nx + 1);
  return 1.0 + h * h + 2.0 * v * v - h * v;
}

/* Four times a cell of the solution less its neighbours: the same everywhere. */
static double right_side(const struct block *b) {
  double v = (double)(b->ny + 1), h = (double)(b->nx + 1);
  return -2.0 / (h * h) - 4.0 / (v * v);
}

/* The boundary has the solution, everything inside begins with 0. */
static void initial_state(const struct block *b) {
  for (long y = 0; y <= b->y.size + 1; y++) {
    for (long x = 0; x <= b->x.size + 1; x++) {
      long whole_y = b->y.start + y, whole_x = b->x.start + x;
      if (whole_y == 0 || whole_y == b->ny + 1 || whole_x == 0 ||
          whole_x == b->nx + 1)
        *cell(b, y, x) = solution(b, whole_y, whole_x);
    }
  }
  CALL(shmem_barrier_all, 0);
}

/* The first place, 1 or 2, where `place + start` has the colour. */
static long first_of(long start, int colour) {
  return 1 + ((start + 1 + colour) & 1);
}

/* Both colours come; those of the wrong one are not used. */
static void get_row(const struct block *b, long y, long from_y, int pe) {
  size_t n = (size_t)b->x.size;
  CALL(shmem_double_get, n * sizeof(double), cell(b, y, 1), cell(b, from_y, 1),
       n, pe);
}

/* Fetches what cells of this colour in column `beside` need. */
static void get_column(const struct block *b, long x, long from_x, int pe,
                       long beside, int colour) {
  long y = first_of(b->y.start + b->x.start + beside, colour);
  if (y > b->y.size) return;
  size_t n = (size_t)((b->y.size - y) / 2 + 1);
  CALL(shmem_double_iget, n * sizeof(double), cell(b, y, x), cell(b, y, from_x),
       2 * b->stride, 2 * b->stride, n, pe);
}

/* Fetches what the cells of a colour need from the neighbours. */
static void exchange_halo(const struct block *b, int colour) {
  if (b->row > 0) {
    long above = share(b->ny, b->grid.rows, b->row - 1).size;
    get_row(b, 0, above, pe_at(b, b->row - 1, b->col));
  }
  if (b->row < b->grid.rows - 1)
    get_row(b, b->y.size + 1, 1, pe_at(b, b->row + 1, b->col));
  if (b->col > 0) {
    long left = share(b->nx, b->grid.cols, b->col - 1).size;
    get_column(b, 0, left, pe_at(b, b->row, b->col - 1), 1, colour);
  }
  if (b->col < b->grid.cols - 1)
    get_column(b, b->x.size + 1, 1, pe_at(b, b->row, b->col + 1), b->x.size,
               colour);
}

/* Relaxes the cells of a colour; gives the largest residual they had. */
static double relax(const struct block *b, int colour) {
  double largest = 0, right = right_side(b);
  for (long y = 1; y <= b->y.size; y++) {
    const double *up = cell(b, y - 1, 0), *down = cell(b, y + 1, 0);
    double *mid = cell(b, y, 0);
    for (long x = first_of(b->y.start + y + b->x.start, colour); x <= b->x.size;
         x += 2) {
      double sum = (up[x] + down[x]) + (mid[x - 1] + mid[x + 1]);
      double residual = right + sum - 4.0 * mid[x];
      mid[x] += 0.25 * b->factor * residual;
      if (fabs(residual) > largest) largest = fabs(residual);
    }
  }
  return largest;
}

static double half_sweep(const struct block *b, const struct options *o,
                         int colour) {
  exchange_halo(b, colour);
  double start = seconds();
  double residual = relax(b, colour);
  if (o->imbalance > 0 && b->me % 2 == 1) {
    double now = seconds(), until = now + o->imbalance * (now - start);
    while (seconds() < until) continue;
  }
  CALL(shmem_barrier_all, 0);
  return residual;
}

static double largest_residual(const struct block *b, double local) {
  struct shared *s = b->shared;
  s->residual = local;
  CALL(shmem_double_max_to_all, sizeof(double), &s->residual_all, &s->residual,
       1, 0, 0, b->npes, s->work, s->sync[0]);
  return s->residual_all;
}

/*
 * Sums the cells, and their distances from the solution, in whole billionths:
 * exact, whatever the order and the grid.
 */
static void sum_up(const struct block *b) {
  struct shared *s = b->shared;
  s->sum[0] = s->sum[1] = 0;
  for (long y = 1; y <= b->y.size; y++) {
    for (long x = 1; x <= b->x.size; x++) {
      double right = solution(b, b->y.start + y, b->x.start + x);
      s->sum[0] += lrint(1e9 * *cell(b, y, x));
      s->sum[1] += lrint(1e9 * fabs(*cell(b, y, x) - right));
    }
  }
  CALL(shmem_long_sum_to_all, sizeof s->sum, s->sum_all, s->sum, 2, 0, 0,
       b->npes, s->long_work, s->sync[1]);
  CALL(shmem_barrier_all, 0);
}

/* Mean distance of a cell from the solution. */
static double distance(const struct block *b) {
  sum_up(b);
  return 1e-9 * (double)b->shared->sum_all[1] / ((double)b->ny * (double)b->nx);
}

/* Sweeps until the end; gives the number of sweeps and the last residual. */
static long solve(const struct block *b, const struct options *o,
                  double *residual) {
  long sweep = 0;
  *residual = INFINITY;
  while (sweep < o->sweeps && *residual > o->tolerance) {
    double red = half_sweep(b, o, 0), black = half_sweep(b, o, 1);
    if (++sweep % CHECK_EVERY == 0 || sweep == o->sweeps)
      *residual = largest_residual(b, fmax(red, black));
  }
  return sweep;
}

/* With a residual r no cell is farther than r * size^2 / 8 from the solution. */
static const char *verdict(const struct block *b, const struct options *o,
                           double residual, double before, double after) {
  double size = (double)(b->ny > b->nx ? b->ny : b->nx) + 1.0;
  if (residual <= o->tolerance)
    return after <= o->tolerance * size * size + 1e-9 ? "converged" : "wrong";
  return after < before ? "closer" : "wrong";
}

int main(int argc, char **argv) {
  struct options o = parse(argc, argv);
  struct block b = {0};
  set_up(&b, &o);
  initial_state(&b);
  double before = distance(&b);

  double residual;
  double start = seconds();
  long sweeps = solve(&b, &o, &residual);
  double taken = seconds() - start;
  double after = distance(&b);
  const char *state = verdict(&b, &o, residual, before, after);

  if (b.me == 0) {
    printf("grid %dx%d\n", b.grid.rows, b.grid.cols);
    printf("sor cells=%ldx%ld sweeps=%ld checksum=%ld residual=%.6e"
           " distance=%.6e state=%s\n",
           b.ny, b.nx, sweeps, b.shared->sum_all[0], residual, after, state);
    fflush(stdout);
    if (o.time) fprintf(stderr, "time %.6f\n", taken);
  }
  CALL(shmem_free, 0, b.shared);
  CALL(shmem_free, 0, b.u);
  if (o.count) count_print_and_finalize(b.me, b.npes);
  else shmem_finalize();
  return strcmp(state, "wrong") == 0;
}
