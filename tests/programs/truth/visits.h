/* Targets that come and go, and know when they carried out an operation.
 *
 * A target reads its own memory again and again while it computes, and after each visit to the runtime. A value that changed
 * during a visit was written in that visit; a value that changed between visits was written by the network alone.
 * So an operation waited from its begin to the visit in which it was carried out, as far as the target was in no visit
 * meanwhile. All processes keep these facts on a page of memory that they share outside of the runtime. */
#ifndef VISITS_H
#define VISITS_H

#include "truth.h"

#define VISITS 60000
#define VALUES 4096
/* In place of the number of a visit: carried out by the network alone. */
#define BY_NETWORK 0x7fffffff

typedef struct {
  /* Visits of this process, from the first, since the start of the mode. */
  int visits;
  struct {
    int64_t begin, end;
  } visit[VISITS];
  /* The number of the visit, from 1, in which a value of an origin arrived, 0 if it did not. */
  int arrived[PROCESSES][VALUES];
  int done;
} facts_t;
static volatile facts_t *facts;
/* The words that origins write, one for each, and what was seen in them. */
static volatile long *words;
static long seen[PROCESSES];

static inline void visits_begin(void) { facts = shared_page("visits", PROCESSES * sizeof(facts_t)); }
/* A mode begins. The caller sees to it that all processes are between modes. */
static inline void visits_reset(volatile long *counters) {
  words = counters;
  facts[me].visits = facts[me].done = 0;
  for (int i = 0; i < PROCESSES; i++) {
    for (int value = 0; value < VALUES; value++) facts[me].arrived[i][value] = 0;
    seen[i] = words[i];
  }
}

static inline void look(int visit) {
  for (int origin = 0; origin < processes; origin++) {
    long value = words[origin];
    for (; seen[origin] < value; seen[origin]++)
      if (seen[origin] + 1 < VALUES) facts[me].arrived[origin][seen[origin] + 1] = visit;
  }
}
static inline void compute_and_look(double us) {
  int64_t end = now() + (int64_t)(us * 1e3);
  while (now() < end) look(BY_NETWORK);
}
/* A visit to the runtime. What arrives in the moment before it is taken to have come with it. */
#define VISIT(statement) \
  do { \
    int number = facts[me].visits; \
    look(BY_NETWORK); \
    if (number < VISITS) facts[me].visit[number].begin = now(); \
    statement; \
    if (number < VISITS) facts[me].visit[number].end = now(); \
    if (number < VISITS) facts[me].visits = number + 1; \
    look(number < VISITS ? number + 1 : BY_NETWORK); \
  } while (0)

/* Operations of this process: calls, the value that each wrote, and the targets as bits. */
static struct {
  call_t call;
  long value;
  unsigned targets;
} operations[VALUES];
static int operation_count;
static inline void operation(long value, unsigned targets) {
  if (operation_count == VALUES) exit(9);
  operations[operation_count].call = call;
  operations[operation_count].value = value;
  operations[operation_count++].targets = targets;
}

typedef struct {
  int64_t begin, end;
} span_t;
static int by_begin(const void *one, const void *two) {
  int64_t a = ((const span_t *)one)->begin, b = ((const span_t *)two)->begin;
  return a < b ? -1 : a > b;
}

/* Adds the times in [from, until] in which a target was in no visit. */
static inline int gaps(int target, int64_t from, int64_t until, span_t *list, int count) {
  for (int i = 0; i < facts[target].visits && from < until && count < VISITS; i++) {
    int64_t begin = facts[target].visit[i].begin, end = facts[target].visit[i].end;
    if (end <= from) continue;
    if (begin > from) list[count++] = (span_t){from, begin < until ? begin : until};
    from = end;
  }
  if (from < until && count < VISITS) list[count++] = (span_t){from, until};
  return count;
}

/* All processes are between modes again: what operations waited is known. */
static inline void visits_end(void) {
  static span_t list[VISITS];
  for (int i = 0; i < operation_count; i++) {
    call_t it = operations[i].call;
    int count = 0, culprit = -1;
    int64_t latest = 0;
    for (int target = 0; target < processes; target++) {
      if (!(operations[i].targets >> target & 1)) continue;
      int visit = facts[target].arrived[me][operations[i].value];
      if (culprit < 0) culprit = target;
      if (visit == 0 || visit == BY_NETWORK) continue;
      int64_t begin = facts[target].visit[visit - 1].begin;
      if (begin > latest) latest = begin, culprit = target;
      count = gaps(target, it.begin, begin < it.end ? begin : it.end, list, count);
    }
    qsort(list, count, sizeof *list, by_begin);
    int64_t wait = 0, covered = 0;
    for (int gap = 0; gap < count; gap++) {
      int64_t begin = list[gap].begin > covered ? list[gap].begin : covered;
      if (list[gap].end > begin) wait += list[gap].end - begin;
      if (list[gap].end > covered) covered = list[gap].end;
    }
    waited_known(it, "wait_for_progress", culprit, wait);
  }
  operation_count = 0;
}

static uint64_t random_state = 88172645463325252ull;
static inline double fraction(void) {
  random_state ^= random_state << 13;
  random_state ^= random_state >> 7;
  random_state ^= random_state << 17;
  return (random_state >> 11) * (1.0 / 9007199254740992.0);
}
static inline void randomise(void) {
  random_state += me * 7919;
  for (int i = 0; i < 20; i++) fraction();
}
/* The part of the argument of a mode after `index` commas, as text or as a number. */
static inline const char *part(int index) {
  const char *text = argument;
  while (index-- && (text = strchr(text, ','))) text++;
  return text ? text : "";
}
static inline double number(int index) { return atof(part(index)); }
static inline int others_done(void) {
  for (int i = 0; i < processes; i++)
    if (i != me && !facts[i].done) return 0;
  return 1;
}
#endif
