//! The meaning of the definitions and records of an archive.
//!
//! The definitions of an archive list processes, clocks and regions; its records list events, but by the rules of the layer
//! that wrote them. This crate knows those rules, and everything that reads archives uses it: the
//! search for waits, the timeline, exports. All of them have the same numbers of processes and locations, the same times,
//! and agree which record completes which operation.

#![forbid(unsafe_code)]
// Data from a file must not cause a panic.
#![warn(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::indexing_slicing))]

pub mod channels;
pub mod completions;
pub mod contexts;
pub mod counters;
pub mod crowds;
pub mod ids;
pub mod layout;
pub mod locks;
pub mod memory;
pub mod names;
pub mod operations;
pub mod parties;
pub mod processor_time;
pub mod record;
pub mod roles;
pub mod samples;
pub mod shape;
pub mod system;
pub mod text;
pub mod time;
pub mod world;
