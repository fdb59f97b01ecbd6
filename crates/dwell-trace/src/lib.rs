//! What the definitions and records of an archive mean.
//!
//! An archive says who takes part, by which clocks, and what each region is for; its records say what happened, but by the
//! rules of the layer that wrote them. This crate knows those rules, and everything that reads archives uses it: the
//! search for waits, the timeline, exports. All of them have the same numbers of processes and locations, the same times,
//! and the same opinion about which record completes which operation.

#![forbid(unsafe_code)]
// What comes from a file must not panic.
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
pub mod record;
pub mod roles;
pub mod shape;
pub mod system;
pub mod text;
pub mod time;
pub mod world;
