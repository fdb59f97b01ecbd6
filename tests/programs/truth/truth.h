/* Programs that know how long they wait, in which line, and for whom.
 *
 * A program has modes, named on its command line; each is a function that makes calls which wait. Processes note when
 * they did something on a page of memory that they share outside of the runtime, and read the clock before and after
 * each call that waits. From these notes the program computes at its end how long each call waited: from its begin until
 * the culprit did what it waited for, if the call was still under way then. So a busy machine changes the truth
 * and what a tool measures alike. Each process writes its part to $TRUTH_OUT.<process>, a line for each call:
 *
 *   MODE PATTERN LINE WAITER CULPRIT WAIT LENGTH      (times in nanoseconds)
 *
 * A program with one delay that others pass on instead says what it costs them all, and how much of that others passed on:
 *
 *   MODE cause:WHAT LINE CULPRIT CULPRIT COST PASSED_ON
 *
 * WHAT is the activity of findings.json, LINE that of the call after the delay, or of the call that was slow.
 *
 * A program may also know which process its waits go back to, or that no trace of calls can tell (-1), and how long
 * each process was in calls, and in loops that wait, because it neither worked nor looked at the notes of others:
 *
 *   MODE root 0 WAITER CULPRIT 0 0
 *   MODE efficiency 0 PROCESS -1 IN_CALLS TIME
 *
 * $TRUTH_ID names the page. No delay enters the runtime, so the process is away from it meanwhile. */
#ifndef TRUTH_H
#define TRUTH_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <fcntl.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define PROCESSES 16 /* at most */
#define EVENTS 256   /* of a process in a mode */
#define MODES 64
#define CALLS 20000

/* When each process did something: times by CLOCK_MONOTONIC in nanoseconds, 0 if not yet. */
typedef volatile int64_t notes_t[PROCESSES][MODES * EVENTS];
static notes_t *notes;
static int me, processes;
/* The mode that runs, and where its events begin. */
static const char *mode = "start";
static int first_event;

static inline int64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1000000000ll + time.tv_nsec;
}

