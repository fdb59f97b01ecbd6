/* GASNet programs of two processes that hang, for `dwell where`, by the word on the command line. */
#include <gasnetex.h>
#include <gasnet_coll.h>
#include <string.h>
#include <unistd.h>

static volatile int told;

int main(int count, char **words) {
    gex_Client_t client;
    gex_EP_t endpoint;
    gex_TM_t team;
    gex_Segment_t segment;
    gex_Client_Init(&client, &endpoint, &team, "hangs", &count, &words, 0);
    gex_Segment_Attach(&segment, team, 1 << 20);
    const char *mode = count > 1 ? words[1] : "";
    int me = gex_TM_QueryRank(team);
    gex_Coll_BarrierBlocking(team, 0);
    /* Process 1 computes for ever, and process 0 is in a barrier. */
    if (!strcmp(mode, "barrier"))
        while (me == 1) usleep(1000);
    /* Process 0 waits for a message that nobody sends. */
    if (!strcmp(mode, "message") && me == 0) GASNET_BLOCKUNTIL(told);
    gex_Coll_BarrierBlocking(team, 0);
    gasnet_exit(0);
    return 0;
}
