"""A ring of puts, gets and atomics from Python, with every result checked.

The OpenSHMEM library is not linked with the program that is started (python):
it comes with the extension module, by dlopen.

Install:  python3 -m venv env && OSHCC=oshcc env/bin/pip install shmem4py
Run:      oshrun -np 4 env/bin/python shmem4py_ring.py [ROUNDS]

PE 0 prints "shmem4py_ring ok npes=4 rounds=10"; exit code 0. In each round
each PE makes these calls, and no others of these names are made:

  2 shmem_long_put                128 bytes together
  1 shmem_long_get                128 bytes
  1 shmem_long_atomic_add
  1 shmem_long_atomic_fetch_add
"""

import sys

import numpy as np
from shmem4py import shmem

LENGTH = 16


def expect(condition, what):
    if not condition:
        print(f"shmem4py_ring: PE {shmem.my_pe()}: wrong: {what}", file=sys.stderr)
        sys.stderr.flush()
        shmem.global_exit(1)


def ring_round(number, inbox, outbox, counter):
    me, npes = shmem.my_pe(), shmem.n_pes()
    after, before = (me + 1) % npes, (me - 1) % npes
    outbox[:] = np.arange(LENGTH) + 1000 * me + number
    shmem.barrier_all()

    shmem.put(inbox[:-1], outbox[:-1], after)
    shmem.put(inbox[-1:], outbox[-1:], after, size=1)
    shmem.atomic_add(counter, 1, after)
    shmem.quiet()
    shmem.barrier_all()
    expect((inbox == np.arange(LENGTH) + 1000 * before + number).all(), "put")

    fetched = np.zeros(LENGTH, dtype="l")
    shmem.get(fetched, outbox, after)
    expect((fetched == np.arange(LENGTH) + 1000 * after + number).all(), "get")
    old = shmem.atomic_fetch_add(counter, 1, after)
    expect(old == 2 * number + 1, "atomic_fetch_add")
    shmem.barrier_all()
    expect(counter[0] == 2 * (number + 1), "counter")


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    inbox = shmem.zeros(LENGTH, dtype="l")
    outbox = shmem.zeros(LENGTH, dtype="l")
    counter = shmem.zeros(1, dtype="l")
    shmem.barrier_all()
    for number in range(rounds):
        ring_round(number, inbox, outbox, counter)
    if shmem.my_pe() == 0:
        print(f"shmem4py_ring ok npes={shmem.n_pes()} rounds={rounds}", flush=True)
    shmem.barrier_all()
    for array in (counter, outbox, inbox):
        shmem.free(array)


if __name__ == "__main__":
    main()
