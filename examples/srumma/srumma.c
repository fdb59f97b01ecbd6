/*
 * Dense matrix multiplication with one-sided communication, the way SRUMMA
 * does it.
 *
 * The PEs form a 2D grid; each owns a block of A, of B and of C, and computes
 * its block of C. The inner dimension is cut into pieces of at most BLOCK. For
 * each piece a PE needs a part of A from a PE of its row and a part of B from
 * a PE of its column. It fetches them one piece ahead with shmem_getmem_nbi,
 * multiplies the piece it has, and completes the gets with shmem_quiet. What
 * it owns itself it does not fetch. PEs begin with different pieces, so that
 * they do not all ask the same PE. One barrier ends each round.
 *
 * Where the target's library has to serve a get, the time in shmem_quiet shows
 * how late the target comes back from its multiplication; where it has not,
 * shmem_quiet takes next to no time.
 *
 *   oshcc -O2 -g -o srumma srumma.c
 *   oshrun -np 4 ./srumma [options] [N [BLOCK [ROUNDS]]]
 *
 *   N            rows and columns of the matrices (default 1024)
 *   BLOCK        most of the inner dimension that one get fetches (default 64)
 *   ROUNDS       multiplications, whose results are added up (default 10)
 *   --blocking   fetch a piece just before it is needed, with shmem_getmem
 *   --imbalance PERCENT
 *                PEs with odd numbers multiply so much longer
 *   --grid RxC   rows and columns of PEs (default as square as possible,
 *                more columns than rows)
 *   --count      print how many calls each PE made, and their bytes
 *   --time       print the seconds taken by the rounds, on stderr
 *
 * The matrices are made of small whole numbers, and C is known in closed form,
 * so the result is compared exactly; the exit code is 1 if it is wrong. The
 * output depends on N and ROUNDS only, apart from the line with the grid.
 */
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../common/clock.h"
#include "../common/count.h"
#include "../common/grid.h"
#include "../common/options.h"

struct options {
  long n, block, rounds;
  struct grid grid;
  double imbalance; /* share of its computation that an odd PE adds */
  int blocking, count, time;
};

/* A piece of the inner dimension, and who has its parts of A and B. */
struct piece {
  struct range k;
  int a_owner, b_owner;
  long a_offset, b_offset; /* numbers before the parts in the owners' blocks */
};

/* What reductions work on. Symmetric heap: every transport serves it best. */
struct shared {
  long sum[2], sum_all[2]; /* checksum, wrong elements */
  long work[SHMEM_REDUCE_MIN_WRKDATA_SIZE + 2];
  long sync[SHMEM_REDUCE_SYNC_SIZE];
};

struct matrices {
  int me, npes;
  struct grid grid;
  int row, col;      /* place of this PE in the grid */
  struct range y, x; /* rows and columns of C of this PE */
  double *a;         /* symmetric: columns of A, one after the other */
  double *b;         /* symmetric: rows of B, one after the other */
  double *c;         /* rows of C */
  double *fetched[2][2]; /* parts of A and B, of this piece and the next */
  struct piece *pieces;
  long piece_count;
  struct shared *shared;
};

static struct options parse(int argc, char **argv) {
  struct options o = {.n = 1024, .block = 64, .rounds = 10};
  const struct option table[] = {
      {"--count", OPTION_FLAG, &o.count},
      {"--time", OPTION_FLAG, &o.time},
      {"--blocking", OPTION_FLAG, &o.blocking},
      {"--imbalance", OPTION_PERCENT, &o.imbalance},
      {"--grid", OPTION_GRID, &o.grid},
      {NULL, OPTION_NUMBER, &o.n},
      {NULL, OPTION_NUMBER, &o.block},
      {NULL, OPTION_NUMBER, &o.rounds},
  };
  options_read(argc, argv,
               "[--blocking] [--imbalance PERCENT] [--grid RxC] [--count]"
               " [--time] [N [BLOCK [ROUNDS]]]",
               table, sizeof table / sizeof *table);
  return o;
}

static int pe_at(const struct matrices *m, int row, int col) {
  return row * m->grid.cols + col;
}

static void *need(void *memory) {
  if (!memory) {
    fprintf(stderr, "srumma: no memory (SHMEM_SYMMETRIC_HEAP_SIZE?)\n");
    shmem_global_exit(1);
  }
  return memory;
}

static double *numbers(long rows, long cols) {
  return need(calloc((size_t)(rows * cols), sizeof(double)));
}

