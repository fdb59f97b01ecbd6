/*
 * A two-dimensional Fourier transform, with the transpose done in two ways.
 *
 * The N x N matrix is shared out by rows. A transform is: FFT of the own rows,
 * transpose, FFT of the own rows again, transpose back. The transpose comes as
 *
 *   get       every PE fetches what it needs, N/P elements at a time, with
 *             shmem_double_get
 *   collect   every PE collects the whole matrix with shmem_collect64
 *   fcollect  the same with shmem_fcollect64
 *
 * In a trace the two kinds differ by what travels and by who waits: a collect
 * moves P times the data and synchronises all PEs at every transpose, a get
 * moves only what is needed between two barriers.
 *
 *   oshcc -O2 -g -o fft2d fft2d.c -lm
 *   oshrun -np 4 ./fft2d [--count] [--time] [get|collect|fcollect [N [ROUNDS]]]
 *
 *   N        size of the matrix, a power of two not less than the number of
 *            PEs, which must divide it (default 2048)
 *   ROUNDS   transforms there and back (default 120)
 *   --count  print how many calls each PE made, and their bytes
 *   --time   print the seconds taken by the rounds, on stderr
 *
 * The input is a sum of four plane waves, so the answer is known: four peaks
 * and nothing else. The first spectrum is compared with it, and the matrix
 * after the last round with the input; if either is off, the exit code is 1.
 */
#include <complex.h>
#include <math.h>
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../common/clock.h"
#include "../common/count.h"
#include "../common/options.h"

#define TOLERANCE 1e-9
#define WAVES 4

typedef double complex cplx;

enum transpose { BY_GET, BY_COLLECT, BY_FCOLLECT };

static const char *const transpose_names[] = {"get", "collect", "fcollect"};

struct options {
  enum transpose transpose;
  long n;
  long rounds;
  int count, time;
};

struct fft {
  int me, npes;
  long n;               /* size of the matrix */
  long rows;            /* rows of this PE */
  enum transpose transpose;
  cplx *data;           /* symmetric: the rows of this PE */
  cplx *whole;          /* symmetric: the whole matrix, only for collects */
  cplx *fetched;        /* what was fetched from one PE, only for get */
  cplx *roots;          /* exp(-2 pi i k / n) */
};

/* A plane wave: where its peak is, and how high. */
struct wave {
  long y, x;
  double amplitude;
};

static long sync_words[2][SHMEM_COLLECT_SYNC_SIZE];
static long reduce_sync[SHMEM_REDUCE_SYNC_SIZE];
static double reduce_work[SHMEM_REDUCE_MIN_WRKDATA_SIZE];
static double error_local, error_global;

static const char usage[] =
    "[--count] [--time] [get|collect|fcollect [N [ROUNDS]]]";

static enum transpose parse_transpose(const char *text, const char *program) {
  for (int i = BY_GET; i <= BY_FCOLLECT; i++)
    if (strcmp(text, transpose_names[i]) == 0) return (enum transpose)i;
  options_usage(program, usage);
  return BY_GET;
}

static struct options parse(int argc, char **argv) {
  struct options o = {.n = 2048, .rounds = 120};
  const char *transpose = transpose_names[BY_GET];
  const struct option table[] = {
      {"--count", OPTION_FLAG, &o.count}, {"--time", OPTION_FLAG, &o.time},
      {NULL, OPTION_WORD, &transpose},    {NULL, OPTION_NUMBER, &o.n},
      {NULL, OPTION_NUMBER, &o.rounds},
  };
  options_read(argc, argv, usage, table, sizeof table / sizeof *table);
  o.transpose = parse_transpose(transpose, argv[0]);
  if (o.n < 2 || (o.n & (o.n - 1)) != 0) options_usage(argv[0], usage);
  return o;
}

static void *need(void *memory) {
  if (!memory) {
    fprintf(stderr, "fft2d: no memory (SHMEM_SYMMETRIC_HEAP_SIZE?)\n");
    shmem_global_exit(1);
  }
  return memory;
}

