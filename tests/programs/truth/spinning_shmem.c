/* Loops over one-sided calls of OpenSHMEM that spin until another PE lets them through: see spinning.h. Each mode is a run
 * of its own. With the argument `balanced` no PE waits: each uses a lock of its own, or all have equal work. Over TCP single
 * calls of a loop wait while their target, PE 0, is outside of the library; the PE that holds the lock is to blame all the
 * same. Where PE 0 is outside without holding the lock, its return counts as a release.
 * oshcc -g -O1 spinning_shmem.c -o spinning_shmem; oshrun -np 3 ./spinning_shmem lock_by_swap */
#include <shmem.h>

#include "spinning.h"

enum { LOCK = 1, READ = 2, WRITE = 4, AWAY = 8 };
enum { WRITER = 1000 };
#define SLOTS 4
typedef struct {
  long lock, word, counter, sense, sequence, data[64], next, locked, tail, tasks, maximum, full[SLOTS], consumed, flags[16];
} symmetric_t;
static symmetric_t *heap;

static void barrier(int event) { BARRIER(event, shmem_barrier_all()); }
/* All leave their loops; PE `root` is the one that all waits go back to. */
static void finish(int root) {
  barrier(250);
  spins_end();
  if (balanced()) return;
  knows_efficiency();
  root_cause(root);
}
static int home(void) { return balanced() ? me : 0; }
static void hold(double ms) { rest(balanced() ? 10 : ms); }
static void work(double ms) {
  if (balanced()) work_evenly(40);
  else rest(ms);
}
/* PE 0 is away from the runtime for a time. */
static void away(double ms) {
  rest(ms);
  release_now(AWAY);
}

/* A spin lock by compare-and-swap. PE 1 holds it longest. */
static void lock_by_swap(void) {
  for (int round = 0; round < 8; round++) {
    TIMED(while (shmem_long_atomic_compare_swap(&heap->lock, 0, me + 1, home())) usleep(50));
    spun(LOCK);
    hold(me == 1 ? 30 : 5);
    release_now(LOCK);
    (void)shmem_long_atomic_swap(&heap->lock, 0, home());
    rest(1);
  }
  finish(1);
}

/* A lock that is read until it is free, and only then swapped. PE 2 holds it longest. */
static void test_and_set(void) {
  for (int round = 0; round < 6; round++) {
    TIMED(for (;;) { while (shmem_long_atomic_fetch(&heap->lock, home())) usleep(20); if (!shmem_long_atomic_swap(&heap->lock, 1, home())) break; });
    spun(LOCK);
    hold(me == 2 ? 40 : 10);
    release_now(LOCK);
    (void)shmem_long_atomic_swap(&heap->lock, 0, home());
    rest(1);
  }
  finish(2);
}

/* A lock with a queue: each waits in one call for a word of its own, which the PE before it writes. The tail of the queue
 * is on PE 0: over TCP a PE can enter the queue, and announce itself to the PE before it, only when these return to the library. */
static void mcs_lock(void) {
  for (int round = 0; round < 6; round++) {
    heap->next = 0;
    heap->locked = 1;
    long before;
    TIMED(before = shmem_long_atomic_swap(&heap->tail, me + 1, home()));
    waited_for_release("wait_for_progress", AWAY, 0);
    if (before) {
      TIMED(shmem_long_atomic_set(&heap->next, me + 1, before - 1));
      waited_for_release("wait_for_progress", LOCK, (int)before - 1);
      TIMED(shmem_long_wait_until(&heap->locked, SHMEM_CMP_EQ, 0));
      waited_for_release("late_signal", LOCK, (int)before - 1);
    }
    hold(me == 1 ? 40 : 10);
    release_now(me ? LOCK : LOCK | AWAY);
    if (!shmem_long_atomic_fetch(&heap->next, me)) {
      if (shmem_long_atomic_compare_swap(&heap->tail, me + 1, 0, home()) == me + 1) continue;
      shmem_long_wait_until(&heap->next, SHMEM_CMP_NE, 0);
    }
    release_now(LOCK);
    shmem_long_atomic_set(&heap->locked, 0, heap->next - 1);
    shmem_quiet();
  }
  finish(1);
}

