/* Counts what a program asks of MPI: calls and bytes of each function, by nobody's table but its own.
 *
 *   mpicc -O1 -g -shared -fPIC -o libmpi_count.so mpi_count.c
 *   LD_PRELOAD=libmpi_count.so mpirun -np 2 ./program
 *
 * It stands between the program, or another tool, and the library: it has the names MPI_X and calls
 * PMPI_X. At the end each process writes a file mpi_count.RANK into its directory:
 *
 *   count pe=0 MPI_Send=1 bytes=16
 *   calls pe=0 MPI_Wait=3
 *
 * The second where bytes would need to be known from elsewhere. Bytes of messages belong to the call that
 * sends or receives them, those of collectives are what the process gave plus what it got, those of
 * one-sided operations what went both ways. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

static struct { const char *name; long calls, bytes; int unknown; } counts[128];

enum { UNKNOWN = -1 };

static void count(const char *name, long bytes) {
    int i = 0;
    while (counts[i].name && strcmp(counts[i].name, name)) i++;
    counts[i].name = name;
    counts[i].calls++;
    if (bytes == UNKNOWN) counts[i].unknown = 1;
    else counts[i].bytes += bytes;
}

static long of(int n, MPI_Datatype type) {
    int size = 0;
    if (n <= 0) return 0;
    PMPI_Type_size(type, &size);
    return (long)n * size;
}

static long to(int target, int n, MPI_Datatype type) {
    return target == MPI_PROC_NULL ? 0 : of(n, type);
}

/* Bytes of a collective: what each gives and gets, once or once for every process, and where only the
 * root does. */
static long all(MPI_Comm comm, int root, long each, long at_root, long times_size) {
    int inter, rank, size;
    PMPI_Comm_test_inter(comm, &inter);
    if (inter) return UNKNOWN;
    PMPI_Comm_rank(comm, &rank);
    PMPI_Comm_size(comm, &size);
    return each + (rank == root ? at_root : 0) + size * times_size;
}

static int size_of(MPI_Comm comm) {
    int size;
    PMPI_Comm_size(comm, &size);
    return size;
}

#define SEND(name)                                                                              \
    int MPI_##name(const void *b, int n, MPI_Datatype d, int t, int tag, MPI_Comm c) {          \
        count("MPI_" #name, to(t, n, d));                                                       \
        return PMPI_##name(b, n, d, t, tag, c);                                                 \
    }
#define ISEND(name)                                                                             \
    int MPI_##name(const void *b, int n, MPI_Datatype d, int t, int tag, MPI_Comm c, MPI_Request *r) { \
        count("MPI_" #name, to(t, n, d));                                                       \
        return PMPI_##name(b, n, d, t, tag, c, r);                                              \
    }
SEND(Send) SEND(Bsend) SEND(Ssend) SEND(Rsend)
ISEND(Isend) ISEND(Ibsend) ISEND(Issend) ISEND(Irsend)

int MPI_Recv(void *b, int n, MPI_Datatype d, int s, int tag, MPI_Comm c, MPI_Status *status) {
    MPI_Status own;
    int bytes = 0;
    if (status == MPI_STATUS_IGNORE) status = &own;
    int code = PMPI_Recv(b, n, d, s, tag, c, status);
    PMPI_Get_count(status, MPI_BYTE, &bytes);
    count("MPI_Recv", s == MPI_PROC_NULL ? 0 : bytes);
    return code;
}

int MPI_Irecv(void *b, int n, MPI_Datatype d, int s, int tag, MPI_Comm c, MPI_Request *r) {
    count("MPI_Irecv", 0);
    return PMPI_Irecv(b, n, d, s, tag, c, r);
}

int MPI_Wait(MPI_Request *r, MPI_Status *s) {
    count("MPI_Wait", UNKNOWN);
    return PMPI_Wait(r, s);
}

int MPI_Waitall(int n, MPI_Request r[], MPI_Status s[]) {
    count("MPI_Waitall", UNKNOWN);
    return PMPI_Waitall(n, r, s);
}

int MPI_Put(const void *b, int n, MPI_Datatype d, int t, MPI_Aint at, int m, MPI_Datatype e, MPI_Win w) {
    count("MPI_Put", to(t, n, d));
    return PMPI_Put(b, n, d, t, at, m, e, w);
}

int MPI_Get(void *b, int n, MPI_Datatype d, int t, MPI_Aint at, int m, MPI_Datatype e, MPI_Win w) {
    count("MPI_Get", to(t, n, d));
    return PMPI_Get(b, n, d, t, at, m, e, w);
}

