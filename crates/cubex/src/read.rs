//! Readers of reports: members and metadata are read when a report is opened, values when they are asked for.

mod cache;
mod index;
mod layout;
mod report;
mod values;

pub(crate) use index::{DENSE, INDEX_MAGIC, SPARSE};
pub(crate) use layout::DATA_MAGIC;
pub use report::{Cache, OpenOptions, Report};
pub use values::Values;
pub(crate) use values::{member_names, row_bytes};
