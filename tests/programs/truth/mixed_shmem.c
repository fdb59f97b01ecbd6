/* Waits of OpenSHMEM where fast and slow paths, early starts and several culprits meet, with 4 PEs or more: see truth.h.
 * PE 0 computes unless a mode says otherwise. oshcc -g -O1 mixed_shmem.c -o mixed_shmem */
#include <shmem.h>

#include "truth.h"

#define LARGE (1 << 20)
static long in_static[64], *heap;
static char static_block[LARGE], *heap_block;
static void barrier(int event) { BARRIER(event, shmem_barrier_all()); }

static void target_computes(double ms) {
  mark(2);
  rest(ms);
  mark(1);
}

/* PE 1 gets from the heap and from static data in turn, each time while PE 0 computes. */
static void heap_and_static_gets(void) {
  long value;
  for (int i = 0; i < 3; i++) {
    barrier(8 * i + 3);
    if (me == 0) {
      mark(8 * i + 2);
      rest(40);
      mark(8 * i + 1);
    }
    if (me == 1) {
      await(0, 8 * i + 2);
      TIMED(shmem_long_get(&value, heap, 1, 0));
      waited("wait_for_progress", 0, 8 * i + 1);
      TIMED(shmem_long_get(&value, in_static, 1, 0));
      waited("wait_for_progress", 0, 8 * i + 1);
    }
  }
}
/* The same with atomics of all others. */
static void heap_and_static_atomics(void) {
  for (int i = 0; i < 3; i++) {
    barrier(8 * i + 3);
    if (me == 0) {
      mark(8 * i + 2);
      rest(40);
      mark(8 * i + 1);
      continue;
    }
    await(0, 8 * i + 2);
    TIMED((void)shmem_long_atomic_fetch_add(heap + 1, 1, 0));
    waited("wait_for_progress", 0, 8 * i + 1);
    TIMED((void)shmem_long_atomic_fetch_add(in_static + 1, 1, 0));
    waited("wait_for_progress", 0, 8 * i + 1);
  }
}
/* Small and large gets of static data: both need PE 0. */
static void small_and_large_gets(void) {
  static char own[LARGE];
  for (int i = 0; i < 2; i++) {
    barrier(16 * i + 3);
    if (me == 0) {
      mark(16 * i + 7);
      rest(50);
      mark(16 * i + 1);
    }
    if (me == 1) {
      await(0, 16 * i + 7);
      TIMED(shmem_getmem(own, static_block, 8, 0));
      waited("wait_for_progress", 0, 16 * i + 1);
    }
    barrier(16 * i + 5);
    if (me == 0) {
      mark(16 * i + 8);
      rest(50);
      mark(16 * i + 2);
    }
    if (me == 1) {
      await(0, 16 * i + 8);
      TIMED(shmem_getmem(own, static_block, LARGE, 0));
      waited("wait_for_progress", 0, 16 * i + 2);
    }
  }
}
/* PE 1 starts a put early, computes, and waits for what is left. */
static void early_put(void) {
  if (me == 0) return target_computes(120);
  if (me != 1) return;
  await(0, 2);
  shmem_putmem_nbi(static_block, static_block, 4096, 0);
  rest(60);
  TIMED(shmem_quiet());
  waited("wait_for_progress", 0, 1);
}
/* PE 1 waits for several targets that compute for different times. */
static void many_targets(void) {
  if (me != 1) {
    mark(2);
    rest(40 + 30 * me);
    mark(1);
    return;
  }
  for (int pe = 0; pe < processes; pe++)
    if (pe != 1) await(pe, 2);
  for (int pe = 0; pe < processes; pe++)
    if (pe != 1) shmem_putmem_nbi(static_block, static_block, 64, pe);
  TIMED(shmem_quiet());
  waited("wait_for_progress", processes - 1, 1);
}
/* PE 1 waits for PE 0; PE 2 gets from PE 1 meanwhile, whose get serves it. */
static void served_by_a_waiter(void) {
  long value;
  if (me == 0) return target_computes(120);
  if (me == 1) {
    await(0, 2);
    mark(3);
    TIMED(shmem_long_get(&value, in_static, 1, 0));
    waited("wait_for_progress", 0, 1);
  } else if (me == 2) {
    await(1, 3);
    rest(20);
    TIMED(shmem_long_get(&value, heap + 2, 1, 1));
    waited_known(call, "wait_for_progress", 1, 0);
  }
}
/* PE 2 waits for the flag of PE 1, which waits for PE 0. */
static void signal_of_a_waiter(void) {
  static long round, value;
  round++;
  if (me == 0) return target_computes(100);
  if (me == 1) {
    await(0, 2);
    TIMED(shmem_long_get(&value, in_static, 1, 0));
    waited("wait_for_progress", 0, 1);
    rest(30);
    mark(3);
    shmem_long_p(heap + 8, round, 2);
    shmem_quiet();
  } else if (me == 2) {
    TIMED(shmem_long_wait_until(heap + 8, SHMEM_CMP_GE, round));
    waited("late_signal", 1, 3);
  }
}
/* Puts, then a barrier to which PE 0 is late: a wait of the barrier, not of the puts. */
static void put_then_barrier(void) {
  if (me == 0) rest(80);
  else shmem_putmem_nbi(heap_block, heap_block, 4096, 0);
  barrier(3);
}
/* PE 1 waits for PE 0 and, later, for PE 3 in the same line. */
static void one_line_two_targets(void) {
  long value;
  for (int i = 0; i < 2; i++) {
    barrier(8 * i + 3);
    int target = i ? 3 : 0;
    if (me == target) {
      mark(8 * i + 2);
      rest(i ? 90 : 50);
      mark(8 * i + 1);
    }
    if (me == 1) {
      await(target, 8 * i + 2);
      TIMED(shmem_long_get(&value, in_static, 1, target));
      waited("wait_for_progress", target, 8 * i + 1);
    }
  }
}
/* A short wait for a lock that PE 2 holds, again and again. */
static void lock_of_two(void) {
  static long lock;
  for (int i = 0; i < 4; i++) {
    barrier(8 * i + 4);
    if (me == 2) {
      shmem_set_lock(&lock);
      mark(8 * i + 1);
      rest(25);
      mark(8 * i + 2);
      shmem_clear_lock(&lock);
    } else if (me == 1) {
      await(2, 8 * i + 1);
      TIMED(shmem_set_lock(&lock));
      waited("lock_contention", 2, 8 * i + 2);
      shmem_clear_lock(&lock);
    }
  }
}
/* Every PE raises the flag of the next, PE 0 with a delay; all in one ring, several rounds. */
static void ring_of_flags(void) {
  static long round;
  for (int i = 0; i < 4; i++) {
    int previous = (me + processes - 1) % processes;
    round++;
    barrier(8 * i + 3);
    if (me == i % processes) rest(40);
    mark(8 * i + 1);
    shmem_long_p(heap + 9, round, (me + 1) % processes);
    shmem_quiet();
    TIMED(shmem_long_wait_until(heap + 9, SHMEM_CMP_GE, round));
    waited("late_signal", previous, 8 * i + 1);
  }
}

int main(int count, char **names) {
  static const mode_t_ modes[] = {
      MODE(heap_and_static_gets), MODE(heap_and_static_atomics), MODE(small_and_large_gets), MODE(early_put),
      MODE(many_targets), MODE(served_by_a_waiter), MODE(signal_of_a_waiter), MODE(put_then_barrier),
      MODE(one_line_two_targets), MODE(lock_of_two), MODE(ring_of_flags),
  };
  shmem_init();
  truth_begin(shmem_my_pe(), shmem_n_pes());
  TOGETHER("wait_at_create", 10, heap = shmem_calloc(64, sizeof *heap));
  TOGETHER("wait_at_create", 11, heap_block = shmem_calloc(LARGE, 1));
  barrier(0);
  RUN_MODES(count, names, modes, barrier);
  truth_end();
  shmem_finalize();
}
