/* Two barriers on one line. PE 0 is late at the first, PE 1 at the second. */

#include <shmem.h>
#include <time.h>

static void late(int pe, long milliseconds) {
    if (shmem_my_pe() == pe) {
        struct timespec time = { 0, milliseconds * 1000000 };
        nanosleep(&time, 0);
    }
}

int main(void) {
    shmem_init();
    shmem_barrier_all();
    late(0, 100);
    shmem_barrier_all(); late(1, 200); shmem_barrier_all();
    shmem_finalize();
    return 0;
}
