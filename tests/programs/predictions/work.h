/* Work that is counted in operations, and the time that a program takes.
 *
 * How many operations take a millisecond is found out once, by the program calibrate, and passed to all others as their last
 * argument. So a run with a remedy does exactly the operations that the remedy leaves, however busy the machine is.
 */
#ifndef WORK_H
#define WORK_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define OUTSIDE __attribute__((noinline, unused, no_instrument_function))

static long operations_per_millisecond;
static volatile double sink;

/* Each operation needs the result of the one before, so that neither caches nor other programs' threads on the same core matter
 * much. The compiler does not know where it begins. */
OUTSIDE static void operations(long count) {
  double x = sink;
  for (long i = 0; i < count; i++) x = x * 0.999 + 1;
  sink = x;
}

OUTSIDE static void work(double milliseconds) { operations((long)(milliseconds * operations_per_millisecond)); }

OUTSIDE static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec + 1e-9 * time.tv_nsec;
}

OUTSIDE static void sleep_for(double milliseconds) {
  struct timespec time = {0, (long)(milliseconds * 1e6)};
  nanosleep(&time, NULL);
}

/* Reads the last argument. */
OUTSIDE static void calibrated(int argc, char **argv) { operations_per_millisecond = atol(argv[argc - 1]); }

/* Prints the time since the beginning of the part that counts. */
OUTSIDE static void took(double since) {
  printf("seconds %.6f\n", now() - since);
  fflush(stdout);
}

#endif
