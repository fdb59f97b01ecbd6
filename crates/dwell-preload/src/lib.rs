//! `libdwell.so`: the library that `dwell run` preloads into a program.
//!
//! It has a hook for every function of every table, and exports no other names but those of `dwell.h`,
//! `dwell-link`, the header for GASNet and GASP, and of functions of the C library that `dlsym`, `exec` and `signals` need.
//! It links no runtime: the real functions are looked up when they are first called. The crate [`dwell_measure`]
//! records what a call does; this crate only leads from the program to the recorder and back.
//!
//! | module | contents |
//! |---|---|
//! | `arch` | entry points: assembly under the names of real functions, for each processor |
//! | `entry` | one function: its hook, and the real one |
//! | `real` | lookup of real functions |
//! | `shmem` | OpenSHMEM: hooks made from its table, and messages of the recorder |
//! | `allocator` | memory of the recorder, with a reserve |
//! | `dlsym` | the real `dlsym` |
//! | `elf` | loaded files: their symbols and references |
//! | `loader` | programs that ask the loader for functions themselves |
//! | `absent` | hiding hooks of functions that the runtime lacks |
//! | `over_mpi` | coarrays, ARMCI and Global Arrays: layers whose calls contain calls of MPI |
//! | `gasnet` | GASNet-EX: calls that a header in the program reports, and messages of the recorder |
//! | `gasp` | events that language runtimes report |
//! | `mpi` | MPI: hooks made from its table, and messages of the recorder |
//! | `control` | pausing and resuming, for programs |
//! | `omp` | OpenMP: functions of the program that the runtime calls, on the threads of a team and as tasks |
//! | `regions` | layers whose calls are recorded as regions only, such as UCX |
//! | `user` | code of the program: instrumented functions, regions of `dwell.h` |
//! | `signals` | signal handlers and stacks of the program that samples make way for |
//! | `exec` | keeping the library in a program that becomes another one |
//! | `loading` | loading and unloading of the library |
#![allow(unsafe_code)] // Every hook is called from C and calls C.
#![warn(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[macro_use]
mod arch;
mod absent;
mod allocator;
mod control;
mod dlsym;
mod elf;
mod entry;
mod exec;
mod gasnet;
mod gasp;
mod loader;
mod loading;
mod mpi;
mod omp;
mod over_mpi;
mod real;
mod regions;
mod shmem;
mod signals;
mod topology;
mod user;
