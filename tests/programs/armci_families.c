/* What ARMCI can do, by families of calls: `armci_families [FAMILY]`, all of them if none is named. Each
 * process says how often it called what, and how many bytes that moved.
 *
 *   mpicc -g -o armci_families armci_families.c $(dwell build flags armci) -larmci-openmpi
 */
#include <armci.h>
#include <armcix.h>
#include <message.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 64 };

static int me, procs, next;
static void **memory; /* of all processes */
static double *mine;

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

static void result(void)
{
    double sum = 0;
    ARMCI_Barrier();
    ARMCI_Access_begin(mine);
    for (int i = 0; i < N * N; i++)
        sum += mine[i] * (i % 7 + 1);
    ARMCI_Access_end(mine);
    printf("process %d has %.3f\n", me, sum);
}

static double *there(int at)
{
    return (double *)memory[next] + at;
}

static void contiguous(void)
{
    double here[N], scale = 2;
    for (int i = 0; i < N; i++)
        here[i] = me + i;
    ARMCI_Put(here, there(0), sizeof here, next);
    ARMCI_Acc(ARMCI_ACC_DBL, &scale, here, there(0), N / 2 * sizeof(double), next);
    ARMCI_Fence(next);
    ARMCI_Get(there(0), here, sizeof here, next);
    result();
    say("ARMCI_Put", 1, N * 8);
    say("ARMCI_Acc", 1, N / 2 * 8);
    say("ARMCI_Get", 1, N * 8);
    say("ARMCI_Fence", 1, 0);
}

static void strided(void)
{
    double here[8 * 4], scale = 1;
    int stride_here = 8 * sizeof(double), stride_there = N * sizeof(double);
    int counts[2] = { 5 * sizeof(double), 4 };
    for (int i = 0; i < 32; i++)
        here[i] = me * 100 + i;
    ARMCI_PutS(here, &stride_here, there(3), &stride_there, counts, 1, next);
    ARMCI_AccS(ARMCI_ACC_DBL, &scale, here, &stride_here, there(3), &stride_there, counts, 1, next);
    ARMCI_AllFence();
    ARMCI_GetS(there(3), &stride_there, here, &stride_here, counts, 1, next);
    result();
    say("ARMCI_PutS", 1, 160);
    say("ARMCI_AccS", 1, 160);
    say("ARMCI_GetS", 1, 160);
    say("ARMCI_AllFence", 1, 0);
}

static void vectors(void)
{
    double here[6], scale = 1;
    void *from[2][3], *to[2][3];
    armci_giov_t list[2];
    for (int i = 0; i < 6; i++)
        here[i] = me + 10 * i;
    for (int v = 0; v < 2; v++) {
        for (int i = 0; i < 3; i++) {
            from[v][i] = &here[3 * v + i];
            to[v][i] = there(100 * v + 7 * i);
        }
        list[v] = (armci_giov_t){ from[v], to[v], sizeof(double), 3 };
    }
    ARMCI_PutV(list, 2, next);
    ARMCI_AccV(ARMCI_ACC_DBL, &scale, list, 2, next);
    ARMCI_Fence(next);
    for (int v = 0; v < 2; v++)
        list[v] = (armci_giov_t){ to[v], from[v], sizeof(double), 3 };
    ARMCI_GetV(list, 2, next);
    result();
    say("ARMCI_Fence", 1, 0);
    say("ARMCI_PutV", 1, 48);
    say("ARMCI_AccV", 1, 48);
    say("ARMCI_GetV", 1, 48);
}

