//! Messages between the processes of a launch, over the MPI library of their launcher, with one binary for Open MPI,
//! MPICH and its derivatives, and the ABI of MPI 5.
//!
//! The library is chosen and loaded at run time, and called by the facts of its ABI
//! ([`dwell_model::mpi::abi`]). Nothing of MPI is needed to build this crate, and a process that no launcher started
//! loads nothing.
//!
//! * [`Launch`] recognises the launcher from its variables, without MPI.
//! * [`World`] joins the processes of a launch: exchange of bytes between all pairs, agreement on numbers, joining along a
//!   tree, broadcast, barrier. It waits by sleeping, and never longer than a time limit.
//! * [`Peers`] is what a program needs of a `World`, and [`crew`] has the same among the threads of one program, for
//!   tests.
//! * [`parcel`] lays out what one process sends to another, so that a reader can check it.
//!
//! # Example
//!
//! ```no_run
//! use dwell_mpi::{Launch, Options, World};
//!
//! let Some(launch) = Launch::detect().filter(Launch::is_shared) else { return Ok(()) };
//! let mut world = World::join(&launch, Options::default())?;
//! let mut out = vec![b"hello".to_vec(); world.size()];
//! let mut into = Vec::new();
//! world.exchange("greetings", &mut out, &mut into)?;
//! assert!(into.iter().all(|bytes| bytes == b"hello"));
//! world.finish(0)?;
//! # Ok::<(), dwell_mpi::Error>(())
//! ```
//!
//! # Limits
//!
//! 64-bit Linux with glibc. Before each exchange every process tells every other how many bytes will come, so an
//! exchange takes memory and time in proportion to the number of processes even if most have nothing to say. Dynamic
//! processes, sessions and programs of several executables in one launch are not supported.

// What comes from another process or a file must not panic.
#![warn(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![cfg_attr(test, allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic))]

mod calls;
mod crew;
mod error;
mod launch;
mod library;
pub mod parcel;
mod peers;
mod watch;
mod world;

pub use crew::{Member, crew};
pub use error::{Error, LIBRARY};
pub use launch::{Launch, Launcher};
pub use peers::{Join, Peers};
pub use world::{Agreement, Options, Traffic, Waiting, World, host};
