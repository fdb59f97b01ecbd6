//! Collation: the profiles of all processes in a few files, ordered by call path.
//!
//! While a program runs, every thread has a file of rows of its own, so that they survive a kill. A hundred
//! thousand files that are written at once are a burden to any file system, and a report needs them by call
//! path. So at the end of a run that ends well rows travel along the [tree](crate::unify) until there are
//! enough of them, and the process that has them then writes a [block](dwell_model::profile::block). The report is
//! made from blocks by `dwell`, which has time, memory and debug information that the measured program does not have.
//!
//! * [`part()`]: the rows of a location on their way, in ids of the archive.
//! * [`block()`]: the file that parts become.
//! * [`Heap`], [`collate`]: the tree. Parts go up until they are [`ENOUGH`] bytes.
//! * [`collate_files`]: the same from files, for the files of a killed or failed run.
//!
//! # Invariants
//!
//! * A block has all rows of consecutive locations. So a reader that reads blocks in order finds call paths in the
//!   order of locations, and the report is the same bytes wherever blocks begin and end.
//! * No process holds more than two blocks, and the parts of one of its threads.
//! * Every process does all its sends and receives whatever fails. A process that is not told that its rows were written
//!   puts its files where `dwell` looks for them; rows that are there twice are counted once.
//! * Received bytes never cause a panic.
//!
//! # What it costs
//!
//! ⌈log2 P⌉ rounds up and as many down. A message up is shorter than [`ENOUGH`]; after a few rounds all of it
//! is written and messages are two bytes; those down are one. Time does not grow with P but for these
//! rounds, and rank 0 has no more to do than others. `examples/profile_scale.rs` of `dwell` measures it.

// Data from another process or from a file must not cause a panic.
#![warn(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod block;
mod files;
mod part;
mod tree;

pub use block::block;
pub use files::{collate_files, place, remove_blocks};
pub use part::part;
pub use tree::{Collated, Heap, Write, collate};

/// Bytes of parts that are worth a file of their own. A process that has gathered them writes a block.
pub const ENOUGH: usize = 4 << 20;

/// Limit for the size of a file of rows, in bytes. The recorder writes smaller files, so a larger one is damaged.
pub const MOST_ROWS: u64 = 64 << 20;

/// Memory that collation may take in a process, in bytes: two blocks of parts, their sorted lines, and the file.
pub const MEMORY: u64 = 8 * ENOUGH as u64;
