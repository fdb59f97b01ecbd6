/* The structure of the NAS benchmark FT over GASNet: a three-dimensional Fourier transform of N x N x N complex numbers,
 * whose planes are distributed over the processes. In each iteration the array is evolved, transformed along two dimensions
 * in memory of the process, transposed by gets from all others, and transformed along the third.
 *
 *   include $(GASNET)/include/smp-conduit/smp-seq.mak
 *   $(GASNET_CC) $(GASNET_CPPFLAGS) $(GASNET_CFLAGS) $(dwell build flags gasnet) -g -O2 -c gasnet_ft.c
 *   GASNET_PSHM_NODES=2 ./gasnet_ft [N [ITERATIONS [BLOCKS]]]
 *
 * N is a power of two and a multiple of the number of processes (default 64), ITERATIONS the number of iterations (6), and
 * BLOCKS the number of gets by which the part of another process is fetched, for each of the planes of this process (1).
 * Process 0 prints checksums, which do not depend on the number of processes, and the processor time of all processes in the
 * iterations, without barriers and reductions, in which they wait for each other. */
#include <complex.h>
#include <gasnet_coll.h>
#include <gasnetex.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef double complex number;

static gex_TM_t team;
static int me, processes, n, planes, blocks;
static number *mine;      /* planes of this process in the segment, [plane][row][column] */
static number **segments; /* those of all */
static number *turned;    /* the array after the transpose, [plane][row][column] with another dimension outside */
static number *roots;

/* Processor time, which other programs on the machine do not change. */
static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return now.tv_sec + 1e-9 * now.tv_nsec;
}

static void barrier(void) { gex_Coll_BarrierBlocking(team, 0); }

/* Transforms a line of n numbers in place. */
static void fft(number *line) {
  for (int at = 1, back = 0; at < n; at++) {
    int bit = n >> 1;
    for (; back & bit; bit >>= 1) back ^= bit;
    back |= bit;
    if (at < back) {
      number other = line[at];
      line[at] = line[back];
      line[back] = other;
    }
  }
  for (int half = 1; half < n; half *= 2)
    for (int first = 0; first < n; first += 2 * half)
      for (int at = 0; at < half; at++) {
        number odd = line[first + half + at] * roots[at * (n / (2 * half))];
        line[first + half + at] = line[first + at] - odd;
        line[first + at] += odd;
      }
}

/* Transforms the rows and the columns of all planes of this process. */
static void fft_planes(number *array) {
  number *column = malloc(n * sizeof *column);
  for (int plane = 0; plane < planes; plane++) {
    number *at = array + (size_t)plane * n * n;
    for (int row = 0; row < n; row++) fft(at + row * n);
    for (int col = 0; col < n; col++) {
      for (int row = 0; row < n; row++) column[row] = at[row * n + col];
      fft(column);
      for (int row = 0; row < n; row++) at[row * n + col] = column[row];
    }
  }
  free(column);
}

static void fft_rows(number *array) {
  for (int row = 0; row < planes * n; row++) fft(array + (size_t)row * n);
}

/* Fetches the rows that belong to this process after the transpose: from each process, of each of its planes. */
static void transpose_global(number *from) {
  size_t part = (size_t)planes * n / blocks;
  for (int step = 0; step < processes; step++) {
    int other = (me + step) % processes;
    for (int plane = 0; plane < planes; plane++)
      for (int block = 0; block < blocks; block++) {
        number *source = segments[other] + ((size_t)plane * n + (size_t)me * planes) * n + block * part;
        number *to = from + ((size_t)(other * planes + plane) * planes) * n + block * part;
        gex_RMA_GetNBI(team, to, other, source, part * sizeof *to, 0);
      }
  }
  gex_NBI_Wait(GEX_EC_GET, 0);
}

/* Turns what was fetched: [z][y of this process][x] becomes [y of this process][x][z]. */
static void transpose_local(number *to, const number *from) {
  for (int z = 0; z < n; z++)
    for (int y = 0; y < planes; y++)
      for (int x = 0; x < n; x++) to[((size_t)y * n + x) * n + z] = from[((size_t)z * planes + y) * n + x];
}

