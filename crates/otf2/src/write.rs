//! Writing archives.
//!
//! [`ArchiveWriter`] makes one and gives writers, each of which writes one file and can be used on a
//! thread of its own. The anchor is written last: an archive without one is not complete.
//!
//! ```
//! use otf2::def;
//! use otf2::enums::{LocationGroupType, LocationType, Paradigm, RegionFlag, RegionRole};
//! use otf2::event::{Enter, Leave};
//! use otf2::id::{LocationGroupRef, LocationRef, RegionRef, StringRef, SystemTreeNodeRef, Time};
//! use otf2::write::{ArchiveWriter, Options};
//!
//! # fn main() -> otf2::Result<()> {
//! # let directory = std::env::temp_dir().join(format!("otf2-doc-{}", std::process::id()));
//! # let _ = std::fs::remove_dir_all(&directory);
//! let archive = ArchiveWriter::create(&directory, "traces", Options::default())?;
//!
//! let mut events = archive.events(LocationRef(0))?;
//! events.write(Time(10), Enter { region: RegionRef(0) })?;
//! events.write(Time(25), Leave { region: RegionRef(0) })?;
//! let summary = events.finish()?;
//!
//! let mut defs = archive.global_definitions()?;
//! defs.write(def::ClockProperties {
//!     timer_resolution: 1_000_000_000,
//!     global_offset: 0,
//!     trace_length: 25,
//!     realtime_timestamp: u64::MAX,
//! })?;
//! let machine = defs.string("machine")?;
//! let main = defs.string("main")?;
//! defs.write(def::SystemTreeNode {
//!     id: SystemTreeNodeRef(0),
//!     name: machine,
//!     class_name: machine,
//!     parent: SystemTreeNodeRef::UNDEFINED,
//! })?;
//! defs.write(def::LocationGroup {
//!     id: LocationGroupRef(0),
//!     name: main,
//!     location_group_type: LocationGroupType::Process,
//!     system_tree_parent: SystemTreeNodeRef(0),
//!     creating_location_group: LocationGroupRef::UNDEFINED,
//! })?;
//! defs.write(def::Location {
//!     id: LocationRef(0),
//!     name: main,
//!     location_type: LocationType::CpuThread,
//!     number_of_events: summary.events,
//!     location_group: LocationGroupRef(0),
//! })?;
//! defs.write(def::Region {
//!     id: RegionRef(0),
//!     name: main,
//!     canonical_name: main,
//!     description: StringRef::UNDEFINED,
//!     region_role: RegionRole::Function,
//!     paradigm: Paradigm::User,
//!     region_flags: RegionFlag::NONE,
//!     source_file: StringRef::UNDEFINED,
//!     begin_line_number: 0,
//!     end_line_number: 0,
//! })?;
//! defs.finish()?;
//! archive.finish()?;
//! # std::fs::remove_dir_all(&directory).ok();
//! # Ok(())
//! # }
//! ```

mod archive;
mod events;
mod records;

pub use archive::{ArchiveWriter, Options};
pub use events::{EventSummary, EventWriter, SnapshotWriter};
pub use records::{DefWriter, MarkerWriter, RecordSummary, RecordWriter, ThumbnailWriter};