static void *shared_page(const char *kind, size_t bytes) {
  char name[256];
  const char *id = getenv("TRUTH_ID");
  snprintf(name, sizeof name, "/dev/shm/truth-%s-%s", id ? id : "x", kind);
  int file = open(name, O_RDWR | O_CREAT, 0600);
  if (file < 0 || ftruncate(file, bytes)) {
    perror(name);
    exit(9);
  }
  void *page = mmap(0, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  return page;
}

static int64_t began;
static inline void truth_begin(int process, int count) {
  began = now();
  me = process;
  processes = count;
  notes = shared_page("notes", sizeof *notes);
}

/* Notes that this process is about to do, or did, what `event` stands for in this mode. */
static inline void mark(int event) { (*notes)[me][first_event + event] = now(); }
static inline int64_t marked(int process, int event) {
  return (*notes)[process][first_event + event];
}
/* Time that this process was outside of calls. */
static int64_t outside_of_calls;
static inline void await(int process, int event) {
  int64_t begin = now();
  while (!marked(process, event)) usleep(100);
  outside_of_calls += now() - begin;
}
/* A barrier outside of the runtime. */
static inline void meet(int event) {
  mark(event);
  for (int process = 0; process < processes; process++) await(process, event);
}

/* Delays. On a machine with fewer cores than processes, those that sleep take no core from the others. */
static volatile double sink;
static inline void compute(double ms) {
  int64_t begin = now(), end = begin + (int64_t)(ms * 1e6);
  while (now() < end) sink += 1;
  outside_of_calls += now() - begin;
}
static inline void rest(double ms) {
  struct timespec time = {(long)(ms / 1e3), (long)(ms * 1e6) % 1000000000l};
  int64_t begin = now();
  nanosleep(&time, 0);
  outside_of_calls += now() - begin;
}

/* The latest timed call. */
typedef struct {
  int line;
  int64_t begin, end;
} call_t;
static call_t call;
/* Written in one line, so that debug information and __LINE__ agree. */
#define TIMED(statement) \
  do { \
    call.line = __LINE__; \
    call.begin = now(); \
    statement; \
    call.end = now(); \
  } while (0)

/* What is known about a call, some of it only at the end of the run. */
enum { KNOWN, UNTIL_EVENT, UNTIL_VISIT, UNTIL_TARGETS, WHILE_AWAY, UNTIL_LAST };
typedef struct {
  const char *mode, *pattern;
  call_t call;
  int how, culprit, event, events;
  int further; /* events after this one that may have ended the wait as well */
  int unseen; /* no trace of the runtime can tell the culprit */
  int64_t wait;
} wait_t;
static wait_t waits[CALLS];
static int calls;

static inline void note_wait(wait_t wait) {
  wait.mode = mode;
  if (wait.how != KNOWN) wait.event += first_event;
  if (calls == CALLS) {
    fputs("truth.h: too many calls\n", stderr);
    exit(9);
  }
  waits[calls++] = wait;
}
/* This call waited until `culprit` did `event`. */
static inline void waited_in(call_t it, const char *pattern, int culprit, int event) {
  note_wait((wait_t){.pattern = pattern, .call = it, .how = UNTIL_EVENT, .culprit = culprit, .event = event});
}
static inline void waited(const char *pattern, int culprit, int event) { waited_in(call, pattern, culprit, event); }
/* This call waited until `culprit` did `event`, past the runtime: nobody can be named. */
static inline void waited_unseen(const char *pattern, int culprit, int event) {
  note_wait((wait_t){.pattern = pattern, .call = call, .how = UNTIL_EVENT, .culprit = culprit, .event = event, .unseen = 1});
}
/* This call waited until one of several visits of `culprit`, which are far apart: the last that began during the call. Its
 * operation is short, so an earlier visit that had served it would have ended the call. */
static inline void waited_for_visit(const char *pattern, int culprit, int event, int events) {
  note_wait((wait_t){.pattern = pattern, .call = call, .how = UNTIL_VISIT, .culprit = culprit, .event = event, .events = events});
}
/* This call waited for several processes, given as bits: until the last of them that did `event` during the call. */
static inline void waited_for_some(call_t it, const char *pattern, unsigned culprits, int event) {
  note_wait((wait_t){.pattern = pattern, .call = it, .how = UNTIL_TARGETS, .events = (int)culprits, .event = event});
}
static inline unsigned others(void) { return ((1u << processes) - 1) & ~(1u << me); }
static inline void waited_for_others(call_t it, const char *pattern, int event) {
  waited_for_some(it, pattern, others(), event);
}
/* The same where a process may have gone on to its next round meanwhile, and its next event ended the wait. */
static inline void waited_in_rounds(const char *pattern, unsigned culprits, int event) {
  note_wait((wait_t){.pattern = pattern, .call = call, .how = UNTIL_TARGETS, .events = (int)culprits, .event = event, .further = 1});
}
/* This call waited while one of several processes, given as bits, was between `event` and the event after it. */
static inline void waited_while_away(const char *pattern, unsigned culprits, int event) {
  note_wait((wait_t){.pattern = pattern, .call = call, .how = WHILE_AWAY, .events = (int)culprits, .event = event});
}
/* This call waited for this long. */
static inline void waited_known(call_t it, const char *pattern, int culprit, int64_t wait) {
  note_wait((wait_t){.pattern = pattern, .call = it, .how = KNOWN, .culprit = culprit, .wait = wait > 0 ? wait : 0});
}
/* A lock that was had at `end`, in this call or after it: each process that released it meanwhile is to blame since the
 * release before. All have released it by now, and noted so before. */
static inline void waited_for_holders(call_t it, int64_t end, int event) {
  int64_t from = it.begin;
  for (;;) {
    int64_t until = 0;
    int holder = -1;
    for (int i = 0; i < processes; i++) {
      int64_t release = marked(i, event);
      if (i != me && release > from && release <= end && (holder < 0 || release < until)) until = release, holder = i;
    }
    if (holder < 0 || from >= it.end) break;
    waited_known(it, "lock_contention", holder, (until < it.end ? until : it.end) - from);
    from = until;
  }
}
/* A collective of all: each waits for the last to come. */
static inline void waited_for_last(const char *pattern, int event) {
  note_wait((wait_t){.pattern = pattern, .call = call, .how = UNTIL_LAST, .event = event});
}
/* A call of all that waits for the last of them. Takes one event. */
#define TOGETHER(pattern, event, statement) \
  do { \
    mark(event); \
    TIMED(statement); \
    waited_for_last(pattern, event); \
  } while (0)
#define BARRIER(event, statement) TOGETHER("barrier_wait", event, statement)

/* A delay that others wait for, and its length in nanoseconds. */
static int64_t delay;
static __attribute__((noinline)) void late(double ms) {
  delay = now();
  rest(ms);
  delay = now() - delay;
}
/* The delay before, or in, the latest timed call made processes wait for so many times its length in all, and so much of
 * that for others than this process. Nothing else makes anybody wait for long. */
static inline void caused(const char *what, double waits, double passed_on) {
  call_t at = {call.line, 0, (int64_t)(passed_on * (double)delay)};
  note_wait((wait_t){.pattern = what, .call = at, .how = KNOWN, .culprit = me, .wait = (int64_t)(waits * (double)delay)});
}

/* All waits of the run go back to what `culprit` does outside of calls; -1 if no trace of calls can tell. */
static inline void root_cause(int culprit) {
  if (me == 0) note_wait((wait_t){.pattern = "root", .how = KNOWN, .culprit = culprit});
}
/* The mode that is the only one of the run, if it makes its calls and loops one after the other and else only works. */
static const char *all_known;
static inline void knows_efficiency(void) { all_known = mode; }

static inline void resolve(wait_t *it) {
  int64_t begin = it->call.begin, end = it->call.end, until = 0;
  switch (it->how) {
    case KNOWN: return;
    case UNTIL_EVENT: until = (*notes)[it->culprit][it->event]; break;
    case UNTIL_VISIT:
      for (int i = 0; i < it->events; i++) {
        int64_t time = (*notes)[it->culprit][it->event + i];
        if (time > until && time <= end) until = time;
      }
      break;
    case UNTIL_TARGETS:
      for (int i = 0; i < processes * (1 + it->further); i++) {
        int process = i % processes;
        int64_t time = (*notes)[process][it->event + i / processes];
        if ((it->events >> process & 1) && time > until && time <= end) until = time, it->culprit = process;
      }
      break;
    case WHILE_AWAY:
      for (int i = 0; i < processes; i++) {
        int64_t from = (*notes)[i][it->event], to = (*notes)[i][it->event + 1];
        if (from < begin) from = begin;
        if ((it->events >> i & 1) && to <= end && to - from > it->wait) it->wait = to - from, it->culprit = i;
      }
      return;
    case UNTIL_LAST:
      for (int i = 0; i < processes; i++) {
        int64_t time = (*notes)[i][it->event];
        if (time > until) until = time, it->culprit = i;
      }
      break;
  }
  it->wait = until > begin && until <= end ? until - begin : 0;
}

static inline void truth_end(void) {
  char name[512];
  const char *out = getenv("TRUTH_OUT");
  snprintf(name, sizeof name, "%s.%d", out ? out : "truth", me);
  FILE *file = fopen(name, "w");
  if (!file) {
    perror(name);
    exit(9);
  }
  for (wait_t *it = waits; it < waits + calls; it++) {
    resolve(it);
    int culprit = it->unseen ? -1 : it->culprit;
    fprintf(file, "%s %s %d %d %d %lld %lld\n", it->mode, it->pattern, it->call.line, me, culprit,
            (long long)it->wait, (long long)(it->call.end - it->call.begin));
  }
  if (all_known)
    fprintf(file, "%s efficiency 0 %d -1 %lld %lld\n", all_known, me, (long long)(now() - began - outside_of_calls), (long long)(now() - began));
  fclose(file);
}

/* The modes of a program: `name:argument` runs `name` with an argument. */
typedef struct {
  const char *name;
  void (*run)(void);
} mode_t_;
static const char *argument = "";
#define MODE(name) {#name, name}

static inline void run_modes(int count, char **names, const mode_t_ *modes, int known, void (*barrier)(int)) {
  for (int i = 1; i < count; i++) {
    const mode_t_ *it = modes;
    size_t length = strcspn(names[i], ":");
    while (it < modes + known && (strlen(it->name) != length || strncmp(it->name, names[i], length))) it++;
    if (it == modes + known) {
      fprintf(stderr, "no mode %s\n", names[i]);
      exit(2);
    }
    mode = names[i];
    argument = names[i][length] ? names[i] + length + 1 : "";
    first_event = i * EVENTS; /* the first are for barriers outside of modes */
    barrier(EVENTS - 4);
    meet(EVENTS - 5);
    it->run();
    barrier(EVENTS - 2);
  }
  mode = "end";
  first_event = 0;
}
#define RUN_MODES(count, names, modes, barrier) run_modes(count, names, modes, sizeof modes / sizeof *modes, barrier)
#endif
