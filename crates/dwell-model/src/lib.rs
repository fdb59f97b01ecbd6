//! The vocabulary in which Dwell describes communication, whatever the runtime.
//!
//! Between a program's `shmem_int_get` and a finding about it lie a recorder, an analysis and several views. None of
//! them knows the name of a function. They know:
//!
//! * [`operation`]: the generic operations, their completion and their progress;
//! * [`layer`]: the library that a call belongs to, where several are stacked;
//! * [`table`]: the rows of an adapter: one function, its signature, the places of its arguments;
//! * [`shmem`], [`mpi`], [`caf`], [`armci`], [`ga`], [`ucx`], [`omp`]: the adapters, one for each runtime;
//! * [`archive`]: the conventions of Dwell's archives beyond the OTF2 standard;
//! * [`profile`]: the files in which the recorder keeps profiles;
//! * [`pairs`]: the list of pairs that communicate, which reports contain;
//! * [`cores`]: sets of processor cores;
//! * [`waits`]: the catalogue of waits;
//! * [`wrappers`]: libraries that wrap a runtime;
//! * [`text`]: escapes in names, so that no name can control a terminal.
//!
//! This crate has no input or output, no clock and no thread, and allocates only where it is given a `Vec`. All tables are constants that the compiler
//! has sorted and checked.
//!
//! # Example
//!
//! ```
//! use dwell_model::operation::{Mode, Operation};
//! use dwell_model::shmem;
//! use dwell_model::table::Arg;
//!
//! // void shmem_int_get(int *dest, const int *source, size_t nelems, int pe);
//! let row = shmem::TABLE.find("shmem_int_get").ok_or("no such function")?;
//! assert_eq!(row.operation, Operation::Get);
//! assert_eq!(row.mode, Mode::Blocking);
//! assert_eq!(row.places.target, Some(Arg(3)));
//! assert_eq!(row.places.remote, Some(Arg(1)));
//!
//! // Ten elements from process 7:
//! let call = [0x7000, 0x1000, 10, 7];
//! assert_eq!(row.places.bytes.of(|at| call[at.index()]), 40);
//! # Ok::<(), &str>(())
//! ```
//!
//! # How to add a runtime
//!
//! `CONTRIBUTING.md` has the steps. In this crate a runtime is a module like [`ucx`] or [`caf`]: `const fn`s that
//! create a [`Row`](table::Row) from a name and a type, one for each shape of signature; a list of
//! [families](table::Family); and a static [`Table`](table::Table), which [`table::sorted`] builds from them. A
//! function that is none of the [operations](operation::Operation) is `Other`, until a pattern needs it.
//! [Progress](operation::Progress) is the value that was measured (`examples/progress-probe`), or conditional.
//!
//! # Limits
//!
//! Sizes of types are those of 64-bit Linux on x86-64 and aarch64. Each adapter says in its module which functions it
//! covers.

#![no_std]

extern crate alloc;

pub mod archive;
pub mod armci;
pub mod caf;
pub mod coarray;
pub mod cores;
pub mod ga;
pub mod gasnet;
pub mod gasp;
pub mod layer;
pub mod mpi;
pub mod omp;
pub mod operation;
pub mod pairs;
pub mod profile;
pub mod registry;
pub mod shmem;
pub mod table;
pub mod text;
pub mod ucx;
pub mod units;
pub mod varint;
pub mod waits;
pub mod wrappers;