static void init(void) {
  for (int plane = 0; plane < planes; plane++)
    for (int at = 0; at < n * n; at++) {
      unsigned long place = (unsigned long)(me * planes + plane) * n * n + at;
      place = place * 6364136223846793005UL + 1442695040888963407UL;
      mine[(size_t)plane * n * n + at] = (place >> 40) / 16777216.0 + I * ((place >> 16 & 0xffffff) / 16777216.0);
    }
}

static void evolve(void) {
  for (int plane = 0; plane < planes; plane++)
    for (int at = 0; at < n * n; at++) {
      double k = (me * planes + plane) % 7 + at % 5;
      mine[(size_t)plane * n * n + at] *= exp(-1e-3 * k);
    }
}

static number checksum(const number *array) {
  number sum = 0, all = 0;
  size_t count = (size_t)planes * n * n, before = me * count;
  for (size_t at = (97 - before % 97) % 97; at < count; at += 97) sum += array[at] / ((double)n * n);
  gex_Event_Wait(gex_Coll_ReduceToAllNB(team, &all, &sum, GEX_DT_DBL, 8, 2, GEX_OP_ADD, NULL, NULL, 0));
  return all;
}

int main(int argc, char **argv) {
  gex_Client_t client;
  gex_EP_t endpoint;
  gex_Segment_t segment;
  if (gex_Client_Init(&client, &endpoint, &team, "ft", &argc, &argv, 0)) return 1;
  me = gex_TM_QueryRank(team), processes = gex_TM_QuerySize(team);
  n = argc > 1 ? atoi(argv[1]) : 64;
  int iterations = argc > 2 ? atoi(argv[2]) : 6;
  blocks = argc > 3 ? atoi(argv[3]) : 1;
  if (n < 2 || n & (n - 1) || n % processes || blocks < 1 || (n / processes * n) % blocks) {
    fprintf(stderr, "usage: gasnet_ft [N [ITERATIONS [BLOCKS]]]\n");
    gasnet_exit(2);
  }
  planes = n / processes;
  size_t bytes = (size_t)planes * n * n * sizeof *mine;
  if (gex_Segment_Attach(&segment, team, (bytes + 65535) & ~(size_t)65535)) return 1;
  segments = malloc(processes * sizeof *segments);
  for (int rank = 0; rank < processes; rank++) {
    void *base;
    gex_Segment_QueryBound(team, rank, &base, NULL, NULL);
    segments[rank] = base;
  }
  mine = segments[me];
  turned = malloc(bytes);
  number *fetched = malloc(bytes);
  roots = malloc(n * sizeof *roots);
  for (int at = 0; at < n; at++) roots[at] = cexp(-2 * M_PI * I * at / n);
  init();
  barrier();
  double busy = 0, all = 0;
  for (int iteration = 1; iteration <= iterations; iteration++) {
    double begin = seconds();
    evolve();
    fft_planes(mine);
    busy += seconds() - begin;
    barrier();
    begin = seconds();
    transpose_global(fetched);
    busy += seconds() - begin;
    barrier();
    begin = seconds();
    transpose_local(turned, fetched);
    fft_rows(turned);
    busy += seconds() - begin;
    number sum = checksum(turned);
    if (me == 0) printf("iteration %d checksum %.6e %.6e\n", iteration, creal(sum), cimag(sum));
    /* Numbers stay small. */
    for (size_t at = 0; at < (size_t)planes * n * n; at++) mine[at] /= (double)n * n;
  }
  gex_Event_Wait(gex_Coll_ReduceToAllNB(team, &all, &busy, GEX_DT_DBL, 8, 1, GEX_OP_ADD, NULL, NULL, 0));
  if (me == 0) fprintf(stderr, "time %.6f\n", all);
  fflush(NULL);
  barrier();
  gasnet_exit(0);
  return 0;
}
