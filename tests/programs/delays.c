/*
 * Waits of known length: PE 0 is late by DELAY milliseconds, PE 1 waits for it.
 *
 *   oshcc -O2 -g -o delays delays.c
 *   oshrun -np 2 ./delays MODE DELAY
 *
 * MODE           PE 1 waits in                 until PE 0
 *   barrier      shmem_barrier_all             enters it too
 *   put_barrier  shmem_barrier_all, after a    enters it too: the put is no reason
 *                put to PE 0
 *   reduce       shmem_long_sum_to_all         enters it too
 *   broadcast    shmem_broadcast64, root 0     enters it
 *   malloc       shmem_malloc                  enters it
 *   free         shmem_free                    enters it
 *   lock         shmem_set_lock                gives the lock back
 *   signal       shmem_long_wait_until         writes the flag with shmem_long_p
 *   bulk_signal  shmem_long_wait_until         does so after large puts beside it
 *   get          shmem_long_get of 8 bytes     enters a barrier, if the transport needs it
 *   nbi          shmem_quiet after get_nbi     enters a barrier, if the transport needs it
 *   atomic       shmem_long_atomic_fetch_add   enters a barrier, if the transport needs it
 *   deaf         shmem_long_get of 8 bytes     enters a barrier: until then PE 0 calls
 *                                              shmem_my_pe, which serves nobody
 *
 * Everything is done ROUNDS times. PE 0 computes; it does not sleep. At the end it
 * prints, from the clocks of both, how long PE 1 must have waited in all:
 *
 *   expected 0.950123
 */
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ROUNDS 5
#define HEAD_START_MS 5 /* PE 1 is there before PE 0 can be */
#define BULK 4096

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec + 1e-9 * now.tv_nsec;
}

static void compute(double ms) {
  double end = seconds() + 1e-3 * ms;
  while (seconds() < end) continue;
}

static double entered[ROUNDS]; /* when PE 1 began to wait; symmetric */
static double released[ROUNDS]; /* when PE 0 let it go */
static long sync_all[SHMEM_REDUCE_SYNC_SIZE], sync_one[SHMEM_BCAST_SYNC_SIZE];
static long work[SHMEM_REDUCE_MIN_WRKDATA_SIZE + 8];
static int me;
static double delay;

/* On the symmetric heap, which transports between processes of a node can share. Static objects they
   cannot: those need the target's help on every transport of Open MPI. */
static struct memory {
  long flag, word, held, lock, source[BULK], target[BULK];
} *mem;

/* PE 0 is late; PE 1 is on time. */
static void be_late(int round) {
  if (me == 0) {
    compute(HEAD_START_MS + delay);
    released[round] = seconds();
  } else {
    compute(HEAD_START_MS);
    entered[round] = seconds();
  }
}

static void barrier(int round) {
  be_late(round);
  shmem_barrier_all(); /* WAIT barrier */
}

static void put_barrier(int round) {
  if (me == 1) shmem_long_put(mem->target, mem->source, BULK, 0);
  be_late(round);
  shmem_barrier_all(); /* WAIT put_barrier */
}

static void reduce(int round) {
  be_late(round);
  shmem_long_sum_to_all(&mem->word, &mem->flag, 1, 0, 0, 2, work, sync_all); /* WAIT reduce */
}

static void broadcast(int round) {
  be_late(round);
  shmem_broadcast64(mem->target, mem->source, 8, 0, 0, 0, 2, sync_one); /* WAIT broadcast */
}

static void allocate(int round) {
  be_late(round);
  void *memory = shmem_malloc(64); /* WAIT malloc */
  shmem_free(memory);
}

static void give_back(int round) {
  void *memory = shmem_malloc(64);
  be_late(round);
  shmem_free(memory); /* WAIT free */
}

