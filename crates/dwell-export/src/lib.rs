//! Runs in the formats of other tools.
//!
//! * [`parquet`] writes tables: locations, call paths, values, findings, waits, operations and events, for pandas, Polars, `DuckDB`
//!   and whatever else reads Parquet. [`TABLES`] describes their columns.
//! * [`perfetto`] writes a trace for Perfetto: calls as slices, operations and waits as flows.
//! * [`cut`] writes a part of an archive as a new archive of OTF2.
//!
//! Everything is made from the files in the directory of an archive: the events, the report and the findings of its analysis, and the
//! dependency log. Locations are read in parallel, one after the other from its begin to its end, so that memory depends on the
//! number of threads and not on the length of the run. The same run gives the same bytes for any number of threads.

#![forbid(unsafe_code)]
// Data from a file must not cause a panic.
#![warn(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic))]

mod cut;
mod error;
mod events;
mod operation;
mod parquet;
mod perfetto;
mod proto;
mod report;
mod run;
mod samples;
mod table;
mod tables;
mod walk;

pub use crate::parquet::{Written, parquet};
pub use cut::{Copied, Cut, cut};
pub use error::{Error, Result};
pub use perfetto::perfetto;
pub use run::Run;
pub use table::{Column, Kind, Table};
pub use tables::TABLES;
