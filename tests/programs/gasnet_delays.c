/*
 * Waits of known length: process 0 is late by DELAY milliseconds, process 1 waits for it.
 *
 *   include $(GASNET)/include/udp-conduit/udp-par.mak
 *   $(GASNET_CC) $(GASNET_CPPFLAGS) $(GASNET_CFLAGS) $(dwell build flags gasnet) -g -c gasnet_delays.c
 *   GASNET_SPAWNFN=L ./gasnet_delays 2 DELAY MODE...
 *
 * MODE      process 1 waits in                        until process 0
 *   barrier gex_Coll_BarrierBlocking                  enters it too
 *   split   gex_Event_Wait for a barrier it began     begins the barrier too
 *   sum     gex_Event_Wait for a reduction it began   begins it too
 *   get     gex_RMA_GetBlocking                       polls, if the network needs it
 *   put     gex_RMA_PutBlocking                       polls, if the network needs it
 *   nbi     gex_NBI_Wait after a get                  polls, if the network needs it
 *   event   gex_Event_Wait for a get                  polls, if the network needs it
 *   reply   GASNET_BLOCKUNTIL its request is answered polls
 *   loop    gasnet_AMPoll until its request is answered   polls
 *   slow    GASNET_BLOCKUNTIL its request is answered the handler there ends, which takes long
 *   told    GASNET_BLOCKUNTIL it is told              sends a message
 *   tests   gex_Event_Test, though process 0 polls    nobody: process 1 stops to test
 *   lock    gex_HSL_Lock                              nobody: another thread of process 1 unlocks (PAR)
 *
 * What is printed, and how the delay is made, says delays.h.
 */
#include <gasnetex.h>
#include <gasnet_coll.h>

#include "delays.h"
#ifdef GASNET_PAR
#include <pthread.h>
#endif

enum { REQUEST = 140, REPLY, SLOW, TELL };

static gex_TM_t team;
static void *memory;
static long value, sum, one = 1;
static gex_Event_t event;
static volatile int replies, wanted, told, wanted_told;
static gex_HSL_t lock = GEX_HSL_INITIALIZER;
static volatile int held;
static double stop;

WAIT(barrier, gex_Coll_BarrierBlocking(team, 0))
WAIT(split, gex_Event_Wait(event))
WAIT(sum, gex_Event_Wait(event))
WAIT(get, gex_RMA_GetBlocking(team, &value, 0, memory, sizeof value, 0))
WAIT(put, gex_RMA_PutBlocking(team, 0, memory, &value, sizeof value, 0))
WAIT(nbi, gex_NBI_Wait(GEX_EC_ALL, 0))
WAIT(event, gex_Event_Wait(event))
WAIT(reply, GASNET_BLOCKUNTIL(replies == wanted))
WAIT(loop, while (replies != wanted) gasnet_AMPoll())
WAIT(slow, GASNET_BLOCKUNTIL(replies == wanted))
WAIT(told, GASNET_BLOCKUNTIL(told == wanted_told))
WAIT(tests, while (gex_Event_Test(event) && seconds() < stop) continue)
WAIT(lock, gex_HSL_Lock(&lock))

static void meet(void) { gex_Coll_BarrierBlocking(team, 0); }

/* Both begin it, process 0 late, and end it. */
static void begun(gex_Event_t (*begin)(void), void (*wait)(void)) {
  if (me == 1) {
    await(0, AWAY);
    event = begin();
    mark(ENTERED);
    wait();
    mark(LEFT);
  } else {
    be_late();
    event = begin();
    gex_Event_Wait(event);
  }
}

static gex_Event_t begin_barrier(void) { return gex_Coll_BarrierNB(team, 0); }
static gex_Event_t begin_sum(void) {
  return gex_Coll_ReduceToAllNB(team, &sum, &one, GEX_DT_I64, 8, 1, GEX_OP_ADD, NULL, NULL, 0);
}
static void split(void (*wait)(void)) { begun(begin_barrier, wait); }
static void all(void (*wait)(void)) { begun(begin_sum, wait); }

/* The first one of all is slower than the others. */
static void warm(void) {
  if (me == 1) {
    gex_RMA_GetBlocking(team, &value, 0, memory, sizeof value, 0);
    gex_RMA_PutBlocking(team, 0, memory, &value, sizeof value, 0);
  }
  meet();
}

static void direct(void (*wait)(void)) {
  warm();
  alone(wait);
}

static void implicit(void (*wait)(void)) {
  warm();
  if (me == 1) {
    await(0, AWAY);
    gex_RMA_GetNBI(team, &value, 0, memory, sizeof value, 0);
  }
  alone(wait);
}

static void explicit(void (*wait)(void)) {
  warm();
  if (me == 1) {
    await(0, AWAY);
    event = gex_RMA_GetNB(team, &value, 0, memory, sizeof value, 0);
  }
  alone(wait);
}

