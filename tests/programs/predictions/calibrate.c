/* Prints how many operations take a millisecond on a core here: the median of 11 attempts, without the time of other programs.
 *
 *   gcc -O1 -o calibrate calibrate.c && ./calibrate
 */
#include "work.h"

static int ascending(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double on_core(void) {
  struct timespec time;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return time.tv_sec + 1e-9 * time.tv_nsec;
}

int main(void) {
  enum { TRIES = 11, COUNT = 10000000 };
  double times[TRIES];
  operations(COUNT);
  for (int i = 0; i < TRIES; i++) {
    double begin = on_core();
    operations(COUNT);
    times[i] = on_core() - begin;
  }
  qsort(times, TRIES, sizeof *times, ascending);
  printf("%.0f\n", COUNT / (1e3 * times[TRIES / 2]));
}
