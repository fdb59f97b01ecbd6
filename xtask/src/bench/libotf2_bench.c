/*
 * The C side of `cargo xtask bench otf2`: the same work as the Rust program
 * crates/otf2/examples/bench.rs, done by libotf2.
 *
 *   write-archive DIR LOCATIONS EVENTS_PER_LOCATION regular|random SEED
 *   read          DIR/traces.otf2
 *   count         DIR/traces.otf2
 *   write-memory  LOCATIONS EVENTS_PER_LOCATION regular
 *
 * Each mode prints one line: events=<decimal> seconds=<decimal> checksum=<16 hex digits>
 * `count` reads any archive, events of other kinds too, and so prints no checksum.
 *
 * What follows is the contract between the two programs. All arithmetic is
 * unsigned, 64 bits wide, and wraps.
 *
 * Checksum
 *   fold(h, v) = rotl(h, 5) ^ v
 *   A location starts with h = its location id. For each event in file order:
 *     h = fold(h, time ^ (kind << 56))        kind = on-disk record id, see enum kind
 *     h = fold(h, field)                      each field, in the order of the table below
 *   Fields of 8 and 32 bits are zero extended. The checksum of an archive is
 *   the sum of h over its locations, so the order of locations does not matter.
 *   It is this cheap on purpose: it must keep a decoder from skipping work and
 *   not be the work.
 *
 * Location ids are 0 .. LOCATIONS-1, and equal the rank. n is LOCATIONS below.
 *
 * Regular events: event i (from 0) of location L has the time 1000 + L + 100 * i.
 * With k = i / 4, and by i % 4:
 *   0  Enter(region 1)
 *   1  RmaGet(win 0, remote (L + 1 + k) % n, bytes 8192, matchingId k)
 *   2  RmaOpCompleteBlocking(win 0, matchingId k)
 *   3  Leave(region 1)
 *
 * Random events: splitmix64. The state of location L starts as
 *   SEED ^ ((L + 1) * 0xD1B54A32D192ED03)
 * and next() is
 *   state += 0x9E3779B97F4A7C15; z = state;
 *   z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
 *   z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
 *   return z ^ (z >> 31);
 * The time of a location starts at 1000 + L. For each event, in this order:
 *   1. which = next() % 14, the row of the table below;
 *   2. r = next(); time += (r & 3) == 0 ? 0 : 1 + (r >> 44);
 *   3. the fields, in the order of the table, each by its draw:
 *        region   next() % 300
 *        win      next() % 4
 *        remote   next() % n
 *        any      r = next() % (n + 1); r == n ? 0xFFFFFFFF : r
 *        size     len = next() % 9; len == 0 ? 0 : next() >> (64 - 8 * len)
 *        x % m    next() % m
 *
 *   row record (kind)                 fields
 *    0  Enter (12)                    region
 *    1  Leave (13)                    region
 *    2  RmaGet (47)                   win, remote, bytes: size, matchingId: size
 *    3  RmaPut (46)                   win, remote, bytes: size, matchingId: size
 *    4  RmaAtomic (48)                win, remote, type: x % 8, bytesSent: size,
 *                                     bytesReceived: size, matchingId: size
 *    5  RmaOpCompleteBlocking (49)    win, matchingId: size
 *    6  RmaOpCompleteNonBlocking (50) win, matchingId: size
 *    7  RmaOpCompleteRemote (52)      win, matchingId: size
 *    8  RmaCollectiveBegin (37)       -
 *    9  RmaCollectiveEnd (38)         collectiveOp: x % 23, syncLevel: x % 4, win,
 *                                     root: any, bytesSent: size, bytesReceived: size
 *   10  RmaWaitChange (45)            win
 *   11  RmaSync (44)                  win, remote, syncType: x % 3
 *   12  RmaAcquireLock (41)           win, remote: any, lockId: size, lockType: x % 2
 *   13  RmaReleaseLock (43)           win, remote: any, lockId: size
 * Enters and leaves do not balance: readers that decode only do not mind.
 *
 * What is timed
 *   read          for each location: get the event reader, read all events,
 *                 close it. Opening the archive, global and local definitions
 *                 lie outside.
 *   write-memory  for each location: the loop over its events only, into one
 *                 warm chunk of 1 MiB that is dropped and used again when full.
 *                 The checksum is that of the events handed in, folded in a
 *                 second, untimed pass; it equals what `read` would give.
 *   write-archive the event loops, flushes to files included. Not compared;
 *                 the checksum of random events is 0 here, `read` finds it.
 */

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <otf2/otf2.h>

