"""Five barriers over MPI by functions that are asked of the library itself, as `ctypes` and Julia do.

    mpirun -n 2 python3 mpi_ctypes.py libmpi.so.40
"""

import ctypes
import sys

mpi = ctypes.CDLL(sys.argv[1])
try:
    world = ctypes.c_void_p(ctypes.addressof(ctypes.c_char.in_dll(mpi, "ompi_mpi_comm_world")))
except ValueError:
    world = ctypes.c_int(0x44000000)  # MPICH
rank = ctypes.c_int()
mpi.MPI_Init(None, None)
mpi.MPI_Comm_rank(world, ctypes.byref(rank))
for _ in range(5):
    mpi.MPI_Barrier(world)
mpi.MPI_Finalize()
absent = hasattr(mpi, "MPI_No_such_function")
sys.stdout.write(f"rank {rank.value} ends, {absent}\n")
