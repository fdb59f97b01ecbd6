/* What programs share that wait for a known time: process 0 is late by `delay` milliseconds, process 1 waits.
 *
 * Everything is done ROUNDS times, each time from a function of its own (barrier_0, barrier_1, ...), so that the
 * rounds are call paths of their own. Who is late computes; it does not sleep. After each round process 0 prints, from
 * the clocks of all, how long process 1 must have waited in it; if its call was over before, no longer than that:
 *
 *   expected barrier 0 0.190012
 *
 * Processes tell each other where they are in a page of memory, past the runtime: process 1 begins when process 0 is
 * away from the library, and the delay when process 1 is about to wait. However long the machine keeps one of them
 * from its core, there is a delay, and it is known. */
#ifndef DELAYS_H
#define DELAYS_H

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define ROUNDS 5
#define PROCESSES 3 /* at most */

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec + 1e-9 * now.tv_nsec;
}

static inline void compute(double ms) {
  double end = seconds() + 1e-3 * ms;
  while (seconds() < end) continue;
}

static int me, processes;
static double delay;
/* Of a process in this round: it is away from the library; it begins to wait and is through; it lets others go; it
 * served them between these. */
enum { AWAY, ENTERED, LEFT, RELEASED, SERVED, SERVED_UNTIL, TIMES };
static volatile double (*times)[TIMES];

static void mark(int what) { times[me][what] = seconds(); }

static void await(int process, int what) {
  while (times[process][what] == 0) sched_yield();
}

/* A function for each round that makes the call, none of them merged or inlined. */
#define ROUND(mode, round, call) \
  static __attribute__((noipa)) void mode##_##round(void) { call; }
#define WAIT(mode, call) \
  ROUND(mode, 0, call) ROUND(mode, 1, call) ROUND(mode, 2, call) ROUND(mode, 3, call) \
  ROUND(mode, 4, call) \
  static void (*const mode##_wait[ROUNDS])(void) = \
      {mode##_0, mode##_1, mode##_2, mode##_3, mode##_4};

static void be_on_time(void (*wait)(void)) {
  await(0, AWAY);
  mark(ENTERED);
  wait();
  mark(LEFT);
}

static void be_late(void) {
  mark(AWAY);
  await(1, ENTERED);
  compute(delay);
  mark(RELEASED);
}

/* Both make the call, process 0 is late. */
static inline void together(void (*wait)(void)) {
  if (me == 1) {
    be_on_time(wait);
  } else {
    be_late();
    wait();
  }
}

/* Only process 1 makes the call. Returns whether this is process 0, after its delay. */
static int alone(void (*wait)(void)) {
  if (me == 1) be_on_time(wait);
  else be_late();
  return me == 0;
}

struct mode {
  const char *name;
  int processes;
  void (*once)(void (*wait)(void));
  void (*const *wait)(void);
};

static double part(double from, double to) { return to > from ? to - from : 0; }
static double earlier(double one, double two) { return one < two ? one : two; }

/* What process 1 waited; the last one to come lets it go. */
static void tell(const char *name, int round) {
  int last = processes == 3 ? 2 : 0;
  double enter = times[1][ENTERED], end = earlier(times[1][LEFT], times[last][RELEASED]);
  double expected = part(enter, end);
  if (times[0][SERVED] > 0)
    expected = part(enter, earlier(end, times[0][SERVED])) + part(times[0][SERVED_UNTIL], end);
  printf("expected %s %d %.6f\n", name, round, expected);
  fflush(stdout);
}

static const struct mode *find(const struct mode *modes, const char *name) {
  for (; modes->name; modes++)
    if (strcmp(modes->name, name) == 0 && modes->processes == processes) return modes;
  fprintf(stderr, "usage: DELAY MODE...; there is no %s of %d processes\n", name, processes);
  exit(2);
}

/* Does what the words of the command line ask for. All processes call this, on one node. */
static void run(char **argv, int rank, int size, const struct mode *modes, void (*barrier)(void)) {
  char path[4096];
  int file;
  me = rank, processes = size;
  snprintf(path, sizeof path, "%s.times", argv[0]);
  file = open(path, O_RDWR | O_CREAT, 0600);
  if (file < 0 || ftruncate(file, PROCESSES * sizeof *times)) {
    perror(path);
    exit(1);
  }
  times = mmap(NULL, PROCESSES * sizeof *times, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  delay = argv[1] ? atof(argv[1]) : 0;
  for (char **word = argv + 2; argv[1] && *word; word++) {
    const struct mode *mode = find(modes, *word);
    for (int round = 0; round < ROUNDS; round++) {
      if (me == 0) memset((void *)times, 0, PROCESSES * sizeof *times);
      barrier();
      mode->once(mode->wait[round]);
      barrier();
      if (me == 0) tell(mode->name, round);
    }
  }
}

#endif
