//! The dependency log: the activities of every location, which location waited for which other, and which of these waits are
//! certain.
//!
//! An analysis writes it to a directory, and timelines, exports, predictions and the search for causes read it. It is a
//! cache: it can be deleted, and another version of Dwell may have to write it again.
//!
//! * [`read`] reads it, one location at a time, forwards or backwards.
//! * [`edge`] has the waits between locations, and [`needs`] what calls needed from others without waiting for it.
//! * [`format`] describes the bytes, in [blocks](block) of numbers.

#![forbid(unsafe_code)]
// Data from a file must not cause a panic.
#![warn(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::indexing_slicing))]

pub mod block;
pub mod blocks;
pub mod class;
pub mod edge;
pub mod edges;
pub mod format;
pub mod needs;
pub mod piece;
pub mod quantity;
pub mod read;
pub mod scratch;
