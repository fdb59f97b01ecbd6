/* Processes that put to others and complete these puts, which makes them wait for a late one: see truth.h and spinning.h.
 * Each mode is a run of its own; with the argument `balanced` all have equal work. Truth: each PE notes when it has worked
 * and enters the library again. A quiet that needs the late PE waits until that note, if it is still under way then. A
 * quiet completes what the barrier before it has put as well, so it may need any PE.
 * oshcc -g -O1 neighbours_shmem.c -o neighbours_shmem; oshrun -np 4 ./neighbours_shmem halo */
#include <shmem.h>
#include <signal.h>
#include <spawn.h>

#include "spinning.h"

typedef struct {
  char block[8192];
  long flags[16];
} symmetric_t;
static symmetric_t *heap;

static void barrier(int event) { BARRIER(event, shmem_barrier_all()); }
static void work(double ms) {
  if (balanced()) work_evenly(40);
  else rest(ms);
}
static void put_to_neighbours(void) {
  shmem_putmem_nbi(heap->block, heap->block + 4096, 1024, (me + 1) % processes);
  shmem_putmem_nbi(heap->block + 2048, heap->block + 4096, 1024, (me + processes - 1) % processes);
}
static void halo_of(unsigned late, double ms) {
  for (int round = 0; round < 10; round++) {
    work(late >> me & 1 ? ms : 10);
    mark(round);
    put_to_neighbours();
    TIMED(shmem_quiet());
    waited_for_others(call, "wait_for_progress", round);
    barrier(100 + round);
  }
}

/* All put to both neighbours in a ring; PE 2 is late. Over TCP PEs 1 and 3 wait for it in quiet, PE 0 there or in the
 * barrier. */
static void halo(void) {
  halo_of(1u << 2, 40);
  if (!balanced()) root_cause(2);
}
/* PEs 0 and 2, both neighbours of PE 1, are late by 30 ms, so the last of the two counts. */
static void two_late(void) { halo_of(1u << 0 | 1u << 2, 40); }

/* A barrier of flags: all put their round to all others and wait for the flags of all. The last PE but one is late, over TCP
 * also for the quiet of others. */
static void flags(void) {
  int late = processes - 2;
  for (int round = 0; round < 10; round++) {
    work(me == late ? 40 : 10);
    mark(round);
    for (int pe = 0; pe < processes; pe++)
      if (pe != me) shmem_long_p(&heap->flags[me], round + 1, pe);
    TIMED(shmem_quiet());
    waited_in_rounds("wait_for_progress", others(), round);
    for (int pe = 0; pe < processes; pe++) {
      if (pe == me) continue;
      TIMED(shmem_long_wait_until(&heap->flags[pe], SHMEM_CMP_GE, round + 1));
      waited("late_signal", pe, round);
    }
  }
  barrier(250);
  if (!balanced()) root_cause(late);
}

/* PE 2 is stopped for 300 ms while it works. */
static void stopped(void) {
  for (int round = 0; round < 20; round++) {
    int stop = me == 2 && round == 10 && !balanced();
    if (stop) {
      char text[120], *words[] = {"sh", "-c", text, 0}, *none[] = {0};
      pid_t child;
      snprintf(text, sizeof text, "sleep 0.005; kill -STOP %d; sleep 0.3; kill -CONT %d", getpid(), getpid());
      if (posix_spawn(&child, "/bin/sh", 0, 0, words, none)) exit(9);
    }
    if (balanced()) work_evenly(20);
    else rest(10);
    if (stop) rest(6);
    barrier(round);
  }
  if (!balanced()) root_cause(2);
}

int main(int count, char **names) {
  static const mode_t_ modes[] = {MODE(halo), MODE(two_late), MODE(flags), MODE(stopped)};
  shmem_init();
  truth_begin(shmem_my_pe(), shmem_n_pes());
  heap = shmem_calloc(1, sizeof *heap);
  RUN_MODES(count, names, modes, barrier);
  truth_end();
  shmem_finalize();
}
