/* Programs of OpenSHMEM before and after a remedy, for two PEs, and those after the empty line for more.
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
 *
 *   flags        every PE puts a flag to all others and waits for theirs; PE 2 is four times as long at its work
 *   even_flags   PE 2 is as long as the others
 *   halo         puts to both neighbours, quiet, barrier; PE 2 is four times as long at its work
 *   even_halo    PE 2 is as long as the others
 *   poll         all others read a word of PE 0 again and again, until it has done its work
 *   short_poll   that work takes a quarter of the time
 *   count        a barrier of a counter and reads of it; PE 2 is three times as long at its work
 *   even_count   the work is divided evenly
 */
#include <shmem.h>

#include "work.h"

enum { ROUNDS = 40, UPDATES = 60, GETS = 16000, JOINED = 16, TASKS = 200, FEW = 50, MOST_PES = 8, HALO = 128 };

/* On the symmetric heap: operations on static data need their target. */
static struct shared {
  long locks[2], next, inbox, table[JOINED], flags[MOST_PES];
  double halo[2][HALO];
} *shared;
static int me, all;

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

/* More processes than cores: sleeping is work that does not need one. */
static void update(double milliseconds) { sleep_for(milliseconds); }

static void flags(double of_pe_2) {
  for (long round = 1; round <= ROUNDS; round++) {
    update(me == 2 ? of_pe_2 : 10);
    for (int pe = 0; pe < all; pe++)
      if (pe != me) shmem_long_p(&shared->flags[me], round, pe);
    shmem_quiet();
    for (int pe = 0; pe < all; pe++)
      if (pe != me) shmem_long_wait_until(&shared->flags[pe], SHMEM_CMP_GE, round);
  }
}

static void halo(double of_pe_2) {
  static double border[HALO];
  for (int round = 0; round < ROUNDS; round++) {
    update(me == 2 ? of_pe_2 : 10);
    shmem_double_put_nbi(shared->halo[0], border, HALO, (me + 1) % all);
    shmem_double_put_nbi(shared->halo[1], border, HALO, (me + all - 1) % all);
    shmem_quiet();
    shmem_barrier_all();
  }
}

static void poll(double of_pe_0) {
  for (long round = 1; round <= ROUNDS; round++) {
    if (me == 0) {
      update(of_pe_0);
      shmem_long_atomic_set(&shared->inbox, round, 0);
    } else {
      while (shmem_long_g(&shared->inbox, 0) < round) sleep_for(0.05);
    }
    shmem_barrier_all();
  }
}

static void count(double of_pe_2, double of_others) {
  for (long round = 1; round <= ROUNDS; round++) {
    update(me == 2 ? of_pe_2 : of_others);
    shmem_long_atomic_inc(&shared->next, 0);
    while (shmem_long_atomic_fetch(&shared->next, 0) < round * all) sleep_for(0.02);
  }
}

int main(int argc, char **argv) {
  const char *mode = argv[1];
  calibrated(argc, argv);
  shmem_init();
  me = shmem_my_pe();
  all = shmem_n_pes();
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
  if (!strcmp(mode, "flags")) flags(40);
  if (!strcmp(mode, "even_flags")) flags(10);
  if (!strcmp(mode, "halo")) halo(40);
  if (!strcmp(mode, "even_halo")) halo(10);
  if (!strcmp(mode, "poll")) poll(40);
  if (!strcmp(mode, "short_poll")) poll(10);
  if (!strcmp(mode, "count")) count(30, 10);
  if (!strcmp(mode, "even_count")) count(15, 15);
  shmem_barrier_all();
  if (me == 0) took(begin);
  shmem_free(shared);
  shmem_finalize();
}
