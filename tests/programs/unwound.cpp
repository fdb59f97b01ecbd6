// Calls of MPI through functions of several kinds, none of them instrumented: called by themselves, inlined, in a
// library, through the C library, left by an exception, in a thread.
//
//   c++ -O2 -DLIBRARY -shared -fPIC -o libunwound.so unwound.cpp; c++ -O2 -o unwound unwound.cpp -L. -lunwound
#include <cstdio>
#include <cstdlib>
#include <mpi.h>
#include <stdexcept>
#include <thread>

extern "C" void in_a_library(int *value);

#ifdef LIBRARY

extern "C" __attribute__((noinline)) void in_a_library(int *value)
{
    int sum = 0;
    MPI_Allreduce(value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    *value = sum;
}

#else

static inline __attribute__((always_inline)) void inlined(int *value)
{
    MPI_Bcast(value, 1, MPI_INT, 0, MPI_COMM_WORLD);
    *value += 1;
}

static __attribute__((noinline)) void by_itself(int *value)
{
    // As large as a frame may be, and of no fixed size.
    volatile char *room = static_cast<volatile char *>(__builtin_alloca(100 * (*value % 7 + 1)));
    room[0] = 1;
    MPI_Barrier(MPI_COMM_WORLD);
    inlined(value);
    *value += room[0];
}

static __attribute__((noinline)) int compare(const void *a, const void *b)
{
    int it = 1;
    MPI_Reduce(MPI_IN_PLACE, &it, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_SELF);
    return *static_cast<const int *>(a) - *static_cast<const int *>(b);
}

static __attribute__((noinline)) void throws(int *value)
{
    MPI_Scan(value, value + 1, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF);
    if (*value > 0)
        throw std::runtime_error("given up");
}

static __attribute__((noinline)) void work(int *value)
{
    by_itself(value);
    in_a_library(value);
    int list[2] = { 2, 1 };
    qsort(list, 2, sizeof list[0], compare);
    try {
        throws(value);
    } catch (const std::exception &error) {
        std::printf("%s\n", error.what());
    }
    std::thread([value] { MPI_Exscan(value, value + 2, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF); }).join();
    *value += list[0];
}

int main(int argc, char **argv)
{
    int value[3] = { 1, 0, 0 }, level;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &level);
    for (int round = 0; round < 3; round++)
        work(value);
    std::printf("value %d\n", value[0]);
    MPI_Finalize();
    return 0;
}

#endif