enum {
    EVENT_CHUNK = 1024 * 1024,
    DEFINITION_CHUNK = 4 * 1024 * 1024,
    REGIONS = 300,
    WINDOWS = 4,
    RECORD_KINDS = 14,
    REGULAR_REGION = 1,
    REGULAR_WINDOW = 0,
    REGULAR_BYTES = 8192,
    FIRST_TIME = 1000,
    REGULAR_STEP = 100
};

static const uint32_t ANY_REMOTE = UINT32_MAX;

/* On-disk ids of the event records, part of the checksum. */
enum kind {
    ENTER = 12,
    LEAVE = 13,
    RMA_COLLECTIVE_BEGIN = 37,
    RMA_COLLECTIVE_END = 38,
    RMA_ACQUIRE_LOCK = 41,
    RMA_RELEASE_LOCK = 43,
    RMA_SYNC = 44,
    RMA_WAIT_CHANGE = 45,
    RMA_PUT = 46,
    RMA_GET = 47,
    RMA_ATOMIC = 48,
    RMA_OP_COMPLETE_BLOCKING = 49,
    RMA_OP_COMPLETE_NON_BLOCKING = 50,
    RMA_OP_COMPLETE_REMOTE = 52
};

static void fail(const char *what)
{
    fprintf(stderr, "libotf2_bench: %s\n", what);
    exit(1);
}

static void check(OTF2_ErrorCode code, const char *what)
{
    if (code != OTF2_SUCCESS) {
        fprintf(stderr, "libotf2_bench: %s: %s\n", what, OTF2_Error_GetDescription(code));
        exit(1);
    }
}

