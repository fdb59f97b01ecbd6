/* The time since some moment in the past, in seconds; it never goes back. */
#ifndef CLOCK_H
#define CLOCK_H

#include <time.h>

static inline double seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

#endif
