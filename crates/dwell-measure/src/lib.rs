//! The recorder inside a measured process.
//!
//! Hooks call it before and after the real function; it writes OTF2 events into file-backed memory that
//! survives the process, and at the end of the run makes one archive of the files of all processes,
//! talking to them through the program's own runtime.
//!
//! | module | is | invariant |
//! |---|---|---|
//! | `arch` | code that differs from processor to processor: x86-64 and AArch64 | the same items for each |
//! | [`entry`] | the words and the switch that entry stubs know | off in forked children |
//! | `faults` | the ways into the recorder, which a test build can make panic | known to locks and threads; knows neither |
//! | `file_limit` | writing files without a SIGXFSZ for the program | around rare work only |
//! | [`guard`] | the wall between panics of the recorder and the program | around recording only, never around the real function |
//! | [`hook`] | the statements of a hook about a call | by generic operation, never by name |
//! | [`recorder`] | the interface that every hook uses: the beginning and the end of a call, and records of generic operations | one function for each kind of record |
//! | [`call`] | the calls of OpenSHMEM | through the recorder |
//! | [`thread`] | one location: encoder, open calls, call sites | nothing allocated, no lock, no system call on the usual way |
//! | `locations` | the list of all locations of the process | knows a location by its first field only |
//! | [`mpi`] | the calls of MPI and of layers over it: messages, requests, communicators, windows | numbers of communicators mean the same at all members |
//! | [`stack`] | a stack of the recorder's own, for rare work that needs room | the thread stays the same; unwinding passes |
//! | `reentrancy` | which thread uses the state of a thread, and the switch | checked with models of the memory: `tests/all/models.rs` |
//! | [`samples`] | where threads compute, on their processor clocks | nothing in a busy thread; no lock of the loader |
//! | `slot` | a place of a table that threads read without a lock | checked with models of the memory, too |
//! | [`process`] | the state that all threads share | a failure switches recording off and is kept |
//! | [`clock`] | nanoseconds | monotone per location, corrected by samples |
//! | [`clock_rendezvous`] | barriers and other collectives over all processes, at which clocks of nodes are compared | counted alike by all, whatever is recorded |
//! | `silence` | messages of the recorder, of which nothing is recorded | at any layer, whatever a runtime is built on |
//! | `recorder_collectives` | collective operations of the recorders, made of messages | within a deadline, by polling |
//! | [`memory`], [`stream`] | files that survive the process | readable at any instant |
//! | `wrapping` | the user's line for calls that come through wrapper libraries | nothing of it exists in a process without them |
//! | [`settings`] | the table of everything that can be set | flags, environment, file and properties come from it |
//! | [`run`] | the beginning and the end of a recording | collective: a process that fails still takes part |
//!
//! Definitions, unification, collation and recovery, which make an archive of the files, are in [`dwell_unify`].

#![warn(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![cfg_attr(
    test,
    allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)
)]

mod arch;
mod atomics;
pub mod call;
pub mod clock;
pub mod clock_rendezvous;
pub mod control;
mod cost;
pub mod counters;
pub mod entry;
mod faults;
mod file_limit;
pub mod filter;
#[cfg(test)]
#[path = "../../../tests/golden.rs"]
mod golden;
pub mod guard;
mod handshake;
pub mod hook;
mod lease;
mod locations;
mod lock;
pub mod memory;
mod modules;
pub mod modulo;
pub mod mpi;
pub mod process;
mod processor_time;
mod profile;
pub mod recorder;
mod recorder_collectives;
mod reentrancy;
mod report;
pub mod run;
pub mod samples;
pub mod settings;
mod silence;
mod sites;
mod slot;
mod spent;
pub mod stack;
pub mod stream;
mod symmetric;
mod sync;
mod text;
pub mod thread;
mod unwind;
mod windows;
pub mod word;
mod wrapping;
