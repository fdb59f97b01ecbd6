/* OpenMP with one-sided communication: every process says how often its threads made which call, and the results. Built with
   -DSHMEM it uses OpenSHMEM, otherwise MPI. Arguments: threads, rounds. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#ifdef SHMEM
#include <shmem.h>
#else
#include <mpi.h>
#endif

static long sum, done, slots[64];
static omp_lock_t lock;
static omp_nest_lock_t nest;

#define N 60
#define TASKS 12

static void work(int threads) {
    #pragma omp parallel num_threads(threads)
    {
        #pragma omp for schedule(static)
        for (int i = 0; i < N; i++) {
            #pragma omp atomic
            sum += i;
        }
        #pragma omp for schedule(dynamic, 7)
        for (int i = 0; i < N; i++) {
            #pragma omp atomic
            sum += 2 * i;
        }
        #pragma omp for ordered schedule(dynamic, 3)
        for (int i = 0; i < N; i++) {
            #pragma omp ordered
            sum = sum * 3 % 1000003 + i;
        }
        #pragma omp sections
        {
            #pragma omp section
            slots[0]++;
            #pragma omp section
            slots[1]++;
        }
        #pragma omp critical
        sum++;
        #pragma omp critical(other)
        sum += 0 * slots[2]++;
        #pragma omp barrier
        omp_set_lock(&lock);
        sum += 5;
        omp_unset_lock(&lock);
        omp_set_nest_lock(&nest);
        omp_set_nest_lock(&nest);
        sum += 7;
        omp_unset_nest_lock(&nest);
        omp_unset_nest_lock(&nest);
        #pragma omp barrier
        #pragma omp single
        {
            for (int i = 0; i < TASKS; i++) {
                #pragma omp task firstprivate(i)
                {
                    #pragma omp atomic
                    done += i;
                }
            }
            #pragma omp taskwait
            #pragma omp taskgroup
            {
                #pragma omp task if (0)
                {
                    #pragma omp atomic
                    done += 100;
                }
                #pragma omp task final(1)
                {
                    #pragma omp taskyield
                    #pragma omp atomic
                    done += 1000;
                }
            }
            #pragma omp taskloop num_tasks(4)
            for (int i = 0; i < N; i++) {
                #pragma omp atomic
                done += i;
            }
        }
        /* Tasks that run in the barrier at the end. */
        #pragma omp master
        for (int i = 0; i < TASKS; i++) {
            #pragma omp task
            {
                #pragma omp atomic
                done += 3;
            }
        }
    }
}

static long reduced(int threads) {
    long total = 0;
    #pragma omp parallel num_threads(threads) reduction(task, + : total)
    {
        #pragma omp single
        for (int i = 0; i < TASKS; i++) {
            #pragma omp task in_reduction(+ : total)
            total += i;
        }
    }
    #pragma omp parallel num_threads(threads)
    #pragma omp single
    #pragma omp taskloop num_tasks(3) reduction(+ : total)
    for (int i = 0; i < N; i++) total += i;
    return total;
}

static void dependent(int threads, long *chain) {
    #pragma omp parallel num_threads(threads)
    #pragma omp single
    for (int i = 0; i < TASKS; i++) {
        #pragma omp task depend(inout : chain[0])
        chain[0] = chain[0] * 5 % 10007 + i;
    }
}

static void nested(int threads) {
    #pragma omp parallel num_threads(threads)
    {
        #pragma omp parallel num_threads(2)
        {
            #pragma omp critical
            sum += 11;
        }
    }
}

