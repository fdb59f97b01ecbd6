// Calls MPI through a class of a header, through a shared library of its own (libwrapped.c) and directly, and says from which
// lines. Rank 1 is late to each call.
#include "wrapped.hpp"

#include <cstdio>
#include <unistd.h>

extern "C" int wrapped_broadcast(int value);
extern "C" int wrapped_twice(int value);

static int rank;

static void late() {
    if (rank == 1) usleep(20000);
}

// What was called, the line, and the wrapper that made the call.
#define SAY(what, through, calls) \
    if (rank == 0) std::printf("wrapped %s line=%d through=%s calls=%d\n", what, __LINE__, through, calls)

static int step(const halo::Exchange &exchange, int value) {
    late();
    exchange.meet(); SAY("MPI_Barrier", "halo", 1);
    late();
    value += exchange.sum(value); SAY("MPI_Allreduce", "halo", 1);
    late();
    value += exchange.mean(value); SAY("MPI_Allreduce", "halo", 1);
    late();
    value += wrapped_broadcast(value); SAY("MPI_Bcast", "libwrapped.so", 1);
    late();
    value += wrapped_broadcast(value); SAY("MPI_Bcast", "libwrapped.so", 1);
    late();
    for (int i = 0; i < 7; i++) {
        value += wrapped_twice(value); if (i == 0) SAY("MPI_Bcast", "libwrapped.so", 14);
    }
    late();
    MPI_Barrier(MPI_COMM_WORLD); SAY("MPI_Barrier", "-", 1);
    return value;
}

int main(int count, char **arguments) {
    MPI_Init(&count, &arguments);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    halo::Exchange exchange;
    int value = step(exchange, count);
    if (value == 77) std::puts("never");
    MPI_Finalize();
    return 0;
}