/* PEs 1 and 2 read a word of PE 0 until PE 0 has changed it. */
static void remote_word(void) {
  for (int round = 0; round < 8; round++) {
    work(me ? 0 : 30);
    if (me == 0) {
      mark(round);
      shmem_long_p(&heap->word, round + 1, 0);
    } else {
      TIMED(while (shmem_long_g(&heap->word, 0) < round + 1) usleep(50));
      waited("spin", 0, round);
      if (!balanced()) rest(2);
    }
    barrier(100 + round);
  }
  finish(0);
}

/* A barrier made of a counter on PE 0, which all read until it is full. PE 3 is late. */
static void central_barrier(void) {
  for (int round = 0; round < (balanced() ? 6 : 10); round++) {
    work(me == 3 ? 30 : 10);
    mark(round);
    (void)shmem_long_atomic_fetch_add(&heap->counter, 1, 0);
    TIMED(while (shmem_long_atomic_fetch(&heap->counter, 0) < (round + 1) * processes));
    waited_for_last("spin", round);
  }
  finish(3);
}

/* A barrier in which the last resets the counter and turns a word over. PE 1 is late. Over TCP atomics of PE 0 on its own
 * memory make no progress for others, so PE 0 waits for the word in a call that does. */
static void sense_barrier(void) {
  for (int round = 0; round < (balanced() ? 6 : 10); round++) {
    long sense = !(round & 1);
    work(me == 1 ? 40 : 10);
    mark(round);
    if (shmem_long_atomic_fetch_add(&heap->counter, 1, 0) == processes - 1) {
      (void)shmem_long_atomic_swap(&heap->counter, 0, 0);
      (void)shmem_long_atomic_swap(&heap->sense, sense, 0);
    } else if (me == 0) {
      TIMED(shmem_long_wait_until(&heap->sense, SHMEM_CMP_EQ, sense));
      waited_for_last("late_signal", round);
    } else {
      TIMED(while (shmem_long_atomic_fetch(&heap->sense, 0) != sense) sched_yield());
      waited_for_last("spin", round);
    }
  }
  finish(1);
}

/* PE 0 fills a ring of slots in the memory of PE 1, which tests the flag of each. PE 0 is slow at first, then PE 1. */
static void ring_by_test(void) {
  int items = 16;
  for (int item = 0; item < items; item++) {
    long *full = &heap->full[item % SLOTS];
    int late = item < items / 2 ? 0 : 1;
    if (me == 0) {
      work(late == 0 ? 30 : 5);
      TIMED(while (!shmem_long_test(&heap->consumed, SHMEM_CMP_GT, item - SLOTS)) sched_yield());
      waited("spin", 1, 100 + item - SLOTS + (item < SLOTS ? items + SLOTS : 0));
      mark(item);
      shmem_long_p(full, item + 1, 1);
    } else if (me == 1) {
      if (balanced()) work(0);
      TIMED(while (!shmem_long_test(full, SHMEM_CMP_EQ, item + 1)) sched_yield());
      waited("spin", 0, item);
      if (!balanced()) rest(late == 1 ? 30 : 5);
      mark(100 + item);
      shmem_long_p(&heap->consumed, item + 1, 0);
    }
    shmem_quiet();
  }
  barrier(250);
  spins_end();
  if (!balanced()) knows_efficiency();
}

/* PE 0 changes data while the number of the version is odd. Readers wait for an even one, which did not change meanwhile. */
static void seqlock(void) {
  long data[64], before, *sequence = &heap->sequence;
  int owner = home();
  if (me == 0) {
    for (int round = 0; round < 8; round++) {
      (void)shmem_long_atomic_fetch_inc(sequence, 0);
      for (int i = 0; i < 64; i++) heap->data[i] = round;
      rest(balanced() ? 0 : 25);
      release_now(WRITE | AWAY);
      (void)shmem_long_atomic_fetch_inc(sequence, 0);
      away(balanced() ? 40 : 15);
    }
  } else {
    for (int i = 0; i < 12; i++) {
      TIMED(for (;;) { while ((before = shmem_long_atomic_fetch(sequence, owner)) & 1) usleep(100); shmem_getmem(data, heap->data, sizeof data, owner); if (shmem_long_atomic_fetch(sequence, owner) == before) break; });
      spun(WRITE | AWAY);
      if (data[0] != data[63]) exit(3);
      rest(balanced() ? 27 : 17);
    }
  }
  barrier(250);
  spins_end();
}

