/*
 * Waits of known length: PE 0 is late by DELAY milliseconds, PE 1 waits for it.
 *
 *   oshcc -O2 -g -fno-optimize-sibling-calls -o delays delays.c
 *   oshrun -np 2 ./delays DELAY MODE...
 *
 * MODE           PE 1 waits in                 until PE 0
 *   barrier      shmem_barrier_all             enters it too
 *   sync         shmem_sync                    enters it too
 *   put_barrier  shmem_barrier_all, after a    enters it too: the put is no reason
 *                put to PE 0
 *   reduce       shmem_long_sum_to_all         enters it too
 *   collect      shmem_collect64               enters it too
 *   fcollect     shmem_fcollect64              enters it too
 *   alltoall     shmem_alltoall64              enters it too
 *   broadcast    shmem_broadcast64, root 0     enters it
 *   malloc       shmem_malloc                  enters it
 *   free         shmem_free                    enters it
 *   lock         shmem_set_lock                gives the lock back
 *   signal       shmem_long_wait_until         writes the flag with shmem_long_p
 *   bulk_signal  shmem_long_wait_until         does so after large puts beside it
 *   get          shmem_long_get of 8 bytes     enters a barrier, if the transport needs it
 *   static_get   the same, of static data       enters a barrier, on every transport of Open MPI
 *   empty_get    the same, after one of 0       enters a barrier, if the transport needs it: the
 *                bytes                          one of 0 bytes needs nobody
 *   nbi          shmem_quiet after get_nbi     enters a barrier, if the transport needs it
 *   atomic       shmem_long_atomic_fetch_add   enters a barrier, if the transport needs it
 *   second_put   shmem_quiet after two puts    enters a barrier, if the transport needs it:
 *                                              the first put was served before
 *   deaf         shmem_long_get of 8 bytes     enters a barrier: until then PE 0 calls
 *                                              shmem_my_pe, which serves nobody
 *   multi_get    shmem_quiet after get_nbi     and PE 2 enter a barrier, if the transport
 *                from PEs 0 and 2              needs it; PE 0 makes a get half-way
 *   multi_put    shmem_quiet after put_nbi     and PE 2 likewise
 *                to PEs 0 and 2
 *
 *   killed       shmem_barrier_all             for ever: PE 0 kills itself
 *
 * Those of several targets need 3 PEs, the others 2. What is printed, and how the delay is made, says delays.h.
 */
#include <shmem.h>
#include <signal.h>

#include "delays.h"

#define BULK 4096

static long sync_words[SHMEM_SYNC_SIZE], reduce_words[SHMEM_REDUCE_SYNC_SIZE];
static long bcast_words[SHMEM_BCAST_SYNC_SIZE], alltoall_words[SHMEM_ALLTOALL_SYNC_SIZE];
static long collect_words[SHMEM_COLLECT_SYNC_SIZE], fcollect_words[SHMEM_COLLECT_SYNC_SIZE];
static long work[SHMEM_REDUCE_MIN_WRKDATA_SIZE + 8];
static void *memory;
static long wanted;
static long fixed; /* read by others */

/* On the symmetric heap, which transports between processes of a node can share. Static objects they
   cannot: those need the target's help on every transport of Open MPI. */
static struct memory {
  long flag, word, held, lock, source[BULK], target[BULK];
} *mem;

WAIT(barrier, shmem_barrier_all())
WAIT(sync, shmem_sync(0, 0, 2, sync_words))
WAIT(put_barrier, shmem_barrier_all())
WAIT(reduce, shmem_long_sum_to_all(&mem->word, &mem->flag, 1, 0, 0, 2, work, reduce_words))
WAIT(collect, shmem_collect64(mem->target, mem->source, 1 + me, 0, 0, 2, collect_words))
WAIT(fcollect, shmem_fcollect64(mem->target, mem->source, 8, 0, 0, 2, fcollect_words))
WAIT(alltoall, shmem_alltoall64(mem->target, mem->source, 8, 0, 0, 2, alltoall_words))
WAIT(broadcast, shmem_broadcast64(mem->target, mem->source, 8, 0, 0, 0, 2, bcast_words))
WAIT(malloc, memory = shmem_malloc(64))
WAIT(free, shmem_free(memory))
WAIT(lock, shmem_set_lock(&mem->lock))
WAIT(signal, shmem_long_wait_until(&mem->flag, SHMEM_CMP_EQ, wanted))
WAIT(bulk_signal, shmem_long_wait_until(&mem->flag, SHMEM_CMP_EQ, wanted))
WAIT(get, shmem_long_get(&mem->word, &mem->flag, 1, 0))
WAIT(static_get, shmem_long_get(&mem->word, &fixed, 1, 0))
WAIT(empty_get, shmem_long_get(&mem->word, &mem->flag, 1, 0))
WAIT(nbi, shmem_quiet())
WAIT(atomic, mem->word = shmem_long_atomic_fetch_add(&mem->held, 1, 0))
WAIT(second_put, shmem_quiet())
WAIT(deaf, shmem_long_get(&mem->word, &mem->flag, 1, 0))
WAIT(killed, shmem_barrier_all())
WAIT(multi_get, shmem_quiet())
WAIT(multi_put, shmem_quiet())

static void only(void (*wait)(void)) { alone(wait); }

static void put_barrier(void (*wait)(void)) {
  if (me == 1) shmem_long_put(mem->target, mem->source, BULK, 0);
  together(wait);
}

static void allocate(void (*wait)(void)) {
  together(wait);
  shmem_free(memory);
}