static void set_up(struct fft *f, const struct options *o) {
  CALL(shmem_init, 0);
  f->me = CALL(shmem_my_pe, 0);
  f->npes = CALL(shmem_n_pes, 0);
  f->n = o->n;
  f->transpose = o->transpose;
  if (f->n % f->npes != 0) {
    if (f->me == 0)
      fprintf(stderr, "fft2d: %d PEs do not divide %ld rows\n", f->npes, f->n);
    shmem_global_exit(2);
  }
  f->rows = f->n / f->npes;

  size_t own = (size_t)(f->rows * f->n) * sizeof(cplx);
  f->data = need(CALL(shmem_malloc, own, own));
  if (f->transpose == BY_GET) {
    f->fetched = need(malloc((size_t)(f->rows * f->n) * sizeof(cplx)));
  } else {
    size_t all = own * (size_t)f->npes;
    f->whole = need(CALL(shmem_malloc, all, all));
  }
  f->roots = need(malloc((size_t)f->n / 2 * sizeof(cplx)));
  for (long k = 0; k < f->n / 2; k++)
    f->roots[k] = cexp(-2.0 * M_PI * I * (double)k / (double)f->n);
  for (int i = 0; i < SHMEM_COLLECT_SYNC_SIZE; i++)
    sync_words[0][i] = sync_words[1][i] = SHMEM_SYNC_VALUE;
  for (int i = 0; i < SHMEM_REDUCE_SYNC_SIZE; i++)
    reduce_sync[i] = SHMEM_SYNC_VALUE;
}

static void waves(long n, struct wave w[WAVES]) {
  const struct wave all[WAVES] = {
      {0, 0, 0.5}, {n / 4, n / 8, 2.0}, {1 % n, n - 1, -1.0}, {n / 2, 1, 0.25}};
  memcpy(w, all, sizeof all);
}

/* The value of the input at (y, x). */
static cplx input_at(const struct fft *f, const struct wave *w, long y, long x) {
  cplx sum = 0;
  for (int i = 0; i < WAVES; i++) {
    long phase = (w[i].y * y + w[i].x * x) % f->n;
    cplx root = phase < f->n / 2 ? f->roots[phase] : -f->roots[phase - f->n / 2];
    sum += w[i].amplitude * conj(root);
  }
  return sum;
}

/* The value of the spectrum at (y, x): n * n times the wave's amplitude. */
static cplx spectrum_at(const struct fft *f, const struct wave *w, long y,
                        long x) {
  double sum = 0;
  for (int i = 0; i < WAVES; i++)
    if (w[i].y == y && w[i].x == x) sum += w[i].amplitude;
  return sum * (double)f->n * (double)f->n;
}

static void fill(const struct fft *f) {
  struct wave w[WAVES];
  waves(f->n, w);
  for (long r = 0; r < f->rows; r++)
    for (long x = 0; x < f->n; x++)
      f->data[r * f->n + x] = input_at(f, w, f->me * f->rows + r, x);
}

static void bit_reverse(cplx *a, long n) {
  for (long i = 1, j = 0; i < n; i++) {
    long bit = n >> 1;
    for (; j & bit; bit >>= 1) j ^= bit;
    j ^= bit;
    if (i < j) {
      cplx swap = a[i];
      a[i] = a[j];
      a[j] = swap;
    }
  }
}

static void fft_row(const struct fft *f, cplx *a, int inverse) {
  bit_reverse(a, f->n);
  for (long len = 2; len <= f->n; len *= 2) {
    long half = len / 2, jump = f->n / len;
    for (long i = 0; i < f->n; i += len) {
      for (long k = 0; k < half; k++) {
        cplx root = f->roots[k * jump];
        double c = creal(root), s = inverse ? -cimag(root) : cimag(root);
        double re = creal(a[i + k + half]), im = cimag(a[i + k + half]);
        cplx odd = CMPLX(c * re - s * im, c * im + s * re);
        a[i + k + half] = a[i + k] - odd;
        a[i + k] += odd;
      }
    }
  }
}

static void fft_rows(const struct fft *f, int inverse) {
  for (long r = 0; r < f->rows; r++) fft_row(f, f->data + r * f->n, inverse);
}

/* Fetches the own columns of every PE's rows; no one may write meanwhile. */
static void transpose_by_get(const struct fft *f) {
  CALL(shmem_barrier_all, 0);
  for (int i = 0; i < f->npes; i++) {
    int pe = (f->me + i) % f->npes;
    cplx *part = f->fetched + pe * f->rows * f->rows;
    for (long r = 0; r < f->rows; r++) {
      size_t doubles = 2 * (size_t)f->rows;
      CALL(shmem_double_get, doubles * sizeof(double),
           (double *)(part + r * f->rows),
           (const double *)(f->data + r * f->n + f->me * f->rows), doubles, pe);
    }
  }
  CALL(shmem_barrier_all, 0);
  for (long y = 0; y < f->n; y++)
    for (long c = 0; c < f->rows; c++)
      f->data[c * f->n + y] = f->fetched[y * f->rows + c];
}

