//! `libdwell.so`: the library that `dwell run` preloads into a program.
//!
//! It has a hook for every function of every table, and nothing else under a public name. It links no
//! runtime: the real functions are found when they are first called. What a call means is written down
//! by [`dwell_measure`]; here is only how one gets there and back.
//!
//! | module | is |
//! |---|---|
//! | `stub` | the way in: assembly under the names of real functions |
//! | `entry` | one function: its hook, and the real one |
//! | `real` | finding real functions |
//! | `shmem` | OpenSHMEM: hooks made from its table, and what the recorder asks of it |
//! | `absent` | hiding hooks of functions that the runtime lacks |
//! | `above` | coarrays: layers whose calls contain calls of MPI |
//! | `mpi` | MPI: hooks made from its table, and what the recorder asks of it |
//! | `control` | pausing and resuming, for programs |
//! | `ucx` | UCX, below OpenSHMEM and MPI |
//! | `user` | the program's own code: instrumented functions, regions of `dwell.h` |
//! | `life` | the loading and the end of the library |
#![allow(unsafe_code)] // Every hook is called from C and calls C.
#![warn(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
compile_error!("entry stubs are written for Linux on x86-64 only, so far");

#[macro_use]
mod stub;
mod above;
mod absent;
mod control;
mod entry;
mod life;
mod mpi;
mod real;
mod shmem;
mod ucx;
mod user;
