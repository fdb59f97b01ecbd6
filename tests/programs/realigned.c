/* A call of MPI through a function that aligns its stack: it has arguments on the stack, an aligned local variable and memory
 * of a size that is not known, so that gcc describes its frame by an expression. Ordinary code has many such functions if
 * it is compiled with -O3 -march=native. */
#include <alloca.h>
#include <mpi.h>
#include <string.h>

/* Neither inlined nor changed for its callers. */
#ifdef __clang__
#define KEPT __attribute__((noinline))
#else
#define KEPT __attribute__((noipa))
#endif

static volatile double sink;

KEPT static void inner(double *values)
{
    sink = values[0];
    MPI_Barrier(MPI_COMM_WORLD);
    sink = values[1];
}

KEPT static double kernel(long a, long b, long c, long d, long e, long f, long g, long h, int size)
{
    double values[64] __attribute__((aligned(64)));
    char *bytes = alloca(size);
    memset(bytes, 1, size);
    for (int i = 0; i < 64; i++)
        values[i] = i + b + c + d + e + f + g + h;
    inner(values);
    return values[size % 64] + bytes[0] + a + h;
}

KEPT static void solver(int size)
{
    sink = kernel(1, 2, 3, 4, 5, 6, 7, size, size);
    sink += 1;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    for (int i = 0; i < 10; i++)
        solver(argc + 5);
    MPI_Finalize();
    return 0;
}