static void transpose_by_collect(const struct fft *f, int turn) {
  size_t words = 2 * (size_t)(f->rows * f->n);
  if (f->transpose == BY_COLLECT)
    CALL(shmem_collect64, 8 * words, f->whole, f->data, words, 0, 0, f->npes,
         sync_words[turn]);
  else
    CALL(shmem_fcollect64, 8 * words, f->whole, f->data, words, 0, 0, f->npes,
         sync_words[turn]);
  for (long y = 0; y < f->n; y++)
    for (long c = 0; c < f->rows; c++)
      f->data[c * f->n + y] = f->whole[y * f->n + f->me * f->rows + c];
  CALL(shmem_barrier_all, 0);
}

static void transpose(const struct fft *f, int turn) {
  if (f->transpose == BY_GET) transpose_by_get(f);
  else transpose_by_collect(f, turn);
}

static void transform(const struct fft *f, int inverse) {
  fft_rows(f, inverse);
  transpose(f, 0);
  fft_rows(f, inverse);
  transpose(f, 1);
}

static void scale(const struct fft *f) {
  double factor = 1.0 / ((double)f->n * (double)f->n);
  for (long i = 0; i < f->rows * f->n; i++) f->data[i] *= factor;
}

/* The largest error over all PEs, against the spectrum or against the input. */
static double largest_error(const struct fft *f, int spectrum) {
  struct wave w[WAVES];
  waves(f->n, w);
  double unit = spectrum ? (double)f->n * (double)f->n : 1.0;
  error_local = 0;
  for (long r = 0; r < f->rows; r++) {
    for (long x = 0; x < f->n; x++) {
      long y = f->me * f->rows + r;
      cplx right = spectrum ? spectrum_at(f, w, y, x) : input_at(f, w, y, x);
      error_local = fmax(error_local, cabs(f->data[r * f->n + x] - right) / unit);
    }
  }
  CALL(shmem_double_max_to_all, sizeof(double), &error_global, &error_local, 1,
       0, 0, f->npes, reduce_work, reduce_sync);
  CALL(shmem_barrier_all, 0);
  return error_global;
}

static const char *verdict(double error) {
  return error <= TOLERANCE ? "right" : "wrong";
}

/* Prints the peaks that lie in the rows of PE 0. */
static void print_peaks(const struct fft *f) {
  struct wave w[WAVES];
  waves(f->n, w);
  for (int i = 0; i < WAVES; i++) {
    if (w[i].y >= f->rows) continue;
    cplx value = f->data[w[i].y * f->n + w[i].x];
    printf("peak y=%ld x=%ld value=%.3f\n", w[i].y, w[i].x, creal(value));
  }
}

int main(int argc, char **argv) {
  struct options o = parse(argc, argv);
  struct fft f = {0};
  set_up(&f, &o);
  fill(&f);

  double spectrum_error = 0;
  double start = seconds();
  for (long round = 0; round < o.rounds; round++) {
    transform(&f, 0);
    if (round == 0) {
      spectrum_error = largest_error(&f, 1);
      if (f.me == 0) print_peaks(&f);
    }
    transform(&f, 1);
    scale(&f);
  }
  double taken = seconds() - start;
  double input_error = largest_error(&f, 0);

  if (f.me == 0) {
    printf("fft2d transpose=%s n=%ld rounds=%ld spectrum=%s round-trip=%s\n",
           transpose_names[f.transpose], f.n, o.rounds, verdict(spectrum_error),
           verdict(input_error));
    fflush(stdout);
    if (o.time) fprintf(stderr, "time %.6f\n", taken);
  }
  free(f.roots);
  free(f.fetched);
  if (f.whole) CALL(shmem_free, 0, f.whole);
  CALL(shmem_free, 0, f.data);
  if (o.count) count_print_and_finalize(f.me, f.npes);
  else shmem_finalize();
  return spectrum_error > TOLERANCE || input_error > TOLERANCE;
}
