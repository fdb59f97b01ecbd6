//! The part of a synthetic archive that does not depend on the program: its creation, the event file of each rank, and
//! definitions of a machine, its processes and at most one window.

use std::path::Path;

use otf2::enums::{
    GroupFlag, GroupType, LocationGroupType, LocationType, Paradigm, ParadigmClass, RegionFlag,
    RegionRole, RmaWinFlag, SystemTreeDomain, Type,
};
use otf2::id::{
    AttributeRef, CommRef, GroupRef, LocationGroupRef, LocationRef, RegionRef, RmaWinRef,
    StringRef, SystemTreeNodeRef,
};
use otf2::write::{ArchiveWriter, DefWriter, EventWriter, Options};
use otf2::{List, def, enums};
use rayon::prelude::*;

use crate::progress::Progress;
use crate::truth::{Totals, Truth};

/// The window that all one-sided operations use.
pub(crate) const WINDOW: RmaWinRef = RmaWinRef(0);
/// The communicator of all ranks.
pub(crate) const WORLD: CommRef = CommRef(0);

/// A region of a synthetic program.
pub(crate) struct RegionRow {
    pub(crate) name: &'static str,
    pub(crate) role: RegionRole,
    /// The meaning of the call, for readers that cannot know it from the name: `layer=… operation=…
    /// progress=never|always`. Empty for functions of the program.
    pub(crate) meaning: &'static str,
}

/// The region of the whole program, which has the same id in all programs.
pub(crate) const MAIN: RegionRef = RegionRef(0);

/// Defines a constant for each region from 1 on, and the list `REGIONS` of all regions, of which [`MAIN`] is the first.
macro_rules! regions {
    ($( $name:ident = $number:literal $text:literal $role:ident $meaning:literal; )*) => {
        $( const $name: otf2::id::RegionRef = otf2::id::RegionRef($number); )*
        const REGIONS: &[$crate::world::RegionRow] = &[
            $crate::world::RegionRow {
                name: "main",
                role: otf2::enums::RegionRole::Function,
                meaning: "",
            },
            $( $crate::world::RegionRow {
                name: $text,
                role: otf2::enums::RegionRole::$role,
                meaning: $meaning,
            }, )*
        ];
    };
}
pub(crate) use regions;

/// A synthetic program: the options it was generated with, and the definitions in which synthetic archives differ.
pub(crate) struct Program<'p> {
    /// Name of the generator, for `truth.json`.
    pub(crate) kind: &'static str,
    /// Description of the archive.
    pub(crate) description: &'static str,
    /// Number of ranks.
    pub(crate) ranks: u64,
    /// Seed of the random numbers.
    pub(crate) seed: u64,
    /// Further options by name, for `truth.json`.
    pub(crate) options: &'p [(&'static str, u64)],
    pub(crate) paradigm: Paradigm,
    pub(crate) paradigm_name: &'static str,
    /// Regions of the program. The id of a region is its position in this list.
    pub(crate) regions: &'p [RegionRow],
    /// Name of the window; empty if there is none.
    pub(crate) window: &'static str,
    /// Names of attributes that hold a 64-bit number. The id of an attribute is its position in this list.
    pub(crate) attributes: &'p [&'static str],
    /// Number of ranks that share a node.
    pub(crate) ranks_per_node: u64,
    /// Members of further groups, whose ids begin with [`FIRST_GROUP`].
    pub(crate) groups: &'p [Vec<u64>],
}

/// Id of the first group that an archive adds to those that all archives have.
pub(crate) const FIRST_GROUP: u32 = 2;

/// The archive of a program, created and still without contents.
pub(crate) struct Generation<'p> {
    program: Program<'p>,
    archive: ArchiveWriter,
}

impl<'p> Program<'p> {
    /// A program without a name, of ranks that share nodes by 64.
    pub(crate) const PLAIN: Self = Self {
        kind: "",
        description: "",
        ranks: 0,
        seed: 0,
        options: &[],
        paradigm: Paradigm::User, // OTF2 has none for ARMCI and for coarrays.
        paradigm_name: "",
        regions: &[],
        window: "",
        attributes: &[],
        ranks_per_node: 64,
        groups: &[],
    };

