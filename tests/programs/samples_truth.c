/* Two processes that wait for each other, and know how much processor time each of their functions took.
 *
 *   samples_truth MODE
 *
 * Compile with -DSHMEM for OpenSHMEM, with -DFENCES for one-sided MPI, and with neither for messages. Rank 1 is late, because
 * of one or two functions:
 *
 *   relax     one function takes longer
 *   both      one takes 20 ms longer in each round, and another 4 ms
 *   callers   a function that two others call, of which only one calls it more often
 *   inlined   a function that the compiler puts into another
 *   copies    a function of the C library, in pack
 *   faults    pages that are touched for the first time
 *   sleeps    nothing takes longer, but rank 1 sleeps
 *   shares    relax takes longer, and rank 1 shares its core with another process
 *   balanced  nobody is late
 *   period MS one round, in which rank 1 computes in relax and flux in turn, each for half of this period
 *
 * Each process prints the seconds of each function that it called, those in which it was ready to compute but had no core and
 * in which it slept, and those that it was on a core. */
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>
#ifdef SHMEM
#include <shmem.h>
#else
#include <mpi.h>
#endif

/* Asking the clock takes less than a thousandth of as many steps. */
enum { ROUNDS = 40, BYTES = 1 << 18, PAGES = 4 << 20, STEPS = 500000 };

#define KEPT __attribute__((noinline))

static volatile double sink;
static double values[512];
static char from[BYTES], to[BYTES];

static double seconds(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return time.tv_sec + time.tv_nsec * 1e-9;
}

static double cpu(void) { return seconds(CLOCK_THREAD_CPUTIME_ID); }

/* Seconds in which this process was ready but had no core. */
static double without_core(void)
{
    unsigned long long on_core, ready = 0;
    FILE *file = fopen("/proc/self/schedstat", "r");
    if (file) {
        if (fscanf(file, "%llu %llu", &on_core, &ready) != 2)
            ready = 0;
        fclose(file);
    }
    return ready * 1e-9;
}

/* Time from now on, in milliseconds. */
static double in(double milliseconds) { return cpu() + milliseconds / 1e3; }

KEPT static void relax(double end)
{
    double x = 0;
    while (cpu() < end)
        for (int i = 0; i < STEPS; i++)
            x += values[i % 512] * 0.5; /* relax */
    sink = x;
}

KEPT static void flux(double end)
{
    double x = 1;
    while (cpu() < end)
        for (int i = 0; i < STEPS; i++)
            x += values[i % 512] * 0.7; /* flux */
    sink = x;
}

KEPT static void smooth(double end)
{
    double x = 2;
    while (cpu() < end)
        for (int i = 0; i < STEPS; i++)
            x += values[i % 512] * 0.9; /* smooth */
    sink = x;
}

KEPT static void first(double milliseconds)
{
    smooth(in(milliseconds));
    sink += 1;
}

KEPT static void second(double milliseconds)
{
    smooth(in(milliseconds));
    sink += 2;
}

static inline __attribute__((always_inline)) double stencil(double x)
{
    for (int i = 0; i < STEPS; i++)
        x += values[i % 512] * 0.3; /* stencil */
    return x;
}

KEPT static void solve(double end)
{
    double x = 3;
    while (cpu() < end)
        x = stencil(x);
    sink = x;
}

KEPT static void pack(double end)
{
    while (cpu() < end)
        for (int i = 0; i < 8; i++) {
            memcpy(to, from, BYTES); /* pack */
            sink += to[i];
        }
}

