/* A thread that is to be cancelled makes its first call of MPI. The call is no cancellation point, so the thread
 * comes back from it and ends where it asks whether it is cancelled. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>

static volatile int came_back, went_on;

static void *worker(void *unused) {
    int flag;
    pthread_cancel(pthread_self());
    MPI_Iprobe(MPI_PROC_NULL, 1, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
    came_back = 1;
    pthread_testcancel();
    went_on = 1;
    return unused;
}

int main(int argc, char **argv) {
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    for (int i = 0; i < 3; i++) {
        pthread_t thread;
        void *result;
        came_back = went_on = 0;
        pthread_create(&thread, NULL, worker, NULL);
        pthread_join(thread, &result);
        printf("came back %d, went on %d, cancelled %d\n", came_back, went_on, result == PTHREAD_CANCELED);
    }
    fflush(stdout);
    MPI_Finalize();
    return 0;
}
