"""Calls MPI from Python in several ways, and says from which lines and functions. Rank 1 is late to each call."""

import threading
import time

from mpi4py import MPI

comm = MPI.COMM_WORLD


if comm.rank == 0:
    print(f"rank 0 of {comm.size}", flush=True)


def line_of(offset=0):
    import inspect

    return inspect.currentframe().f_back.f_lineno + offset


def say(what, line, function, calls):
    if comm.rank == 0:
        print(f"wrapped {what} line={line} function={function} through=mpi4py calls={calls}", flush=True)


def late():
    if comm.rank == 1:
        time.sleep(0.02)


def exchange():
    late()
    comm.Barrier(); say("MPI_Barrier", line_of(), "exchange", 1)
    late()
    comm.Barrier(); say("MPI_Barrier", line_of(), "exchange", 1)
    for _ in range(5):
        late()
        comm.Barrier(
        ); say("MPI_Barrier", line_of(-1), "exchange", 1)


class Solver:
    def steps(self):
        late()
        [comm.Barrier() for _ in range(4)]; say("MPI_Barrier", line_of(), "Solver.steps", 4)


def in_a_generator():
    for _ in range(3):
        late()
        comm.Barrier()
        yield line_of(-1)


def in_a_thread():
    late()
    comm.Barrier(); say("MPI_Barrier", line_of(), "in_a_thread", 1)


exchange()
solver = Solver()
solver.steps()
for line in in_a_generator():
    pass
say("MPI_Barrier", line, "in_a_generator", 3)
thread = threading.Thread(target=in_a_thread)
thread.start()
thread.join()
late()
exec("comm.Barrier()")
late()
comm.Barrier(); say("MPI_Barrier", line_of(), "<module>", 1)
