// A class that wraps MPI, as programs have them in their headers.
#pragma once
#include <mpi.h>

namespace halo {

class Exchange {
public:
    // Small enough to be inlined.
    void meet() const { MPI_Barrier(MPI_COMM_WORLD); }

    // A function of its own in the program, and one that calls another.
    __attribute__((noinline)) int sum(int part) const {
        int all = 0;
        MPI_Allreduce(&part, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        return all;
    }
    __attribute__((noinline)) int mean(int part) const {
        int size = 1;
        MPI_Comm_size(MPI_COMM_WORLD, &size);
        return sum(part) / size;
    }
};

}