static void non_blocking(void)
{
    double here[4][N], scale = 1;
    armci_hdl_t one, several;
    int stride = N * sizeof(double), counts[2] = { 2 * sizeof(double), 2 };
    memset(here, 0, sizeof here);
    for (int i = 0; i < N; i++)
        here[0][i] = me + i;
    ARMCI_INIT_HANDLE(&one);
    ARMCI_INIT_HANDLE(&several);
    ARMCI_NbPut(here[0], there(0), sizeof here[0], next, &one);
    ARMCI_Wait(&one);
    ARMCI_Fence(next);
    ARMCI_SET_AGGREGATE_HANDLE(&several);
    ARMCI_NbGet(there(0), here[1], 8 * sizeof(double), next, &several);
    ARMCI_NbGet(there(8), here[1] + 8, 8 * sizeof(double), next, &several);
    ARMCI_Wait(&several);
    ARMCI_UNSET_AGGREGATE_HANDLE(&several);
    ARMCI_NbAcc(ARMCI_ACC_DBL, &scale, here[1], there(N), 4 * sizeof(double), next, NULL);
    ARMCI_NbPutS(here[1], &stride, there(2 * N), &stride, counts, 1, next, NULL);
    ARMCI_WaitProc(next);
    ARMCI_NbGetS(there(0), &stride, here[2], &stride, counts, 1, next, NULL);
    ARMCI_WaitAll();
    ARMCI_NbPutValueDouble(5.5, there(3 * N), next, NULL);
    ARMCI_AllFence();
    result();
    say("ARMCI_Fence", 1, 0);
    say("ARMCI_AllFence", 1, 0);
    say("ARMCI_NbPut", 1, N * 8);
    say("ARMCI_NbGet", 2, 128);
    say("ARMCI_NbAcc", 1, 32);
    say("ARMCI_NbPutS", 1, 32);
    say("ARMCI_NbGetS", 1, 32);
    say("ARMCI_NbPutValueDouble", 1, 8);
    say("ARMCI_Wait", 2, 0);
    say("ARMCI_WaitProc", 1, 0);
    say("ARMCI_WaitAll", 1, 0);
}

static void values(void)
{
    ARMCI_PutValueInt(3, there(0), next);
    ARMCI_PutValueLong(4, there(1), next);
    ARMCI_PutValueFloat(1.5f, there(2), next);
    ARMCI_PutValueDouble(2.5, there(3), next);
    ARMCI_AllFence();
    int i = ARMCI_GetValueInt(there(0), next);
    long l = ARMCI_GetValueLong(there(1), next);
    float f = ARMCI_GetValueFloat(there(2), next);
    double d = ARMCI_GetValueDouble(there(3), next);
    ARMCI_Barrier();
    printf("process %d got %d %ld %.2f %.2f\n", me, i, l, f, d);
    say("ARMCI_AllFence", 1, 0);
    say("ARMCI_PutValueInt", 1, 4);
    say("ARMCI_PutValueLong", 1, 8);
    say("ARMCI_PutValueFloat", 1, 4);
    say("ARMCI_PutValueDouble", 1, 8);
    say("ARMCI_GetValueInt", 1, 4);
    say("ARMCI_GetValueLong", 1, 8);
    say("ARMCI_GetValueFloat", 1, 4);
    say("ARMCI_GetValueDouble", 1, 8);
}

static void atomic(void)
{
    int small;
    long large = me + 10;
    int *counter = memory[0];
    long *word = (long *)memory[next] + 1;
    for (int i = 0; i < 5; i++)
        ARMCI_Rmw(ARMCI_FETCH_AND_ADD, &small, counter, 1, 0);
    ARMCI_Rmw(ARMCI_SWAP_LONG, &large, word, 0, next);
    ARMCI_Barrier();
    if (me == 0)
        printf("counted to %d\n", *(int *)mine);
    say("ARMCI_Rmw", 6, 5 * 8 + 16);
}

static void mutexes(void)
{
    double *sum = memory[0], value;
    ARMCI_Create_mutexes(2);
    for (int i = 0; i < 5; i++) {
        ARMCI_Lock(1, 0);
        ARMCI_Get(sum, &value, sizeof value, 0);
        value += 1;
        ARMCI_Put(&value, sum, sizeof value, 0);
        ARMCI_Fence(0);
        ARMCI_Unlock(1, 0);
    }
    ARMCI_Barrier();
    if (me == 0)
        printf("counted to %.0f\n", *mine);
    ARMCI_Destroy_mutexes();
    say("ARMCI_Create_mutexes", 1, 0);
    say("ARMCI_Fence", 5, 0);
    say("ARMCI_Lock", 5, 0);
    say("ARMCI_Unlock", 5, 0);
    say("ARMCI_Get", 5, 40);
    say("ARMCI_Put", 5, 40);
}

