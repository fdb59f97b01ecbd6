/* Loops of GASNet that poll until a handler has run: see spinning.h. With the argument `balanced` all have equal work.
 * The makefile of the conduit says how to compile; GASNET_PSHM_NODES=2 ./spinning_gasnet flag_by_message */
#include <gasnet_coll.h>
#include <gasnetex.h>

#include "spinning.h"

enum { RAISE = 140 };
static gex_TM_t team;
static volatile int raised;

static void raise_flag(gex_Token_t token) {
  (void)token;
  raised++;
}
static void barrier(int event) { BARRIER(event, gex_Coll_BarrierBlocking(team, 0)); }

/* Process 1 polls until process 0, which works longest, has sent it a message. */
static void flag_by_message(void) {
  for (int round = 0; round < 8; round++) {
    if (balanced()) work_evenly(40);
    else if (me == 0) rest(30);
    if (me == 0) {
      mark(round);
      gex_AM_RequestShort0(team, 1, RAISE, 0);
    } else if (me == 1) {
      TIMED(while (raised <= round) gasnet_AMPoll());
      waited("spin", 0, round);
    }
    barrier(100 + round);
  }
  if (balanced()) return;
  knows_efficiency();
  root_cause(0);
}

/* The same, with a time to sleep between two polls. */
static void flag_by_slow_poll(void) {
  for (int round = 0; round < 8; round++) {
    if (balanced()) work_evenly(40);
    else if (me == 0) rest(30);
    if (me == 0) {
      mark(round);
      gex_AM_RequestShort0(team, 1, RAISE, 0);
    } else if (me == 1) {
      TIMED(while (raised <= round) { gasnet_AMPoll(); usleep(200); });
      waited("spin", 0, round);
    }
    barrier(100 + round);
  }
  if (balanced()) return;
  knows_efficiency();
  root_cause(0);
}

int main(int count, char **names) {
  static const mode_t_ modes[] = {MODE(flag_by_message), MODE(flag_by_slow_poll)};
  gex_Client_t client;
  gex_EP_t endpoint;
  gex_Segment_t segment;
  gex_AM_Entry_t handlers[] = {{RAISE, (gex_AM_Fn_t)raise_flag, GEX_FLAG_AM_REQUEST | GEX_FLAG_AM_SHORT, 0, NULL, NULL}};
  gex_Client_Init(&client, &endpoint, &team, "truth", &count, &names, 0);
  gex_EP_RegisterHandlers(endpoint, handlers, 1);
  gex_Segment_Attach(&segment, team, 1 << 20);
  truth_begin((int)gex_TM_QueryRank(team), (int)gex_TM_QuerySize(team));
  barrier(10);
  RUN_MODES(count, names, modes, barrier);
  barrier(11);
  truth_end();
  gasnet_exit(0);
}
