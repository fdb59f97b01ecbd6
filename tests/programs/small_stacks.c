/* Calls of MPI from threads with small stacks.
 *
 * small_stacks threads BYTES: four threads with stacks of that many bytes look for messages.
 * small_stacks paint: a thread paints its stack before each call, and prints how many bytes of it the call has used.
 *     Each call is made three times, since the first one finds functions and defines what later ones know. */
#define _GNU_SOURCE
#include "dwell.h"

#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void look(void) {
    int flag;
    MPI_Iprobe(MPI_ANY_SOURCE, 99, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
}

static void *looker(void *unused) {
    for (int i = 0; i < 200; i++) look();
    return unused;
}

static long sent = 3, got[4];
static MPI_Request request;
static MPI_Comm copy;
static MPI_Win window;
static long *memory;

static void irecv(void) { MPI_Irecv(got, 1, MPI_LONG, 0, 1, MPI_COMM_SELF, &request); }
static void send(void) { MPI_Send(&sent, 1, MPI_LONG, 0, 1, MPI_COMM_SELF); }
static void wait(void) { MPI_Wait(&request, MPI_STATUS_IGNORE); }
static void barrier(void) { MPI_Barrier(MPI_COMM_SELF); }
static void allreduce(void) { MPI_Allreduce(&sent, got, 1, MPI_LONG, MPI_SUM, MPI_COMM_SELF); }
static void dup(void) { MPI_Comm_dup(MPI_COMM_SELF, &copy); }
static void split(void) { MPI_Comm_split(MPI_COMM_WORLD, 0, 0, &copy); }
static void release(void) { MPI_Comm_free(&copy); }
static void window_allocate(void) { MPI_Win_allocate(64, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window); }
static void window_lock(void) { MPI_Win_lock_all(0, window); }
static void put(void) { MPI_Put(&sent, 1, MPI_LONG, 0, 0, 1, MPI_LONG, window); }
static void flush(void) { MPI_Win_flush(0, window); }
static void window_unlock(void) { MPI_Win_unlock_all(window); }
static void window_free(void) { MPI_Win_free(&window); }
static void region(void) {
    DWELL_BEGIN("region");
    DWELL_PARAMETER_INT("parameter", 3);
    DWELL_COUNTER("counter", "1", 0.5);
    DWELL_END("region");
}
static void control(void) {
    MPI_Pcontrol(0);
    MPI_Pcontrol(1);
}

static const struct {
    const char *name;
    void (*call)(void);
} CALLS[] = {
    {"iprobe", look}, {"irecv", irecv}, {"send", send}, {"wait", wait}, {"barrier", barrier},
    {"allreduce", allreduce}, {"dup", dup}, {"free", release}, {"split", split}, {"free", release},
    {"win_allocate", window_allocate}, {"lock", window_lock}, {"put", put}, {"flush", flush},
    {"unlock", window_unlock}, {"win_free", window_free}, {"region", region}, {"control", control},
};

#define PAINT 0xA5
static unsigned char *bottom;

/* How far down the stack has been used, seen from a caller of this. */
static size_t __attribute__((noinline)) used(void (*call)(void)) {
    unsigned char *here = __builtin_frame_address(0);
    memset(bottom, PAINT, (size_t)(here - bottom) - 512);
    call();
    unsigned char *lowest = bottom;
    while (*lowest == PAINT) lowest++;
    return (size_t)(here - lowest);
}

static void *painter(void *unused) {
    size_t most[sizeof CALLS / sizeof *CALLS] = {0};
    for (int round = 0; round < 3; round++)
        for (size_t at = 0; at < sizeof CALLS / sizeof *CALLS; at++) {
            size_t now = used(CALLS[at].call);
            if (now > most[at]) most[at] = now;
        }
    for (size_t at = 0; at < sizeof CALLS / sizeof *CALLS; at++)
        printf("%zu %s %zu\n", at, CALLS[at].name, most[at]);
    return unused;
}

int main(int argc, char **argv) {
    int provided, rank;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    pthread_attr_t attributes;
    pthread_t threads[4];
    pthread_attr_init(&attributes);
    if (argc > 2) {
        pthread_attr_setstacksize(&attributes, strtoul(argv[2], NULL, 10));
        for (int i = 0; i < 4; i++)
            if (pthread_create(&threads[i], &attributes, looker, NULL)) abort();
        for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    } else if (argc > 1) {
        size_t bytes = 1 << 20;
        if (posix_memalign((void **)&bottom, 4096, bytes)) abort();
        pthread_attr_setstack(&attributes, bottom, bytes);
        if (pthread_create(&threads[0], &attributes, painter, NULL)) abort();
        pthread_join(threads[0], NULL);
    }
    printf("rank %d done\n", rank);
    fflush(stdout);
    MPI_Finalize();
    return 0;
}
