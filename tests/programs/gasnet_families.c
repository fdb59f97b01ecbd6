/* What GASNet-EX can do, by families of calls. Each process says how often it called what, and how many bytes
 * that moved, on standard error: how often it polls differs from run to run. In PAR mode a second thread of each process takes part.
 *
 *   include $(GASNET)/include/smp-conduit/smp-seq.mak
 *   $(GASNET_CC) $(GASNET_CPPFLAGS) $(GASNET_CFLAGS) $(dwell build flags gasnet) -g -c gasnet_families.c
 */
#include <gasnetex.h>
#include <gasnet_coll.h>
#include <gasnet_ratomic.h>
#include <gasnet_vis.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#if GASNET_PAR
#include <pthread.h>
#endif

enum { N = 64, SEGMENT = 4 << 20 };

#define OK(call)                                                            \
    do {                                                                    \
        int code_ = (call);                                                 \
        if (code_ != GASNET_OK) {                                           \
            fprintf(stderr, "%s: %s\n", #call, gasnet_ErrorName(code_));    \
            gasnet_exit(1);                                                 \
        }                                                                   \
    } while (0)

static gex_Client_t client;
static gex_EP_t endpoint;
static gex_TM_t team;
static gex_Segment_t segment;
static gex_Rank_t me, procs, next;
static uint64_t *mine, *theirs, *first; /* segments of this process, the next and the first */

static struct {
    const char *name;
    int calls;
    long bytes;
} said[100];

/* Adds to what is said at the end. */
static void say(const char *name, int calls, long bytes)
{
    int at = 0;
    while (said[at].name && strcmp(said[at].name, name))
        at++;
    said[at].name = name;
    said[at].calls += calls;
    said[at].bytes += bytes;
}

/* The segment of a process, whose address may differ from process to process. */
static uint64_t *memory_of(gex_TM_t of, gex_Rank_t rank)
{
    void *base = NULL;
    uintptr_t size = 0;
    gex_Segment_QueryBound(of, rank, &base, NULL, &size);
    return base;
}

static void barrier(void)
{
    gex_Event_Wait(gex_Coll_BarrierNB(team, 0));
    say("gex_Coll_BarrierNB", 1, 0);
    say("gex_Event_Wait", 1, 0);
}

static void result(const char *family)
{
    uint64_t sum = 0;
    barrier();
    for (int i = 0; i < 4096; i++)
        sum += mine[i] * (i % 7 + 1);
    printf("process %d has %llu after %s\n", (int)me, (unsigned long long)sum, family);
    barrier();
}

static void contiguous(void)
{
    uint64_t here[N], back[N];
    gex_Event_t events[4], leaf;
    for (int i = 0; i < N; i++)
        here[i] = me * 1000 + i;
    gex_RMA_PutBlocking(team, next, theirs, here, sizeof here, 0);
    gex_RMA_GetBlocking(team, back, next, theirs, sizeof back, 0);
    if (memcmp(here, back, sizeof here))
        gasnet_exit(2);
    gex_RMA_PutBlockingVal(team, next, theirs + N, 7, 4, 0);
    if (gex_RMA_GetBlockingVal(team, next, theirs + N, 4, 0) != 7)
        gasnet_exit(2);
    say("gex_RMA_PutBlocking", 1, N * 8);
    say("gex_RMA_GetBlocking", 1, N * 8);
    say("gex_RMA_PutBlockingVal", 1, 4);
    say("gex_RMA_GetBlockingVal", 1, 4);
    /* To itself. */
    gex_RMA_PutBlocking(team, me, mine + 2 * N, here, 16, 0);
    say("gex_RMA_PutBlocking", 1, 16);
    /* With events. */
    events[0] = gex_RMA_PutNB(team, next, theirs + 3 * N, here, 8 * N, &leaf, 0);
    gex_Event_Wait(leaf);
    gex_Event_Wait(events[0]);
    say("gex_Event_Wait", 2, 0);
    events[0] = gex_RMA_GetNB(team, back, next, theirs + 3 * N, 8, 0);
    events[1] = gex_RMA_GetNB(team, back + 1, next, theirs + 3 * N + 1, 16, 0);
    events[2] = gex_RMA_PutNBVal(team, next, theirs + 4 * N, 11, 8, 0);
    events[3] = GEX_EVENT_INVALID;
    gex_Event_WaitAll(events, 4, 0);
    say("gex_RMA_PutNB", 1, 8 * N);
    say("gex_RMA_GetNB", 2, 24);
    say("gex_RMA_PutNBVal", 1, 8);
    say("gex_Event_WaitAll", 1, 0);
    events[0] = gex_RMA_GetNB(team, back, next, theirs, 8, 0);
    gex_Event_WaitSome(events, 1, 0);
    say("gex_RMA_GetNB", 1, 8);
    say("gex_Event_WaitSome", 1, 0);
    events[0] = gex_RMA_GetNB(team, back, next, theirs, 8, 0);
    say("gex_RMA_GetNB", 1, 8);
    for (int done = 0; !done;) {
        gasnet_AMPoll();
        done = gex_Event_Test(events[0]) == GASNET_OK;
        say("gasnet_AMPoll", 1, 0);
        say("gex_Event_Test", 1, 0);
    }
    /* Without. */
    for (int i = 0; i < 5; i++) {
        gex_RMA_PutNBI(team, next, theirs + 5 * N + i, here + i, 8, GEX_EVENT_NOW, 0);
        gex_RMA_PutNBIVal(team, next, theirs + 6 * N + i, i, 8, 0);
        gex_RMA_GetNBI(team, back + i, next, theirs + i, 8, 0);
    }
    gex_NBI_Wait(GEX_EC_GET, 0);
    gex_NBI_Wait(GEX_EC_ALL, 0);
    say("gex_RMA_PutNBI", 5, 40);
    say("gex_RMA_PutNBIVal", 5, 40);
    say("gex_RMA_GetNBI", 5, 40);
    say("gex_NBI_Wait", 2, 0);
    gex_NBI_BeginAccessRegion(0);
    gex_RMA_PutNBI(team, next, theirs + 7 * N, here, 24, GEX_EVENT_NOW, 0);
    gex_RMA_GetNBI(team, back, next, theirs, 32, 0);
    gex_Event_Wait(gex_NBI_EndAccessRegion(0));
    say("gex_RMA_PutNBI", 1, 24);
    say("gex_RMA_GetNBI", 1, 32);
    say("gex_NBI_BeginAccessRegion", 1, 0);
    say("gex_NBI_EndAccessRegion", 1, 0);
    say("gex_Event_Wait", 1, 0);
    result("contiguous");
}

static void vectors(void)
{
    uint64_t here[N], back[N];
    for (int i = 0; i < N; i++)
        here[i] = me * 7 + i;
    gex_Memvec_t from[2] = { { here, 24 }, { here + 8, 16 } }, to[1] = { { theirs + 8 * N, 40 } };
    gex_VIS_VectorPutBlocking(team, next, 1, to, 2, from, 0);
    gex_Memvec_t into[1] = { { back, 40 } }, out[2] = { { theirs + 8 * N, 16 }, { theirs + 8 * N + 2, 24 } };
    gex_Event_Wait(gex_VIS_VectorGetNB(team, 1, into, next, 2, out, 0));
    void *pieces[3] = { here, here + 10, here + 20 }, *places[3] = { theirs + 9 * N, theirs + 9 * N + 4, theirs + 9 * N + 8 };
    gex_VIS_IndexedPutNBI(team, next, 3, places, 16, 3, pieces, 16, 0);
    gex_NBI_Wait(GEX_EC_PUT, 0);
    gex_VIS_IndexedGetBlocking(team, 3, pieces, 16, next, 3, places, 16, 0);
    ptrdiff_t narrow[1] = { 32 }, wide[1] = { 80 };
    size_t count[1] = { 4 };
    gex_VIS_StridedPutBlocking(team, next, theirs + 10 * N, wide, here, narrow, 16, count, 1, 0);
    gex_Event_Wait(gex_VIS_StridedGetNB(team, back, narrow, next, theirs + 10 * N, wide, 16, count, 1, 0));
    say("gex_VIS_VectorPutBlocking", 1, 40);
    say("gex_VIS_VectorGetNB", 1, 40);
    say("gex_VIS_IndexedPutNBI", 1, 48);
    say("gex_VIS_IndexedGetBlocking", 1, 48);
    say("gex_VIS_StridedPutBlocking", 1, 64);
    say("gex_VIS_StridedGetNB", 1, 64);
    say("gex_Event_Wait", 2, 0);
    say("gex_NBI_Wait", 1, 0);
    result("vectors");
}

static void atomics(void)
{
    gex_AD_t words, reals;
    uint64_t old = 0;
    double real = 0;
    gex_AD_Create(&words, team, GEX_DT_U64, GEX_OP_ADD | GEX_OP_FADD | GEX_OP_FCAS | GEX_OP_GET, 0);
    gex_AD_Create(&reals, team, GEX_DT_DBL, GEX_OP_FADD, 0);
    barrier();
    for (int i = 0; i < 3; i++) {
        gex_Event_Wait(gex_AD_OpNB_U64(words, &old, 0, first + 20 * N, GEX_OP_FADD, 1, 0, 0));
        gex_AD_OpNBI_U64(words, NULL, next, theirs + 21 * N, GEX_OP_ADD, me + 1, 0, 0);
    }
    gex_NBI_Wait(GEX_EC_RMW, 0);
    gex_Event_Wait(gex_AD_OpNB_DBL(reals, &real, next, theirs + 22 * N, GEX_OP_FADD, 1.5, 0, 0));
    /* The record of an atomic operation counts what comes back and what is sent. */
    say("gex_AD_OpNB_U64", 3, 48);
    say("gex_AD_OpNBI_U64", 3, 24);
    say("gex_AD_OpNB_DBL", 1, 16);
    say("gex_NBI_Wait", 1, 0);
    say("gex_Event_Wait", 4, 0);
    result("atomics");
    gex_AD_Destroy(words);
    gex_AD_Destroy(reals);
}

static void collectives(void)
{
    uint64_t one[8] = { me }, all[8];
    if (me == 0)
        for (int i = 0; i < 8; i++)
            one[i] = i + 5;
    gex_Event_Wait(gex_Coll_BroadcastNB(team, 0, all, one, sizeof all, 0));
    mine[23 * N] = all[7];
    uint64_t add = me + 1, sum = 0;
    gex_Event_Wait(gex_Coll_ReduceToAllNB(team, &sum, &add, GEX_DT_U64, 8, 1, GEX_OP_ADD, NULL, NULL, 0));
    mine[23 * N + 1] = sum;
    gex_Event_Wait(gex_Coll_ReduceToOneNB(team, 1 % procs, &sum, &add, GEX_DT_U64, 8, 1, GEX_OP_ADD, NULL, NULL, 0));
    mine[23 * N + 2] = me == 1 % procs ? sum : 0;
    gex_Coll_BarrierBlocking(team, 0);
    say("gex_Coll_BroadcastNB", 1, 0);
    say("gex_Coll_ReduceToAllNB", 1, 0);
    say("gex_Coll_ReduceToOneNB", 1, 0);
    say("gex_Coll_BarrierBlocking", 1, 0);
    /* Their bytes are known to whoever waits for them. */
    long others = procs - 1;
    say("gex_Event_Wait", 3, (me == 0 ? 64 * others : 64) + 16 * others + (me == 1 % procs ? 8 * others : 8));
    /* A team of every second process, and a put to its next member. */
    gex_TM_t half;
    size_t need = gex_TM_Split(&half, team, me % 2, me, 0, 0, GEX_FLAG_TM_SCRATCH_SIZE_MIN);
    gex_TM_Split(&half, team, me % 2, me, (char *)mine + SEGMENT / 2, need, 0);
    gex_Rank_t place = gex_TM_QueryRank(half), size = gex_TM_QuerySize(half);
    gex_Rank_t to = (place + 1) % size;
    gex_RMA_PutBlocking(half, to, memory_of(half, to) + 24 * N, &add, 8, 0);
    gex_Event_Wait(gex_Coll_BarrierNB(half, 0));
    say("gex_TM_Split", 2, 0);
    say("gex_RMA_PutBlocking", 1, 8);
    say("gex_Coll_BarrierNB", 1, 0);
    say("gex_Event_Wait", 1, 0);
    result("collectives");
}

static volatile int replies, requests;
static gex_HSL_t lock = GEX_HSL_INITIALIZER;

enum { SHORT_REQUEST = 150, MEDIUM_REQUEST, LONG_REQUEST, SHORT_REPLY, MEDIUM_REPLY, LONG_REPLY, NEGOTIATED_REQUEST,
       NEGOTIATED_LONG_REQUEST, MANY_REQUEST = 201 };

static void count_one(volatile int *what)
{
    gex_HSL_Lock(&lock);
    (*what)++;
    gex_HSL_Unlock(&lock);
}

static void short_reply(gex_Token_t token, gex_AM_Arg_t a)
{
    count_one(&replies);
}
static void medium_reply(gex_Token_t token, void *data, size_t bytes, gex_AM_Arg_t a, gex_AM_Arg_t b)
{
    if (bytes != 24 || b != 2)
        gasnet_exit(3);
    count_one(&replies);
}
static void long_reply(gex_Token_t token, void *data, size_t bytes)
{
    count_one(&replies);
}
static void short_request(gex_Token_t token, gex_AM_Arg_t a)
{
    count_one(&requests);
    gex_AM_ReplyShort1(token, SHORT_REPLY, 0, a);
}
static void medium_request(gex_Token_t token, void *data, size_t bytes, gex_AM_Arg_t a, gex_AM_Arg_t b)
{
    count_one(&requests);
    gex_AM_ReplyMedium2(token, MEDIUM_REPLY, data, 24, GEX_EVENT_NOW, 0, a, 2);
}
static void long_request(gex_Token_t token, void *data, size_t bytes, gex_AM_Arg_t high, gex_AM_Arg_t low)
{
    uint64_t *back = (uint64_t *)((uint64_t)(uint32_t)high << 32 | (uint32_t)low);
    count_one(&requests);
    gex_AM_ReplyLong0(token, LONG_REPLY, data, 16, back, GEX_EVENT_NOW, 0);
}
/* With negotiated payload: the library says where the data are to be put. */
static void negotiated_request(gex_Token_t token, void *data, size_t bytes, gex_AM_Arg_t a, gex_AM_Arg_t b)
{
    count_one(&requests);
    gex_AM_SrcDesc_t prepared = gex_AM_PrepareReplyMedium(token, NULL, 24, 24, NULL, 0, 2);
    memcpy(gex_AM_SrcDescAddr(prepared), data, 24);
    gex_AM_CommitReplyMedium2(prepared, MEDIUM_REPLY, 24, a, 2);
}
static void negotiated_long_request(gex_Token_t token, void *data, size_t bytes, gex_AM_Arg_t high, gex_AM_Arg_t low)
{
    uint64_t *back = (uint64_t *)((uint64_t)(uint32_t)high << 32 | (uint32_t)low);
    count_one(&requests);
    gex_AM_SrcDesc_t prepared = gex_AM_PrepareReplyLong(token, data, 16, 16, back, GEX_EVENT_NOW, 0, 0);
    gex_AM_CommitReplyLong0(prepared, LONG_REPLY, 16, back);
}
static void many_request(gex_Token_t token, gex_AM_Arg_t a0, gex_AM_Arg_t a1, gex_AM_Arg_t a2, gex_AM_Arg_t a3,
                         gex_AM_Arg_t a4, gex_AM_Arg_t a5, gex_AM_Arg_t a6, gex_AM_Arg_t a7, gex_AM_Arg_t a8,
                         gex_AM_Arg_t a9, gex_AM_Arg_t a10, gex_AM_Arg_t a11, gex_AM_Arg_t a12, gex_AM_Arg_t a13,
                         gex_AM_Arg_t a14, gex_AM_Arg_t a15)
{
    if (a0 != 0 || a7 != -7 || a15 != 15)
        gasnet_exit(3);
    count_one(&requests);
}

static void messages(void)
{
    char data[100];
    memset(data, me + 1, sizeof data);
    int more = 0;
    for (int i = 0; i < 4; i++) {
        gex_AM_RequestShort1(team, next, SHORT_REQUEST, 0, more++); /* evaluated once */
        gex_AM_RequestMedium2(team, next, MEDIUM_REQUEST, data, 100, GEX_EVENT_NOW, 0, i, 9);
    }
    if (more != 4)
        gasnet_exit(4);
    uint64_t back = (uint64_t)(mine + 26 * N);
    gex_AM_RequestLong2(team, next, LONG_REQUEST, data, 64, theirs + 25 * N, GEX_EVENT_NOW, 0,
                        (gex_AM_Arg_t)(back >> 32), (gex_AM_Arg_t)back);
    gex_AM_RequestShort(team, next, MANY_REQUEST, 0, 0, 1, 2, 3, 4, 5, 6, -7, 8, 9, 10, 11, 12, 13, 14, 15);
    for (int i = 0; i < 2; i++) {
        gex_AM_SrcDesc_t prepared = gex_AM_PrepareRequestMedium(team, next, NULL, 40, 40, NULL, 0, 2);
        memcpy(gex_AM_SrcDescAddr(prepared), data, 40);
        gex_AM_CommitRequestMedium2(prepared, NEGOTIATED_REQUEST, 40, i, 9);
    }
    gex_AM_SrcDesc_t prepared =
        gex_AM_PrepareRequestLong(team, next, data, 48, 48, theirs + 27 * N, GEX_EVENT_NOW, 0, 2);
    gex_AM_CommitRequestLong2(prepared, NEGOTIATED_LONG_REQUEST, 48, theirs + 27 * N,
                              (gex_AM_Arg_t)((back + 16 * N) >> 32), (gex_AM_Arg_t)(back + 16 * N));
    GASNET_BLOCKUNTIL(replies == 12 && requests == 13);
    say("gex_AM_CommitRequestMedium", 2, 80);
    say("gex_AM_CommitRequestLong", 1, 48);
    say("gex_AM_CommitReplyMedium", 2, 48);
    say("gex_AM_CommitReplyLong", 1, 16);
    say("negotiated_request", 2, 0);
    say("negotiated_long_request", 1, 0);
    say("gex_AM_RequestShort", 5, 0);
    say("gex_AM_RequestMedium", 4, 400);
    say("gex_AM_RequestLong", 1, 64);
    say("gex_AM_ReplyShort", 4, 0);
    say("gex_AM_ReplyMedium", 4, 96);
    say("gex_AM_ReplyLong", 1, 16);
    say("GASNET_BLOCKUNTIL", 1, 0);
    say("gex_HSL_Lock", 25, 0);
    say("gex_HSL_Unlock", 25, 0);
    say("short_request", 4, 0);
    say("medium_request", 4, 0);
    say("long_request", 1, 0);
    say("many_request", 1, 0);
    say("short_reply", 4, 0);
    say("medium_reply", 6, 0);
    say("long_reply", 2, 0);
    result("messages");
}

#if GASNET_PAR
static void *other(void *nothing)
{
    uint64_t value = me;
    gex_HSL_Lock(&lock);
    gex_RMA_PutBlocking(team, next, theirs + 30 * N, &value, 8, 0);
    gex_HSL_Unlock(&lock);
    return nothing;
}
#endif

static void threads(void)
{
#if GASNET_PAR
    pthread_t thread;
    pthread_create(&thread, NULL, other, NULL);
    pthread_join(thread, NULL);
    say("gex_RMA_PutBlocking", 1, 8);
    say("gex_HSL_Lock", 1, 0);
    say("gex_HSL_Unlock", 1, 0);
#endif
    result("threads");
}

int main(int argc, char **argv)
{
    gex_AM_Entry_t handlers[] = {
        { SHORT_REQUEST, (gex_AM_Fn_t)short_request, GEX_FLAG_AM_REQUEST | GEX_FLAG_AM_SHORT, 1, NULL, "short" },
        { MEDIUM_REQUEST, (gex_AM_Fn_t)medium_request, GEX_FLAG_AM_REQUEST | GEX_FLAG_AM_MEDIUM, 2, NULL, NULL },
        { LONG_REQUEST, (gex_AM_Fn_t)long_request, GEX_FLAG_AM_REQUEST | GEX_FLAG_AM_LONG, 2, NULL, NULL },
        { SHORT_REPLY, (gex_AM_Fn_t)short_reply, GEX_FLAG_AM_REPLY | GEX_FLAG_AM_SHORT, 1, NULL, NULL },
        { MEDIUM_REPLY, (gex_AM_Fn_t)medium_reply, GEX_FLAG_AM_REPLY | GEX_FLAG_AM_MEDIUM, 2, NULL, NULL },
        { LONG_REPLY, (gex_AM_Fn_t)long_reply, GEX_FLAG_AM_REPLY | GEX_FLAG_AM_LONG, 0, NULL, NULL },
        { NEGOTIATED_REQUEST, (gex_AM_Fn_t)negotiated_request, GEX_FLAG_AM_REQUEST | GEX_FLAG_AM_MEDIUM, 2, NULL,
          NULL },
        { NEGOTIATED_LONG_REQUEST, (gex_AM_Fn_t)negotiated_long_request, GEX_FLAG_AM_REQUEST | GEX_FLAG_AM_LONG, 2,
          NULL, NULL },
        /* The index that the recorder prefers. */
        { MANY_REQUEST, (gex_AM_Fn_t)many_request, GEX_FLAG_AM_REQUEST | GEX_FLAG_AM_SHORT, 16, NULL, NULL },
    };
    OK(gex_Client_Init(&client, &endpoint, &team, "families", &argc, &argv, 0));
    OK(gex_EP_RegisterHandlers(endpoint, handlers, sizeof handlers / sizeof *handlers));
    OK(gex_Segment_Attach(&segment, team, SEGMENT));
    say("gex_Segment_Attach", 1, 0);
    me = gex_TM_QueryRank(team);
    procs = gex_TM_QuerySize(team);
    next = (me + 1) % procs;
    mine = memory_of(team, me);
    theirs = memory_of(team, next);
    first = memory_of(team, 0);
    memset(mine, 0, SEGMENT);
    barrier();
    contiguous();
    vectors();
    atomics();
    collectives();
    messages();
    threads();
    barrier();
    for (int i = 0; said[i].name; i++)
        fprintf(stderr, "count pe=%d %s=%d bytes=%ld\n", (int)me, said[i].name, said[i].calls, said[i].bytes);
    fflush(stdout);
    if (argc > 1 && strcmp(argv[1], "killed") == 0)
        kill(getpid(), SIGKILL);
    gasnet_exit(0);
    return 0;
}
