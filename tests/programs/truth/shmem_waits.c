/* Waits of OpenSHMEM with 2 PEs or more, most with 4: see truth.h.
 * oshcc -g -O1 shmem_waits.c -o shmem_waits; oshrun -np 4 ./shmem_waits queue chain ... */
#include <shmem.h>

#include "truth.h"

#define LARGE (24 << 20)
typedef struct {
  long counter, flags[16], lock, table[64], buffer[4096], block[65536];
} symmetric_t;
static symmetric_t *heap;
static char *large;
static long in_static[16];
static long sync_words[2][SHMEM_BCAST_SYNC_SIZE];

static void barrier(int event) { BARRIER(event, shmem_barrier_all()); }

/* All others take tasks from a counter of PE 0, which computes and enters the library between its tasks. */
static void queue(void) {
  if (me == 0) {
    for (int task = 0; task < 5; task++) {
      rest(60);
      mark(1 + task);
      (void)shmem_long_atomic_fetch_add(&heap->counter, 1, 1);
    }
    mark(6);
    return;
  }
  for (int task = 0; task < 4; task++) {
    TIMED((void)shmem_long_atomic_fetch_add(&heap->counter, 1, 0));
    waited_for_visit("wait_for_progress", 0, 1, 6);
    rest(5);
  }
}

/* Each PE waits for the flag of the one before, works, and raises that of the next. */
static void chain(void) {
  static long round;
  round++;
  if (me > 0) {
    TIMED(shmem_long_wait_until(&heap->flags[0], SHMEM_CMP_GE, round));
    waited("late_signal", me - 1, 1);
  }
  rest(50);
  if (me < processes - 1) {
    shmem_putmem(heap->buffer, heap->buffer, 1024, me + 1);
    shmem_fence();
    mark(1);
    shmem_long_p(&heap->flags[0], round, me + 1);
  }
  shmem_quiet();
}

/* PE 1 puts to all others and waits for all; the last computes, the others are in calls that serve. */
static void slow_target_of_many(void) {
  if (me == 1) {
    for (int pe = 0; pe < processes; pe++)
      if (pe != 1) shmem_putmem_nbi(heap->block, heap->block, 8192, pe);
    mark(1);
    TIMED(shmem_quiet());
    mark(2);
    waited("wait_for_progress", processes - 1, 3);
  } else if (me == processes - 1) {
    await(1, 1);
    rest(150);
    mark(3);
  } else {
    long value;
    while (!marked(1, 2)) {
      shmem_long_get(&value, &heap->table[1], 1, me ? 0 : 2);
      sched_yield();
    }
  }
}

/* PE 1 asks again and again whether its flag was raised. Over TCP this never ends: shmem_test serves nobody. */
static void polling(void) {
  static long round;
  round++;
  if (me == 1) {
    TIMED(while (!shmem_long_test(&heap->flags[1], SHMEM_CMP_GE, round)) sched_yield());
    waited("polling", 0, 1);
  } else if (me == 0) {
    rest(100);
    mark(1);
    shmem_long_p(&heap->flags[1], round, 1);
    shmem_quiet();
  }
}

/* PE 0 makes long gets while their target is in a barrier, which serves them. */
static void target_in_barrier(void) {
  if (me == 0) {
    for (int i = 0; i < 10; i++) {
      TIMED(shmem_getmem(heap->block, heap->block, sizeof heap->block, 1));
      waited_known(call, "wait_for_progress", 1, 0);
    }
    rest(60);
  }
  barrier(1);
}

/* PEs queue up for a lock; each holds it for a known time. */
static void lock_queue(void) {
  if (me > 0) {
    await(me - 1, 1);
    usleep(3000);
  }
  mark(1);
  TIMED(shmem_set_lock(&heap->lock));
  call_t lock = call;
  rest(me ? 30 : 80);
  mark(2);
  shmem_clear_lock(&heap->lock);
  barrier(3);
  waited_for_holders(lock, lock.end, 2);
}

/* PE 1 tries for a lock of PE 0, which computes. */
static void compare_swap(void) {
  if (me == 0) {
    long value;
    for (int i = 0; i < 6; i++) {
      rest(40);
      mark(1 + i);
      shmem_long_get(&value, &heap->table[2], 1, processes - 1);
    }
    mark(7);
  } else if (me == 1) {
    for (int i = 0; i < 3; i++) {
      TIMED((void)shmem_long_atomic_compare_swap(&heap->table[5], 0, 1, 0));
      waited_for_visit("wait_for_progress", 0, 1, 7);
      rest(3);
    }
  }
}

/* The root of a broadcast is late; so is the last of a barrier of all but PE 0. */
static void collectives(void) {
  if (me == 2) rest(70);
  if (me == 2) mark(1);
  TIMED(shmem_broadcast64(heap->buffer, heap->table, 8, 2, 0, 0, processes, sync_words[0]));
  if (me != 2) waited("late_broadcast", 2, 1);
  barrier(2);
  if (me == processes - 1) rest(70);
  mark(4);
  if (me == 0) return;
  TIMED(shmem_barrier(1, 0, processes - 1, sync_words[1]));
  if (me < processes - 1) waited("barrier_wait", processes - 1, 4);
}