static void give_back(void (*wait)(void)) {
  memory = shmem_malloc(64);
  together(wait);
}

static void contend(void (*wait)(void)) {
  if (me == 0) {
    shmem_set_lock(&mem->lock);
    shmem_long_p(&mem->held, 1, 1);
    shmem_quiet();
  } else {
    shmem_long_wait_until(&mem->held, SHMEM_CMP_EQ, 1);
    mem->held = 0;
  }
  alone(wait);
  shmem_clear_lock(&mem->lock);
}

static void raise_flag(void (*wait)(void), int bulk) {
  wanted++;
  alone(wait);
  if (me == 1) return;
  for (int i = 0; i < bulk; i++) shmem_long_put(mem->target, mem->source, BULK, 1);
  mark(RELEASED);
  shmem_long_p(&mem->flag, wanted, 1);
  shmem_quiet();
}

static void signal_only(void (*wait)(void)) { raise_flag(wait, 0); }
static void bulk_signal(void (*wait)(void)) { raise_flag(wait, 20); }

static void empty_get(void (*wait)(void)) {
  if (me == 1) {
    await(0, AWAY);
    shmem_long_get(&mem->word, &mem->flag, 0, 0);
  }
  alone(wait);
}

static void nbi(void (*wait)(void)) {
  if (me == 1) {
    await(0, AWAY);
    shmem_long_get_nbi(&mem->word, &mem->flag, 1, 0);
  }
  alone(wait);
}

static void second_put(void (*wait)(void)) {
  if (me == 1) shmem_long_put(mem->target, mem->source, 8, 0);
  shmem_sync(0, 0, 2, sync_words); /* serves, and completes nothing */
  if (me == 1) {
    await(0, AWAY);
    shmem_long_put(mem->target, mem->source, 8, 0);
  }
  alone(wait);
}

static void deaf(void (*wait)(void)) {
  if (me == 1) {
    be_on_time(wait);
    return;
  }
  mark(AWAY);
  await(1, ENTERED);
  double end = seconds() + 1e-3 * delay;
  while (seconds() < end) mem->word += shmem_my_pe();
  mark(RELEASED);
}

static void killed(void (*wait)(void)) {
  if (me == 1) be_on_time(wait);
  mark(AWAY);
  await(1, ENTERED);
  compute(50); /* until PE 1 is in it */
  raise(SIGKILL);
}

static void several(void (*wait)(void), int gets) {
  if (me == 1) {
    await(0, AWAY);
    await(2, AWAY);
    for (int pe = 0; pe <= 2; pe += 2) {
      if (gets) shmem_long_get_nbi(&mem->source[pe], &mem->flag, 1, pe);
      else shmem_long_put_nbi(mem->target, mem->source, 8, pe);
    }
    be_on_time(wait);
    return;
  }
  mark(AWAY);
  await(1, ENTERED);
  if (me == 0) {
    compute(0.5 * delay);
    mark(SERVED);
    shmem_long_get(&mem->word, &mem->flag, 1, 1);
    mark(SERVED_UNTIL);
    compute(0.5 * delay);
  } else {
    await(0, RELEASED);
    compute(2);
  }
  mark(RELEASED);
}

static void multi_get(void (*wait)(void)) { several(wait, 1); }
static void multi_put(void (*wait)(void)) { several(wait, 0); }

static const struct mode modes[] = {
    {"barrier", 2, together, barrier_wait},
    {"sync", 2, together, sync_wait},
    {"put_barrier", 2, put_barrier, put_barrier_wait},
    {"reduce", 2, together, reduce_wait},
    {"collect", 2, together, collect_wait},
    {"fcollect", 2, together, fcollect_wait},
    {"alltoall", 2, together, alltoall_wait},
    {"broadcast", 2, together, broadcast_wait},
    {"malloc", 2, allocate, malloc_wait},
    {"free", 2, give_back, free_wait},
    {"lock", 2, contend, lock_wait},
    {"signal", 2, signal_only, signal_wait},
    {"bulk_signal", 2, bulk_signal, bulk_signal_wait},
    {"get", 2, only, get_wait},
    {"static_get", 2, only, static_get_wait},
    {"empty_get", 2, empty_get, empty_get_wait},
    {"nbi", 2, nbi, nbi_wait},
    {"atomic", 2, only, atomic_wait},
    {"second_put", 2, second_put, second_put_wait},
    {"deaf", 2, deaf, deaf_wait},
    {"killed", 2, killed, killed_wait},
    {"multi_get", 3, multi_get, multi_get_wait},
    {"multi_put", 3, multi_put, multi_put_wait},
    {NULL},
};

static void fill(long *words, int count) {
  for (int i = 0; i < count; i++) words[i] = SHMEM_SYNC_VALUE;
}

int main(int argc, char **argv) {
  (void)argc;
  fill(sync_words, SHMEM_SYNC_SIZE);
  fill(reduce_words, SHMEM_REDUCE_SYNC_SIZE);
  fill(bcast_words, SHMEM_BCAST_SYNC_SIZE);
  fill(alltoall_words, SHMEM_ALLTOALL_SYNC_SIZE);
  fill(collect_words, SHMEM_COLLECT_SYNC_SIZE);
  fill(fcollect_words, SHMEM_COLLECT_SYNC_SIZE);
  shmem_init();
  mem = shmem_calloc(1, sizeof *mem);
  run(argv, shmem_my_pe(), shmem_n_pes(), modes, shmem_barrier_all);
  shmem_free(mem);
  shmem_finalize();
  return 0;
}