int MPI_Accumulate(const void *b, int n, MPI_Datatype d, int t, MPI_Aint at, int m, MPI_Datatype e, MPI_Op o, MPI_Win w) {
    count("MPI_Accumulate", to(t, n, d));
    return PMPI_Accumulate(b, n, d, t, at, m, e, o, w);
}

int MPI_Get_accumulate(const void *b, int n, MPI_Datatype d, void *r, int k, MPI_Datatype f, int t, MPI_Aint at, int m, MPI_Datatype e, MPI_Op o, MPI_Win w) {
    count("MPI_Get_accumulate", to(t, n, d) + to(t, k, f));
    return PMPI_Get_accumulate(b, n, d, r, k, f, t, at, m, e, o, w);
}

int MPI_Fetch_and_op(const void *b, void *r, MPI_Datatype d, int t, MPI_Aint at, MPI_Op o, MPI_Win w) {
    count("MPI_Fetch_and_op", 2 * to(t, 1, d));
    return PMPI_Fetch_and_op(b, r, d, t, at, o, w);
}

int MPI_Compare_and_swap(const void *b, const void *c, void *r, MPI_Datatype d, int t, MPI_Aint at, MPI_Win w) {
    count("MPI_Compare_and_swap", 3 * to(t, 1, d));
    return PMPI_Compare_and_swap(b, c, r, d, t, at, w);
}

int MPI_Rput(const void *b, int n, MPI_Datatype d, int t, MPI_Aint at, int m, MPI_Datatype e, MPI_Win w, MPI_Request *r) {
    count("MPI_Rput", to(t, n, d));
    return PMPI_Rput(b, n, d, t, at, m, e, w, r);
}

int MPI_Rget(void *b, int n, MPI_Datatype d, int t, MPI_Aint at, int m, MPI_Datatype e, MPI_Win w, MPI_Request *r) {
    count("MPI_Rget", to(t, n, d));
    return PMPI_Rget(b, n, d, t, at, m, e, w, r);
}

int MPI_Raccumulate(const void *b, int n, MPI_Datatype d, int t, MPI_Aint at, int m, MPI_Datatype e, MPI_Op o, MPI_Win w, MPI_Request *r) {
    count("MPI_Raccumulate", to(t, n, d));
    return PMPI_Raccumulate(b, n, d, t, at, m, e, o, w, r);
}

#define ON_WINDOW(name)                                                                         \
    int MPI_##name(MPI_Win w) {                                                                 \
        count("MPI_" #name, 0);                                                                 \
        return PMPI_##name(w);                                                                  \
    }
#define AT_TARGET(name)                                                                         \
    int MPI_##name(int t, MPI_Win w) {                                                          \
        count("MPI_" #name, 0);                                                                 \
        return PMPI_##name(t, w);                                                               \
    }
ON_WINDOW(Win_flush_all) ON_WINDOW(Win_flush_local_all) ON_WINDOW(Win_unlock_all) ON_WINDOW(Win_sync)
AT_TARGET(Win_flush) AT_TARGET(Win_flush_local) AT_TARGET(Win_unlock) AT_TARGET(Win_fence) AT_TARGET(Win_lock_all)

int MPI_Win_lock(int kind, int t, int check, MPI_Win w) {
    count("MPI_Win_lock", 0);
    return PMPI_Win_lock(kind, t, check, w);
}

int MPI_Barrier(MPI_Comm c) {
    count("MPI_Barrier", 0);
    return PMPI_Barrier(c);
}

int MPI_Bcast(void *b, int n, MPI_Datatype d, int root, MPI_Comm c) {
    count("MPI_Bcast", all(c, root, of(n, d), 0, 0));
    return PMPI_Bcast(b, n, d, root, c);
}

int MPI_Reduce(const void *b, void *r, int n, MPI_Datatype d, MPI_Op o, int root, MPI_Comm c) {
    count("MPI_Reduce", all(c, root, of(n, d), of(n, d), 0));
    return PMPI_Reduce(b, r, n, d, o, root, c);
}

int MPI_Allreduce(const void *b, void *r, int n, MPI_Datatype d, MPI_Op o, MPI_Comm c) {
    count("MPI_Allreduce", all(c, 0, 2 * of(n, d), 0, 0));
    return PMPI_Allreduce(b, r, n, d, o, c);
}

int MPI_Allgather(const void *b, int n, MPI_Datatype d, void *r, int m, MPI_Datatype e, MPI_Comm c) {
    count("MPI_Allgather", all(c, 0, b == MPI_IN_PLACE ? 0 : of(n, d), 0, of(m, e)));
    return PMPI_Allgather(b, n, d, r, m, e, c);
}

int MPI_Alltoall(const void *b, int n, MPI_Datatype d, void *r, int m, MPI_Datatype e, MPI_Comm c) {
    count("MPI_Alltoall", all(c, 0, 0, 0, of(m, e) + (b == MPI_IN_PLACE ? 0 : of(n, d))));
    return PMPI_Alltoall(b, n, d, r, m, e, c);
}

