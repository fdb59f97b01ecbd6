//! Real programs on a real OpenSHMEM and on real MPI libraries, measured: what they print, what is
//! recorded, and what is left when they die.
//!
//! Needs `oshcc` and `oshrun`; without them the tests say so and pass, unless `DWELL_REQUIRE_SHMEM=1`.
//! Those of MPI use every library that is there: see `mpi`. Analyses by several processes are here, too ([`launched`]): all
//! that starts launchers takes turns.

mod armci;
mod budgets;
mod caf;
#[path = "../../../../tests/chosen.rs"]
mod chosen;
mod clocks;
mod coarray;
mod coarray_builds;
mod completions;
mod cores;
mod counters;
mod crash;
mod damage;
mod directory;
mod ends;
mod events;
mod faults;
mod findings;
mod ga_fortran;
mod gasnet;
mod hosts;
mod inefficient;
mod intel_mpi;
mod iterations;
mod lab;
mod launched;
#[allow(dead_code)] // Not every test program uses all of it.
#[path = "../../../../tests/launchers.rs"]
mod launchers;
mod limits;
mod linked;
mod loaders;
mod many;
mod mpi;
mod mpi_count;
mod mpi_crash;
mod mpi_families;
mod mpi_faults;
mod mpi_fortran;
mod mpi_handles;
mod mpi_life;
mod mpi_start;
mod mpi_waits;
mod names;
#[allow(dead_code)] // Other tests use all of it.
#[path = "../../../../tests/needs.rs"]
mod needs;
mod nwchem;
mod omp;
mod pcaf;
mod polling;
mod profile;
mod same;
mod samples;
mod select;
mod sites;
mod stacked;
mod stacks;
mod starts;
mod stuck;
mod sums;
#[path = "../support/mod.rs"]
mod support;
mod topologies;
mod trace;
mod trial;
mod ucx;
mod unify;
mod unwind;
mod user;
mod waits;
mod wall;
mod wrapped;
