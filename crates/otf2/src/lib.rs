//! Read and write [OTF2](https://www.vi-hps.org/projects/score-p) trace archives in pure Rust.
//!
//! OTF2, the Open Trace Format 2, is how Score-P, Scalasca, Vampir and other tools for parallel
//! programs keep what happened in a run: who entered which region when, who sent what to whom. This
//! crate reads and writes such archives without the C library, at several times its speed, and never
//! trusts a byte of a damaged file.
//!
//! * [`Archive`] opens an archive; [`read`] says what it gives.
//! * [`write::ArchiveWriter`] makes one.
//! * [`encode::Encoder`] writes events into memory that you provide, without the standard library,
//!   so that it can run inside a measured program.
//! * [`close`](mod@close) completes an archive whose writer died.
//!
//! # Reading
//!
//! ```no_run
//! use otf2::{Archive, Event};
//!
//! let archive = Archive::open("run/traces.otf2")?;
//! let definitions = archive.definitions()?;
//! for location in definitions.locations() {
//!     let mut events = archive.events(location.id)?;
//!     while let Some(record) = events.next()? {
//!         if let Event::Enter(enter) = record.event {
//!             let region = definitions.region(enter.region);
//!             let name = region.and_then(|region| definitions.string(region.name));
//!             println!("{} {}", record.time, name.unwrap_or_default());
//!         }
//!     }
//! }
//! # Ok::<(), otf2::Error>(())
//! ```
//!
//! A reader streams one location through a window of its file and lends each event until the next is
//! asked for; nothing is allocated for an event. It holds no open file, so a hundred thousand of them
//! can be alive, and it can be sent to another thread. [`EventReader::visit`](read::EventReader::visit)
//! is faster still, [`seek_time`](read::EventReader::seek_time) and
//! [`seek_event`](read::EventReader::seek_event) read only chunk headers and one chunk,
//! [`Archive::merged`] gives several locations in the order of time. Ids and times come as the C
//! library gives them: translated by mapping tables, corrected by clock offsets.
//!
//! # The archive on disk
//!
//! | file | holds |
//! |---|---|
//! | `NAME.otf2` | the [anchor]: sizes of chunks, who wrote it |
//! | `NAME.def` | global [definitions](def): strings, regions, locations, groups |
//! | `NAME/LOCATION.evt` | the [events](event) of a location |
//! | `NAME/LOCATION.def` | its mapping tables and clock offsets |
//! | `NAME/LOCATION.snap` | its [snapshots](snapshot), if there are any |
//! | `NAME.marker` | [markers](marker), if there are any |
//! | `NAME.NUMBER.thumb` | [thumbnails](thumbnail), if there are any |
//!
//! All but the anchor are rows of [chunks](chunk). A chunk holds records until a byte says that it
//! ends:
//!
//! | byte | where a record could begin, it means |
//! |---|---|
//! | `00` | end of the chunk |
//! | `02` | end of the file |
//! | `05`, then u64 | in event and snapshot files: the time of what follows |
//! | `06` | in event and snapshot files: attributes of the record that follows |
//! | others | a record: its id, its length (a byte, or `FF` and u64), its fields |
//!
//! A few old event records have a [framing](Framing) of their own. The page of each record has a
//! table of its fields and their codes.
//!
//! # Codes
//!
//! | code | bytes |
//! |---|---|
//! | u8, u16, u64, f32, f64 | fixed width, in the byte order of the chunk |
//! | v32, v64 | a size byte n = 0 … 4 or 8, then the n low-order bytes; all ones is the single byte `FF` |
//! | s32, s64 | as v32 and v64, but every negative number has full width |
//! | str | the bytes, then a zero |
//! | list8, list32 | a count (u8 or v32), then the elements |
//! | attr | a u8 that says the [type](enums::Type), then the value in the code of that type |
//! | idmap | see [`IdMapRef`](map::IdMapRef) |
//!
//! # Versions
//!
//! All records of OTF2 1.x to 3.0 are read; fields that a later version added have its defaults where
//! an older file has none. Records and fields of versions to come are skipped by their length, and
//! counted. What is written is OTF2 3.0.
//!
//! # Limits
//!
//! * Archives in SIONlib containers and compressed ones (OTF2 2.x) are refused, with a message.
//! * A record must fit into a chunk, which has 16 MiB at most: a group has room for about four
//!   million locations.
//! * `CallingContext` and `InterruptGenerator` definitions of OTF2 1.5, which had another layout, are
//!   not converted.
//! * Reading takes a window of at least 4 KiB for each open location, and for definitions at most 32
//!   times the bytes of their file.
//! * The `std` feature needs Unix: files are read at offsets without a position of their own.
//!
//! # Features
//!
//! `std`, on by default: archives, readers, writers. Without it the crate is the records and the
//! [encoder](encode), `no_std` and without an allocator.

// Without `std` nothing is read, so the reading half of the tables is unused.
#![cfg_attr(not(feature = "std"), no_std, allow(dead_code, unreachable_pub))]
#![cfg_attr(not(feature = "std"), allow(rustdoc::broken_intra_doc_links))]
// Bytes of a file must not cause a panic.
#![warn(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[cfg(feature = "std")]
pub mod anchor;
mod atomics;
pub mod chunk;
#[cfg(feature = "std")]
pub mod clock;
#[cfg(feature = "std")]
pub mod close;
mod commit;
pub mod def;
pub mod encode;
pub mod enums;
#[cfg(feature = "std")]
pub mod error;
pub mod event;
#[cfg(feature = "std")]
pub mod files;
pub mod id;
pub mod map;
mod mark;

pub mod marker;
mod order;
mod output;
#[cfg(feature = "std")]
pub mod read;
mod record;
pub mod seal;
pub mod snapshot;
#[cfg(feature = "std")]
pub mod store;
pub mod thumbnail;
pub mod value;
mod wire;
#[cfg(feature = "std")]
pub mod write;

#[cfg(feature = "std")]
pub use anchor::Anchor;
pub use def::Definition;
#[cfg(feature = "std")]
pub use error::{Error, ErrorKind, Result};
pub use event::Event;
#[cfg(feature = "std")]
pub use read::{Archive, EventRecord};
pub use record::{Framing, Record, Unknown};
pub use value::{Attribute, AttributeValue, List, MetricValue, Str, Value};
pub use wire::{ByteOrder, Fault};

/// Makes the documentation tests compile the examples of the README.
#[cfg(all(doctest, feature = "std"))]
#[doc = include_str!("../README.md")]
struct Readme;
