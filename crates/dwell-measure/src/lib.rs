//! The recorder inside a measured process.
//!
//! Hooks call it before and after the real function; it writes OTF2 events into file-backed memory that
//! survives the process, and at the end of the run makes one archive of the files of all processes,
//! talking to them through the program's own runtime.
//!
//! | module | is | invariant |
//! |---|---|---|
//! | [`entry`] | the words and the switch that entry stubs know | off in forked children |
//! | [`guard`] | the wall between panics of the recorder and the program | around recording only, never around the real function |
//! | [`hook`], [`call`] | what a hook says, and what is written for it | by generic operation, never by name |
//! | [`thread`] | one location: encoder, open calls, call sites | nothing allocated, no lock, no system call on the usual way |
//! | [`mpi`] | what is recorded of MPI: messages, requests, communicators, windows | numbers of communicators mean the same at all members |
//! | [`stack`] | a stack of the recorder's own, for what is rare and needs room | the thread stays the same; unwinding passes |
//! | [`process`] | what threads share | a failure switches recording off and is kept |
//! | [`clock`] | nanoseconds | monotone per location, corrected by samples |
//! | [`meet`] | calls at which all processes are together, to compare clocks of nodes | counted alike by all, whatever is recorded |
//! | [`patience`], `together` | waiting for other processes | within a deadline, by polling |
//! | [`memory`], [`facts`], [`stream`] | what a dead process leaves behind | readable at any instant |
//! | [`unify`] | one set of definitions for all processes | same result for any order |
//! | [`local`], [`definitions`], [`run`], [`recover`] | the archive, at the end of the run or after a crash | the same code for both |

#![warn(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![cfg_attr(
    test,
    allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)
)]

mod agree;
pub mod call;
pub mod clock;
pub mod collate;
pub mod control;
mod cost;
pub mod definitions;
pub mod entry;
pub mod facts;
pub mod filter;
pub mod guard;
pub mod hook;
pub mod local;
mod lock;
pub mod meet;
pub mod memory;
mod modules;
pub mod mpi;
pub mod patience;
pub mod process;
mod profile;
pub mod recover;
mod report;
pub mod run;
pub mod settings;
mod sites;
pub mod stack;
pub mod stream;
mod symmetric;
mod sync;
mod text;
pub mod thread;
mod together;
pub mod unify;
mod unwind;
mod windows;
pub mod wrap;
