/* When each image of caf_delays.F90 does what; image 1 is process 0 of delays.h. */
#include "delays.h"

void caf_barrier(void), caf_pair(void), caf_get(void), caf_post(void), caf_lock(void), caf_unlock(void);

#define ROUNDS_OF(mode) \
  void mode##_0(void), mode##_1(void), mode##_2(void), mode##_3(void), mode##_4(void); \
  static void (*const mode##_wait[ROUNDS])(void) = \
      {mode##_0, mode##_1, mode##_2, mode##_3, mode##_4};

ROUNDS_OF(sync_all)
ROUNDS_OF(sync_images)
ROUNDS_OF(event)
ROUNDS_OF(lock)
ROUNDS_OF(broadcast)
ROUNDS_OF(total)
ROUNDS_OF(get)
ROUNDS_OF(subset)

static void event(void (*wait)(void)) {
  if (alone(wait)) caf_post();
}

static void contend(void (*wait)(void)) {
  if (me == 0) caf_lock();
  caf_barrier();
  alone(wait);
  caf_unlock();
}

static void get(void (*wait)(void)) {
  if (me == 1) caf_get(); /* some libraries lock a process with the first operation on it */
  caf_barrier();
  alone(wait);
}

/* Images 1 and 2 meet without image 3, which then is the last to come where all meet. */
static void subset(void (*wait)(void)) {
  if (me < 2) caf_pair();
  if (me == 0) {
    mark(AWAY);
    caf_barrier();
  } else if (me == 1) {
    be_on_time(wait);
  } else {
    await(1, ENTERED);
    compute(delay);
    mark(RELEASED);
    wait();
  }
}

static const struct mode modes[] = {
    {"sync_all", 2, together, sync_all_wait},
    {"sync_images", 2, together, sync_images_wait},
    {"event", 2, event, event_wait},
    {"lock", 2, contend, lock_wait},
    {"broadcast", 2, together, broadcast_wait},
    {"total", 2, together, total_wait},
    {"get", 2, get, get_wait},
    {"subset", 3, subset, subset_wait},
    {NULL},
};

static char **words;

/* glibc hands the words of the command line to constructors, too. */
static __attribute__((constructor)) void keep(int argc, char **argv) {
  (void)argc;
  words = argv;
}

void delays(int image, int images) { run(words, image - 1, images, modes, caf_barrier); }
