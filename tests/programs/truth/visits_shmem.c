/* Targets of OpenSHMEM that come and go: see visits.h. Times are in microseconds and random around what is given.
 *   fetch_add:MEMORY,GAP,OPERATIONS,PAUSE,VISIT  all others add to words of PE 0, which visits the library
 *   get:GAP,OPERATIONS,PAUSE,BYTES,VISIT         all others get from the heap of PE 0, over shared memory
 *   quiet:GAP,OPERATIONS,PAUSE,VISIT             PE 1 puts to all others and waits for all; these come and go
 *   two_threads:GAP,OPERATIONS                   PE 1 adds to static words of PE 0 while another thread of it gets
 *   balanced:TIME,BYTES,ROUNDS,EVERY             all compute, get from their neighbour and add to its counter
 * MEMORY is heap or static; VISIT is get, static (a get of static data), atomic or put.
 * oshcc -g -O1 visits_shmem.c -o visits_shmem -lpthread; oshrun -np 3 ./visits_shmem fetch_add:heap,2000,60,500,get */
#include <pthread.h>
#include <shmem.h>

#include "visits.h"

static long in_static[64], *heap;
static char *large;
static void barrier(int event) { BARRIER(event, shmem_barrier_all()); }
static void pause_for(double us) {
  if (us > 0) compute(us * 2e-3 * fraction());
}

/* A call of PE 0 with which it visits the library. */
static void enter_library(const char *how) {
  long value = 0;
  int partner = me == processes - 1 ? 0 : processes - 1;
  if (*how == 'g') VISIT(shmem_long_get(&value, heap + 40, 1, partner));
  else if (*how == 's') VISIT(shmem_long_get(&value, in_static + 40, 1, partner));
  else if (*how == 'a') VISIT((void)shmem_long_atomic_fetch(heap + 40, partner));
  else VISIT(shmem_long_put(heap + 41, &value, 1, partner); shmem_quiet());
}
/* Some visits serve nobody: after a second PE 0 comes to the barrier, which does. */
static void come_and_go(double gap, const char *how) {
  int64_t end = now() + 1000000000ll;
  while (!others_done() && now() < end) {
    compute_and_look(gap * 2 * fraction());
    enter_library(how);
  }
}
/* Whoever has ended its operations serves the others in a barrier. */
static void finish(void) {
  facts[me].done = 1;
  VISIT(barrier(2));
  visits_end();
}

static void fetch_add(void) {
  long *memory = *part(0) == 'h' ? heap : in_static;
  int count = (int)number(2);
  visits_reset(memory);
  meet(1);
  if (me == 0) {
    come_and_go(number(1), part(4));
  } else {
    for (int i = 0; i < count; i++) {
      long before;
      TIMED(before = shmem_long_atomic_fetch_add(memory + me, 1, 0));
      operation(before + 1, 1);
      pause_for(number(3));
    }
  }
  finish();
}

static void get(void) {
  static char own[8 << 20];
  visits_reset(heap);
  meet(1);
  if (me == 0) {
    come_and_go(number(0), part(4));
  } else {
    for (int i = 0; i < (int)number(1); i++) {
      TIMED(shmem_getmem(own, large, (size_t)number(3), 0));
      waited_known(call, "wait_for_progress", 0, 0);
      pause_for(number(2));
    }
  }
  finish();
}

static void quiet(void) {
  visits_reset(heap);
  meet(1);
  if (me == 1) {
    unsigned others = ((1u << processes) - 1) & ~2u;
    long first = heap[8];
    for (int i = 0; i < (int)number(1); i++) {
      long value = first + i + 1;
      for (int pe = 0; pe < processes; pe++)
        if (pe != 1) shmem_long_put_nbi(heap + 1, &value, 1, pe);
      TIMED(shmem_quiet());
      operation(value, others);
      heap[8] = value;
      pause_for(number(2));
    }
    facts[me].done = 1;
  } else {
    const char *how = part(3);
    long value;
    int partner = me == 0 ? 2 % processes : 0;
    if (partner == me || partner == 1) partner = 1;
    while (!facts[1].done) {
      compute_and_look(number(0) * (me == 2 ? 4 : 2) * fraction());
      if (*how == 'g') VISIT(shmem_long_get(&value, heap + 40, 1, partner));
      else VISIT(shmem_long_get(&value, in_static + 40, 1, partner));
    }
  }
  finish();
}

static volatile int stop;
static void *get_quickly(void *nothing) {
  long value;
  while (!stop) {
    shmem_long_get(&value, heap + 40, 1, 0);
    usleep(200);
  }
  return nothing;
}
static void two_threads(void) {
  visits_reset(in_static);
  meet(1);
  if (me == 0) {
    come_and_go(number(0), "static");
  } else {
    pthread_t thread;
    stop = 0;
    pthread_create(&thread, 0, get_quickly, 0);
    for (int i = 0; i < (int)number(1); i++) {
      long before;
      TIMED(before = shmem_long_atomic_fetch_add(in_static + me, 1, 0));
      operation(before + 1, 1);
    }
    stop = 1;
    pthread_join(thread, 0);
  }
  finish();
}

static void balanced(void) {
  int next = (me + 1) % processes, barriers = 0;
  for (int i = 0; i < (int)number(2); i++) {
    compute(number(0) * 1e-3);
    shmem_getmem(large, large, (size_t)number(1), next);
    compute(number(0) * 1e-3);
    (void)shmem_long_atomic_fetch_add(heap + 50, 1, next);
    if (i % (int)number(3) == (int)number(3) - 1 && barriers < 25) barrier(4 + 2 * barriers++);
  }
}

int main(int count, char **names) {
  static const mode_t_ modes[] = {MODE(fetch_add), MODE(get), MODE(quiet), MODE(two_threads), MODE(balanced)};
  int provided, threads = 0;
  for (int i = 1; i < count; i++) threads |= !strncmp(names[i], "two_threads", 11);
  shmem_init_thread(threads ? SHMEM_THREAD_MULTIPLE : SHMEM_THREAD_SINGLE, &provided);
  truth_begin(shmem_my_pe(), shmem_n_pes());
  visits_begin();
  randomise();
  TOGETHER("wait_at_create", 10, heap = shmem_calloc(64, sizeof *heap));
  TOGETHER("wait_at_create", 11, large = shmem_malloc(8 << 20));
  memset(large, 1, 8 << 20);
  barrier(0);
  RUN_MODES(count, names, modes, barrier);
  truth_end();
  shmem_finalize();
}
