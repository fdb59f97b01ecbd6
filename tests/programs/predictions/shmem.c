/* Programs of OpenSHMEM before and after a remedy, for two PEs.
 *
 *   oshcc -O1 -g -finstrument-functions -o shmem shmem.c
 *   oshrun -np 2 ./shmem MODE OPERATIONS_PER_MILLISECOND
 *
 *   unbalanced   PE 1 computes three times as long as PE 0 between barriers
 *   balanced     both compute equally long
 *   lock         both update data under one lock
 *   locks        the data have a lock for each PE
 *   small        PE 0 gets 8 bytes at a time
 *   joined       PE 0 gets as many bytes, 128 at a time
 *   queue        both take tasks from a counter
 *   half_queue   tasks take half as long
 *   late         PE 1 is late and gets no task from the counter
 *   less_late    PE 1 is a quarter as late, and gets some
 */
#include <shmem.h>

#include "work.h"

enum { ROUNDS = 40, UPDATES = 60, GETS = 16000, JOINED = 16, TASKS = 200, FEW = 50 };

/* On the symmetric heap: operations on static data need their target. */
static struct shared {
  long locks[2], next, inbox, table[JOINED];
} *shared;
static int me;

static void relax(double milliseconds) { work(milliseconds); }

static void rounds(double of_pe_0, double of_pe_1) {
  for (int i = 0; i < ROUNDS; i++) {
    long value = i;
    relax(me == 0 ? of_pe_0 : of_pe_1);
    shmem_long_put(&shared->inbox, &value, 1, 1 - me);
    shmem_barrier_all();
  }
}

static void updates(long *lock) {
  for (int i = 0; i < UPDATES; i++) {
    work(5);
    shmem_set_lock(lock); /* LOCK */
    work(15);
    shmem_clear_lock(lock);
  }
}

static void gets(int at_once) {
  static long copy[JOINED];
  if (me == 0)
    for (int i = 0; i < GETS; i += at_once) shmem_long_get(copy, shared->table, at_once, 1); /* GET */
}

/* Tasks take 2 to 12 ms. */
static void task(long number, double factor) { work(factor * (2 + number * 7 % 11)); }

static void queue(long tasks, double factor) {
  long number;
  while ((number = shmem_long_atomic_fetch_inc(&shared->next, 0)) < tasks) task(number, factor);
}

static void prepare(double milliseconds) { work(milliseconds); }

int main(int argc, char **argv) {
  const char *mode = argv[1];
  calibrated(argc, argv);
  shmem_init();
  me = shmem_my_pe();
  shared = shmem_malloc(sizeof *shared);
  memset(shared, 0, sizeof *shared);
  shmem_barrier_all();
  double begin = now();
  if (!strcmp(mode, "unbalanced")) rounds(10, 30);
  if (!strcmp(mode, "balanced")) rounds(20, 20);
  if (!strcmp(mode, "lock")) updates(&shared->locks[0]);
  if (!strcmp(mode, "locks")) updates(&shared->locks[me]);
  if (!strcmp(mode, "small")) gets(1);
  if (!strcmp(mode, "joined")) gets(JOINED);
  if (!strcmp(mode, "queue")) queue(TASKS, 1);
  if (!strcmp(mode, "half_queue")) queue(TASKS, 0.5);
  if (!strcmp(mode, "late") || !strcmp(mode, "less_late")) {
    if (me == 1) prepare(!strcmp(mode, "late") ? 1200 : 300);
    queue(FEW, 2);
  }
  shmem_barrier_all();
  if (me == 0) took(begin);
  shmem_free(shared);
  shmem_finalize();
}