/* All do the same. Each gets from its neighbour between two barriers, and may wait for it if it has lost its core. */
static void balanced(void) {
  int next = (me + 1) % processes;
  for (int i = 0; i < 9; i++) {
    rest(5);
    barrier(6 * i);
    mark(6 * i + 1);
    mark(6 * i + 2);
    TIMED(shmem_getmem(heap->buffer, heap->buffer, 1024, next));
    waited_while_away("wait_for_progress", 1u << next, 6 * i + 1);
    barrier(6 * i + 3);
  }
}

/* PE 1 gets a word of PE 0, which computes: from the heap, from static data, no byte, from itself. */
static void target_computes(void) {
  mark(2);
  rest(100);
  mark(1);
}
static void get_heap(void) {
  long value;
  if (me == 0) return target_computes();
  if (me != 1) return;
  await(0, 2);
  TIMED(shmem_long_get(&value, heap->table, 1, 0));
  waited("wait_for_progress", 0, 1);
}
static void get_static(void) {
  long value;
  if (me == 0) return target_computes();
  if (me != 1) return;
  await(0, 2);
  TIMED(shmem_long_get(&value, in_static, 1, 0));
  waited("wait_for_progress", 0, 1);
}
static void get_nothing(void) {
  if (me == 0) return target_computes();
  if (me != 1) return;
  await(0, 2);
  rest(20);
  TIMED(shmem_getmem(heap->table + 4, heap->table, 0, 0));
  waited("wait_for_progress", 0, 1);
}
static void get_own(void) {
  long value;
  TIMED(shmem_long_get(&value, heap->table, 1, me));
  waited_known(call, "wait_for_progress", me, 0);
}

/* PE 1 gets 24 MB from PE 0, which makes short visits. As long as PE 0 is away nothing moves. */
static void large_get_of_visitor(void) {
  if (me == 1) {
    TIMED(shmem_getmem(large, large, LARGE, 0));
    mark(1);
    int64_t away = 0;
    for (int i = 0; i < 25; i++) {
      int64_t from = marked(0, 2 + 2 * i), until = marked(0, 3 + 2 * i);
      if (!from) break;
      if (!until || until > call.end) until = call.end;
      if (from < call.begin) from = call.begin;
      if (until > from) away += until - from;
    }
    waited_known(call, "wait_for_progress", 0, away);
  } else if (me == 0) {
    long value;
    for (int i = 0; i < 25 && !marked(1, 1); i++) {
      mark(2 + 2 * i);
      rest(20);
      mark(3 + 2 * i);
      shmem_long_get(&value, heap->table + 1, 1, 1);
    }
  }
}

/* PE 0 waits until all others have added to its counter. */
static void counter_of_all(void) {
  static long expected;
  expected += processes - 1;
  if (me == 0) {
    TIMED(shmem_long_wait_until(heap->flags + 8, SHMEM_CMP_GE, expected));
    waited("late_signal", processes - 1, 1);
  } else {
    rest(40 * me);
    mark(1);
    shmem_long_atomic_add(heap->flags + 8, 1, 0);
    shmem_quiet();
  }
}

/* PE 1 raises the flag that PE 0 waits for; the others write the word beside it. */
static void word_beside_flag(void) {
  static long round;
  round++;
  if (me == 0) {
    TIMED(shmem_long_wait_until(heap->flags + 4, SHMEM_CMP_GE, round));
    waited("late_signal", 1, 1);
  } else {
    rest(me == 1 ? 80 : 120);
    mark(1);
    shmem_long_p(heap->flags + (me == 1 ? 4 : 5), round, 0);
    shmem_quiet();
  }
}

/* The flag is the last word of a put of 1 KiB. */
static void flag_in_put(void) {
  static long round;
  round++;
  if (me == 0) {
    TIMED(shmem_long_wait_until(heap->buffer + 127, SHMEM_CMP_GE, round));
    waited("late_signal", 1, 1);
  } else if (me == 1) {
    rest(80);
    mark(1);
    heap->buffer[127] = round;
    shmem_long_put(heap->buffer, heap->buffer, 128, 0);
    shmem_quiet();
  }
}

int main(int count, char **names) {
  static const mode_t_ modes[] = {
      MODE(queue),          MODE(chain),       MODE(slow_target_of_many), MODE(polling),
      MODE(target_in_barrier), MODE(lock_queue), MODE(compare_swap),      MODE(collectives),
      MODE(balanced),       MODE(get_heap),    MODE(get_static),          MODE(get_nothing),
      MODE(get_own),        MODE(large_get_of_visitor), MODE(counter_of_all), MODE(word_beside_flag),
      MODE(flag_in_put),
  };
  shmem_init();
  truth_begin(shmem_my_pe(), shmem_n_pes());
  TOGETHER("wait_at_create", 10, heap = shmem_calloc(1, sizeof *heap));
  TOGETHER("wait_at_create", 11, large = shmem_malloc(LARGE));
  memset(large, 1, LARGE);
  for (int i = 0; i < 2; i++)
    for (int word = 0; word < SHMEM_BCAST_SYNC_SIZE; word++) sync_words[i][word] = SHMEM_SYNC_VALUE;
  barrier(0);
  RUN_MODES(count, names, modes, barrier);
  truth_end();
  shmem_finalize();
}
