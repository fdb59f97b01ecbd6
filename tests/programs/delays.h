/* What programs share that wait for a known time: process 0 is late by `delay` milliseconds, process 1 waits.
 *
 * Everything is done ROUNDS times, each time from a function of its own (barrier_0, barrier_1, ...), so that the
 * rounds are call paths of their own. Who is late computes; it does not sleep. */
#ifndef DELAYS_H
#define DELAYS_H

#include <time.h>

#define ROUNDS 5
#define HEAD_START_MS 5 /* process 1 is there before process 0 can be */

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec + 1e-9 * now.tv_nsec;
}

static void compute_until(double end) {
  while (seconds() < end) continue;
}

static void compute(double ms) { compute_until(seconds() + 1e-3 * ms); }

static int me;
static double delay;
/* Of this round: process 1 begins to wait and is through; it is let go; process 0 served it between these. */
enum { ENTERED, LEFT, RELEASED, SERVED, SERVED_UNTIL, TIMES };
static double times[TIMES]; /* of OpenSHMEM symmetric, as all that is static */

/* A function for each round that makes the call, none of them merged or inlined. */
#define ROUND(mode, round, call) \
  static __attribute__((noipa)) void mode##_##round(void) { call; }
#define WAIT(mode, call) \
  ROUND(mode, 0, call) ROUND(mode, 1, call) ROUND(mode, 2, call) ROUND(mode, 3, call) \
  ROUND(mode, 4, call) \
  static void (*const mode##_wait[ROUNDS])(void) = \
      {mode##_0, mode##_1, mode##_2, mode##_3, mode##_4};

static void go(void (*wait)(void)) {
  times[ENTERED] = seconds();
  wait();
  times[LEFT] = seconds();
}

static void be_late(void) {
  compute(HEAD_START_MS + delay);
  times[RELEASED] = seconds();
}

static void be_on_time(void (*wait)(void)) {
  compute(HEAD_START_MS);
  go(wait);
}

/* Both make the call, process 0 is late. */
static void together(void (*wait)(void)) {
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

static double part(double from, double to) { return to > from ? to - from : 0; }
static double earlier(double one, double two) { return one < two ? one : two; }

#endif
