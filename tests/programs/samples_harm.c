/* What a program does with signals, stacks, threads and the loader, under samples.
 *
 *   samples_harm MODE...
 *
 * Each mode prints one line, which is the same without samples. Modes that a program does not survive as it was (exec,
 * other handlers, blocked signals) are asked for alone.
 *
 *   calls       system calls that block, and many that do not: none may end early
 *   own         handles SIGPROF and SIGALRM, which nobody sends
 *   reset       resets the handlers of all signals
 *   ignore      ignores all signals
 *   exec        becomes itself again, ten times
 *   blocked     becomes itself with all signals blocked; one that is pending then would stay so
 *   masked      computes in a thread with all signals blocked
 *   fork        computes in twenty children
 *   threads     2,000 short threads, and the memory that they leave behind
 *   small       a thread with the smallest stack
 *   coroutine   computes on a stack of 4 KiB, and looks whether what lies below it was touched
 *   signalled   has a signal stack of its own, which is too small for samples
 *   iterate     walks the list of loaded objects, whose lock others take, too
 *   allocate    allocates all the time
 *   loads       loads and unloads libraries
 *   waits       waits for any signal */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <mpi.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

static double values[4096];
static volatile double sink;
static volatile sig_atomic_t hits;

static double of_clock(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return time.tv_sec + time.tv_nsec * 1e-9;
}

static double cpu(void) { return of_clock(CLOCK_THREAD_CPUTIME_ID); }

__attribute__((noinline)) static void burn(double seconds)
{
    double end = cpu() + seconds, x = 0;
    while (cpu() < end)
        for (int i = 1; i < 4095; i++)
            x += values[i] * 0.5 + values[i - 1] * values[i + 1];
    sink = x;
}

/* Makes a call that is recorded, with which the samples of a thread begin. */
static void call(void)
{
    int found;
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, &found, MPI_STATUS_IGNORE);
}

static void handler(int signal)
{
    (void)signal;
    hits++;
}

static void block_all(void)
{
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, NULL);
}

/* Counts calls that ended with EINTR. */
#define TRY(call, failed)                                                                                              \
    do                                                                                                                 \
        for (int i = 0; i < 5; i++) {                                                                                  \
            errno = 0;                                                                                                 \
            int result = (call), error = errno;                                                                        \
            burn(0.002);                                                                                               \
            if ((failed) && error == EINTR)                                                                            \
                early++;                                                                                               \
        }                                                                                                              \
    while (0)

static struct timespec in_20_ms(void)
{
    struct timespec at;
    clock_gettime(CLOCK_REALTIME, &at);
    at.tv_nsec += 20000000;
    if (at.tv_nsec >= 1000000000) {
        at.tv_nsec -= 1000000000;
        at.tv_sec++;
    }
    return at;
}

static void calls(void)
{
    int early = 0, nothing[2], pair[2];
    char byte;
    struct timespec pause = {0, 20000000}, tiny = {0, 1000}, at;
    struct timeval limit = {0, 20000};
    if (pipe(nothing) || socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
        exit(3);
    setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    struct pollfd poll_one = {nothing[0], POLLIN, 0};
    struct epoll_event event = {.events = EPOLLIN};
    int epoll = epoll_create1(0);
    epoll_ctl(epoll, EPOLL_CTL_ADD, nothing[0], &event);
    sem_t semaphore;
    sem_init(&semaphore, 0, 0);
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, SIGUSR2);
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t condition = PTHREAD_COND_INITIALIZER;

    TRY(nanosleep(&pause, NULL), result != 0);
    TRY(usleep(20000), result != 0);
    TRY((errno = clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL)), result != 0);
    TRY(poll(&poll_one, 1, 20), result < 0);
    TRY(select(0, NULL, NULL, NULL, (limit.tv_usec = 20000, &limit)), result < 0);
    TRY(epoll_wait(epoll, &event, 1, 20), result < 0);
    TRY((int)recv(pair[0], &byte, 1, 0), result < 0);
    TRY((at = in_20_ms(), sem_timedwait(&semaphore, &at)), result < 0);
    TRY(sigtimedwait(&one, NULL, &pause), result < 0);
    pthread_mutex_lock(&mutex);
    TRY((at = in_20_ms(), errno = pthread_cond_timedwait(&condition, &mutex, &at)), result != 0);
    pthread_mutex_unlock(&mutex);

    double end = of_clock(CLOCK_MONOTONIC) + 0.4;
    while (of_clock(CLOCK_MONOTONIC) < end)
        early += poll(&poll_one, 1, 0) < 0 && errno == EINTR;
    end = of_clock(CLOCK_MONOTONIC) + 0.4;
    while (of_clock(CLOCK_MONOTONIC) < end)
        early += epoll_wait(epoll, &event, 1, 0) < 0 && errno == EINTR;
    end = of_clock(CLOCK_MONOTONIC) + 0.4;
    while (of_clock(CLOCK_MONOTONIC) < end)
        early += nanosleep(&tiny, NULL) < 0 && errno == EINTR;
    printf("calls: %d ended early\n", early);
}

