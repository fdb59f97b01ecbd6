/* Plays the runtimes of two languages at once, which report to a tool through GASP, over GASNet: one of Unified Parallel
 * C with the numbers of Berkeley's header, one with those of GNU's, and one of Co-Array Fortran, for which GASP defines no
 * events. Each process says how often it reported what.
 *
 * A runtime calls functions that a tool defines. They are weak here: without a tool nothing is reported.
 */
#include <gasnetex.h>
#include <gasnet_coll.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct _gasp_context_S *gasp_context_t;
typedef enum { GASP_MODEL_UPC, GASP_MODEL_TITANIUM, GASP_MODEL_CAF, GASP_MODEL_MPI, GASP_MODEL_SHMEM } gasp_model_t;
typedef enum { GASP_START, GASP_END, GASP_ATOMIC } gasp_evttype_t;

__attribute__((weak)) gasp_context_t gasp_init(gasp_model_t model, int *argc, char ***argv);
__attribute__((weak)) void gasp_event_notify(gasp_context_t context, unsigned tag, gasp_evttype_t type,
                                             const char *file, int line, int column, ...);
__attribute__((weak)) void gasp_event_notifyVA(gasp_context_t context, unsigned tag, gasp_evttype_t type,
                                               const char *file, int line, int column, va_list list);
__attribute__((weak)) int gasp_control(gasp_context_t context, int on);
__attribute__((weak)) unsigned gasp_create_event(gasp_context_t context, const char *name, const char *description);

/* Numbers of Berkeley's header, and of GNU's. */
enum { B_ALL_ALLOC = 1002, B_FUNC = 1023, B_MEMGET = 1030, B_MEMPUT = 1031, B_NOTIFY = 1100, B_WAIT = 1101 };
enum { G_BARRIER = 9, G_FORALL = 11, G_GET = 26, G_PUT = 27, G_LOCK = 19, G_UNLOCK = 21, G_ALL_REDUCE = 42 };

static gex_TM_t team;
static gex_Rank_t me, next;
static uint64_t *theirs;
static gasp_context_t berkeley, gnu, fortran;

#define NOTIFY(...)                         \
    do {                                    \
        if (gasp_event_notify)              \
            gasp_event_notify(__VA_ARGS__); \
    } while (0)

static void say(const char *name, int calls)
{
    fprintf(stderr, "count pe=%d %s=%d bytes=0\n", (int)me, name, calls);
}

/* GNU's runtime passes all events with a va_list. */
static void report(unsigned tag, gasp_evttype_t type, int line, ...)
{
    va_list list;
    va_start(list, line);
    if (gasp_event_notifyVA)
        gasp_event_notifyVA(gnu, tag, type, "/home/someone/heat.upc", line, 0, list);
    va_end(list);
}

static void upc_of_berkeley(void)
{
    uint64_t here[4] = { me, 1, 2, 3 };
    NOTIFY(berkeley, B_FUNC, GASP_START, "mg.upc", 10, 0, "smooth");
    for (int i = 0; i < 3; i++) {
        NOTIFY(berkeley, B_MEMPUT, GASP_START, "mg.upc", 12, 0, theirs, here, sizeof here);
        gex_RMA_PutBlocking(team, next, theirs, here, sizeof here, 0);
        NOTIFY(berkeley, B_MEMPUT, GASP_END, "mg.upc", 12, 0, theirs, here, sizeof here);
    }
    NOTIFY(berkeley, B_MEMGET, GASP_START, "mg.upc", 14, 0, here, theirs, sizeof here);
    gex_RMA_GetBlocking(team, here, next, theirs, sizeof here, 0);
    NOTIFY(berkeley, B_MEMGET, GASP_END, "mg.upc", 14, 0, here, theirs, sizeof here);
    NOTIFY(berkeley, B_NOTIFY, GASP_START, "mg.upc", 15, 0, 0, 0);
    gex_Event_t event = gex_Coll_BarrierNB(team, 0);
    NOTIFY(berkeley, B_NOTIFY, GASP_END, "mg.upc", 15, 0, 0, 0);
    NOTIFY(berkeley, B_WAIT, GASP_START, "mg.upc", 16, 0, 0, 0);
    gex_Event_Wait(event);
    NOTIFY(berkeley, B_WAIT, GASP_END, "mg.upc", 16, 0, 0, 0);
    NOTIFY(berkeley, B_FUNC, GASP_END, "mg.upc", 18, 0, "smooth");
    say("smooth", 1);
    say("upc_memput@mg.upc:12", 3);
    say("upc_memget@mg.upc:14", 1);
    say("upc_notify@mg.upc:15", 1);
    say("upc_wait@mg.upc:16", 1);
}

