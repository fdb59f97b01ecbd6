/* One thread puts, another completes the puts of the process, 100 ms later. */
#include <pthread.h>
#include <shmem.h>
#include <stdio.h>
#include <unistd.h>

static long memory[1024];
static pthread_barrier_t both;

static void *puts_only(void *unused)
{
    static long source[1024];
    shmem_long_put_nbi(memory, source, 512, 1);
    shmem_long_put_nbi(memory + 512, source, 512, 1);
    pthread_barrier_wait(&both);
    return unused;
}

int main(void)
{
    int provided;
    if (shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided) || provided < SHMEM_THREAD_MULTIPLE) {
        printf("no threads\n");
        shmem_finalize();
        return 0;
    }
    shmem_barrier_all();
    if (shmem_my_pe() == 0) {
        pthread_t thread;
        pthread_barrier_init(&both, 0, 2);
        pthread_create(&thread, 0, puts_only, 0);
        pthread_barrier_wait(&both);
        usleep(100000);
        shmem_quiet();
        pthread_join(thread, 0);
        printf("done\n");
    }
    shmem_barrier_all();
    shmem_finalize();
    return 0;
}