static void *allocate(size_t count, size_t size)
{
    void *memory = calloc(count ? count : 1, size);
    if (!memory)
        fail("out of memory");
    return memory;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void report(uint64_t events, double seconds, uint64_t checksum)
{
    printf("events=%" PRIu64 " seconds=%.9f checksum=%016" PRIx64 "\n", events, seconds, checksum);
}

/* ---- checksum ---------------------------------------------------------- */

static inline uint64_t fold(uint64_t h, uint64_t value)
{
    return ((h << 5) | (h >> 59)) ^ value;
}

static inline uint64_t fold_head(uint64_t h, enum kind kind, uint64_t time)
{
    return fold(h, time ^ ((uint64_t)kind << 56));
}

/* ---- random numbers ---------------------------------------------------- */

static uint64_t next(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

static uint64_t draw_size(uint64_t *state)
{
    uint64_t length = next(state) % 9;
    return length == 0 ? 0 : next(state) >> (64 - 8 * length);
}

static uint32_t draw_any(uint64_t *state, uint64_t locations)
{
    uint64_t r = next(state) % (locations + 1);
    return r == locations ? ANY_REMOTE : (uint32_t)r;
}

static uint64_t start_state(uint64_t seed, uint64_t location)
{
    return seed ^ ((location + 1) * UINT64_C(0xD1B54A32D192ED03));
}

/* ---- events ------------------------------------------------------------ */

/* Writes the regular events of a location; gives the time of the last one. */
static uint64_t write_regular(OTF2_EvtWriter *w, uint64_t location, uint64_t locations, uint64_t events)
{
    uint64_t time = FIRST_TIME + location;
    uint64_t remote = (location + 1) % locations;
    uint64_t matching = 0;
    for (uint64_t i = 0; i < events; i++) {
        OTF2_ErrorCode code = OTF2_SUCCESS;
        switch (i % 4) {
        case 0:
            code = OTF2_EvtWriter_Enter(w, NULL, time, REGULAR_REGION);
            break;
        case 1:
            code = OTF2_EvtWriter_RmaGet(w, NULL, time, REGULAR_WINDOW, (uint32_t)remote, REGULAR_BYTES, matching);
            break;
        case 2:
            code = OTF2_EvtWriter_RmaOpCompleteBlocking(w, NULL, time, REGULAR_WINDOW, matching);
            break;
        default:
            code = OTF2_EvtWriter_Leave(w, NULL, time, REGULAR_REGION);
            matching++;
            remote = remote + 1 == locations ? 0 : remote + 1;
            break;
        }
        if (code != OTF2_SUCCESS)
            check(code, "writing a regular event");
        time += REGULAR_STEP;
    }
    return time - REGULAR_STEP;
}

/* What `read` gives for the events of write_regular. */
static uint64_t checksum_regular(uint64_t location, uint64_t locations, uint64_t events)
{
    uint64_t h = location;
    for (uint64_t i = 0; i < events; i++) {
        uint64_t time = FIRST_TIME + location + REGULAR_STEP * i;
        uint64_t k = i / 4;
        switch (i % 4) {
        case 0:
            h = fold(fold_head(h, ENTER, time), REGULAR_REGION);
            break;
        case 1:
            h = fold(fold_head(h, RMA_GET, time), REGULAR_WINDOW);
            h = fold(h, (location + 1 + k) % locations);
            h = fold(fold(h, REGULAR_BYTES), k);
            break;
        case 2:
            h = fold(fold(fold_head(h, RMA_OP_COMPLETE_BLOCKING, time), REGULAR_WINDOW), k);
            break;
        default:
            h = fold(fold_head(h, LEAVE, time), REGULAR_REGION);
            break;
        }
    }
    return h;
}

/* One random event. Fields go through variables: C does not order arguments. */
static OTF2_ErrorCode write_random_event(OTF2_EvtWriter *w, uint64_t *s, uint64_t which, uint64_t time,
                                         uint64_t locations)
{
    switch (which) {
    case 0:
        return OTF2_EvtWriter_Enter(w, NULL, time, (uint32_t)(next(s) % REGIONS));
    case 1:
        return OTF2_EvtWriter_Leave(w, NULL, time, (uint32_t)(next(s) % REGIONS));
    case 8:
        return OTF2_EvtWriter_RmaCollectiveBegin(w, NULL, time);
    case 9: {
        OTF2_CollectiveOp op = (OTF2_CollectiveOp)(next(s) % 23);
        OTF2_RmaSyncLevel level = (OTF2_RmaSyncLevel)(next(s) % 4);
        uint32_t win = (uint32_t)(next(s) % WINDOWS);
        uint32_t root = draw_any(s, locations);
        uint64_t sent = draw_size(s);
        uint64_t received = draw_size(s);
        return OTF2_EvtWriter_RmaCollectiveEnd(w, NULL, time, op, level, win, root, sent, received);
    }
    default:
        break;
    }

    uint32_t win = (uint32_t)(next(s) % WINDOWS);
    switch (which) {
    case 2:
    case 3: {
        uint32_t remote = (uint32_t)(next(s) % locations);
        uint64_t bytes = draw_size(s);
        uint64_t matching = draw_size(s);
        return which == 2 ? OTF2_EvtWriter_RmaGet(w, NULL, time, win, remote, bytes, matching)
                          : OTF2_EvtWriter_RmaPut(w, NULL, time, win, remote, bytes, matching);
    }
    case 4: {
        uint32_t remote = (uint32_t)(next(s) % locations);
        OTF2_RmaAtomicType type = (OTF2_RmaAtomicType)(next(s) % 8);
        uint64_t sent = draw_size(s);
        uint64_t received = draw_size(s);
        uint64_t matching = draw_size(s);
        return OTF2_EvtWriter_RmaAtomic(w, NULL, time, win, remote, type, sent, received, matching);
    }
    case 5:
        return OTF2_EvtWriter_RmaOpCompleteBlocking(w, NULL, time, win, draw_size(s));
    case 6:
        return OTF2_EvtWriter_RmaOpCompleteNonBlocking(w, NULL, time, win, draw_size(s));
    case 7:
        return OTF2_EvtWriter_RmaOpCompleteRemote(w, NULL, time, win, draw_size(s));
    case 10:
        return OTF2_EvtWriter_RmaWaitChange(w, NULL, time, win);
    case 11: {
        uint32_t remote = (uint32_t)(next(s) % locations);
        OTF2_RmaSyncType type = (OTF2_RmaSyncType)(next(s) % 3);
        return OTF2_EvtWriter_RmaSync(w, NULL, time, win, remote, type);
    }
    case 12: {
        uint32_t remote = draw_any(s, locations);
        uint64_t lock = draw_size(s);
        OTF2_LockType type = (OTF2_LockType)(next(s) % 2);
        return OTF2_EvtWriter_RmaAcquireLock(w, NULL, time, win, remote, lock, type);
    }
    default: {
        uint32_t remote = draw_any(s, locations);
        uint64_t lock = draw_size(s);
        return OTF2_EvtWriter_RmaReleaseLock(w, NULL, time, win, remote, lock);
    }
    }
}

/* Writes the random events of a location; gives the time of the last one. */
static uint64_t write_random(OTF2_EvtWriter *w, uint64_t location, uint64_t locations, uint64_t events, uint64_t seed)
{
    uint64_t state = start_state(seed, location);
    uint64_t time = FIRST_TIME + location;
    for (uint64_t i = 0; i < events; i++) {
        uint64_t which = next(&state) % RECORD_KINDS;
        uint64_t r = next(&state);
        time += (r & 3) == 0 ? 0 : 1 + (r >> 44);
        check(write_random_event(w, &state, which, time, locations), "writing a random event");
    }
    return time;
}

/* ---- definitions ------------------------------------------------------- */

static OTF2_StringRef add_string(OTF2_GlobalDefWriter *w, OTF2_StringRef *count, const char *text)
{
    check(OTF2_GlobalDefWriter_WriteString(w, *count, text), "writing a string");
    return (*count)++;
}

static OTF2_StringRef add_numbered(OTF2_GlobalDefWriter *w, OTF2_StringRef *count, const char *stem, uint64_t number)
{
    char text[64];
    snprintf(text, sizeof text, "%s %" PRIu64, stem, number);
    return add_string(w, count, text);
}

static void write_places(OTF2_GlobalDefWriter *w, OTF2_StringRef *strings, uint64_t locations, uint64_t events)
{
    OTF2_StringRef machine = add_string(w, strings, "bench machine");
    OTF2_StringRef class = add_string(w, strings, "machine");
    check(OTF2_GlobalDefWriter_WriteSystemTreeNode(w, 0, machine, class, OTF2_UNDEFINED_SYSTEM_TREE_NODE), "node");
    check(OTF2_GlobalDefWriter_WriteSystemTreeNodeDomain(w, 0, OTF2_SYSTEM_TREE_DOMAIN_MACHINE), "domain");
    for (uint64_t i = 0; i < locations; i++) {
        OTF2_StringRef name = add_numbered(w, strings, "PE", i);
        check(OTF2_GlobalDefWriter_WriteLocationGroup(w, (uint32_t)i, name, OTF2_LOCATION_GROUP_TYPE_PROCESS, 0,
                                                      OTF2_UNDEFINED_LOCATION_GROUP),
              "location group");
    }
    OTF2_StringRef thread = add_string(w, strings, "Master thread");
    for (uint64_t i = 0; i < locations; i++)
        check(OTF2_GlobalDefWriter_WriteLocation(w, i, thread, OTF2_LOCATION_TYPE_CPU_THREAD, events, (uint32_t)i),
              "location");
}

static void write_regions(OTF2_GlobalDefWriter *w, OTF2_StringRef *strings, OTF2_StringRef none)
{
    for (uint32_t i = 0; i < REGIONS; i++) {
        OTF2_StringRef name = add_numbered(w, strings, "region", i);
        check(OTF2_GlobalDefWriter_WriteRegion(w, i, name, name, none, OTF2_REGION_ROLE_RMA, OTF2_PARADIGM_SHMEM,
                                               OTF2_REGION_FLAG_NONE, none, 0, 0),
              "region");
    }
}

static void write_windows(OTF2_GlobalDefWriter *w, OTF2_StringRef *strings, uint64_t locations)
{
    /* Location ids equal ranks, so one list serves both groups. */
    uint64_t *members = allocate(locations, sizeof *members);
    for (uint64_t i = 0; i < locations; i++)
        members[i] = i;
    OTF2_StringRef all = add_string(w, strings, "All PEs");
    check(OTF2_GlobalDefWriter_WriteGroup(w, 0, all, OTF2_GROUP_TYPE_COMM_LOCATIONS, OTF2_PARADIGM_SHMEM,
                                          OTF2_GROUP_FLAG_NONE, (uint32_t)locations, members),
          "group of locations");
    check(OTF2_GlobalDefWriter_WriteGroup(w, 1, all, OTF2_GROUP_TYPE_COMM_GROUP, OTF2_PARADIGM_SHMEM,
                                          OTF2_GROUP_FLAG_GLOBAL_MEMBERS, (uint32_t)locations, members),
          "group of ranks");
    free(members);
    check(OTF2_GlobalDefWriter_WriteComm(w, 0, all, 1, OTF2_UNDEFINED_COMM, OTF2_COMM_FLAG_NONE), "comm");
    for (uint32_t i = 0; i < WINDOWS; i++) {
        OTF2_StringRef name = add_numbered(w, strings, "window", i);
        check(OTF2_GlobalDefWriter_WriteRmaWin(w, i, name, 0, OTF2_RMA_WIN_FLAG_NONE), "window");
    }
}

static void write_definitions(OTF2_Archive *archive, uint64_t locations, uint64_t events, uint64_t last_time)
{
    /* Score-P writes a definition file for every location; so do we. */
    check(OTF2_Archive_OpenDefFiles(archive), "opening definition files");
    for (uint64_t i = 0; i < locations; i++) {
        OTF2_DefWriter *local = OTF2_Archive_GetDefWriter(archive, i);
        if (!local)
            fail("no definition writer");
        check(OTF2_Archive_CloseDefWriter(archive, local), "closing a definition writer");
    }
    check(OTF2_Archive_CloseDefFiles(archive), "closing definition files");

    OTF2_GlobalDefWriter *w = OTF2_Archive_GetGlobalDefWriter(archive);
    if (!w)
        fail("no global definition writer");
    check(OTF2_GlobalDefWriter_WriteClockProperties(w, 1000000000, 0, last_time + 1, OTF2_UNDEFINED_TIMESTAMP), "clock");
    OTF2_StringRef strings = 0;
    OTF2_StringRef none = add_string(w, &strings, "");
    OTF2_StringRef shmem = add_string(w, &strings, "SHMEM");
    check(OTF2_GlobalDefWriter_WriteParadigm(w, OTF2_PARADIGM_SHMEM, shmem, OTF2_PARADIGM_CLASS_PROCESS), "paradigm");
    write_places(w, &strings, locations, events);
    write_regions(w, &strings, none);
    write_windows(w, &strings, locations);
    check(OTF2_Archive_CloseGlobalDefWriter(archive, w), "closing global definitions");
}

/* ---- writing ----------------------------------------------------------- */

static OTF2_FlushType flush_always(void *user, OTF2_FileType type, OTF2_LocationRef location, void *caller, bool final)
{
    (void)user, (void)type, (void)location, (void)caller, (void)final;
    return OTF2_FLUSH;
}

/* No post-flush callback: the archive then holds no BufferFlush events. */
static OTF2_FlushCallbacks flush_callbacks = { .otf2_pre_flush = flush_always, .otf2_post_flush = NULL };

static OTF2_Archive *open_archive(const char *directory, OTF2_FileSubstrate substrate)
{
    OTF2_Archive *archive = OTF2_Archive_Open(directory, "traces", OTF2_FILEMODE_WRITE, EVENT_CHUNK, DEFINITION_CHUNK,
                                              substrate, OTF2_COMPRESSION_NONE);
    if (!archive)
        fail("cannot open the archive for writing");
    check(OTF2_Archive_SetFlushCallbacks(archive, &flush_callbacks, NULL), "flush callbacks");
    check(OTF2_Archive_SetSerialCollectiveCallbacks(archive), "collective callbacks");
    check(OTF2_Archive_OpenEvtFiles(archive), "opening event files");
    return archive;
}

static OTF2_EvtWriter *get_writer(OTF2_Archive *archive, uint64_t location)
{
    OTF2_EvtWriter *writer = OTF2_Archive_GetEvtWriter(archive, location);
    if (!writer)
        fail("no event writer");
    return writer;
}

static void close_writer(OTF2_Archive *archive, OTF2_EvtWriter *writer, uint64_t events)
{
    uint64_t written = 0;
    check(OTF2_EvtWriter_GetNumberOfEvents(writer, &written), "counting events");
    if (written != events)
        fail("the writer counted another number of events");
    check(OTF2_Archive_CloseEvtWriter(archive, writer), "closing an event writer");
}

static void write_archive(const char *directory, uint64_t locations, uint64_t events, bool random, uint64_t seed)
{
    OTF2_Archive *archive = open_archive(directory, OTF2_SUBSTRATE_POSIX);
    uint64_t last_time = 0;
    uint64_t checksum = 0;
    double start = now();
    for (uint64_t location = 0; location < locations; location++) {
        OTF2_EvtWriter *writer = get_writer(archive, location);
        uint64_t time = random ? write_random(writer, location, locations, events, seed)
                               : write_regular(writer, location, locations, events);
        if (time > last_time)
            last_time = time;
        close_writer(archive, writer, events);
    }
    double seconds = now() - start;
    for (uint64_t location = 0; location < locations && !random; location++)
        checksum += checksum_regular(location, locations, events);
    check(OTF2_Archive_CloseEvtFiles(archive), "closing event files");
    write_definitions(archive, locations, events, last_time);
    check(OTF2_Archive_Close(archive), "closing the archive");
    report(locations * events, seconds, checksum);
}

/*
 * One chunk, touched beforehand and used again and again: the library's own
 * pool takes fresh pages all the time, and page faults are not what we compare.
 * Writers come one after another, so one chunk serves them all.
 */
static char warm_chunk[EVENT_CHUNK];
static bool warm_chunk_taken;

static void *take_chunk(void *user, OTF2_FileType type, OTF2_LocationRef location, void **data, uint64_t size)
{
    (void)user, (void)type, (void)location, (void)data;
    if (warm_chunk_taken || size > sizeof warm_chunk)
        return NULL; /* makes the library flush, then ask again */
    warm_chunk_taken = true;
    return warm_chunk;
}

static void give_chunks_back(void *user, OTF2_FileType type, OTF2_LocationRef location, void **data, bool final)
{
    (void)user, (void)type, (void)location, (void)data, (void)final;
    warm_chunk_taken = false;
}

static OTF2_MemoryCallbacks warm_memory = { .otf2_allocate = take_chunk, .otf2_free_all = give_chunks_back };

static void write_memory(uint64_t locations, uint64_t events)
{
    /* The path is named and never touched: the substrate has no files. */
    OTF2_Archive *archive = open_archive("unused", OTF2_SUBSTRATE_NONE);
    check(OTF2_Archive_SetMemoryCallbacks(archive, &warm_memory, NULL), "memory callbacks");
    memset(warm_chunk, 1, sizeof warm_chunk);
    uint64_t checksum = 0;
    double seconds = 0;
    for (uint64_t location = 0; location < locations; location++) {
        OTF2_EvtWriter *writer = get_writer(archive, location);
        double start = now();
        write_regular(writer, location, locations, events);
        seconds += now() - start;
        close_writer(archive, writer, events);
        checksum += checksum_regular(location, locations, events);
    }
    check(OTF2_Archive_CloseEvtFiles(archive), "closing event files");
    check(OTF2_Archive_Close(archive), "closing the archive");
    report(locations * events, seconds, checksum);
}

/* ---- reading ----------------------------------------------------------- */

/* What the callbacks of one location fold into. */
struct sum {
    uint64_t h;
    uint64_t events;
};

static inline struct sum *begin(void *user, enum kind kind, OTF2_TimeStamp time)
{
    struct sum *sum = user;
    sum->h = fold_head(sum->h, kind, time);
    sum->events++;
    return sum;
}

#define ON(name, ...)                                                                                                  \
    static OTF2_CallbackCode on_##name(OTF2_LocationRef location, OTF2_TimeStamp time, uint64_t position, void *user,  \
                                       OTF2_AttributeList *attributes __VA_OPT__(, ) __VA_ARGS__)

#define UNUSED (void)location, (void)position, (void)attributes

ON(enter, OTF2_RegionRef region)
{
    UNUSED;
    struct sum *sum = begin(user, ENTER, time);
    sum->h = fold(sum->h, region);
    return OTF2_CALLBACK_SUCCESS;
}

ON(leave, OTF2_RegionRef region)
{
    UNUSED;
    struct sum *sum = begin(user, LEAVE, time);
    sum->h = fold(sum->h, region);
    return OTF2_CALLBACK_SUCCESS;
}

ON(get, OTF2_RmaWinRef win, uint32_t remote, uint64_t bytes, uint64_t matching)
{
    UNUSED;
    struct sum *sum = begin(user, RMA_GET, time);
    sum->h = fold(fold(fold(fold(sum->h, win), remote), bytes), matching);
    return OTF2_CALLBACK_SUCCESS;
}

ON(put, OTF2_RmaWinRef win, uint32_t remote, uint64_t bytes, uint64_t matching)
{
    UNUSED;
    struct sum *sum = begin(user, RMA_PUT, time);
    sum->h = fold(fold(fold(fold(sum->h, win), remote), bytes), matching);
    return OTF2_CALLBACK_SUCCESS;
}

ON(atomic, OTF2_RmaWinRef win, uint32_t remote, OTF2_RmaAtomicType type, uint64_t sent, uint64_t received,
   uint64_t matching)
{
    UNUSED;
    struct sum *sum = begin(user, RMA_ATOMIC, time);
    sum->h = fold(fold(fold(sum->h, win), remote), type);
    sum->h = fold(fold(fold(sum->h, sent), received), matching);
    return OTF2_CALLBACK_SUCCESS;
}

ON(complete_blocking, OTF2_RmaWinRef win, uint64_t matching)
{
    UNUSED;
    struct sum *sum = begin(user, RMA_OP_COMPLETE_BLOCKING, time);
    sum->h = fold(fold(sum->h, win), matching);
    return OTF2_CALLBACK_SUCCESS;
}

ON(complete_non_blocking, OTF2_RmaWinRef win, uint64_t matching)
{
    UNUSED;
    struct sum *sum = begin(user, RMA_OP_COMPLETE_NON_BLOCKING, time);
    sum->h = fold(fold(sum->h, win), matching);
    return OTF2_CALLBACK_SUCCESS;
}

ON(complete_remote, OTF2_RmaWinRef win, uint64_t matching)
{
    UNUSED;
    struct sum *sum = begin(user, RMA_OP_COMPLETE_REMOTE, time);
    sum->h = fold(fold(sum->h, win), matching);
    return OTF2_CALLBACK_SUCCESS;
}

ON(collective_begin)
{
    UNUSED;
    begin(user, RMA_COLLECTIVE_BEGIN, time);
    return OTF2_CALLBACK_SUCCESS;
}

ON(collective_end, OTF2_CollectiveOp op, OTF2_RmaSyncLevel level, OTF2_RmaWinRef win, uint32_t root, uint64_t sent,
   uint64_t received)
{
    UNUSED;
    struct sum *sum = begin(user, RMA_COLLECTIVE_END, time);
    sum->h = fold(fold(fold(sum->h, op), level), win);
    sum->h = fold(fold(fold(sum->h, root), sent), received);
    return OTF2_CALLBACK_SUCCESS;
}

ON(wait_change, OTF2_RmaWinRef win)
{
    UNUSED;
    struct sum *sum = begin(user, RMA_WAIT_CHANGE, time);
    sum->h = fold(sum->h, win);
    return OTF2_CALLBACK_SUCCESS;
}

ON(sync, OTF2_RmaWinRef win, uint32_t remote, OTF2_RmaSyncType type)
{
    UNUSED;
    struct sum *sum = begin(user, RMA_SYNC, time);
    sum->h = fold(fold(fold(sum->h, win), remote), type);
    return OTF2_CALLBACK_SUCCESS;
}

ON(acquire_lock, OTF2_RmaWinRef win, uint32_t remote, uint64_t lock, OTF2_LockType type)
{
    UNUSED;
    struct sum *sum = begin(user, RMA_ACQUIRE_LOCK, time);
    sum->h = fold(fold(fold(fold(sum->h, win), remote), lock), type);
    return OTF2_CALLBACK_SUCCESS;
}

ON(release_lock, OTF2_RmaWinRef win, uint32_t remote, uint64_t lock)
{
    UNUSED;
    struct sum *sum = begin(user, RMA_RELEASE_LOCK, time);
    sum->h = fold(fold(fold(sum->h, win), remote), lock);
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_EvtReaderCallbacks *event_callbacks(void)
{
    OTF2_EvtReaderCallbacks *c = OTF2_EvtReaderCallbacks_New();
    if (!c)
        fail("out of memory");
    check(OTF2_EvtReaderCallbacks_SetEnterCallback(c, on_enter), "callback");
    check(OTF2_EvtReaderCallbacks_SetLeaveCallback(c, on_leave), "callback");
    check(OTF2_EvtReaderCallbacks_SetRmaGetCallback(c, on_get), "callback");
    check(OTF2_EvtReaderCallbacks_SetRmaPutCallback(c, on_put), "callback");
    check(OTF2_EvtReaderCallbacks_SetRmaAtomicCallback(c, on_atomic), "callback");
    check(OTF2_EvtReaderCallbacks_SetRmaOpCompleteBlockingCallback(c, on_complete_blocking), "callback");
    check(OTF2_EvtReaderCallbacks_SetRmaOpCompleteNonBlockingCallback(c, on_complete_non_blocking), "callback");
    check(OTF2_EvtReaderCallbacks_SetRmaOpCompleteRemoteCallback(c, on_complete_remote), "callback");
    check(OTF2_EvtReaderCallbacks_SetRmaCollectiveBeginCallback(c, on_collective_begin), "callback");
    check(OTF2_EvtReaderCallbacks_SetRmaCollectiveEndCallback(c, on_collective_end), "callback");
    check(OTF2_EvtReaderCallbacks_SetRmaWaitChangeCallback(c, on_wait_change), "callback");
    check(OTF2_EvtReaderCallbacks_SetRmaSyncCallback(c, on_sync), "callback");
    check(OTF2_EvtReaderCallbacks_SetRmaAcquireLockCallback(c, on_acquire_lock), "callback");
    check(OTF2_EvtReaderCallbacks_SetRmaReleaseLockCallback(c, on_release_lock), "callback");
    return c;
}

struct locations {
    OTF2_LocationRef *ids;
    size_t count;
    size_t room;
};

static OTF2_CallbackCode on_location(void *user, OTF2_LocationRef self, OTF2_StringRef name, OTF2_LocationType type,
                                     uint64_t events, OTF2_LocationGroupRef group)
{
    (void)name, (void)type, (void)events, (void)group;
    struct locations *all = user;
    if (all->count == all->room) {
        all->room = all->room ? 2 * all->room : 64;
        all->ids = realloc(all->ids, all->room * sizeof *all->ids);
        if (!all->ids)
            fail("out of memory");
    }
    all->ids[all->count++] = self;
    return OTF2_CALLBACK_SUCCESS;
}

static void read_global_definitions(OTF2_Reader *reader, struct locations *locations)
{
    OTF2_GlobalDefReader *definitions = OTF2_Reader_GetGlobalDefReader(reader);
    if (!definitions)
        fail("no global definitions");
    OTF2_GlobalDefReaderCallbacks *callbacks = OTF2_GlobalDefReaderCallbacks_New();
    check(OTF2_GlobalDefReaderCallbacks_SetLocationCallback(callbacks, on_location), "callback");
    check(OTF2_Reader_RegisterGlobalDefCallbacks(reader, definitions, callbacks, locations), "callbacks");
    OTF2_GlobalDefReaderCallbacks_Delete(callbacks);
    uint64_t count = 0;
    check(OTF2_Reader_ReadAllGlobalDefinitions(reader, definitions, &count), "reading global definitions");
    check(OTF2_Reader_CloseGlobalDefReader(reader, definitions), "closing global definitions");
}

static void read_local_definitions(OTF2_Reader *reader, const struct locations *locations)
{
    /* Missing definition files are legal: then there is nothing to map. */
    bool opened = OTF2_Reader_OpenDefFiles(reader) == OTF2_SUCCESS;
    for (size_t i = 0; opened && i < locations->count; i++) {
        OTF2_DefReader *definitions = OTF2_Reader_GetDefReader(reader, locations->ids[i]);
        uint64_t count = 0;
        if (!definitions)
            continue;
        check(OTF2_Reader_ReadAllLocalDefinitions(reader, definitions, &count), "reading local definitions");
        check(OTF2_Reader_CloseDefReader(reader, definitions), "closing local definitions");
    }
    if (opened)
        check(OTF2_Reader_CloseDefFiles(reader), "closing definition files");
}

static struct sum read_location(OTF2_Reader *reader, OTF2_EvtReaderCallbacks *callbacks, OTF2_LocationRef location,
                                bool of_any_kind)
{
    struct sum sum = { .h = location, .events = 0 };
    OTF2_EvtReader *events = OTF2_Reader_GetEvtReader(reader, location);
    if (!events)
        fail("no event reader");
    check(OTF2_Reader_RegisterEvtCallbacks(reader, events, callbacks, &sum), "callbacks");
    uint64_t count = 0;
    check(OTF2_Reader_ReadAllLocalEvents(reader, events, &count), "reading events");
    if (of_any_kind)
        sum.events = count;
    else if (count != sum.events)
        fail("events of a kind that the benchmark does not know");
    check(OTF2_Reader_CloseEvtReader(reader, events), "closing an event reader");
    return sum;
}

static void read_archive(const char *anchor, bool of_any_kind)
{
    OTF2_Reader *reader = OTF2_Reader_Open(anchor);
    if (!reader)
        fail("cannot open the archive for reading");
    check(OTF2_Reader_SetSerialCollectiveCallbacks(reader), "collective callbacks");
    struct locations locations = { 0 };
    read_global_definitions(reader, &locations);
    for (size_t i = 0; i < locations.count; i++)
        check(OTF2_Reader_SelectLocation(reader, locations.ids[i]), "selecting a location");
    read_local_definitions(reader, &locations);
    check(OTF2_Reader_OpenEvtFiles(reader), "opening event files");
    OTF2_EvtReaderCallbacks *callbacks = event_callbacks();

    uint64_t events = 0;
    uint64_t checksum = 0;
    double start = now();
    for (size_t i = 0; i < locations.count; i++) {
        struct sum sum = read_location(reader, callbacks, locations.ids[i], of_any_kind);
        events += sum.events;
        checksum += sum.h;
    }
    double seconds = now() - start;

    OTF2_EvtReaderCallbacks_Delete(callbacks);
    check(OTF2_Reader_CloseEvtFiles(reader), "closing event files");
    check(OTF2_Reader_Close(reader), "closing the archive");
    free(locations.ids);
    if (of_any_kind)
        printf("events=%" PRIu64 " seconds=%.9f\n", events, seconds);
    else
        report(events, seconds, checksum);
}

/* ---- command line ------------------------------------------------------ */

static uint64_t number(const char *text)
{
    char *end = NULL;
    uint64_t value = strtoull(text, &end, 10);
    if (end == text || *end != '\0')
        fail("not a number");
    return value;
}

static uint64_t positive(const char *text)
{
    uint64_t value = number(text);
    if (value == 0)
        fail("a count must not be zero");
    return value;
}

static int usage(void)
{
    fputs("usage: libotf2_bench write-archive DIR LOCATIONS EVENTS_PER_LOCATION regular|random SEED\n"
          "       libotf2_bench read|count DIR/traces.otf2\n"
          "       libotf2_bench write-memory LOCATIONS EVENTS_PER_LOCATION regular\n",
          stderr);
    return 2;
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    if (strcmp(mode, "write-archive") == 0 && argc == 7) {
        bool random = strcmp(argv[5], "random") == 0;
        if (!random && strcmp(argv[5], "regular") != 0)
            return usage();
        write_archive(argv[2], positive(argv[3]), positive(argv[4]), random, number(argv[6]));
        return 0;
    }
    bool of_any_kind = strcmp(mode, "count") == 0;
    if ((of_any_kind || strcmp(mode, "read") == 0) && argc == 3) {
        read_archive(argv[2], of_any_kind);
        return 0;
    }
    if (strcmp(mode, "write-memory") == 0 && argc == 5 && strcmp(argv[4], "regular") == 0) {
        write_memory(positive(argv[2]), positive(argv[3]));
        return 0;
    }
    return usage();
}
