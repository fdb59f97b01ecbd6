/* Tasks with objects that are copied by their constructors, and exceptions inside of teams and tasks. */
#include <mpi.h>
#include <omp.h>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

static long copies, caught, sum;

struct Block {
    std::vector<long> values;
    Block() : values(100, 2) {}
    Block(const Block &other) : values(other.values) {
        #pragma omp atomic
        copies++;
    }
};

int main(int argc, char **argv) {
    int me;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    Block block;
    std::string name(300, 'x');
    for (int round = 0; round < 20; round++) {
        #pragma omp parallel num_threads(3)
        {
            try {
                if (omp_get_thread_num() == 1) throw std::runtime_error("thrown");
            } catch (const std::exception &) {
                #pragma omp atomic
                caught++;
            }
            #pragma omp single
            for (int i = 0; i < 10; i++) {
                #pragma omp task firstprivate(block, name, i)
                {
                    try {
                        if (i == 3) throw i;
                        long part = block.values.size() + name.size() + i;
                        #pragma omp atomic
                        sum += part;
                    } catch (int) {
                        #pragma omp atomic
                        caught++;
                    }
                }
            }
        }
    }
    printf("count %d GOMP_task 200\ncount %d GOMP_parallel 60\ncount %d GOMP_single_start 60\n", me, me, me);
    printf("count %d GOMP_barrier 60\ncount %d body 260\n", me, me);
    printf("result %d: %ld copies %ld caught %ld\n", me, copies, caught, sum);
    fflush(stdout);
    MPI_Finalize();
    return 0;
}