static void upc_of_gnu(void)
{
    uint64_t value = 5;
    report(G_FORALL, GASP_START, 20);
    for (int i = 0; i < 2; i++) {
        report(G_PUT, GASP_START, 21, 1, theirs, &value, (size_t)8);
        gex_RMA_PutBlockingVal(team, next, theirs + 8, value, 8, 0);
        report(G_PUT, GASP_END, 21, 1, theirs, &value, (size_t)8);
    }
    report(G_FORALL, GASP_END, 20);
    report(G_BARRIER, GASP_START, 23, 0, 0);
    gex_Event_Wait(gex_Coll_BarrierNB(team, 0));
    report(G_BARRIER, GASP_END, 23, 0, 0);
    report(40000, GASP_ATOMIC, 24);
    say("upc_forall@heat.upc:20", 1);
    say("upc_put@heat.upc:21", 2);
    say("upc_barrier@heat.upc:23", 1);
    say("upc_event_40000@heat.upc:24", 1);
}

/* Events that the program makes, one of them with a number of floating point, and a pause. */
static void user_events(void)
{
    unsigned step = gasp_create_event ? gasp_create_event(berkeley, "step", "%d %f") : 0;
    for (int i = 0; i < 2; i++) {
        NOTIFY(berkeley, step, GASP_START, NULL, 0, 0, i, 0.5 * i);
        NOTIFY(berkeley, step, GASP_END, NULL, 0, 0, i, 0.5 * i);
    }
    int before = gasp_control ? gasp_control(berkeley, 0) : 1;
    NOTIFY(berkeley, step, GASP_START, NULL, 0, 0, 9, 9.0);
    NOTIFY(berkeley, step, GASP_END, NULL, 0, 0, 9, 9.0);
    int paused = gasp_control ? gasp_control(berkeley, 1) : 0;
    if (before != 1 || paused != 0)
        gasnet_exit(3);
    NOTIFY(fortran, 17, GASP_START, "heat.f90", 7, 0);
    NOTIFY(fortran, 17, GASP_END, "heat.f90", 7, 0);
    say("step", 2);
    say("caf_event_17@heat.f90:7", 1);
}

int main(int argc, char **argv)
{
    gex_Client_t client;
    gex_EP_t endpoint;
    gex_Segment_t segment;
    void *base = NULL;
    uintptr_t size = 0;
    if (gex_Client_Init(&client, &endpoint, &team, "gasp", &argc, &argv, 0) ||
        gex_Segment_Attach(&segment, team, 1 << 16))
        return 1;
    me = gex_TM_QueryRank(team);
    next = (me + 1) % gex_TM_QuerySize(team);
    gex_Segment_QueryBound(team, next, &base, NULL, &size);
    theirs = base;
    if (gasp_init) {
        berkeley = gasp_init(GASP_MODEL_UPC, &argc, &argv);
        gnu = gasp_init(GASP_MODEL_UPC, &argc, &argv);
        fortran = gasp_init(GASP_MODEL_CAF, &argc, &argv);
    }
    gex_Event_Wait(gex_Coll_BarrierNB(team, 0));
    upc_of_berkeley();
    upc_of_gnu();
    user_events();
    printf("process %d is done\n", (int)me);
    fflush(stdout);
    gex_Event_Wait(gex_Coll_BarrierNB(team, 0));
    gasnet_exit(0);
    return 0;
}
