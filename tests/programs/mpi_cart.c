/* Processes in a grid of 2 rows that MPI_Cart_create makes, and in one that the program describes.
 *
 *   mpicc -g -I include -o mpi_cart mpi_cart.c && mpirun -np 4 dwell run ./mpi_cart 20
 *
 * The second row comes late to a barrier by as many milliseconds as the argument says. The grid is made again and again,
 * and must be recorded once.
 */
#include <dwell.h>
#include <mpi.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    const int late = argc > 1 ? atoi(argv[1]) : 20;
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const int sizes[2] = {2, size / 2}, periods[2] = {1, 0};
    MPI_Comm grid;
    MPI_Cart_create(MPI_COMM_WORLD, 2, sizes, periods, 0, &grid);
    for (int again = 0; again < 3; again++) {
        MPI_Comm same;
        MPI_Cart_create(MPI_COMM_WORLD, 2, sizes, periods, 0, &same);
        MPI_Comm_free(&same);
    }
    /* Columns of the grid in reverse. */
    int at[2];
    MPI_Cart_coords(grid, rank, 2, at);
    const int place[2] = {sizes[1] - 1 - at[1], at[0]}, turned[2] = {sizes[1], 2}, open[2] = {0, 0};
    DWELL_TOPOLOGY("turned", 2, turned, open, place);
    for (int round = 0; round < 5; round++) {
        if (at[0] == 1)
            usleep(1000 * (useconds_t)late);
        MPI_Barrier(grid);
    }
    MPI_Comm_free(&grid);
    MPI_Finalize();
    return 0;
}