int MPI_Gather(const void *b, int n, MPI_Datatype d, void *r, int m, MPI_Datatype e, int root, MPI_Comm c) {
    count("MPI_Gather", b == MPI_IN_PLACE ? UNKNOWN : all(c, root, of(n, d), size_of(c) * of(n, d), 0));
    return PMPI_Gather(b, n, d, r, m, e, root, c);
}

int MPI_Scatter(const void *b, int n, MPI_Datatype d, void *r, int m, MPI_Datatype e, int root, MPI_Comm c) {
    count("MPI_Scatter", r == MPI_IN_PLACE ? UNKNOWN : all(c, root, of(m, e), size_of(c) * of(m, e), 0));
    return PMPI_Scatter(b, n, d, r, m, e, root, c);
}

/* What comes from Fortran does not come by the names above in every library. Where the library for
 * Fortran is not loaded, nobody calls these. */
#ifdef OMPI_MAJOR_VERSION
#define FORTRAN __attribute__((weak)) void
typedef MPI_Fint F;
FORTRAN pmpi_bcast_(void *, F *, F *, F *, F *, F *);
FORTRAN pmpi_allreduce_(void *, void *, F *, F *, F *, F *, F *);
FORTRAN pmpi_reduce_(void *, void *, F *, F *, F *, F *, F *, F *);
FORTRAN pmpi_barrier_(F *, F *);
FORTRAN pmpi_send_(void *, F *, F *, F *, F *, F *, F *);
FORTRAN pmpi_isend_(void *, F *, F *, F *, F *, F *, F *, F *);
FORTRAN pmpi_irecv_(void *, F *, F *, F *, F *, F *, F *, F *);
FORTRAN pmpi_recv_(void *, F *, F *, F *, F *, F *, F *, F *);

static long typed(F *n, F *type) { return of((int)*n, PMPI_Type_f2c(*type)); }

void mpi_bcast_(void *b, F *n, F *d, F *root, F *c, F *code) {
    count("MPI_Bcast", all(PMPI_Comm_f2c(*c), *root, typed(n, d), 0, 0));
    pmpi_bcast_(b, n, d, root, c, code);
}

void mpi_allreduce_(void *b, void *r, F *n, F *d, F *o, F *c, F *code) {
    count("MPI_Allreduce", all(PMPI_Comm_f2c(*c), 0, 2 * typed(n, d), 0, 0));
    pmpi_allreduce_(b, r, n, d, o, c, code);
}

void mpi_reduce_(void *b, void *r, F *n, F *d, F *o, F *root, F *c, F *code) {
    count("MPI_Reduce", all(PMPI_Comm_f2c(*c), *root, typed(n, d), typed(n, d), 0));
    pmpi_reduce_(b, r, n, d, o, root, c, code);
}

void mpi_barrier_(F *c, F *code) {
    count("MPI_Barrier", 0);
    pmpi_barrier_(c, code);
}

void mpi_send_(void *b, F *n, F *d, F *t, F *tag, F *c, F *code) {
    count("MPI_Send", *t == MPI_PROC_NULL ? 0 : typed(n, d));
    pmpi_send_(b, n, d, t, tag, c, code);
}

void mpi_isend_(void *b, F *n, F *d, F *t, F *tag, F *c, F *r, F *code) {
    count("MPI_Isend", *t == MPI_PROC_NULL ? 0 : typed(n, d));
    pmpi_isend_(b, n, d, t, tag, c, r, code);
}

void mpi_irecv_(void *b, F *n, F *d, F *s, F *tag, F *c, F *r, F *code) {
    count("MPI_Irecv", 0);
    pmpi_irecv_(b, n, d, s, tag, c, r, code);
}

void mpi_recv_(void *b, F *n, F *d, F *s, F *tag, F *c, F *status, F *code) {
    count("MPI_Recv", UNKNOWN);
    pmpi_recv_(b, n, d, s, tag, c, status, code);
}
#endif

int MPI_Finalize(void) {
    char name[32];
    int rank;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    snprintf(name, sizeof name, "mpi_count.%d", rank);
    FILE *file = fopen(name, "w");
    for (int i = 0; file && counts[i].name; i++) {
        if (counts[i].unknown) fprintf(file, "calls pe=%d %s=%ld\n", rank, counts[i].name, counts[i].calls);
        else fprintf(file, "count pe=%d %s=%ld bytes=%ld\n", rank, counts[i].name, counts[i].calls, counts[i].bytes);
    }
    if (file) fclose(file);
    return PMPI_Finalize();
}