int main(int argc, char **argv) {
    int threads = argc > 1 ? atoi(argv[1]) : 3, rounds = argc > 2 ? atoi(argv[2]) : 5, me, all;
    omp_set_max_active_levels(2);
    omp_set_dynamic(0);
#ifdef SHMEM
    int provided;
    shmem_init_thread(SHMEM_THREAD_SERIALIZED, &provided);
    me = shmem_my_pe(), all = shmem_n_pes();
    long *box = shmem_calloc(64, sizeof *box);
    shmem_barrier_all();
#else
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &me), MPI_Comm_size(MPI_COMM_WORLD, &all);
    long *box;
    MPI_Win win;
    MPI_Win_allocate(64 * sizeof *box, sizeof *box, MPI_INFO_NULL, MPI_COMM_WORLD, &box, &win);
    for (int i = 0; i < 64; i++) box[i] = 0;
    MPI_Win_lock_all(0, win);
    MPI_Barrier(MPI_COMM_WORLD);
#endif
    omp_init_lock(&lock);
    omp_init_nest_lock(&nest);
    long chain = 1, total = 0;
    for (int round = 0; round < rounds; round++) {
        work(threads);
        total += reduced(threads);
        dependent(threads, &chain);
        nested(threads);
        /* Every thread puts to the next process. */
        #pragma omp parallel num_threads(threads)
        {
            long value = 1000 * round + omp_get_thread_num();
            int at = omp_get_thread_num();
            #pragma omp critical(communication)
            {
#ifdef SHMEM
                shmem_long_p(&box[at], value, (me + 1) % all);
#else
                MPI_Put(&value, 1, MPI_LONG, (me + 1) % all, at, 1, MPI_LONG, win);
                MPI_Win_flush((me + 1) % all, win);
#endif
            }
        }
    }
#ifdef SHMEM
    shmem_barrier_all();
#else
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_sync(win);
#endif
    long got = 0;
    for (int i = 0; i < threads; i++) got += box[i];
    long t = threads, r = rounds;
    struct { const char *name; long calls; } counts[] = {
        /* Regions of work, reduced without its first, dependent, puts; both levels of nested. */
        {"GOMP_parallel", r * (t * 4 + t + 2 * t)},
        {"GOMP_parallel_reductions", r * t},
        {"implicit barrier", r * (t * 5 + t + 2 * t)},
        {"GOMP_barrier", r * t * (1 + 2 + 1 + 3)},
        {"GOMP_loop_end", r * t * 2},
        {"GOMP_sections_end", r * t},
        {"GOMP_critical_start", r * (t + 2 * t)},
        {"GOMP_critical_end", r * (t + 2 * t)},
        {"GOMP_critical_name_start", r * 2 * t},
        {"GOMP_critical_name_end", r * 2 * t},
        {"GOMP_ordered_start", r * N},
        {"GOMP_ordered_end", r * N},
        {"omp_set_lock", r * t},
        {"omp_unset_lock", r * t},
        {"omp_set_nest_lock", r * 2 * t},
        {"omp_unset_nest_lock", r * 2 * t},
        {"GOMP_single_start", r * 4 * t},
        {"GOMP_task", r * (TASKS + 2 + TASKS + TASKS + TASKS)},
        {"GOMP_taskloop", r * 2},
        {"GOMP_taskwait", r},
        {"GOMP_taskyield", r},
        {"GOMP_taskgroup_start", r},
        {"GOMP_taskgroup_end", r},
        /* Functions with the body of a directive: those of teams, and tasks. */
        {"body", r * (t * 5 + t + 2 * t) + r * (TASKS + 2 + TASKS + TASKS + TASKS) + r * (4 + 3)},
#ifdef SHMEM
        {"shmem_long_p", r * t},
#else
        {"MPI_Put", r * t},
        {"MPI_Win_flush", r * t},
#endif
    };
    for (unsigned i = 0; i < sizeof counts / sizeof *counts; i++)
        printf("count %d %s %ld\n", me, counts[i].name, counts[i].calls);
    printf("result %d of %d: %ld done %ld sections %ld total %ld chain %ld got %ld\n", me, all, sum, done,
           slots[0] + slots[1], total, chain, got);
    fflush(stdout);
#ifdef SHMEM
    shmem_barrier_all();
    shmem_finalize();
#else
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
    MPI_Finalize();
#endif
    return 0;
}