static void own(void)
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
    sigaction(SIGPROF, &action, NULL);
    sigaction(SIGALRM, &action, NULL);
    burn(0.2);
    printf("own: %d signals\n", (int)hits);
}

static void for_all_signals(void (*what)(int))
{
    for (int number = 1; number < 65; number++)
        signal(number, what);
    burn(0.2);
}

static void *masked(void *nothing)
{
    block_all();
    call();
    burn(0.2);
    return nothing;
}

static void forks(void)
{
    int wrong = 0, status;
    for (int i = 0; i < 20; i++) {
        pid_t child = fork();
        if (child == 0) {
            burn(0.01);
            _exit(7);
        }
        waitpid(child, &status, 0);
        wrong += !WIFEXITED(status) || WEXITSTATUS(status) != 7;
    }
    for (int i = 0; i < 5; i++)
        wrong += system("exit 3") != 3 << 8;
    printf("fork: %d wrong\n", wrong);
}

static void *shortly(void *nothing)
{
    call();
    burn(0.0005);
    return nothing;
}

/* Returns the size of the address space in MiB. */
static long address_space(void)
{
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%ld", &pages) != 1)
        exit(3);
    fclose(file);
    return pages / 256;
}

static void some_threads(int count)
{
    for (int i = 0; i < count; i += 4) {
        pthread_t threads[4];
        for (int k = 0; k < 4; k++)
            pthread_create(threads + k, NULL, shortly, NULL);
        for (int k = 0; k < 4; k++)
            pthread_join(threads[k], NULL);
    }
}

static void threads(void)
{
    some_threads(200);
    long before = address_space();
    some_threads(1800);
    /* 256 KiB for each would be 450 MiB. */
    printf("threads: less than 100 MiB more: %d\n", address_space() - before < 100);
}

static void *on_small_stack(void *nothing)
{
    volatile char pad[9000];
    memset((char *)pad, 1, sizeof pad);
    burn(0.2);
    return nothing;
}

static void *small_and_recorded(void *nothing)
{
    call();
    return on_small_stack(nothing);
}

static void small(void)
{
    pthread_t thread;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 32768);
    int error = pthread_create(&thread, &attributes, small_and_recorded, NULL);
    if (!error)
        pthread_join(thread, NULL);
    printf("small: %d\n", error);
}

static ucontext_t main_context, other_context;

static void on_other_stack(void)
{
    burn(0.2);
    swapcontext(&other_context, &main_context);
}

static void coroutine(void)
{
    enum { BELOW = 16384, SIZE = 4096 };
    char *memory = mmap(NULL, BELOW + SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(memory, 0x5a, BELOW);
    getcontext(&other_context);
    other_context.uc_stack.ss_sp = memory + BELOW;
    other_context.uc_stack.ss_size = SIZE;
    other_context.uc_link = &main_context;
    makecontext(&other_context, on_other_stack, 0);
    swapcontext(&main_context, &other_context);
    int touched = 0;
    for (int i = 0; i < BELOW; i++)
        touched += memory[i] != 0x5a;
    printf("coroutine: %d bytes overwritten\n", touched);
}

static void signalled(void)
{
    stack_t stack = {.ss_size = 2048};
    do {
        stack.ss_size *= 2;
        stack.ss_sp = malloc(stack.ss_size);
    } while (sigaltstack(&stack, NULL) && stack.ss_size < 65536);
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_ONSTACK};
    sigaction(SIGUSR1, &action, NULL);
    burn(0.2);
    raise(SIGUSR1);
    printf("signalled: %d\n", (int)hits);
}

