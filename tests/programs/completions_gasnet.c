/* Two non-blocking puts whose events are waited for in the other order, 100 ms apart. */
#include <gasnetex.h>
#include <gasnet_coll.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    static char source[8192];
    gex_Client_t client;
    gex_EP_t endpoint;
    gex_TM_t team;
    gex_Segment_t segment;
    void *memory;
    uintptr_t size;
    if (gex_Client_Init(&client, &endpoint, &team, "completions", &argc, &argv, 0) ||
        gex_Segment_Attach(&segment, team, 1 << 16))
        return 1;
    gex_Segment_QueryBound(team, 1, &memory, NULL, &size);
    gex_Coll_BarrierBlocking(team, 0);
    if (gex_TM_QueryRank(team) == 0) {
        gex_Event_t one = gex_RMA_PutNB(team, 1, memory, source, 4096, GEX_EVENT_DEFER, 0);
        gex_Event_t two = gex_RMA_PutNB(team, 1, memory, source, 8192, GEX_EVENT_DEFER, 0);
        gex_Event_Wait(two);
        usleep(100000);
        gex_Event_Wait(one);
        printf("done\n");
    }
    gex_Coll_BarrierBlocking(team, 0);
    gasnet_exit(0);
    return 0;
}
