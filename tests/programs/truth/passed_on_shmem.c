/* Delays of one PE that others pass on, with 4 PEs: see truth.h. In every mode all do the same but for one PE, which is
 * late three times. The PEs that wait for it make others wait. A barrier comes before each delay, so that all delays
 * of a mode are between the same two calls.
 * oshcc -g -O1 passed_on_shmem.c -o passed_on_shmem; oshrun -np 4 ./passed_on_shmem signals */
#include <shmem.h>

#include "truth.h"

#define ROUNDS 3
#define LATE 200
typedef struct {
  long flag, lock, word, source, sum;
} symmetric_t;
static symmetric_t *heap;
static long barrier_words[3][SHMEM_BARRIER_SYNC_SIZE], broadcast_words[2][SHMEM_BCAST_SYNC_SIZE];
static long sum_words[2][SHMEM_REDUCE_SYNC_SIZE], work_words[2][SHMEM_REDUCE_MIN_WRKDATA_SIZE];

static void barrier(int event) {
  (void)event;
  shmem_barrier_all();
}
static void raise_flag(int pe) {
  shmem_long_atomic_add(&heap->flag, 1, pe);
  shmem_quiet();
}
static void wait_for_signal(long round) { shmem_long_wait_until(&heap->flag, SHMEM_CMP_GE, round + 1); }

/* PE 2 is late with its signal to PE 3, which signals PE 0, which signals PE 1. */
static void signals(void) {
  for (long round = 0; round < ROUNDS; round++) {
    shmem_barrier_all();
    rest(20);
    if (me == 2) {
      late(LATE);
      TIMED(shmem_long_atomic_add(&heap->flag, 1, 3));
      caused("cause:computing", 3, 2);
      shmem_quiet();
    } else {
      wait_for_signal(round);
      if (me != 1) raise_flag((me + 1) % 4);
    }
  }
}

/* PE 0 is late to meet PE 1, which then meets PE 2, which then meets PE 3. */
static void pairs(void) {
  for (int round = 0; round < ROUNDS; round++) {
    shmem_barrier_all();
    if (me == 0) {
      late(LATE);
      TIMED(shmem_barrier(0, 0, 2, barrier_words[0]));
      caused("cause:computing", 3, 2);
    } else {
      shmem_barrier(me - 1, 0, 2, barrier_words[me - 1]);
      if (me < 3) shmem_barrier(me, 0, 2, barrier_words[me]);
    }
  }
}

/* PE 0 holds a lock for long, for which PE 1 waits; PE 2 waits for a signal of PE 1, and PE 3 for one of PE 2. */
static void lock_holder(void) {
  for (long round = 0; round < ROUNDS; round++) {
    shmem_barrier_all();
    if (me == 0) shmem_set_lock(&heap->lock);
    shmem_barrier_all();
    if (me == 0) {
      late(LATE);
      TIMED(shmem_clear_lock(&heap->lock));
      caused("cause:computing", 3, 2);
    } else if (me == 1) {
      shmem_set_lock(&heap->lock);
      shmem_clear_lock(&heap->lock);
      raise_flag(2);
    } else {
      wait_for_signal(round);
      if (me == 2) raise_flag(3);
    }
  }
}

/* PE 1 gets from PE 0, which is not in the library, and so comes late to the barrier. Over TCP only. */
static void late_target(void) {
  for (int round = 0; round < ROUNDS; round++) {
    shmem_barrier_all();
    if (me == 0) late(LATE);
    if (me == 1) {
      (void)shmem_long_g(&heap->word, 0);
      rest(10);
    }
    TIMED(shmem_barrier_all());
    if (me == 0) caused("cause:computing", 3, 2);
  }
}

/* PE 0 is late with a broadcast to PE 1, for which PEs 2 and 3 wait in a sum. */
static void broadcast_then_sum(void) {
  for (int round = 0; round < ROUNDS; round++) {
    shmem_barrier_all();
    if (me == 0) {
      late(LATE);
      TIMED(shmem_broadcast64(&heap->word, &heap->source, 1, 0, 0, 0, 2, broadcast_words[round % 2]));
      caused("cause:computing", 3, 2);
    } else {
      if (me == 1) shmem_broadcast64(&heap->word, &heap->source, 1, 0, 0, 0, 2, broadcast_words[round % 2]);
      shmem_long_sum_to_all(&heap->sum, &heap->source, 1, 1, 0, 3, work_words[round % 2], sum_words[round % 2]);
    }
  }
}

int main(int count, char **names) {
  static const mode_t_ modes[] = {
      MODE(signals), MODE(pairs), MODE(lock_holder), MODE(late_target), MODE(broadcast_then_sum),
  };
  shmem_init();
  truth_begin(shmem_my_pe(), shmem_n_pes());
  heap = shmem_calloc(1, sizeof *heap);
  for (int word = 0; word < SHMEM_BARRIER_SYNC_SIZE; word++)
    for (int i = 0; i < 3; i++) barrier_words[i][word] = SHMEM_SYNC_VALUE;
  for (int word = 0; word < SHMEM_BCAST_SYNC_SIZE; word++)
    broadcast_words[0][word] = broadcast_words[1][word] = SHMEM_SYNC_VALUE;
  for (int word = 0; word < SHMEM_REDUCE_SYNC_SIZE; word++)
    sum_words[0][word] = sum_words[1][word] = SHMEM_SYNC_VALUE;
  shmem_barrier_all();
  RUN_MODES(count, names, modes, barrier);
  truth_end();
  shmem_finalize();
}
