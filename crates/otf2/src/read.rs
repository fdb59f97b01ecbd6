//! Readers of archives.
//!
//! [`Archive`] opens an archive and gives readers: of definitions, of the events of a location, of several locations
//! merged. A reader holds a window of its file and lends each record until the next one is asked for.

mod archive;
mod contexts;
mod events;
mod index;
mod local;
mod merge;
mod records;
mod snapshots;
mod stamped;
mod stream;

pub use archive::Archive;
pub(crate) use archive::THUMBNAIL_CHUNK;
pub use events::{EventReader, EventRecord, Visitor};
pub use index::Definitions;
pub use local::LocalTables;
pub use merge::MergedReader;
pub use records::{Content, DefReader, MarkerReader, RecordReader, ThumbnailReader};
pub use snapshots::{SnapshotReader, SnapshotRecord};
pub use stream::WINDOW;