static int look(struct dl_phdr_info *object, size_t size, void *nothing)
{
    (void)object, (void)size, (void)nothing;
    return 0;
}

static void *iterates(void *nothing)
{
    call();
    for (double end = cpu() + 0.4; cpu() < end;)
        dl_iterate_phdr(look, NULL);
    return nothing;
}

static void *allocates(void *nothing)
{
    call();
    for (double end = cpu() + 0.4; cpu() < end;)
        for (int i = 0; i < 100; i++) {
            void *memory = malloc(100 + i * 37);
            __asm__ volatile("" ::"r"(memory) : "memory");
            free(memory);
        }
    return nothing;
}

static void *loads(void *nothing)
{
    call();
    for (double end = cpu() + 0.4; cpu() < end;) {
        void *library = dlopen("libm.so.6", RTLD_NOW), *other = dlopen("libutil.so.1", RTLD_NOW);
        if (other)
            dlclose(other);
        if (library)
            dlclose(library);
    }
    return nothing;
}

static void in_two_threads(const char *name, void *(*what)(void *))
{
    pthread_t both[2];
    for (int i = 0; i < 2; i++)
        pthread_create(both + i, NULL, what, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(both[i], NULL);
    printf("%s: done\n", name);
}

static void waits(void)
{
    sigset_t all;
    block_all();
    burn(0.02);
    sigfillset(&all);
    /* What the timer has sent is taken here, too; the program sees no signal of its own. */
    struct timespec pause = {0, 50000000};
    int found = sigtimedwait(&all, NULL, &pause);
    printf("waits: %d\n", found == -1 || found == SIGURG);
}

static void becomes(char **arguments, const char *mode, int times)
{
    char number[16];
    snprintf(number, sizeof number, "%d", times);
    execl("/proc/self/exe", arguments[0], mode, number, NULL);
    exit(4);
}

/* Modes of a program that has become itself and does not use MPI any more. */
static int again(char **arguments, const char *mode, int times)
{
    if (!strcmp(mode, "exec")) {
        burn(0.005);
        if (times < 10)
            becomes(arguments, mode, times + 1);
        printf("exec: alive\n");
        return 0;
    }
    sigset_t pending, none;
    int first = 0;
    sigpending(&pending);
    for (int number = 64; number > 0; number--)
        if (sigismember(&pending, number))
            first = number;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    printf("blocked: alive, harmful signals pending: %d\n", first != 0 && first != SIGURG);
    return 0;
}

int main(int argc, char **argv)
{
    int provided;
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (argc > 2 && (!strcmp(argv[1], "exec") || !strcmp(argv[1], "blocked")) && atoi(argv[2]) > 0)
        return again(argv, argv[1], atoi(argv[2]));
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    for (int i = 1; i < argc; i++) {
        const char *mode = argv[i];
        call();
        burn(0.02);
        if (!strcmp(mode, "calls"))
            calls();
        else if (!strcmp(mode, "own"))
            own();
        else if (!strcmp(mode, "reset"))
            for_all_signals(SIG_DFL), printf("reset: alive\n");
        else if (!strcmp(mode, "ignore"))
            for_all_signals(SIG_IGN), printf("ignore: alive\n");
        else if (!strcmp(mode, "exec"))
            becomes(argv, mode, 1);
        else if (!strcmp(mode, "blocked"))
            block_all(), burn(0.03), becomes(argv, mode, 1);
        else if (!strcmp(mode, "masked"))
            in_two_threads(mode, masked);
        else if (!strcmp(mode, "fork"))
            forks();
        else if (!strcmp(mode, "threads"))
            threads();
        else if (!strcmp(mode, "small"))
            small();
        else if (!strcmp(mode, "coroutine"))
            coroutine();
        else if (!strcmp(mode, "signalled"))
            signalled();
        else if (!strcmp(mode, "iterate"))
            in_two_threads(mode, iterates);
        else if (!strcmp(mode, "allocate"))
            in_two_threads(mode, allocates);
        else if (!strcmp(mode, "loads"))
            in_two_threads(mode, loads);
        else if (!strcmp(mode, "waits"))
            waits();
        else
            return 2;
    }
    MPI_Finalize();
    return 0;
}
