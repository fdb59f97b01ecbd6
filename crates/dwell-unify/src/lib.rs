//! Makes one archive from the files that the processes of a run recorded.
//!
//! While a program runs, the recorder inside each process writes event files, rows of a profile and a stream of facts
//! that says what their numbers mean. This crate makes an archive of them: at the end of the run inside the processes,
//! which exchange messages, or after a crash in `dwell recover`, which has only the files. It is the same code for
//! both, it has no unsafe code, and it does not know the runtime that the messages travel through, so that it can be
//! tested and fuzzed alone. Everything that it reads may come from a process that died or from someone else.
//!
//! | module | is | invariant |
//! |---|---|---|
//! | [`facts`], [`stream`] | facts that a process writes about itself, and the layout of their file | readable at any instant; any changed byte is noticed |
//! | [`process_facts`] | a process as its stream of facts describes it | numbers are bounded before lists are made of them |
//! | [`clock_correction`] | the offset of the clock of a process from that of rank 0 | comes with a bound on its error |
//! | [`unify`] | one set of definitions for all processes, along a tree or from files | the same bytes for any order of merging |
//! | [`deadline`] | deadlines of steps that wait for other processes | polling within a deadline |
//! | [`statistics`] | numbers that each process reports about its recording | added up by rank 0 alone |
//! | [`definitions`] | the global definitions of an archive | the same ids for a finished and a recovered run |
//! | `topologies` | Cartesian topologies in an archive | a grid of one shape on the same processes once |
//! | [`collate`] | the profiles of all threads in a few files | a block has all rows of consecutive locations |
//! | [`experiment`] | paths of files inside an experiment directory | |
//! | [`stage`] | the chunk that a thread was filling, put back into its event file | can be interrupted and started again |
//! | [`assemble`] | files brought to their places, and the anchor written last | no anchor before all files are there |
//! | [`live`] | what the threads of a run are in, and who waits for whom | nothing is written |
//! | [`recover`] | an archive from the files that dead processes left | can be interrupted and started again |

#![forbid(unsafe_code)]
#![warn(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![cfg_attr(
    test,
    allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)
)]

pub mod assemble;
pub mod clock_correction;
pub mod collate;
pub mod deadline;
pub mod definitions;
pub mod experiment;
pub mod facts;
pub mod lease;
pub mod live;
pub mod process_facts;
pub mod recover;
pub mod stage;
pub mod statistics;
pub mod stream;
mod topologies;
pub mod unify;
