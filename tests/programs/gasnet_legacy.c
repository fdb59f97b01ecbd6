/* A program of GASNet-1, whose calls are macros over those of GASNet-EX. Each process says how often it called what, and
 * ends by returning from main. Handlers have the index that the recorder prefers, and one that GASNet chooses.
 */
#include <gasnet.h>
#include <stdio.h>
#include <stdlib.h>

enum { REQUEST = 200, PREFERRED, REPLY };

static volatile int replies;

static void reply(gasnet_token_t token, gasnet_handlerarg_t a) { replies++; }
static void request(gasnet_token_t token, void *data, size_t bytes, gasnet_handlerarg_t a)
{
    gasnet_AMReplyShort1(token, REPLY, a);
}

int main(int argc, char **argv)
{
    gasnet_handlerentry_t handlers[] = {
        { REQUEST, (void (*)())request },
        { REPLY, (void (*)())reply },
        { 0, (void (*)())reply },
        { PREFERRED, (void (*)())reply },
    };
    long value, other = 0;
    if (gasnet_init(&argc, &argv) || gasnet_attach(handlers, 4, 1 << 20, 0))
        return 1;
    int me = gasnet_mynode(), procs = gasnet_nodes(), next = (me + 1) % procs;
    gasnet_seginfo_t *segments = malloc(procs * sizeof *segments);
    gasnet_getSegmentInfo(segments, procs);
    char *theirs = segments[next].addr;
    value = me;
    gasnet_put(next, theirs, &value, 8);
    gasnet_barrier_notify(0, GASNET_BARRIERFLAG_ANONYMOUS);
    gasnet_barrier_wait(0, GASNET_BARRIERFLAG_ANONYMOUS);
    gasnet_get(&other, next, theirs, 8);
    gasnet_put_nbi(next, theirs + 8, &value, 8);
    gasnet_wait_syncnbi_all();
    gasnet_wait_syncnb(gasnet_get_nb(&other, next, theirs, 8));
    gasnet_AMRequestMedium1(next, REQUEST, &value, 8, 7);
    GASNET_BLOCKUNTIL(replies == 1);
    gasnet_barrier(0, GASNET_BARRIERFLAG_ANONYMOUS);
    printf("process %d of %d has %ld, chosen %d\n", me, procs, other, (int)handlers[2].index);
    static const struct {
        const char *name;
        int calls, bytes;
    } said[] = {
        { "gex_RMA_PutBlocking", 1, 8 }, { "gex_RMA_GetBlocking", 1, 8 }, { "gex_RMA_PutNBI", 1, 8 },
        { "gex_RMA_GetNB", 1, 8 }, { "gex_NBI_Wait", 1, 0 }, { "gex_Event_Wait", 1, 0 },
        { "gasnet_barrier_notify", 1, 0 }, { "gasnet_barrier_wait", 1, 0 }, { "gasnet_barrier", 1, 0 },
        { "gex_AM_RequestMedium", 1, 8 }, { "gex_AM_ReplyShort", 1, 0 }, { "request", 1, 0 }, { "reply", 1, 0 },
        { "GASNET_BLOCKUNTIL", 1, 0 },
    };
    for (size_t i = 0; i < sizeof said / sizeof *said; i++)
        fprintf(stderr, "count pe=%d %s=%d bytes=%d\n", me, said[i].name, said[i].calls, said[i].bytes);
    fflush(stdout);
    return 0;
}