KEPT static void touch(double end)
{
    while (cpu() < end) {
        char *pages = mmap(NULL, PAGES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        for (long i = 0; i < PAGES; i += 4096)
            pages[i] = 1; /* touch */
        munmap(pages, PAGES);
        sink += 1;
    }
}

static int rank;
static double spent[8], ready, asleep, on_core;
static const char *const names[] = {"relax", "flux", "smooth", "stencil", "pack", "touch"};

#define TIMED(number, call)                                                                                            \
    do {                                                                                                               \
        double before = cpu();                                                                                         \
        call;                                                                                                          \
        spent[number] += cpu() - before;                                                                               \
    } while (0)

static int is_late(const char *mode, const char *asked) { return rank == 1 && !strcmp(mode, asked); }

/* Starts a process that computes on the core of this one until this one ends. */
static void share_core(void)
{
    cpu_set_t cores;
    CPU_ZERO(&cores);
    CPU_SET(sched_getcpu(), &cores);
    sched_setaffinity(0, sizeof cores, &cores);
    if (fork() == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;)
            sink += 1;
    }
}

static void compute(const char *mode)
{
    int is_long = is_late(mode, "relax") || is_late(mode, "both") || is_late(mode, "shares");
    TIMED(0, relax(in(is_long ? 30 : 10)));
    TIMED(1, flux(in(is_late(mode, "both") ? 9 : 5)));
    if (!strcmp(mode, "callers")) {
        TIMED(2, first(4));
        TIMED(2, second(rank == 1 ? 24 : 4));
    }
    if (!strcmp(mode, "inlined"))
        TIMED(3, solve(in(rank == 1 ? 24 : 4)));
    if (is_late(mode, "copies"))
        TIMED(4, pack(in(20)));
    if (is_late(mode, "faults"))
        TIMED(5, touch(in(20)));
    if (is_late(mode, "sleeps"))
        nanosleep(&(struct timespec){0, 20 * 1000 * 1000}, NULL);
}

/* Computes, and adds up the time that passes without computing. */
static void compute_and_count(const char *mode)
{
    double began = seconds(CLOCK_MONOTONIC), used = cpu(), waited = without_core();
    compute(mode);
    double without = without_core() - waited, with = cpu() - used;
    ready += without;
    on_core += with;
    asleep += seconds(CLOCK_MONOTONIC) - began - with - without;
}

static void in_turn(double milliseconds)
{
    double time = cpu();
    for (int i = 0; i < 2500 / milliseconds; i++) {
        double before = cpu();
        relax(time + milliseconds / 2e3);
        spent[0] += cpu() - before;
        TIMED(1, flux(time + milliseconds / 1e3));
        time += milliseconds / 1e3;
    }
}

#ifdef SHMEM
static void begin(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    shmem_init();
    rank = shmem_my_pe();
}
static void meet(void) { shmem_barrier_all(); }
static void end(void) { shmem_finalize(); }
#else
#ifdef FENCES
static MPI_Win window;
static long word;
static void meet(void) { MPI_Win_fence(0, window); }
#else
static void meet(void)
{
    int mine = rank, its;
    if (rank == 0) {
        MPI_Recv(&its, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(&mine, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
    } else {
        MPI_Send(&mine, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
        MPI_Recv(&its, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}
#endif
static void begin(int *argc, char ***argv)
{
    MPI_Init(argc, argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
#ifdef FENCES
    MPI_Win_create(&word, sizeof word, sizeof word, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
#endif
    meet();
}
static void end(void)
{
#ifdef FENCES
    MPI_Win_free(&window);
#endif
    MPI_Finalize();
}
#endif

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "relax";
    begin(&argc, &argv);
    if (is_late(mode, "shares"))
        share_core();
    if (!strcmp(mode, "period")) {
        if (rank == 1)
            in_turn(argc > 2 ? atof(argv[2]) : 10);
        meet();
    } else {
        for (int i = 0; i < ROUNDS; i++) {
            compute_and_count(mode);
            meet();
        }
    }
    for (int i = 0; i < 6; i++)
        if (spent[i] > 0)
            printf("%d %s %.6f\n", rank, names[i], spent[i]);
    printf("%d ready %.6f asleep %.6f on core %.6f\n", rank, ready, asleep, on_core);
    fflush(stdout);
    end();
    return 0;
}