    /// Creates the archive of the program, and fails if the directory contains one.
    pub(crate) fn create(self, directory: &Path) -> otf2::Result<Generation<'p>> {
        let options = Options {
            creator: format!("dwell-synth {}", env!("CARGO_PKG_VERSION")),
            machine: "synthetic".into(),
            description: self.description.into(),
            trace_id: self.seed | 1,
            local_definitions: true,
            defs_chunk: Options::defs_chunk_for(self.ranks),
            ..Options::default()
        };
        let archive = ArchiveWriter::create(directory, "traces", options)?;
        Ok(Generation { program: self, archive })
    }
}

impl Generation<'_> {
    /// Writes an archive from the data of each rank, and returns its truth without severities. `write` writes the
    /// events of a rank in parallel with other ranks, and returns its totals, to which this function adds the numbers
    /// of events and bytes.
    pub(crate) fn write_from<R: Send>(
        self,
        ranks: impl IndexedParallelIterator<Item = R>,
        progress: Progress<'_>,
        write: impl Fn(u64, R, &mut EventWriter) -> otf2::Result<Totals> + Sync,
    ) -> otf2::Result<Truth> {
        let Self { program, archive } = self;
        let write_rank = |memory: &mut Vec<u8>, (rank, data): (usize, R)| {
            let rank = rank as u64;
            let location = LocationRef(rank);
            let mut events = archive.events_in(location, std::mem::take(memory))?;
            let totals = write(rank, data, &mut events)?;
            let summary = events.finish()?;
            *memory = summary.memory;
            archive.local_definitions(location)?.finish()?;
            progress(1);
            let (events, event_bytes) = (summary.events, summary.bytes);
            Ok(Totals { locations: 1, events, event_bytes, ..totals })
        };
        let ranks = ranks.enumerate().map_init(chunk_memory, write_rank);
        let totals = ranks.collect::<otf2::Result<Vec<Totals>>>()?;

        let mut truth = program.truth();
        totals.iter().for_each(|part| truth.totals += *part);
        let events: Vec<u64> = totals.iter().map(|part| part.events).collect();
        let definitions =
            Definitions { program, events: &events, duration: truth.totals.duration_ns };
        let mut defs = archive.global_definitions()?;
        definitions.write(&mut defs)?;
        defs.finish()?;
        archive.finish()?;
        Ok(truth)
    }
}

/// Allocates memory for the event chunks of a location. A thread uses it again for each of its locations.
fn chunk_memory() -> Vec<u8> {
    vec![0; otf2::chunk::EVENTS_SIZE as usize]
}

impl Program<'_> {
    /// Returns the truth of the program before its generation: kind and options.
    fn truth(&self) -> Truth {
        let mut options = vec![("ranks", self.ranks)];
        options.extend(self.options);
        options.push(("seed", self.seed));
        Truth::new(self.kind, &options)
    }
}

/// The global definitions of an archive, known when all events are written.
struct Definitions<'d> {
    program: Program<'d>,
    /// Number of events of each rank. Its length is the number of ranks.
    events: &'d [u64],
    /// Length of the trace: all times lie in `0..=duration` nanoseconds.
    duration: u64,
}

