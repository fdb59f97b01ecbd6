//! Reading a report: its members and metadata at once, its values when asked.

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