static double *symmetric_numbers(long rows, long cols) {
  size_t bytes = (size_t)(rows * cols) * sizeof(double);
  return need(CALL(shmem_malloc, bytes, bytes));
}

static void choose_grid(struct matrices *m, const struct options *o) {
  m->grid = o->grid;
  if (!grid_choose(&m->grid, m->npes) ||
      m->grid.rows > o->n || m->grid.cols > o->n) {
    if (m->me == 0)
      fprintf(stderr, "srumma: no %dx%d grid of %d PEs on %ld rows\n",
              m->grid.rows, m->grid.cols, m->npes, o->n);
    shmem_global_exit(2);
  }
}

/* Cuts the inner dimension where BLOCK, the owner of A or that of B ends. */
static void cut_pieces(struct matrices *m, const struct options *o) {
  m->pieces = need(calloc((size_t)o->n, sizeof *m->pieces));
  long k = 0;
  int col = 0, row = 0;
  while (k < o->n) {
    struct range a = share(o->n, m->grid.cols, col);
    struct range b = share(o->n, m->grid.rows, row);
    long a_end = a.start + a.size, b_end = b.start + b.size;
    long end = k + o->block;
    if (end > a_end) end = a_end;
    if (end > b_end) end = b_end;
    struct piece p = {.k = {k, end - k},
                      .a_owner = pe_at(m, m->row, col),
                      .b_owner = pe_at(m, row, m->col),
                      .a_offset = (k - a.start) * m->y.size,
                      .b_offset = (k - b.start) * m->x.size};
    m->pieces[m->piece_count++] = p;
    k = end;
    col += k == a_end;
    row += k == b_end;
  }
}

static void set_up(struct matrices *m, const struct options *o) {
  CALL(shmem_init, 0);
  m->me = CALL(shmem_my_pe, 0);
  m->npes = CALL(shmem_n_pes, 0);
  choose_grid(m, o);
  m->row = m->me / m->grid.cols;
  m->col = m->me % m->grid.cols;
  m->y = share(o->n, m->grid.rows, m->row);
  m->x = share(o->n, m->grid.cols, m->col);
  cut_pieces(m, o);

  /* The largest block, so that all PEs allocate the same. */
  long rows = share(o->n, m->grid.rows, 0).size;
  long cols = share(o->n, m->grid.cols, 0).size;
  m->a = symmetric_numbers(rows, cols);
  m->b = symmetric_numbers(rows, cols);
  m->shared = need(CALL(shmem_malloc, sizeof *m->shared, sizeof *m->shared));
  for (int i = 0; i < SHMEM_REDUCE_SYNC_SIZE; i++)
    m->shared->sync[i] = SHMEM_SYNC_VALUE;
  m->c = numbers(rows, cols);
  long depth = o->block < o->n ? o->block : o->n;
  for (int i = 0; i < 2; i++) {
    m->fetched[i][0] = numbers(depth, rows);
    m->fetched[i][1] = numbers(depth, cols);
  }
}

/* A(y, k) = left(y) + inner_a(k) and B(k, x) = inner_b(k) + right(x). */
static long left(long y) { return y * 31 % 97 - 48; }
static long right(long x) { return x * 43 % 89 - 44; }
static long inner_a(long k) { return k * 37 % 101 - 50; }
static long inner_b(long k) { return k * 59 % 103 - 51; }

static void fill(const struct matrices *m, long n) {
  struct range a = share(n, m->grid.cols, m->col);
  struct range b = share(n, m->grid.rows, m->row);
  for (long k = 0; k < a.size; k++)
    for (long y = 0; y < m->y.size; y++)
      m->a[k * m->y.size + y] =
          (double)(left(m->y.start + y) + inner_a(a.start + k));
  for (long k = 0; k < b.size; k++)
    for (long x = 0; x < m->x.size; x++)
      m->b[k * m->x.size + x] =
          (double)(inner_b(b.start + k) + right(m->x.start + x));
  CALL(shmem_barrier_all, 0);
}

/* Begins to fetch `count` numbers, or fetches them. */
static int fetch(const struct options *o, double *into, const double *from,
                 long count, int pe) {
  size_t bytes = (size_t)count * sizeof(double);
  if (o->blocking) {
    CALL(shmem_getmem, bytes, into, from, bytes, pe);
    return 0;
  }
  CALL(shmem_getmem_nbi, bytes, into, from, bytes, pe);
  return 1;
}

