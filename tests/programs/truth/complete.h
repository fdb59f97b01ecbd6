/* Rounds of programs that complete operations: process 1 makes a call in each, while the others compute for different times.
 * With the argument `balanced` the others enter the runtime at once, and nothing waits for long. */
#ifndef COMPLETE_H
#define COMPLETE_H

#include "truth.h"

#define ROUNDS 4
#define ORIGIN 1
#define COMES(round) (2 * (round) + 1)

/* The others compute, and return 0. The origin returns 1 when all of them have begun. */
static inline int is_origin(int round) {
  if (me == ORIGIN) {
    for (int process = 0; process < processes; process++)
      if (process != me) await(process, 2 * round);
    if (strcmp(argument, "balanced") == 0) usleep(2000);
    return 1;
  }
  mark(2 * round);
  if (strcmp(argument, "balanced")) rest(100 + 20 * me);
  mark(COMES(round));
  return 0;
}
/* The latest timed call of the origin waited until process 0, or the last of the others, came. */
static inline void waited_for_target(int round) { waited("wait_for_progress", 0, COMES(round)); }
static inline void waited_for_targets(int round) { waited_for_others(call, "wait_for_progress", COMES(round)); }
#endif
