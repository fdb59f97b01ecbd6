/*
 * Calls from known lines, so that call sites in a trace can be compared with
 * the source. Every line with a call ends in a comment naming the site.
 *
 *   oshcc -O2 -g -o sites sites.c
 *   oshrun -np 2 ./sites
 *
 * PE 0 prints one line per site, in the order of the source:
 *
 *   site NAME line=LINE function=FUNCTION inlined_in=CALLER called=SYMBOL calls=N
 *
 * FUNCTION is where the line is, CALLER ("-" if none) the function it was
 * inlined into, SYMBOL the OpenSHMEM function, N the calls of each PE. All PEs
 * make the same calls. SYMBOL is called nowhere else except where another site
 * says so; shmem_init, shmem_my_pe, shmem_n_pes and shmem_finalize in main are
 * sites too.
 *
 * The site "tail" is different: the compiler turns the call in tail_call into
 * a jump, so the return address is in its caller, and that is the line given.
 */
#include <shmem.h>
#include <stdio.h>
#include <string.h>

#define LOOPS 10
#define DEPTH 4
#define NOINLINE __attribute__((noinline, noclone))
#define INLINE static inline __attribute__((always_inline))

struct site {
  const char *name;
  const char *inlined_in;
  const char *called;
  int calls;
};

static const struct site sites[] = {
    {"plain", "-", "shmem_long_put", 1},
    {"second", "-", "shmem_long_get", 1},
    {"same-line", "-", "shmem_long_g", 2},
    {"loop", "-", "shmem_long_p", LOOPS},
    {"loop-quiet", "-", "shmem_quiet", LOOPS},
    {"inlined", "inline_caller", "shmem_long_atomic_fetch_add", 1},
    {"inlined-twice", "inline_twice", "shmem_long_atomic_add", 2},
    {"recursion", "-", "shmem_fence", DEPTH},
    {"pointer", "-", "shmem_int_g", 1},
    {"wide", "-", "shmem_long_iget", 1},
    {"tail", "-", "shmem_barrier_all", 1},
    {"init", "-", "shmem_init", 1},
    {"my-pe", "-", "shmem_my_pe", 1},
    {"n-pes", "-", "shmem_n_pes", 1},
    {"malloc", "-", "shmem_malloc", 1},
    {"barrier", "-", "shmem_sync_all", 1},
    {"free", "-", "shmem_free", 1},
    {"finalize", "-", "shmem_finalize", 1},
};
#define SITES (int)(sizeof sites / sizeof *sites)

static int lines[SITES];
static const char *functions[SITES];
static volatile long sink; /* keeps the calls above from being the last ones */
static int next;

/* Notes the line and function of a site; on the same line as its call. */
static void note_at(const char *name, int line, const char *function) {
  for (int i = 0; i < SITES; i++) {
    if (strcmp(sites[i].name, name) == 0) {
      lines[i] = line;
      functions[i] = function;
    }
  }
}
#define NOTE(name) note_at(name, __LINE__, __func__)

NOINLINE static void plain(long *data) {
  long local[4] = {0};
  NOTE("plain"); shmem_long_put(data, local, 4, next); /* SITE plain */
  sink++;
  NOTE("second"); shmem_long_get(local, data, 4, next); /* SITE second */
  sink += local[0];
  NOTE("same-line"); sink += shmem_long_g(data, next) + shmem_long_g(data + 1, next); /* SITE same-line */
  sink++;
}

NOINLINE static void loop(long *data) {
  for (int i = 0; i < LOOPS; i++) {
    NOTE("loop"); shmem_long_p(data, i, next); /* SITE loop */
    NOTE("loop-quiet"); shmem_quiet(); /* SITE loop-quiet */
    sink++;
  }
}

INLINE long inlined(long *data) {
  NOTE("inlined"); return shmem_long_atomic_fetch_add(data, 1, next); /* SITE inlined */
}

NOINLINE static void inline_caller(long *data) {
  sink += inlined(data);
  sink++;
}

INLINE void inlined_twice(long *data) {
  NOTE("inlined-twice"); shmem_long_atomic_add(data, 1, next); /* SITE inlined-twice */
}

NOINLINE static void inline_twice(long *data) {
  inlined_twice(data);
  sink++;
  inlined_twice(data + 1);
  sink++;
}

NOINLINE static void recursion(int depth) {
  if (depth == 0) return;
  NOTE("recursion"); shmem_fence(); /* SITE recursion */
  recursion(depth - 1);
  sink++;
}

NOINLINE static void pointer(int *data) {
  int (*volatile get)(const int *, int) = shmem_int_g;
  NOTE("pointer"); sink += get(data, next); /* SITE pointer */
  sink++;
}

NOINLINE static void wide(long *data) {
  long local[4] = {0};
  NOTE("wide"); shmem_long_iget(local, data, 1, 2, 4, next); /* SITE wide */
  sink += local[3];
}

NOINLINE static void tail_call(void) {
  shmem_barrier_all();
}

NOINLINE static void tail_caller(void) {
  NOTE("tail"); tail_call(); /* SITE tail */
  sink++;
}

static void print_sites(void) {
  for (int i = 0; i < SITES; i++)
    printf("site %s line=%d function=%s inlined_in=%s called=%s calls=%d\n",
           sites[i].name, lines[i], functions[i], sites[i].inlined_in,
           sites[i].called, sites[i].calls);
  fflush(stdout);
}

int main(void) {
  NOTE("init"); shmem_init(); /* SITE init */
  NOTE("my-pe"); int me = shmem_my_pe(); /* SITE my-pe */
  NOTE("n-pes"); next = (me + 1) % shmem_n_pes(); /* SITE n-pes */
  NOTE("malloc"); long *data = shmem_malloc(16 * sizeof *data); /* SITE malloc */
  memset(data, 0, 16 * sizeof *data);
  NOTE("barrier"); shmem_sync_all(); /* SITE barrier */
  plain(data);
  loop(data);
  inline_caller(data);
  inline_twice(data);
  recursion(DEPTH);
  pointer((int *)data);
  wide(data);
  tail_caller();
  NOTE("free"); shmem_free(data); /* SITE free */
  NOTE("finalize");
  if (me == 0) {
    lines[SITES - 1] = __LINE__ + 3;
    print_sites();
  }
  shmem_finalize(); /* SITE finalize */
  return 0;
}