impl Definitions<'_> {
    fn write(&self, defs: &mut DefWriter) -> otf2::Result<()> {
        defs.write(def::ClockProperties {
            timer_resolution: 1_000_000_000,
            global_offset: 0,
            trace_length: self.duration,
            realtime_timestamp: u64::MAX,
        })?;
        let empty = defs.string("")?;
        let name = defs.string(self.program.paradigm_name)?;
        defs.write(def::Paradigm {
            paradigm: self.program.paradigm,
            name,
            paradigm_class: ParadigmClass::Process,
        })?;
        self.system(defs)?;
        self.regions(defs, name)?;
        for (id, text) in (0..).zip(self.program.attributes) {
            let (id, name, description) = (AttributeRef(id), defs.string(text)?, empty);
            defs.write(def::Attribute { id, name, kind: Type::Uint64, description })?;
        }

        let ranks = self.events.len() as u64;
        let all: Vec<u64> = (0..ranks).collect();
        let mut group = |id, group_type, group_flags, members: &[u64]| {
            let members = List::from(members);
            let (id, paradigm) = (GroupRef(id), self.program.paradigm);
            defs.write(def::Group { id, name: empty, group_type, paradigm, group_flags, members })
        };
        group(0, GroupType::CommLocations, GroupFlag::NONE, &all)?;
        group(1, GroupType::CommGroup, GroupFlag::GLOBAL_MEMBERS, &all)?;
        for (id, members) in (FIRST_GROUP..).zip(self.program.groups) {
            group(id, GroupType::CommGroup, GroupFlag::GLOBAL_MEMBERS, members)?;
        }
        defs.write(def::Comm {
            id: WORLD,
            name: empty,
            group: GroupRef(1),
            parent: CommRef::UNDEFINED,
            flags: enums::CommFlag::NONE,
        })?;
        if self.program.window.is_empty() {
            return Ok(());
        }
        let name = defs.string(self.program.window)?;
        let (id, comm, flags) = (WINDOW, WORLD, RmaWinFlag::NONE);
        defs.write(def::RmaWin { id, name, comm, flags })
    }

    /// Writes the machine, its nodes, and a process with one thread for each rank.
    fn system(&self, defs: &mut DefWriter) -> otf2::Result<()> {
        let mut node = |id: u32, name: &str, class: &str, parent| {
            let id = SystemTreeNodeRef(id);
            let (name, class_name) = (defs.string(name)?, defs.string(class)?);
            defs.write(def::SystemTreeNode { id, name, class_name, parent })
        };
        let nodes = (self.events.len() as u64).div_ceil(self.program.ranks_per_node) as u32;
        node(0, "synthetic machine", "machine", SystemTreeNodeRef::UNDEFINED)?;
        for number in 0..nodes {
            node(1 + number, &format!("node{number:04}"), "node", SystemTreeNodeRef(0))?;
        }
        for number in 0..=nodes {
            let domain = [SystemTreeDomain::Machine, SystemTreeDomain::SharedMemory];
            defs.write(def::SystemTreeNodeDomain {
                system_tree_node: SystemTreeNodeRef(number),
                system_tree_domain: domain[usize::from(number > 0)],
            })?;
        }
        for rank in 0..self.events.len() as u64 {
            let name = defs.string(&format!("Rank {rank}"))?;
            defs.write(def::LocationGroup {
                id: LocationGroupRef(rank as u32),
                name,
                location_group_type: LocationGroupType::Process,
                system_tree_parent: SystemTreeNodeRef(
                    1 + (rank / self.program.ranks_per_node) as u32,
                ),
                creating_location_group: LocationGroupRef::UNDEFINED,
            })?;
        }
        let name = defs.string("Master thread")?;
        for (rank, &number_of_events) in (0..).zip(self.events) {
            defs.write(def::Location {
                id: LocationRef(rank),
                name,
                location_type: LocationType::CpuThread,
                number_of_events,
                location_group: LocationGroupRef(rank as u32),
            })?;
        }
        Ok(())
    }

    fn regions(&self, defs: &mut DefWriter, source_file: StringRef) -> otf2::Result<()> {
        for (id, row) in (0..).zip(self.program.regions) {
            let name = defs.string(row.name)?;
            let description = match row.meaning {
                "" => StringRef::UNDEFINED,
                text => defs.string(text)?,
            };
            let user = row.role == RegionRole::Function;
            defs.write(def::Region {
                id: RegionRef(id),
                name,
                canonical_name: name,
                description,
                region_role: row.role,
                paradigm: if user { Paradigm::User } else { self.program.paradigm },
                region_flags: RegionFlag::NONE,
                source_file: if user { StringRef::UNDEFINED } else { source_file },
                begin_line_number: 0,
                end_line_number: 0,
            })?;
        }
        Ok(())
    }
}