static void request(gex_Token_t token) { gex_AM_ReplyShort0(token, REPLY, 0); }
static void reply(gex_Token_t token) { replies++; }

static void answered(void (*wait)(void)) {
  warm();
  if (me == 1) {
    await(0, AWAY);
    wanted++;
    gex_AM_RequestShort0(team, 0, REQUEST, 0);
  }
  alone(wait);
}

/* The handler is late, not the process that runs it. */
static void slow_request(gex_Token_t token) {
  await(1, ENTERED);
  compute(delay);
  mark(RELEASED);
  gex_AM_ReplyShort0(token, REPLY, 0);
}

static void slowly(void (*wait)(void)) {
  warm();
  if (me == 1) {
    await(0, AWAY);
    wanted++;
    gex_AM_RequestShort0(team, 0, SLOW, 0);
    be_on_time(wait);
  } else {
    mark(AWAY);
    GASNET_BLOCKUNTIL(times[0][RELEASED] > 0);
  }
}

static void tell_request(gex_Token_t token) { told++; }

static void notified(void (*wait)(void)) {
  warm();
  wanted_told = told + 1;
  if (alone(wait)) gex_AM_RequestShort0(team, 1, TELL, 0);
}

/* Nothing completes the get before process 1 polls, although process 0 is there for it. */
static void tested(void (*wait)(void)) {
  warm();
  if (me == 1) {
    await(0, AWAY);
    event = gex_RMA_GetNB(team, &value, 0, memory, sizeof value, 0);
    mark(ENTERED);
    stop = seconds() + 1e-3 * delay;
    wait();
    mark(LEFT);
    gex_Event_Wait(event);
    gex_AM_RequestShort0(team, 0, TELL, 0);
  } else {
    wanted_told = told + 1;
    mark(AWAY);
    GASNET_BLOCKUNTIL(told == wanted_told);
    mark(RELEASED);
  }
}

static void *hold(void *unused) {
  gex_HSL_Lock(&lock);
  held = 1;
  await(1, ENTERED);
  compute(delay);
  times[0][RELEASED] = seconds();
  gex_HSL_Unlock(&lock);
  return unused;
}

static void locked(void (*wait)(void)) {
#ifdef GASNET_PAR
  pthread_t other;
  if (me != 1) return;
  held = 0;
  if (pthread_create(&other, NULL, hold, NULL)) exit(1);
  while (!held) sched_yield();
  mark(ENTERED);
  wait();
  mark(LEFT);
  gex_HSL_Unlock(&lock);
  pthread_join(other, NULL);
#else
  (void)hold;
#endif
}

static const struct mode modes[] = {
    {"barrier", 2, together, barrier_wait},
    {"split", 2, split, split_wait},
    {"sum", 2, all, sum_wait},
    {"get", 2, direct, get_wait},
    {"put", 2, direct, put_wait},
    {"nbi", 2, implicit, nbi_wait},
    {"event", 2, explicit, event_wait},
    {"reply", 2, answered, reply_wait},
    {"loop", 2, answered, loop_wait},
    {"slow", 2, slowly, slow_wait},
    {"told", 2, notified, told_wait},
    {"tests", 2, tested, tests_wait},
    {"lock", 2, locked, lock_wait},
    {NULL},
};

int main(int argc, char **argv) {
  gex_Client_t client;
  gex_EP_t endpoint;
  gex_Segment_t segment;
  gex_AM_Entry_t handlers[] = {
      {REQUEST, (gex_AM_Fn_t)request, GEX_FLAG_AM_REQUEST | GEX_FLAG_AM_SHORT, 0, NULL, NULL},
      {REPLY, (gex_AM_Fn_t)reply, GEX_FLAG_AM_REPLY | GEX_FLAG_AM_SHORT, 0, NULL, NULL},
      {SLOW, (gex_AM_Fn_t)slow_request, GEX_FLAG_AM_REQUEST | GEX_FLAG_AM_SHORT, 0, NULL, NULL},
      {TELL, (gex_AM_Fn_t)tell_request, GEX_FLAG_AM_REQUEST | GEX_FLAG_AM_SHORT, 0, NULL, NULL},
  };
  uintptr_t size;
  if (gex_Client_Init(&client, &endpoint, &team, "delays", &argc, &argv, 0) ||
      gex_EP_RegisterHandlers(endpoint, handlers, 4) || gex_Segment_Attach(&segment, team, 1 << 16))
    return 1;
  gex_Segment_QueryBound(team, 0, &memory, NULL, &size);
  meet();
  run(argv, gex_TM_QueryRank(team), gex_TM_QuerySize(team), modes, meet);
  meet();
  gasnet_exit(0);
  return 0;
}