/* Readers add to a word of PE 0, the writer swaps it from zero. PE 0 writes. */
static void readers_writer(void) {
  for (int round = 0; round < 6; round++) {
    if (me == 0 || balanced()) {
      TIMED(while (shmem_long_atomic_compare_swap(&heap->lock, 0, WRITER, home())) usleep(50));
      waited_for_release("spin", READ, LAST);
      hold(30);
      release_now(WRITE | AWAY);
      (void)shmem_long_atomic_fetch_add(&heap->lock, -WRITER, home());
      away(balanced() ? 0 : 12);
    } else {
      TIMED(while (shmem_long_atomic_fetch_add(&heap->lock, 1, 0) >= WRITER) { (void)shmem_long_atomic_fetch_add(&heap->lock, -1, 0); usleep(200); });
      spun(WRITE | AWAY);
      rest(me == 1 ? 8 : 16);
      release_now(READ);
      (void)shmem_long_atomic_fetch_add(&heap->lock, -1, 0);
      rest(6);
    }
  }
  barrier(250);
  spins_end();
}

/* PEs after 0 take tasks from a counter of PE 0, which is in a barrier and serves them. No PE waits for a task. */
static void task_counter(void) {
  if (me)
    while (shmem_long_atomic_fetch_inc(&heap->tasks, 0) < 90) rest(8);
  barrier(250);
}

/* PEs after 0 raise a word of PE 0 to their own values. They try again when another PE was faster, but do not wait. */
static void maximum(void) {
  for (int round = 0; me && round < 12; round++) {
    for (int i = 0; i < 100; i++) {
      long own = 1000 * round + 10 * i + me, old = shmem_long_atomic_fetch(&heap->maximum, 0), seen;
      while (old < own && (seen = shmem_long_atomic_compare_swap(&heap->maximum, old, own, 0)) != old) old = seen;
    }
    work_evenly(50);
  }
  barrier(250);
}

/* All take tasks from a counter of PE 0. Over TCP the others wait while PE 0 is in a task: until its next call. */
static void stealing(void) {
  long task;
  int visits = 0;
  do {
    if (me == 0) mark(visits++);
    TIMED(task = shmem_long_atomic_fetch_inc(&heap->tasks, 0));
    if (me) waited_for_visit("wait_for_progress", 0, 0, 60);
    if (task < 40 && !(balanced() && me == 0)) rest(balanced() ? 10 : 4 + task * 7 % 10 * 4);
  } while (task < 40 && !(balanced() && me == 0));
  if (me == 0) mark(visits);
  barrier(250);
}

/* PE 0 tests the flags of four others until all are raised, and lets them go on. PE 4 works longest. */
static void consumer(void) {
  static const double times[] = {0, 10, 20, 30, 80};
  for (int round = 0; round < 5; round++) {
    if (me == 0) {
      int raised;
      work(0);
      TIMED(do { raised = 0; for (int pe = 1; pe < processes; pe++) raised += shmem_long_test(&heap->flags[pe], SHMEM_CMP_GE, round + 1); sched_yield(); } while (raised < processes - 1));
      waited_for_others(call, "spin", round);
      mark(100 + round);
      for (int pe = 1; pe < processes; pe++) shmem_long_p(&heap->flags[0], round + 1, pe);
      shmem_quiet();
    } else {
      work(times[me]);
      mark(round);
      shmem_long_p(&heap->flags[me], round + 1, 0);
      shmem_quiet();
      TIMED(shmem_long_wait_until(&heap->flags[0], SHMEM_CMP_GE, round + 1));
      waited("late_signal", 0, 100 + round);
    }
  }
  finish(4);
}

int main(int count, char **names) {
  static const mode_t_ modes[] = {
      MODE(lock_by_swap),  MODE(test_and_set), MODE(mcs_lock), MODE(remote_word),    MODE(central_barrier),
      MODE(sense_barrier), MODE(ring_by_test), MODE(seqlock),  MODE(readers_writer), MODE(task_counter),
      MODE(maximum),       MODE(stealing),     MODE(consumer),
  };
  shmem_init();
  truth_begin(shmem_my_pe(), shmem_n_pes());
  spinning_begin();
  heap = shmem_calloc(1, sizeof *heap);
  RUN_MODES(count, names, modes, barrier);
  truth_end();
  shmem_finalize();
}