static void messages(void)
{
    long sum = me + 1;
    double values[3] = { me, 1, 2 };
    int got, length;
    armci_msg_lgop(&sum, 1, "+");
    armci_msg_dgop(values, 3, "max");
    armci_msg_bcast(values, sizeof values, procs - 1);
    armci_msg_barrier();
    if (me == 0) {
        armci_msg_snd(7, &me, sizeof me, 1);
    } else if (me == 1) {
        armci_msg_rcv(7, &got, sizeof got, &length, 0);
    }
    armci_msg_barrier();
    printf("process %d has %ld and %.0f\n", me, sum, values[0]);
    say("armci_msg_lgop", 1, 8);
    say("armci_msg_dgop", 1, 24);
    say("armci_msg_bcast", 1, 24);
    say("armci_msg_barrier", 2, 0);
}

static void groups(void)
{
    ARMCI_Group world, all;
    void **parts = malloc(procs * sizeof *parts);
    double value = me + 1;
    ARMCI_Group_get_world(&world);
    ARMCIX_Group_split(&world, 1, me, &all);
    ARMCI_Malloc_group(parts, 64, &all);
    armci_msg_group_dgop(&value, 1, "+", &all);
    armci_msg_group_barrier(&all);
    ARMCI_Put(&value, parts[next], sizeof value, next);
    ARMCI_Barrier();
    printf("process %d has %.0f\n", me, *(double *)parts[me]);
    ARMCI_Free_group(parts[me], &all);
    ARMCI_Group_free(&all);
    free(parts);
    say("ARMCIX_Group_split", 1, 0);
    say("ARMCI_Malloc_group", 1, 0);
    say("armci_msg_group_dgop", 1, 8);
    say("armci_msg_group_barrier", 1, 0);
    say("ARMCI_Put", 1, 8);
    say("ARMCI_Free_group", 1, 0);
    say("ARMCI_Group_free", 1, 0);
}

static void flags(void)
{
    double here[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
    int *flag = (int *)((double *)memory[next] + 100);
    ARMCI_Put_flag(here, there(0), sizeof here, flag, 42, next);
    result();
    printf("process %d was told %d\n", me, *(int *)(mine + 100));
    say("ARMCI_Put_flag", 1, 64);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*family)(void);
    } families[] = {
        { "contiguous", contiguous }, { "strided", strided }, { "vectors", vectors },
        { "non_blocking", non_blocking }, { "values", values }, { "atomic", atomic },
        { "mutexes", mutexes }, { "messages", messages }, { "groups", groups }, { "flags", flags },
    };
    int done = 0;
    MPI_Init(&argc, &argv);
    ARMCI_Init();
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &procs);
    next = (me + 1) % procs;
    memory = malloc(procs * sizeof *memory);
    ARMCI_Malloc(memory, N * N * sizeof(double));
    mine = memory[me];
    ARMCI_Access_begin(mine);
    memset(mine, 0, N * N * sizeof(double));
    ARMCI_Access_end(mine);
    ARMCI_Barrier();
    for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
        if (argc > 1 && strcmp(argv[1], families[i].name))
            continue;
        families[i].family();
        done = 1;
        ARMCI_Barrier();
        memset(mine, 0, N * N * sizeof(double));
        ARMCI_Barrier();
    }
    for (int i = 0; said[i].name; i++)
        printf("count pe=%d %s=%d bytes=%ld\n", me, said[i].name, said[i].calls, said[i].bytes);
    ARMCI_Free(mine);
    free(memory);
    ARMCI_Finalize();
    MPI_Finalize();
    return done ? 0 : 2;
}
