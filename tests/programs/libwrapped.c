// A library that wraps MPI.
#include <mpi.h>

__attribute__((noinline)) static int broadcast(int value) {
    MPI_Bcast(&value, 1, MPI_INT, 1, MPI_COMM_WORLD);
    __asm__ volatile("" ::: "memory");
    return value;
}

int wrapped_broadcast(int value) { return broadcast(value) + 1; }

int wrapped_twice(int value) { return broadcast(value) + broadcast(value) + 1; }
