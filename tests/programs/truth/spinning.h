/* Loops that spin until another process lets them through.
 *
 * Each process notes, on a page of memory that all share outside of the runtime, when it releases a lock: right before
 * the call that does so. A loop that spins for the lock waited from its begin until the last release before its end; for
 * each stretch between two releases, the process that made the second one is to blame. All times are of one clock, so the
 * truth is known to the time between a note and the call after it, whatever the machine does. The time
 * that a loop needs to notice the last release is not part of its wait.
 *
 * A loop is one line, so that all its calls are in the line which the program names. The pattern is `spin`: the runtime
 * may make a call of the loop wait for its target, and the loop may poll, and both are part of the same wait.
 *
 * The argument `balanced` runs the twin of a mode, in which the same lines wait for nothing. */
#ifndef SPINNING_H
#define SPINNING_H

#include "truth.h"

#define RELEASES 1024
#define SPINS 1024
typedef struct {
  int count;
  struct {
    int64_t time;
    int kind;
  } at[RELEASES];
} releases_t;
static volatile releases_t *releases;
static inline void spinning_begin(void) { releases = shared_page("releases", PROCESSES * sizeof(releases_t)); }

/* This process is about to release a lock; the kind is a bit. */
static inline void release_now(int kind) {
  int count = releases[me].count;
  if (count == RELEASES) exit(9);
  releases[me].at[count].kind = kind;
  releases[me].at[count].time = now();
  releases[me].count = count + 1;
}

static struct {
  call_t call;
  const char *pattern;
  int kinds, only;
} spins[SPINS];
static int spin_count;
/* The latest timed loop or call waited for releases of some kinds, by all others (ANYONE) or by only one of them. With
 * LAST, all that release share the lock, so the last of them is to blame for all of the wait. */
#define ANYONE -1
#define LAST -2
static inline void waited_for_release(const char *pattern, int kinds, int only) {
  if (spin_count == SPINS) exit(9);
  spins[spin_count].call = call;
  spins[spin_count].pattern = pattern;
  spins[spin_count].kinds = kinds;
  spins[spin_count++].only = only;
}
static inline void spun(int kinds) { waited_for_release("spin", kinds, ANYONE); }

/* All processes have left their loops: what these waited is known. */
static inline void spins_end(void) {
  for (int i = 0; i < spin_count; i++) {
    call_t it = spins[i].call;
    int64_t from = it.begin;
    for (;;) {
      int64_t until = 0;
      int who = -1;
      for (int process = 0; process < processes; process++) {
        if (process == me || (spins[i].only >= 0 && process != spins[i].only)) continue;
        for (int k = 0; k < releases[process].count; k++) {
          int64_t time = releases[process].at[k].time;
          if (!(releases[process].at[k].kind & spins[i].kinds) || time <= from || time > it.end) continue;
          if (who < 0 || (time < until) == (spins[i].only != LAST)) until = time, who = process;
        }
      }
      if (who < 0) break;
      waited_known(it, spins[i].pattern, who, until - from);
      from = until;
    }
    if (from == it.begin) waited_known(it, spins[i].pattern, -1, 0);
  }
  spin_count = 0;
}

/* The twin of the mode runs. */
static inline int balanced(void) { return !strcmp(argument, "balanced"); }
/* Equal work: all processes end it at the same time, even if some of them begin later. */
static int64_t next_step;
static inline void work_evenly(double ms) {
  if (!next_step) next_step = marked(0, EVENTS - 5);
  int64_t end = next_step += (int64_t)(ms * 1e6);
  struct timespec time = {end / 1000000000ll, end % 1000000000ll};
  int64_t begin = now();
  clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, 0);
  outside_of_calls += now() - begin;
}
#endif