/* Fetches both parts of a piece; tells how many gets are outstanding. */
static int fetch_piece(const struct matrices *m, const struct options *o,
                       const struct piece *p, double *const into[2]) {
  int outstanding = 0;
  if (p->a_owner != m->me)
    outstanding += fetch(o, into[0], m->a + p->a_offset, p->k.size * m->y.size,
                         p->a_owner);
  if (p->b_owner != m->me)
    outstanding += fetch(o, into[1], m->b + p->b_offset, p->k.size * m->x.size,
                         p->b_owner);
  return outstanding;
}

/* c[y][x] += a[k][y] * b[k][x] over all k of a piece. */
static void multiply(double *restrict c, const double *restrict a,
                     const double *restrict b, long rows, long cols,
                     long depth) {
  for (long y = 0; y < rows; y++) {
    double *out = c + y * cols;
    for (long k = 0; k < depth; k++) {
      double factor = a[k * rows + y];
      const double *in = b + k * cols;
      for (long x = 0; x < cols; x++) out[x] += factor * in[x];
    }
  }
}

static void multiply_piece(const struct matrices *m, const struct options *o,
                           const struct piece *p, double *const fetched[2]) {
  double start = seconds();
  const double *a = p->a_owner == m->me ? m->a + p->a_offset : fetched[0];
  const double *b = p->b_owner == m->me ? m->b + p->b_offset : fetched[1];
  multiply(m->c, a, b, m->y.size, m->x.size, p->k.size);
  if (o->imbalance > 0 && m->me % 2 == 1) {
    double now = seconds(), until = now + o->imbalance * (now - start);
    while (seconds() < until) continue;
  }
}

/* One multiplication, added to C. */
static void one_round(const struct matrices *m, const struct options *o) {
  long count = m->piece_count, first = count * m->me / m->npes;
  const struct piece *next = &m->pieces[first];
  int outstanding = o->blocking ? 0 : fetch_piece(m, o, next, m->fetched[0]);
  for (long i = 0; i < count; i++) {
    const struct piece *now = next;
    double *const *fetched = m->fetched[i % 2];
    next = &m->pieces[(first + i + 1) % count];
    if (outstanding > 0) CALL(shmem_quiet, 0);
    outstanding = 0;
    if (o->blocking)
      fetch_piece(m, o, now, fetched);
    else if (i + 1 < count)
      outstanding = fetch_piece(m, o, next, m->fetched[(i + 1) % 2]);
    multiply_piece(m, o, now, fetched);
  }
  CALL(shmem_barrier_all, 0);
}

/* Sums up all of C and counts its wrong elements. */
static void check(const struct matrices *m, const struct options *o) {
  long sum_a = 0, sum_b = 0, sum_ab = 0;
  for (long k = 0; k < o->n; k++) {
    sum_a += inner_a(k);
    sum_b += inner_b(k);
    sum_ab += inner_a(k) * inner_b(k);
  }
  struct shared *s = m->shared;
  s->sum[0] = s->sum[1] = 0;
  for (long y = 0; y < m->y.size; y++) {
    for (long x = 0; x < m->x.size; x++) {
      long l = left(m->y.start + y), r = right(m->x.start + x);
      long expected = o->rounds * (o->n * l * r + l * sum_b + r * sum_a + sum_ab);
      double value = m->c[y * m->x.size + x];
      s->sum[0] += (long)value;
      s->sum[1] += value != (double)expected;
    }
  }
  CALL(shmem_long_sum_to_all, sizeof s->sum, s->sum_all, s->sum, 2, 0, 0,
       m->npes, s->work, s->sync);
}

int main(int argc, char **argv) {
  struct options o = parse(argc, argv);
  struct matrices m = {0};
  set_up(&m, &o);
  fill(&m, o.n);

  double start = seconds();
  for (long round = 0; round < o.rounds; round++) one_round(&m, &o);
  double taken = seconds() - start;
  check(&m, &o);
  long sum = m.shared->sum_all[0], wrong = m.shared->sum_all[1];

  if (m.me == 0) {
    printf("grid %dx%d\n", m.grid.rows, m.grid.cols);
    printf("srumma n=%ld rounds=%ld checksum=%ld wrong=%ld\n", o.n, o.rounds,
           sum, wrong);
    fflush(stdout);
    if (o.time) fprintf(stderr, "time %.6f\n", taken);
  }
  for (int i = 0; i < 4; i++) free(m.fetched[i / 2][i % 2]);
  free(m.pieces);
  free(m.c);
  CALL(shmem_free, 0, m.shared);
  CALL(shmem_free, 0, m.b);
  CALL(shmem_free, 0, m.a);
  if (o.count) count_print_and_finalize(m.me, m.npes);
  else shmem_finalize();
  return wrong != 0;
}
