/* truth.h for Fortran. Images count from 1, processes of truth.h from 0. */
#include "truth.h"

void coarray_begin(int image, int images) { truth_begin(image - 1, images); }
void coarray_end(void) { truth_end(); }
/* A mode begins; all images come here. */
void coarray_mode(int number) {
  static const char *const names[] = {"chain", "late_image", "critical", "computing_image", "after_pair", "balanced",
                                      "partners", "events", "lock_holder", "late_target"};
  mode = names[number];
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
static const char *const patterns[] = {"late_partner", "barrier_wait", "wait_for_progress"};
void coarray_waited(int pattern, int image, int event) { waited(patterns[pattern], image - 1, event); }
void coarray_waited_for_last(int pattern, int event) { waited_for_last(patterns[pattern], event); }
/* All images have released the lock. */
void coarray_waited_for_holders(int event) { waited_for_holders(call, call.end, event); }