static void contend(int round) {
  if (me == 0) {
    shmem_set_lock(&mem->lock);
    shmem_long_p(&mem->held, 1, 1);
    compute(HEAD_START_MS + delay);
    released[round] = seconds();
    shmem_clear_lock(&mem->lock);
  } else {
    shmem_long_wait_until(&mem->held, SHMEM_CMP_EQ, 1);
    mem->held = 0;
    compute(HEAD_START_MS);
    entered[round] = seconds();
    shmem_set_lock(&mem->lock); /* WAIT lock */
    shmem_clear_lock(&mem->lock);
  }
}

static void raise_flag(int round, int bulk) {
  be_late(round);
  if (me == 0) {
    for (int i = 0; i < bulk; i++) shmem_long_put(mem->target, mem->source, BULK, 1);
    released[round] = seconds();
    shmem_long_p(&mem->flag, round + 1, 1);
    shmem_quiet();
  } else {
    shmem_long_wait_until(&mem->flag, SHMEM_CMP_EQ, round + 1); /* WAIT signal */
  }
}

static void signal_only(int round) { raise_flag(round, 0); }
static void bulk_signal(int round) { raise_flag(round, 20); }

static void get(int round) {
  be_late(round);
  if (me == 1) shmem_long_get(&mem->word, &mem->flag, 1, 0); /* WAIT get */
}

static void nbi(int round) {
  compute(1); /* so that PE 0 has left the barrier before */
  if (me == 1) shmem_long_get_nbi(&mem->word, &mem->flag, 1, 0);
  be_late(round);
  if (me == 1) shmem_quiet(); /* WAIT nbi */
}

static void atomic(int round) {
  be_late(round);
  if (me == 1) mem->word = shmem_long_atomic_fetch_add(&mem->flag, 1, 0); /* WAIT atomic */
}

static void deaf(int round) {
  if (me == 0) {
    double end = seconds() + 1e-3 * (HEAD_START_MS + delay);
    while (seconds() < end) mem->word += shmem_my_pe();
    released[round] = seconds();
  } else {
    compute(HEAD_START_MS);
    entered[round] = seconds();
    shmem_long_get(&mem->word, &mem->flag, 1, 0); /* WAIT deaf */
  }
}

static const struct {
  const char *name;
  void (*once)(int round);
} modes[] = {
    {"barrier", barrier}, {"put_barrier", put_barrier}, {"reduce", reduce},
    {"broadcast", broadcast}, {"malloc", allocate}, {"free", give_back},
    {"lock", contend}, {"signal", signal_only}, {"bulk_signal", bulk_signal},
    {"get", get}, {"nbi", nbi}, {"atomic", atomic}, {"deaf", deaf},
};

int main(int argc, char **argv) {
  if (argc < 3) {
    fprintf(stderr, "usage: %s MODE DELAY\n", argv[0]);
    return 2;
  }
  delay = atof(argv[2]);
  for (int i = 0; i < SHMEM_REDUCE_SYNC_SIZE; i++) sync_all[i] = SHMEM_SYNC_VALUE;
  for (int i = 0; i < SHMEM_BCAST_SYNC_SIZE; i++) sync_one[i] = SHMEM_SYNC_VALUE;
  shmem_init();
  me = shmem_my_pe();
  mem = shmem_calloc(1, sizeof *mem);
  shmem_barrier_all();
  int found = 0;
  for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
    if (strcmp(modes[i].name, argv[1]) != 0) continue;
    found = 1;
    for (int round = 0; round < ROUNDS; round++) {
      shmem_barrier_all();
      modes[i].once(round);
      shmem_barrier_all();
    }
  }
  if (found && me == 0) {
    double began[ROUNDS], expected = 0;
    shmem_getmem(began, entered, sizeof began, 1);
    for (int round = 0; round < ROUNDS; round++) expected += released[round] - began[round];
    printf("expected %.6f\n", expected);
  }
  shmem_barrier_all();
  shmem_free(mem);
  shmem_finalize();
  return found ? 0 : 2;
}
