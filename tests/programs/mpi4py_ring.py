"""A ring of messages and three reductions over MPI, from Python."""

import sys
from array import array

from mpi4py import MPI

comm = MPI.COMM_WORLD
rank, size = comm.Get_rank(), comm.Get_size()
token = bytearray(8)
request = comm.Irecv(token, source=(rank - 1) % size, tag=5)
comm.Send(bytes([rank] * 8), dest=(rank + 1) % size, tag=5)
request.Wait()
total = 0
for i in range(3):
    mine, all_of_it = array("q", [rank + i]), array("q", [0])
    comm.Allreduce([mine, MPI.INT64_T], [all_of_it, MPI.INT64_T])
    total += all_of_it[0]
sys.stdout.write(f"rank {rank} of {size}: token {token[0]}, total {total}\n")
