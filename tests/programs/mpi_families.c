/* Every family of MPI once or more, with counts of its own.
 *
 * Each process prints, for every function it called, how often and how many bytes:
 *     count pe=0 MPI_Send=1 bytes=16
 * Bytes of messages belong to the call that sends or completes them, those of collectives are what the
 * process gave plus what it got, those of one-sided operations what went both ways.
 *
 * With an argument it does only the families of that name. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if MPI_VERSION >= 4
#define LARGE 1
#endif
#if MPI_VERSION >= 4 || (defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5)
#define MPI_4 1
#endif

static struct { const char *name; long calls, bytes; } counts[512];

static void count(const char *name, long bytes) {
    int i = 0;
    while (counts[i].name && strcmp(counts[i].name, name)) i++;
    counts[i].name = name;
    counts[i].calls++;
    counts[i].bytes += bytes;
}

/* Calls a function, counts it, and stops at an error. */
#define C(name, bytes, ...)                                                  \
    do {                                                                     \
        int code = name(__VA_ARGS__);                                        \
        if (code != MPI_SUCCESS) {                                           \
            fprintf(stderr, "%s returned %d in line %d\n", #name, code, __LINE__); \
            exit(3);                                                         \
        }                                                                    \
        count(#name, bytes);                                                 \
    } while (0)

#define W MPI_COMM_WORLD
#define N 4
#define D ((long)sizeof(double))

static int rank, size, left, right;
static double sum; /* of everything received, to be printed */
static double out[1024], in[1024];

static void clear(void) {
    for (int i = 0; i < 1024; i++) {
        out[i] = rank + i * 0.5;
        in[i] = 0;
    }
}

static void take(void) {
    for (int i = 0; i < 1024; i++) sum += in[i];
    clear();
}

static void messages(void) {
    MPI_Request r[4];
    MPI_Status s;
    MPI_Message m;
    int flag, index, done, indices[4];
    char *buffer = malloc(4096 + 8 * MPI_BSEND_OVERHEAD);
    C(MPI_Buffer_attach, 0, buffer, 4096 + 8 * MPI_BSEND_OVERHEAD);
    /* Blocking; one side sends first. */
    if (rank % 2 == 0) {
        if (rank + 1 < size) {
            C(MPI_Send, N * D, out, N, MPI_DOUBLE, rank + 1, 1, W);
            C(MPI_Ssend, N * D, out, N, MPI_DOUBLE, rank + 1, 2, W);
            C(MPI_Bsend, N * D, out, N, MPI_DOUBLE, rank + 1, 3, W);
            C(MPI_Send, 12, out, 12, MPI_BYTE, rank + 1, 4, W);
            C(MPI_Send, D, out, 1, MPI_DOUBLE, rank + 1, 5, W);
        }
    } else {
        C(MPI_Recv, N * D, in, N, MPI_DOUBLE, rank - 1, 1, W, MPI_STATUS_IGNORE);
        C(MPI_Recv, N * D, in, 100, MPI_DOUBLE, MPI_ANY_SOURCE, 2, W, &s);
        C(MPI_Recv, N * D, in, N, MPI_DOUBLE, rank - 1, MPI_ANY_TAG, W, MPI_STATUS_IGNORE);
        C(MPI_Probe, 0, rank - 1, 4, W, &s);
        C(MPI_Recv, 12, in, 100, MPI_BYTE, rank - 1, 4, W, MPI_STATUS_IGNORE);
        C(MPI_Mprobe, 0, rank - 1, 5, W, &m, MPI_STATUS_IGNORE);
        C(MPI_Mrecv, D, in, 1, MPI_DOUBLE, &m, MPI_STATUS_IGNORE);
    }
    take();
    C(MPI_Barrier, 0, W);
    /* Ready: the receive is posted before the barrier. */
    C(MPI_Irecv, 0, in, N, MPI_DOUBLE, left, 6, W, &r[0]);
    C(MPI_Barrier, 0, W);
    C(MPI_Rsend, N * D, out, N, MPI_DOUBLE, right, 6, W);
    C(MPI_Wait, N * D, &r[0], MPI_STATUS_IGNORE);
    take();
    /* To nobody. */
    C(MPI_Send, 0, out, N, MPI_DOUBLE, MPI_PROC_NULL, 7, W);
    C(MPI_Recv, 0, in, N, MPI_DOUBLE, MPI_PROC_NULL, 7, W, MPI_STATUS_IGNORE);
    C(MPI_Isend, 0, out, N, MPI_DOUBLE, MPI_PROC_NULL, 7, W, &r[0]);
    C(MPI_Wait, 0, &r[0], MPI_STATUS_IGNORE);
    /* Both at once. */
    C(MPI_Sendrecv, 2 * N * D, out, N, MPI_DOUBLE, right, 8, in, N, MPI_DOUBLE, left, 8, W, MPI_STATUS_IGNORE);
    C(MPI_Sendrecv_replace, 2 * N * D, in, N, MPI_DOUBLE, right, 8, left, 8, W, &s);
    take();
    /* Non-blocking, completed in every way. */
    C(MPI_Irecv, 0, in, N, MPI_DOUBLE, left, MPI_ANY_TAG, W, &r[0]);
    C(MPI_Isend, N * D, out, N, MPI_DOUBLE, right, 9, W, &r[1]);
    C(MPI_Waitall, N * D, 2, r, MPI_STATUSES_IGNORE);
    C(MPI_Irecv, 0, in + 4, N, MPI_DOUBLE, left, 10, W, &r[0]);
    C(MPI_Issend, N * D, out, N, MPI_DOUBLE, right, 10, W, &r[1]);
    long got = 0;
    for (int left_over = 2; left_over > 0; left_over--) {
        int code = MPI_Waitany(2, r, &index, &s);
        if (code) exit(3);
        got = index == 0 ? N * D : 0;
        count("MPI_Waitany", got);
    }
    C(MPI_Irecv, 0, in + 8, N, MPI_DOUBLE, left, 11, W, &r[0]);
    C(MPI_Ibsend, N * D, out, N, MPI_DOUBLE, right, 11, W, &r[1]);
    for (int open = 2; open > 0; open -= done) {
        if (MPI_Waitsome(2, r, &done, indices, MPI_STATUSES_IGNORE)) exit(3);
        got = 0;
        for (int i = 0; i < done; i++) got += indices[i] == 0 ? N * D : 0;
        count("MPI_Waitsome", got);
    }
    take();
    C(MPI_Irecv, 0, in, N, MPI_DOUBLE, left, 12, W, &r[0]);
    C(MPI_Barrier, 0, W);
    C(MPI_Irsend, N * D, out, N, MPI_DOUBLE, right, 12, W, &r[1]);
    for (int i = 0; i < 2; i++) {
        do {
            if (MPI_Test(&r[i], &flag, MPI_STATUS_IGNORE)) exit(3);
            count("MPI_Test", flag && i == 0 ? N * D : 0);
        } while (!flag);
    }
    C(MPI_Irecv, 0, in + 4, N, MPI_DOUBLE, left, 13, W, &r[0]);
    C(MPI_Isend, N * D, out, N, MPI_DOUBLE, right, 13, W, &r[1]);
    do {
        if (MPI_Testall(2, r, &flag, MPI_STATUSES_IGNORE)) exit(3);
        count("MPI_Testall", flag ? N * D : 0);
    } while (!flag);
    C(MPI_Irecv, 0, in + 8, N, MPI_DOUBLE, left, 14, W, &r[0]);
    C(MPI_Isend, N * D, out, N, MPI_DOUBLE, right, 14, W, &r[1]);
    for (int open = 2; open > 0;) {
        if (MPI_Testany(2, r, &index, &flag, &s)) exit(3);
        count("MPI_Testany", flag && index == 0 ? N * D : 0);
        open -= flag;
    }
    C(MPI_Irecv, 0, in + 12, N, MPI_DOUBLE, left, 15, W, &r[0]);
    C(MPI_Isend, N * D, out, N, MPI_DOUBLE, right, 15, W, &r[1]);
    for (int open = 2; open > 0;) {
        if (MPI_Testsome(2, r, &done, indices, MPI_STATUSES_IGNORE)) exit(3);
        got = 0;
        for (int i = 0; i < done; i++) got += indices[i] == 0 ? N * D : 0;
        count("MPI_Testsome", got);
        open -= done;
    }
    take();
    /* Many at once, more than fit into a small list. */
    MPI_Request many[100];
    for (int i = 0; i < 50; i++) {
        C(MPI_Irecv, 0, in + i, 1, MPI_DOUBLE, left, 100 + i, W, &many[2 * i]);
        C(MPI_Isend, D, out + i, 1, MPI_DOUBLE, right, 100 + i, W, &many[2 * i + 1]);
    }
    C(MPI_Waitall, 50 * D, 100, many, MPI_STATUSES_IGNORE);
    take();
    /* Found, then received. */
    C(MPI_Isend, N * D, out, N, MPI_DOUBLE, right, 16, W, &r[1]);
    do {
        if (MPI_Iprobe(left, 16, W, &flag, MPI_STATUS_IGNORE)) exit(3);
        count("MPI_Iprobe", 0);
    } while (!flag);
    do {
        if (MPI_Improbe(left, 16, W, &flag, &m, &s)) exit(3);
        count("MPI_Improbe", 0);
    } while (!flag);
    C(MPI_Imrecv, 0, in, N, MPI_DOUBLE, &m, &r[0]);
    C(MPI_Waitall, N * D, 2, r, MPI_STATUSES_IGNORE);
    take();
    /* A receive that never comes. */
    C(MPI_Irecv, 0, in, N, MPI_DOUBLE, left, 17, W, &r[0]);
    C(MPI_Cancel, 0, &r[0]);
    C(MPI_Wait, 0, &r[0], &s);
    /* Persistent. */
    C(MPI_Recv_init, 0, in, N, MPI_DOUBLE, left, 18, W, &r[0]);
    C(MPI_Send_init, 0, out, N, MPI_DOUBLE, right, 18, W, &r[1]);
    for (int i = 0; i < 3; i++) {
        C(MPI_Start, 0, &r[0]);
        C(MPI_Start, N * D, &r[1]);
        C(MPI_Waitall, N * D, 2, r, MPI_STATUSES_IGNORE);
        take();
    }
    C(MPI_Request_free, 0, &r[1]);
    C(MPI_Bsend_init, 0, out, N, MPI_DOUBLE, right, 18, W, &r[1]);
    C(MPI_Startall, N * D, 2, r);
    C(MPI_Waitall, N * D, 2, r, MPI_STATUSES_IGNORE);
    C(MPI_Request_free, 0, &r[1]);
    C(MPI_Ssend_init, 0, out, N, MPI_DOUBLE, right, 18, W, &r[1]);
    C(MPI_Startall, N * D, 2, r);
    C(MPI_Waitall, N * D, 2, r, MPI_STATUSES_IGNORE);
    C(MPI_Request_free, 0, &r[0]);
    C(MPI_Request_free, 0, &r[1]);
    take();
    void *detached;
    int bytes;
    C(MPI_Buffer_detach, 0, &detached, &bytes);
    free(buffer);
#ifdef LARGE
    C(MPI_Sendrecv_c, 2 * N * D, out, N, MPI_DOUBLE, right, 19, in, N, MPI_DOUBLE, left, 19, W, MPI_STATUS_IGNORE);
    C(MPI_Irecv_c, 0, in + 4, N, MPI_DOUBLE, left, 20, W, &r[0]);
    C(MPI_Send_c, N * D, out, N, MPI_DOUBLE, right, 20, W);
    C(MPI_Wait, N * D, &r[0], &s);
    C(MPI_Isendrecv, N * D, out, N, MPI_DOUBLE, right, 21, in + 8, N, MPI_DOUBLE, left, 21, W, &r[0]);
    C(MPI_Wait, N * D, &r[0], &s);
    take();
#endif
#ifdef MPI_4
    C(MPI_Psend_init, 0, out, 2, N, MPI_DOUBLE, right, 22, W, MPI_INFO_NULL, &r[0]);
    C(MPI_Precv_init, 0, in, 2, N, MPI_DOUBLE, left, 22, W, MPI_INFO_NULL, &r[1]);
    C(MPI_Startall, 0, 2, r);
    C(MPI_Pready, 0, 0, r[0]);
    /* The last partition sends the message. */
    C(MPI_Pready, 2 * N * D, 1, r[0]);
    /* What the status of a partitioned receive says differs: it is not counted here. */
    C(MPI_Wait, 0, &r[0], MPI_STATUS_IGNORE);
    C(MPI_Waitall, 0, 1, &r[1], MPI_STATUSES_IGNORE);
    C(MPI_Request_free, 0, &r[0]);
    C(MPI_Request_free, 0, &r[1]);
    take();
#endif
}

static void collectives(void) {
    int counts1[64], counts2[64], displacements[64], one[64], bytes[64];
    MPI_Datatype types[64];
    MPI_Request r;
    long all = 0;
    for (int i = 0; i < size; i++) {
        counts1[i] = i + 1;
        displacements[i] = i * (i + 1) / 2;
        one[i] = 2;
        counts2[i] = rank + 1;
        bytes[i] = i * 16;
        types[i] = MPI_DOUBLE;
        all += i + 1;
    }
    int steps[64];
    for (int i = 0; i < size; i++) steps[i] = i * (rank + 1);
    long root = rank == 0, mine = rank + 1;
    C(MPI_Barrier, 0, W);
    C(MPI_Bcast, N * D, in, N, MPI_DOUBLE, 0, W);
    C(MPI_Gather, N * D + root * size * N * D, out, N, MPI_DOUBLE, in, N, MPI_DOUBLE, 0, W);
    take();
    C(MPI_Gatherv, mine * D + root * all * D, out, rank + 1, MPI_DOUBLE, in, counts1, displacements, MPI_DOUBLE, 0, W);
    take();
    C(MPI_Scatter, N * D + root * size * N * D, out, N, MPI_DOUBLE, in, N, MPI_DOUBLE, 0, W);
    take();
    C(MPI_Scatterv, mine * D + root * all * D, out, counts1, displacements, MPI_DOUBLE, in, rank + 1, MPI_DOUBLE, 0, W);
    take();
    C(MPI_Allgather, N * D + size * N * D, out, N, MPI_DOUBLE, in, N, MPI_DOUBLE, W);
    take();
    C(MPI_Allgatherv, mine * D + all * D, out, rank + 1, MPI_DOUBLE, in, counts1, displacements, MPI_DOUBLE, W);
    take();
    C(MPI_Alltoall, 2 * size * N * D, out, N, MPI_DOUBLE, in, N, MPI_DOUBLE, W);
    take();
    C(MPI_Alltoallv, all * D + size * mine * D, out, counts1, displacements, MPI_DOUBLE, in, counts2, steps, MPI_DOUBLE, W);
    take();
    C(MPI_Alltoallw, 2 * 2 * size * D, out, one, bytes, types, in, one, bytes, types, W);
    take();
    C(MPI_Reduce, N * D + root * N * D, out, in, N, MPI_DOUBLE, MPI_SUM, 0, W);
    take();
    C(MPI_Allreduce, 2 * N * D, out, in, N, MPI_DOUBLE, MPI_MAX, W);
    C(MPI_Allreduce, 2 * N * D, MPI_IN_PLACE, in, N, MPI_DOUBLE, MPI_MAX, W);
    take();
    C(MPI_Allgather, size * N * D, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, in, N, MPI_DOUBLE, W);
    C(MPI_Reduce_scatter, all * D + mine * D, out, in, counts1, MPI_DOUBLE, MPI_SUM, W);
    take();
    C(MPI_Reduce_scatter_block, size * N * D + N * D, out, in, N, MPI_DOUBLE, MPI_SUM, W);
    take();
    C(MPI_Scan, 2 * N * D, out, in, N, MPI_DOUBLE, MPI_SUM, W);
    take();
    C(MPI_Exscan, 2 * N * D, out, in, N, MPI_DOUBLE, MPI_SUM, W);
    if (rank == 0) clear();
    take();
    /* Non-blocking: bytes belong to the wait. */
#define I(bytes, name, ...)                      \
    do {                                         \
        C(name, 0, __VA_ARGS__, &r);             \
        C(MPI_Wait, bytes, &r, MPI_STATUS_IGNORE); \
        take();                                  \
    } while (0)
    I(0, MPI_Ibarrier, W);
    I(N * D, MPI_Ibcast, in, N, MPI_DOUBLE, 0, W);
    I(N * D + root * size * N * D, MPI_Igather, out, N, MPI_DOUBLE, in, N, MPI_DOUBLE, 0, W);
    I(mine * D + root * all * D, MPI_Igatherv, out, rank + 1, MPI_DOUBLE, in, counts1, displacements, MPI_DOUBLE, 0, W);
    I(N * D + root * size * N * D, MPI_Iscatter, out, N, MPI_DOUBLE, in, N, MPI_DOUBLE, 0, W);
    I(mine * D + root * all * D, MPI_Iscatterv, out, counts1, displacements, MPI_DOUBLE, in, rank + 1, MPI_DOUBLE, 0, W);
    I(N * D + size * N * D, MPI_Iallgather, out, N, MPI_DOUBLE, in, N, MPI_DOUBLE, W);
    I(mine * D + all * D, MPI_Iallgatherv, out, rank + 1, MPI_DOUBLE, in, counts1, displacements, MPI_DOUBLE, W);
    I(2 * size * N * D, MPI_Ialltoall, out, N, MPI_DOUBLE, in, N, MPI_DOUBLE, W);
    I(all * D + size * mine * D, MPI_Ialltoallv, out, counts1, displacements, MPI_DOUBLE, in, counts2, steps, MPI_DOUBLE, W);
    I(2 * 2 * size * D, MPI_Ialltoallw, out, one, bytes, types, in, one, bytes, types, W);
    I(N * D + root * N * D, MPI_Ireduce, out, in, N, MPI_DOUBLE, MPI_SUM, 0, W);
    I(2 * N * D, MPI_Iallreduce, out, in, N, MPI_DOUBLE, MPI_MAX, W);
    I(all * D + mine * D, MPI_Ireduce_scatter, out, in, counts1, MPI_DOUBLE, MPI_SUM, W);
    I(size * N * D + N * D, MPI_Ireduce_scatter_block, out, in, N, MPI_DOUBLE, MPI_SUM, W);
    I(2 * N * D, MPI_Iscan, out, in, N, MPI_DOUBLE, MPI_SUM, W);
    C(MPI_Iexscan, 0, out, in, N, MPI_DOUBLE, MPI_SUM, W, &r);
    C(MPI_Wait, 2 * N * D, &r, MPI_STATUS_IGNORE);
    clear();
#ifdef LARGE
    C(MPI_Bcast_c, N * D, in, N, MPI_DOUBLE, 0, W);
    C(MPI_Allreduce_c, 2 * N * D, out, in, N, MPI_DOUBLE, MPI_SUM, W);
    take();
    MPI_Count large[64];
    MPI_Aint where[64];
    for (int i = 0; i < size; i++) {
        large[i] = counts1[i];
        where[i] = displacements[i];
    }
    C(MPI_Allgatherv_c, mine * D + all * D, out, rank + 1, MPI_DOUBLE, in, large, where, MPI_DOUBLE, W);
    take();
#endif
#ifdef MPI_4
    C(MPI_Allreduce_init, 0, out, in, N, MPI_DOUBLE, MPI_SUM, W, MPI_INFO_NULL, &r);
    for (int i = 0; i < 3; i++) {
        C(MPI_Start, 0, &r);
        C(MPI_Wait, 2 * N * D, &r, MPI_STATUS_IGNORE);
        take();
    }
    C(MPI_Request_free, 0, &r);
    C(MPI_Barrier_init, 0, W, MPI_INFO_NULL, &r);
    C(MPI_Start, 0, &r);
    C(MPI_Wait, 0, &r, MPI_STATUS_IGNORE);
    C(MPI_Request_free, 0, &r);
#endif
}

static void communicators(void) {
    MPI_Comm a, b, c, grid, row, graph, between, merged;
    MPI_Group everyone, some;
    MPI_Request r;
    double x = rank, y;
    C(MPI_Comm_dup, 0, W, &a);
    C(MPI_Allreduce, 2 * D, &x, &y, 1, MPI_DOUBLE, MPI_SUM, a);
    sum += y;
    C(MPI_Comm_split, 0, a, rank % 2, rank, &b);
    C(MPI_Allreduce, 2 * D, &x, &y, 1, MPI_DOUBLE, MPI_SUM, b);
    sum += y;
    C(MPI_Comm_split, 0, a, rank == 0 ? MPI_UNDEFINED : 1, rank, &c);
    if (c != MPI_COMM_NULL) {
        C(MPI_Bcast, D, &y, 1, MPI_DOUBLE, 0, c);
        C(MPI_Comm_free, 0, &c);
    }
    C(MPI_Comm_split_type, 0, W, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &c);
    C(MPI_Barrier, 0, c);
    C(MPI_Comm_free, 0, &c);
    MPI_Comm_group(W, &everyone);
    int ranks[1] = {0};
    C(MPI_Group_excl, 0, everyone, size > 2 ? 1 : 0, ranks, &some);
    C(MPI_Comm_create, 0, W, some, &c);
    if (c != MPI_COMM_NULL) {
        C(MPI_Barrier, 0, c);
        C(MPI_Comm_free, 0, &c);
    }
    if (rank > 0 || size <= 2) {
        for (int i = 0; i < 2; i++) {
            C(MPI_Comm_create_group, 0, W, some, 5, &c);
            C(MPI_Barrier, 0, c);
            C(MPI_Comm_free, 0, &c);
        }
    }
    C(MPI_Group_free, 0, &some);
    C(MPI_Group_free, 0, &everyone);
    C(MPI_Comm_idup, 0, W, &c, &r);
    C(MPI_Wait, 0, &r, MPI_STATUS_IGNORE);
    C(MPI_Allreduce, 2 * D, &x, &y, 1, MPI_DOUBLE, MPI_SUM, c);
    C(MPI_Comm_free, 0, &c);
    /* Topologies and neighbours. */
    int dims[2] = {size, 1}, periods[2] = {1, 0}, keep[2] = {1, 0};
    C(MPI_Cart_create, 0, W, 2, dims, periods, 0, &grid);
    C(MPI_Cart_sub, 0, grid, keep, &row);
    C(MPI_Neighbor_allgather, D + 4 * D, out, 1, MPI_DOUBLE, in, 1, MPI_DOUBLE, grid);
    C(MPI_Neighbor_alltoall, 2 * D + 2 * D, out, 1, MPI_DOUBLE, in, 1, MPI_DOUBLE, row);
    C(MPI_Ineighbor_alltoall, 0, out, 1, MPI_DOUBLE, in, 1, MPI_DOUBLE, row, &r);
    C(MPI_Wait, 4 * D, &r, MPI_STATUS_IGNORE);
    C(MPI_Comm_free, 0, &row);
    C(MPI_Comm_free, 0, &grid);
    int sources[1] = {left}, targets[1] = {right};
    C(MPI_Dist_graph_create_adjacent, 0, W, 1, sources, MPI_UNWEIGHTED, 1, targets, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph);
    int two[1] = {2}, zero[1] = {0};
    C(MPI_Neighbor_allgatherv, 2 * D + 2 * D, out, 2, MPI_DOUBLE, in, two, zero, MPI_DOUBLE, graph);
    take();
    C(MPI_Comm_free, 0, &graph);
    /* Between the even and the odd. */
    C(MPI_Intercomm_create, 0, b, 0, a, rank % 2 == 0 ? 1 : 0, 30, &between);
    int other = rank / 2;
    if (size % 2 == 0) {
        C(MPI_Sendrecv, 2 * D, out, 1, MPI_DOUBLE, other, 31, in, 1, MPI_DOUBLE, other, 31, between, MPI_STATUS_IGNORE);
    }
    C(MPI_Barrier, 0, between);
    C(MPI_Intercomm_merge, 0, between, rank % 2, &merged);
    C(MPI_Barrier, 0, merged);
    C(MPI_Comm_free, 0, &merged);
    C(MPI_Comm_free, 0, &between);
    take();
    C(MPI_Barrier, 0, MPI_COMM_SELF);
    C(MPI_Comm_free, 0, &b);
    C(MPI_Comm_disconnect, 0, &a);
}

static void one_sided(void) {
    MPI_Win win, dynamic;
    MPI_Request r;
    MPI_Group everyone, sources, targets;
    double *memory, result = 0, value = rank + 1, compare = 0;
    int flag;
    long zero = 0, old = 0, one = 1;
    C(MPI_Win_allocate, 0, 64 * D, (int)D, MPI_INFO_NULL, W, &memory, &win);
    memset(memory, 0, 64 * D);
    /* Fences. */
    C(MPI_Win_fence, 0, 0, win);
    C(MPI_Put, N * D, out, N, MPI_DOUBLE, right, 0, N, MPI_DOUBLE, win);
    C(MPI_Put, 0, out, N, MPI_DOUBLE, MPI_PROC_NULL, 0, N, MPI_DOUBLE, win);
    C(MPI_Win_fence, 0, 0, win);
    C(MPI_Get, N * D, in, N, MPI_DOUBLE, right, 0, N, MPI_DOUBLE, win);
    C(MPI_Win_fence, 0, 0, win);
    take();
    C(MPI_Accumulate, N * D, out, N, MPI_DOUBLE, right, 8, N, MPI_DOUBLE, MPI_SUM, win);
    C(MPI_Win_fence, 0, 0, win);
    /* Locks and flushes. */
    C(MPI_Win_lock, 0, MPI_LOCK_EXCLUSIVE, right, 0, win);
    C(MPI_Put, N * D, out, N, MPI_DOUBLE, right, 16, N, MPI_DOUBLE, win);
    C(MPI_Win_flush, 0, right, win);
    C(MPI_Get, N * D, in, N, MPI_DOUBLE, right, 16, N, MPI_DOUBLE, win);
    C(MPI_Win_flush_local, 0, right, win);
    C(MPI_Win_unlock, 0, right, win);
    take();
    C(MPI_Barrier, 0, W);
    C(MPI_Win_lock_all, 0, 0, win);
    C(MPI_Fetch_and_op, 2 * D, &value, &result, MPI_DOUBLE, 0, 40, MPI_SUM, win);
    C(MPI_Win_flush, 0, 0, win);
    C(MPI_Get_accumulate, 4 * D, out, 2, MPI_DOUBLE, in, 2, MPI_DOUBLE, right, 42, 2, MPI_DOUBLE, MPI_SUM, win);
    C(MPI_Win_flush_all, 0, win);
    C(MPI_Compare_and_swap, 3 * 8, &one, &zero, &old, MPI_LONG, right, 50, win);
    C(MPI_Win_flush_local_all, 0, win);
    C(MPI_Win_sync, 0, win);
    /* With requests. */
    C(MPI_Rput, N * D, out, N, MPI_DOUBLE, right, 52, N, MPI_DOUBLE, win, &r);
    C(MPI_Wait, 0, &r, MPI_STATUS_IGNORE);
    C(MPI_Win_flush, 0, right, win);
    C(MPI_Rget, N * D, in, N, MPI_DOUBLE, right, 52, N, MPI_DOUBLE, win, &r);
    C(MPI_Wait, 0, &r, MPI_STATUS_IGNORE);
    C(MPI_Raccumulate, D, out, 1, MPI_DOUBLE, right, 60, 1, MPI_DOUBLE, MPI_SUM, win, &r);
    C(MPI_Wait, 0, &r, MPI_STATUS_IGNORE);
    C(MPI_Rget_accumulate, 2 * D, out, 1, MPI_DOUBLE, in + 8, 1, MPI_DOUBLE, right, 60, 1, MPI_DOUBLE, MPI_NO_OP, win, &r);
    C(MPI_Wait, 0, &r, MPI_STATUS_IGNORE);
    C(MPI_Win_unlock_all, 0, win);
    take();
    /* Epochs with some. */
    MPI_Comm_group(W, &everyone);
    C(MPI_Group_incl, 0, everyone, 1, &left, &sources);
    C(MPI_Group_incl, 0, everyone, 1, &right, &targets);
    C(MPI_Win_post, 0, sources, 0, win);
    C(MPI_Win_start, 0, targets, 0, win);
    C(MPI_Put, D, out, 1, MPI_DOUBLE, right, 62, 1, MPI_DOUBLE, win);
    C(MPI_Win_complete, 0, win);
    C(MPI_Win_wait, 0, win);
    C(MPI_Win_post, 0, sources, 0, win);
    C(MPI_Win_start, 0, targets, 0, win);
    C(MPI_Win_complete, 0, win);
    do {
        if (MPI_Win_test(win, &flag)) exit(3);
        count("MPI_Win_test", 0);
    } while (!flag);
    C(MPI_Group_free, 0, &sources);
    C(MPI_Group_free, 0, &targets);
    C(MPI_Group_free, 0, &everyone);
    C(MPI_Barrier, 0, W);
    for (int i = 0; i < 64; i++) sum += i < 42 ? memory[i] : 0;
    C(MPI_Win_free, 0, &win);
    /* Windows of every kind. */
    C(MPI_Alloc_mem, 0, 64, MPI_INFO_NULL, &memory);
    C(MPI_Win_create, 0, memory, 64, 1, MPI_INFO_NULL, W, &win);
    C(MPI_Win_fence, 0, 0, win);
    C(MPI_Win_free, 0, &win);
    C(MPI_Win_create_dynamic, 0, MPI_INFO_NULL, W, &dynamic);
    C(MPI_Win_attach, 0, dynamic, memory, 64);
    C(MPI_Win_detach, 0, dynamic, memory);
    C(MPI_Win_free, 0, &dynamic);
    C(MPI_Free_mem, 0, memory);
    MPI_Comm node;
    C(MPI_Comm_split_type, 0, W, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    C(MPI_Win_allocate_shared, 0, 64, 8, MPI_INFO_NULL, node, &memory, &win);
    C(MPI_Win_fence, 0, 0, win);
    C(MPI_Win_free, 0, &win);
    C(MPI_Comm_free, 0, &node);
    (void)compare;
}

int main(int argc, char **argv) {
    const char *only = argc > 1 ? argv[1] : "";
    int provided;
    C(MPI_Init_thread, 0, &argc, &argv, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(W, &rank);
    MPI_Comm_size(W, &size);
    left = (rank + size - 1) % size;
    right = (rank + 1) % size;
    clear();
    if (!*only || !strcmp(only, "messages")) messages();
    if (!*only || !strcmp(only, "collectives")) collectives();
    if (!*only || !strcmp(only, "communicators")) communicators();
    if (!*only || !strcmp(only, "one_sided")) one_sided();
    C(MPI_Pcontrol, 0, 1);
    count("MPI_Finalize", 0);
    static char text[1 << 16];
    int length = 0;
    for (int i = 0; counts[i].name; i++)
        length += sprintf(text + length, "count pe=%d %s=%ld bytes=%ld\n", rank, counts[i].name,
                          counts[i].calls, counts[i].bytes);
    sprintf(text + length, "pe=%d received %.3f\n", rank, sum);
    /* Rank 0 prints for all, so that lines stay whole; by names that no tool sees. */
    if (rank > 0) PMPI_Send(text, sizeof text, MPI_CHAR, 0, 99, W);
    for (int from = 0; rank == 0 && from < size; from++) {
        if (from > 0) PMPI_Recv(text, sizeof text, MPI_CHAR, from, 99, W, MPI_STATUS_IGNORE);
        fputs(text, stdout);
    }
    fflush(stdout);
    MPI_Finalize();
    return 0;
}
