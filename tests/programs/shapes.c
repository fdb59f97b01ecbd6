/*
 * Collectives on many active sets, and a different number of contexts on each
 * PE, so that the merged definitions of a trace hold several groups and
 * windows and something that not every process has.
 *
 *   oshcc -O2 -g -o shapes shapes.c
 *   oshrun -np 4 ./shapes
 *
 * PE 0 prints, always in this order:
 *
 *   set start=0 log_stride=1 size=2 members=0,2 barriers=1 syncs=1 sums=1 broadcasts=1
 *   contexts pe=2 made=3
 *   count pe=...     (as described in examples/common/count.h)
 *
 * Sets are: all PEs; the even and the odd ones; the lower and the upper half;
 * every fourth; the first and the last alone; each neighbouring pair. Those of
 * no members are left out, and so are sets that have come before. PE p makes
 * p + 1 contexts and puts one value through each.
 */
#include <shmem.h>
#include <stdio.h>

#include "../../examples/common/count.h"

#define MAX_SETS 64
#define MAX_PES 32

struct set {
  int start, log_stride, size;
};

static int me, npes;
static struct set sets[MAX_SETS];
static int used;
static long sync_words[2][MAX_SETS][SHMEM_SYNC_SIZE];
static long reduce_sync[MAX_SETS][SHMEM_REDUCE_SYNC_SIZE];
static long bcast_sync[MAX_SETS][SHMEM_BCAST_SYNC_SIZE];
static long in, out, received;
static long reduce_work[SHMEM_REDUCE_MIN_WRKDATA_SIZE];
static long inbox[MAX_PES + 1];

static void wrong(const char *what) {
  fprintf(stderr, "shapes: PE %d: wrong: %s\n", me, what);
  shmem_global_exit(1);
}

static void add_set(int start, int log_stride, int size) {
  if (size < 1 || used == MAX_SETS) return;
  if (size == 1) log_stride = 0;
  for (int i = 0; i < used; i++)
    if (sets[i].start == start && sets[i].log_stride == log_stride && sets[i].size == size)
      return;
  sets[used++] = (struct set){start, log_stride, size};
}

static void choose_sets(void) {
  add_set(0, 0, npes);
  add_set(0, 1, (npes + 1) / 2);
  add_set(1, 1, npes / 2);
  add_set(0, 0, npes / 2);
  add_set(npes / 2, 0, npes - npes / 2);
  add_set(0, 2, (npes + 3) / 4);
  add_set(0, 0, 1);
  add_set(npes - 1, 0, 1);
  for (int pe = 0; pe + 1 < npes; pe++) add_set(pe, 0, 2);
}

static int member(const struct set *s, int i) { return s->start + (i << s->log_stride); }

static int belongs(const struct set *s) {
  for (int i = 0; i < s->size; i++)
    if (member(s, i) == me) return 1;
  return 0;
}

static void prepare_sync(void) {
  for (int s = 0; s < MAX_SETS; s++) {
    for (int i = 0; i < SHMEM_SYNC_SIZE; i++)
      sync_words[0][s][i] = sync_words[1][s][i] = SHMEM_SYNC_VALUE;
    for (int i = 0; i < SHMEM_REDUCE_SYNC_SIZE; i++) reduce_sync[s][i] = SHMEM_SYNC_VALUE;
    for (int i = 0; i < SHMEM_BCAST_SYNC_SIZE; i++) bcast_sync[s][i] = SHMEM_SYNC_VALUE;
  }
}

/* One barrier, sync, sum and broadcast (from the last member) on a set. */
static void use_set(int index) {
  const struct set *s = &sets[index];
  long sum = 0;
  for (int i = 0; i < s->size; i++) sum += member(s, i) + 1;
  in = me + 1;
  out = received = 0;
  CALL(shmem_barrier, 0, s->start, s->log_stride, s->size, sync_words[0][index]);
  CALL(shmem_long_sum_to_all, 8, &out, &in, 1, s->start, s->log_stride, s->size,
       reduce_work, reduce_sync[index]);
  if (out != sum) wrong("sum_to_all");
  CALL(shmem_broadcast64, 8, &received, &in, 1, s->size - 1, s->start,
       s->log_stride, s->size, bcast_sync[index]);
  long root = member(s, s->size - 1);
  if (me != root && received != root + 1) wrong("broadcast64");
  CALL(shmem_sync, 0, s->start, s->log_stride, s->size, sync_words[1][index]);
}

static void print_set(const struct set *s) {
  printf("set start=%d log_stride=%d size=%d members=", s->start, s->log_stride, s->size);
  for (int i = 0; i < s->size; i++) printf("%s%d", i ? "," : "", member(s, i));
  printf(" barriers=1 syncs=1 sums=1 broadcasts=1\n");
}

/* PE p makes p + 1 contexts, all alive at once. */
static void use_contexts(void) {
  static const long options[] = {0, SHMEM_CTX_SERIALIZED, SHMEM_CTX_PRIVATE};
  shmem_ctx_t contexts[MAX_PES];
  int next = (me + 1) % npes, made = me + 1;
  for (int i = 0; i < made; i++)
    if (CALL(shmem_ctx_create, 0, options[i % 3], &contexts[i]) != 0) wrong("ctx_create");
  for (int i = 0; i < made; i++) {
    CALL(shmem_ctx_long_p, 8, contexts[i], &inbox[i], 100 * me + i + 1, next);
    CALL(shmem_ctx_quiet, 0, contexts[i]);
  }
  CALL(shmem_barrier_all, 0);
  int prev = (me + npes - 1) % npes;
  for (int i = 0; i <= prev; i++)
    if (inbox[i] != 100 * prev + i + 1) wrong("ctx_long_p");
  for (int i = 0; i < made; i++) CALL(shmem_ctx_destroy, 0, contexts[i]);
}

int main(void) {
  CALL(shmem_init, 0);
  me = CALL(shmem_my_pe, 0);
  npes = CALL(shmem_n_pes, 0);
  if (npes > MAX_PES) {
    fprintf(stderr, "shapes: at most %d PEs\n", MAX_PES);
    shmem_global_exit(2);
  }
  choose_sets();
  prepare_sync();
  CALL(shmem_barrier_all, 0);
  for (int i = 0; i < used; i++) {
    if (belongs(&sets[i])) use_set(i);
    CALL(shmem_barrier_all, 0);
  }
  use_contexts();
  CALL(shmem_barrier_all, 0);
  if (me == 0) {
    for (int i = 0; i < used; i++) print_set(&sets[i]);
    for (int pe = 0; pe < npes; pe++) printf("contexts pe=%d made=%d\n", pe, pe + 1);
  }
  count_print_and_finalize(me, npes);
  return 0;
}
