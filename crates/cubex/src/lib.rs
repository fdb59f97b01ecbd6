//! Read Cube 4 reports (`.cubex`) on demand and write them, in pure Rust.
//!
//! A Cube report is what Score-P, Scalasca and other performance tools leave behind: for every
//! metric, call path and location (thread) of a parallel program a value. CubeGUI, pyCubexR, hatchet
//! and Extra-P read it. This crate reads such reports without loading them, however large, writes
//! them row by row in any order, and never trusts a byte of a damaged file.
//!
//! * [`Report`] opens a report; [`Report::meta`] says what it is about, [`Report::values`] gives rows.
//! * [`MetaBuilder`] and [`ReportWriter`] make one.
//!
//! # Reading
//!
//! ```no_run
//! use cubex::Report;
//!
//! let report = Report::open("profile.cubex")?;
//! let meta = report.meta();
//! let time = meta.find_metric("time").expect("every Score-P profile has it");
//! let values = report.values(time)?;
//! for cnode in meta.cnodes_in_order() {
//!     let name = meta.callee(cnode).map(|region| region.name).unwrap_or_default();
//!     if let Some(row) = values.inclusive(cnode)? {
//!         let total: f64 = meta.locations().filter_map(|location| row.number(location)).sum();
//!         println!("{total:12.6} {name}");
//!     }
//! }
//! # Ok::<(), cubex::Error>(())
//! ```
//!
//! Opening lists the members of the file and reads `anchor.xml` into flat tables with every string
//! kept once. [Values](Report::values) of a metric read its index at first, and then each row when
//! it is asked for. With a [cache](OpenOptions::cache) a report of many locations opens at once; the
//! example `scale` measures it.
//!
//! # The file
//!
//! A `.cubex` file is a plain [tar archive](Member), never compressed as a whole:
//!
//! | member | holds |
//! |---|---|
//! | `anchor.xml` | metrics, call tree, system tree, topologies; may be gzip-compressed by itself |
//! | `N.index` | which call paths metric N has rows for |
//! | `N.data` | the rows, one value a location |
//! | `ghost_N.index`, `ghost_N.data` | the same for [ghost](VizType::Ghost) metrics |
//! | `cubex-checksums` | [checksums](#checksums), in reports that this crate has written |
//! | others | [extra members](Report::extras) that tools have put there |
//!
//! The index:
//!
//! | offset | bytes | content |
//! |---|---|---|
//! | 0 | 11 | `CUBEX.INDEX` |
//! | 11 | 4 | u32 1, in the byte order of index and values |
//! | 15 | 2 | u16 version, 0 |
//! | 17 | 1 | 1: sparse, 3: dense |
//! | 18 | 4 | sparse: u32 n, the number of rows present |
//! | 22 | 4 n | sparse: n × u32 row numbers, rising |
//!
//! What number the row of a call path has depends on the [kind](MetricKind) of the metric. The data:
//!
//! | offset | bytes | plain |
//! |---|---|---|
//! | 0 | 10 | `CUBEX.DATA` |
//! | 10 | … | the rows that the index names, one after the other |
//!
//! | offset | bytes | compressed |
//! |---|---|---|
//! | 0 | 11 | `ZCUBEX.DATA` |
//! | 11 | 8 | u64 m, number of entries |
//! | 19 | 24 m | a row: u64 place among all plain values, u64 place of its compressed bytes after this table, u64 number of these |
//! | 19 + 24 m | … | a zlib stream for each row |
//!
//! The layouts of values are in [`DataType`]'s module, [`value`].
//!
//! # Checksums
//!
//! A changed byte in a row makes another valid row. So [`ReportWriter`] adds the CRC-32 of each 4 KiB of the file to a
//! report, as its last member, which other readers ignore:
//!
//! | offset | bytes | `cubex-checksums`, in little endian |
//! |---|---|---|
//! | 0 | 16 | `CUBEX.CHECKSUMS` and 1, the version |
//! | 16 | 8 | u64 n, the offset of the tar header of this member; all bytes before it are covered |
//! | 24 | 4 | CRC-32 of the list of the members before this one: for each its name, NUL, u64 offset of its contents, u64 size |
//! | 28 | 4 p | CRC-32 of each page of the table at the end: 4,096 bytes, the last page may have fewer |
//! | 28 + 4 p | 4 | CRC-32 of all of the above |
//! | 32 + 4 p | 4 b | the table: CRC-32 of each block of 4,096 bytes of the file; the last block ends at n |
//!
//! The tar headers of `anchor.xml` and of this member have `cubex CRC-32` in their last 12 bytes, which the tar format does
//! not use. A report with one of these marks must have the member. When a byte is read, its block is compared with its
//! checksum, and a wrong one is an [error](ErrorKind::Checksum); blocks that are not read are not checked. Reports of
//! other tools and of earlier versions have no marks and are read without checks, and so is a report that another tool has
//! packed again, whether or not it kept the member.
//!
//! # The 512-byte trap
//!
//! cubelib and all other tools disagree on where the next member begins after one of exactly 512 k
//! bytes, and one of them loses all that follows. Reading takes both. Writing adds a newline to
//! `anchor.xml`; any other member of such a size is followed by a small member called `cubex-pad.N`
//! that leads both rules to the same place.
//!
//! # Limits
//!
//! * Derived metrics are kept with their expressions, and written again, but not computed.
//! * Sums of histograms and scaling functions are not defined by the format: their rows can be read,
//!   not converted between inclusive and exclusive.
//! * What is written is never compressed, and is little-endian. Both are read, as is big-endian.
//! * Memory: opening takes at most 1 MiB and 32 times the bytes of `anchor.xml` (after
//!   decompression, where at most 200 times its size in the file and 4 MiB are taken); honest
//!   documents take about a third of their size. A row takes the bytes of its values, eight for
//!   integers of any width, and there is never memory for a row of which the file does not hold the
//!   bytes.
//! * A tag or text of `anchor.xml` has at most 1 MiB, elements nest at most 65,536 deep, and there are
//!   no entities but the predefined.
//! * Text must be UTF-8.
//! * Unix only: files are read at offsets without a position of their own.

#![forbid(unsafe_code)]
// Bytes of a file must not cause a panic.
#![warn(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::indexing_slicing))]

mod anchor;
mod bytes;
mod error;
pub mod id;
mod links;
pub mod meta;
mod read;
mod source;
mod sums;
mod tar;
mod text;
pub mod value;
pub mod write;

pub use error::{Error, ErrorKind, Result};
pub use id::{CnodeId, GroupId, LocationId, MetricId, RegionId, SystemNodeId, TopologyId};
pub use meta::{
    Attribute, Cnode, Coordinate, Dimension, Expression, ExpressionKind, Group, Location, Meta,
    MetaBuilder, Metric, MetricKind, Owner, Parameter, ParameterKind, Place, Region, SystemNode,
    Topology, VizType,
};
pub use read::{Cache, OpenOptions, Report, Values};
pub use tar::Member;
pub use value::{ByteOrder, Cells, CellsRef, DataType, Row, TauAtomic};
pub use write::{MetricWriter, ReportWriter, Rows, UnfinishedReport, ValuesPlace, WriteOptions};

/// Checks at compile time that reports and their writers can be shared between threads.
const _: () = {
    const fn shared<T: Send + Sync>() {}
    shared::<Report>();
    shared::<Values<'_>>();
    shared::<ReportWriter>();
    shared::<MetricWriter>();
    shared::<Error>();
};

/// Makes the documentation tests compile the examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
