/* truth.h for Fortran. Images count from 1, processes of truth.h from 0. */
#include "spinning.h"

void coarray_begin(int image, int images) {
  truth_begin(image - 1, images);
  spinning_begin();
}
void coarray_end(void) { truth_end(); }
/* The twin of the mode runs. */
static int is_balanced;
void coarray_balanced(void) { is_balanced = 1; }
/* A mode begins; all images come here. */
void coarray_mode(int number) {
  static const char *const names[] = {"chain", "late_image", "critical", "computing_image", "after_pair", "balanced",
                                      "partners", "events", "lock_holder", "late_target",
                                      "atomic_word", "event_query", "four_kinds", "teams"};
  static char twin[64];
  snprintf(twin, sizeof twin, "%s:balanced", names[number]);
  mode = is_balanced ? twin : names[number];
  first_event = number * EVENTS;
  meet(EVENTS - 1);
}
void coarray_mark(int event) { mark(event); }
void coarray_rest(int ms) { rest(ms); }
void coarray_enter(void) { call.begin = now(); }
void coarray_leave(int line) {
  call.end = now();
  call.line = line;
}
/* Delays that are passed on. */
void coarray_late(int ms) { late(ms); }
void coarray_caused(int line, double waits, double passed_on) {
  call.line = line;
  caused("cause:computing", waits, passed_on);
}
static const char *const patterns[] = {"late_partner", "barrier_wait", "wait_for_progress", "spin", "late_signal", "nxn_wait"};
void coarray_waited(int pattern, int image, int event) { waited(patterns[pattern], image - 1, event); }
void coarray_waited_for_last(int pattern, int event) { waited_for_last(patterns[pattern], event); }
/* All images have released the lock. */
void coarray_waited_for_holders(int event) { waited_for_holders(call, call.end, event); }
/* Locks that are taken many times; kinds are bits. */
void coarray_release(int kind) { release_now(kind); }
void coarray_waited_for_release(int kind) { waited_for_release("lock_contention", kind, ANYONE); }
/* All images have left their loops and locks. */
void coarray_spins_end(void) { spins_end(); }
void coarray_root(int image) { root_cause(image - 1); }
void coarray_knows_efficiency(void) { knows_efficiency(); }
/* All images work until the same time. */
void coarray_work_evenly(int ms) {
  if (!next_step) next_step = marked(0, EVENTS - 1);
  work_evenly(ms);
}
